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

unsigned xfw_busy_first(const struct xfw_busy *engine, double ready, double space)
{
    return xfw_busy_after(engine, xfw_max(ready, engine->forgotten) - space);
}

struct xfw_idle xfw_busy_idle_behind(const struct xfw_busy *engine, unsigned first, double ready,
                                     double ns, double space)
{
    struct xfw_idle idle = {xfw_max(ready, engine->forgotten), first};
    for (; idle.at < engine->count && idle.start + ns * (1 - HARDLY) > engine->busy[idle.at].start;
         idle.at++)
        idle.start = xfw_max(idle.start, engine->busy[idle.at].end + space);
    return idle;
}

struct xfw_idle xfw_busy_idle_from(const struct xfw_busy *engine, double ready, double ns,
                                   double space)
{
    return xfw_busy_idle_behind(engine, xfw_busy_first(engine, ready, space), ready, ns, space);
}

struct xfw_interval *xfw_busy_take(struct xfw_busy *engine, unsigned at, struct xfw_interval work)
{
    while (at > 0 && engine->busy[at - 1].start > work.start)
        at--;
    while (at < engine->count && !(engine->busy[at].start > work.start))
        at++;
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
