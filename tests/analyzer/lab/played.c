#include "tests/analyzer/lab/played.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/whatif/player.h"

static struct xfw_op *add(struct played *played, enum xfw_what what, double gap_ns, double own_ns)
{
    if (played->count == MOST_PLAYED)
        abort();
    struct xfw_op *op = &played->ops[played->count];
    *op = xfw_op_none();
    op->number = played->count++;
    op->what = (uint8_t)what;
    op->stream = 0;
    op->stream_kind = XFW_BLOCKING;
    op->gap_ns = gap_ns;
    op->own_ns = own_ns;
    return op;
}

struct xfw_op *played_call(struct played *played, double gap_ns, double own_ns)
{
    return add(played, XFW_CALL, gap_ns, own_ns);
}

struct xfw_op *played_copy(struct played *played, double gap_ns, double own_ns, double device_ns)
{
    struct xfw_op *op = add(played, XFW_COPY, gap_ns, own_ns);
    op->kind = XFT_EVENT_TRANSFER;
    op->class = 0;
    op->engine = XFW_TO_DEVICE;
    op->exclusive = true;
    op->duration_ns = device_ns;
    return op;
}

struct xfw_op *played_kernel(struct played *played, double gap_ns, double own_ns, double device_ns)
{
    struct xfw_op *op = add(played, XFW_KERNEL, gap_ns, own_ns);
    op->kind = XFT_EVENT_LAUNCH;
    op->engine = XFW_COMPUTE;
    op->duration_ns = device_ns;
    return op;
}

struct xfw_op *played_sync(struct played *played, double gap_ns)
{
    struct xfw_op *op = add(played, XFW_CALL, gap_ns, 0);
    op->kind = XFT_EVENT_SYNC;
    op->awaits = XFW_AWAITS_STREAM;
    return op;
}

static double play(const struct played *played, const struct xfa_analysis *analysis,
                   struct xfw_change *change, enum xfw_certainty certainty, bool device)
{
    struct xfw_player *player =
        xfw_player_new(analysis->run->processes[0], &change, change ? 1 : 0, certainty);
    for (size_t i = 0; i < played->count; i++) {
        struct xfw_op op = played->ops[i];
        xfw_op_alone(&op);
        xfw_player_op(player, &op);
    }
    const struct xfw_schedule *schedule = xfw_player_schedule(player);
    double ns =
        device ? xfw_schedule_stream_end(schedule, 0) : xfw_schedule_thread_now(schedule, 0);
    xfw_player_free(player);
    return ns;
}

double played_ns(const struct played *played, const struct xfa_analysis *analysis,
                 struct xfw_change *change, enum xfw_certainty certainty)
{
    return play(played, analysis, change, certainty, false);
}

double played_device_ns(const struct played *played, const struct xfa_analysis *analysis,
                        struct xfw_change *change, enum xfw_certainty certainty)
{
    return play(played, analysis, change, certainty, true);
}
