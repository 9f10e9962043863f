#include "analyzer/whatif/schedule/left.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/schedule/contexts.h"
#include "xferscope/trace.h"

struct load {
    double as_recorded, changed;
};

struct loads { /* by number */
    struct load *items;
    size_t count, capacity;
};

struct xfw_left {
    struct loads streams, sides; /* the process's, and those that changes made up */
    struct load engines[XFW_GPUS][XFW_ENGINES];
    struct load host, waited; /* of the thread: so far, up to its last wait or work */
    uint32_t thread;          /* that makes all calls; XFW_NONE: none yet */
    bool host_goes;           /* the host's load is not known to be one that stays */
};

struct xfw_left *xfw_left_new(void)
{
    struct xfw_left *left = xfa_alloc(sizeof *left);
    left->thread = XFW_NONE;
    return left;
}

void xfw_left_free(struct xfw_left *left)
{
    if (!left)
        return;
    free(left->streams.items);
    free(left->sides.items);
    free(left);
}

static void add(struct load *load, double ns, bool as_recorded)
{
    *(as_recorded ? &load->as_recorded : &load->changed) += xfw_max(0, ns);
}

/* ---- devices --------------------------------------------------------------------------------- */

static struct load *load_of(struct loads *loads, size_t index)
{
    loads->items =
        xfa_grown(loads->items, &loads->capacity, &loads->count, index, sizeof *loads->items);
    return &loads->items[index];
}

static struct load *stream_of(struct xfw_left *left, uint32_t stream)
{
    return stream >= XFW_FIRST_SIDE_STREAM ? load_of(&left->sides, stream - XFW_FIRST_SIDE_STREAM)
                                           : load_of(&left->streams, stream);
}

static void note_work(struct xfw_left *left, const struct xfw_op *op, const struct xfw_op *recorded)
{
    bool same = recorded && recorded->duration_ns == op->duration_ns;
    double ns = op->duration_ns - op->demanded.stalled_ns - xfw_min(op->lead_ns, op->duration_ns);
    struct load *engines = left->engines[xfw_place_of_gpu(op->gpu)];
    if (op->what == XFW_HOST_FUNCTION || op->meets)
        return;
    if (op->stream != XFW_NONE)
        add(stream_of(left, op->stream), ns, same);
    if (op->what == XFW_COPY && op->exclusive)
        add(&engines[xfw_op_engine(op)], ns, same);
    if (op->what != XFW_GRAPH || op->up_ns + op->down_ns > op->duration_ns)
        return;
    add(&engines[XFW_TO_DEVICE], op->up_ns - xfw_min(op->lead_ns, op->up_ns), same);
    add(&engines[op->one_engine ? XFW_TO_DEVICE : XFW_TO_HOST], op->down_ns, same);
}

/* ---- the host -------------------------------------------------------------------------------- */

static bool is_woken(const struct xfw_op *op)
{
    return op->woken_by != XFW_NONE || op->woken_by_stream || op->woken_by_call || op->for_job;
}

/* Of the thread's own time before the call what lies behind the first work. */
static double gap_within(const struct xfw_op *op, const struct xfw_schedule *schedule)
{
    double first, last;
    if (is_woken(op) || op->what == XFW_QUERY || !xfw_schedule_worked(schedule, &first, &last))
        return 0;
    return xfw_min(op->gap_ns, xfw_schedule_last(schedule)->call - first);
}

static void note_host(struct xfw_left *left, const struct xfw_op *op, const struct xfw_op *recorded,
                      const struct xfw_schedule *schedule)
{
    double first, last;
    bool shorter = recorded && op->gap_ns < recorded->gap_ns;
    left->host_goes =
        left->host_goes || shorter || (left->thread != XFW_NONE && left->thread != op->thread);
    left->thread = op->thread;
    if (!xfw_schedule_worked(schedule, &first, &last))
        return;
    add(&left->host, gap_within(op, schedule), true);
    if (xfw_op_makes_context(op)) /* which is not of the span */
        left->host.as_recorded =
            xfw_max(0, left->host.as_recorded + op->own_ns - xfw_op_context_ns(op));
    else if (op->what != XFW_MESSAGE)
        add(&left->host, op->own_ns, recorded && recorded->own_ns == op->own_ns);
    if (xfw_op_is_work(op) || op->kind == XFT_EVENT_SYNC || op->kind == XFT_EVENT_QUERY)
        left->waited = left->host;
}

void xfw_left_op(struct xfw_left *left, const struct xfw_op *op, const struct xfw_op *recorded,
                 const struct xfw_schedule *schedule)
{
    if (op->what == XFW_MEETING)
        return;
    if (xfw_op_is_work(op))
        note_work(left, op, recorded);
    note_host(left, op, recorded, schedule);
}

/* ---- the most -------------------------------------------------------------------------------- */

static double most_of(const struct load *loads, size_t count, double as_recorded, double changed)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = xfw_max(most, loads[i].as_recorded * as_recorded + loads[i].changed * changed);
    return most;
}

double xfw_left_most(const struct xfw_left *left, double as_recorded, double changed)
{
    double most = left->host_goes ? 0 : most_of(&left->waited, 1, as_recorded, changed);
    most = xfw_max(most, most_of(left->streams.items, left->streams.count, as_recorded, changed));
    most = xfw_max(most, most_of(left->sides.items, left->sides.count, as_recorded, changed));
    for (size_t i = 0; i < XFW_GPUS; i++)
        most = xfw_max(most, most_of(left->engines[i], XFW_ENGINES, as_recorded, changed));
    return most;
}
