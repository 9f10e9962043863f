#include "analyzer/whatif/schedule/busy.h"

#include <string.h>

#include "analyzer/whatif/op/op.h"

#define ROOM ((size_t)2 * XFW_INTERVALS)

/* Of its time: by how much work may overlap what is placed behind it (a guess). */
#define HARDLY 0.05

void xfw_busy_begin(struct xfw_busy *engine)
{
    engine->busy = engine->room;
}

unsigned xfw_busy_after(const struct xfw_busy *engine, double when)
{
    unsigned at = engine->count;
    while (at > 0 && engine->busy[at - 1].end > when)
        at--;
    return at;
}

double xfw_busy_idle_from(const struct xfw_busy *engine, double ready, double ns, double space)
{
    double start = xfw_max(ready, engine->forgotten);
    unsigned at = xfw_busy_after(engine, start - space);
    for (; at < engine->count && start + ns * (1 - HARDLY) > engine->busy[at].start; at++)
        start = xfw_max(start, engine->busy[at].end + space);
    return start;
}

struct xfw_interval *xfw_busy_take(struct xfw_busy *engine, struct xfw_interval work)
{
    unsigned at = engine->count;
    while (at > 0 && engine->busy[at - 1].start > work.start)
        at--;
    if (engine->count == XFW_INTERVALS) {
        engine->forgotten = xfw_max(engine->forgotten, (at == 0 ? work : engine->busy[0]).end);
        if (at == 0)
            return NULL;
        engine->busy++;
        engine->count--;
        at--;
    }
    if (engine->busy + engine->count == engine->room + ROOM) {
        memcpy(engine->room, engine->busy, engine->count * sizeof *engine->busy);
        engine->busy = engine->room;
    }
    memmove(engine->busy + at + 1, engine->busy + at, (engine->count - at) * sizeof *engine->busy);
    engine->busy[at] = work;
    engine->count++;
    return &engine->busy[at];
}
