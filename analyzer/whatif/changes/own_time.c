#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

#define ROUGHLY_NS 1000 /* what hooks and other work of the recorder may shift a call by */

struct own_time {
    struct xfw_change change;
    struct xfw_cut *cuts;      /* by process, thread, time */
    struct xfw_cut **messages; /* the same, by process and begin of their messages */
    size_t count;
};

static int in_order(const void *a, const void *b)
{
    const struct xfw_cut *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static int by_message(const void *a, const void *b)
{
    const struct xfw_cut *x = *(struct xfw_cut *const *)a, *y = *(struct xfw_cut *const *)b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->began_ns > y->began_ns) - (x->began_ns < y->began_ns);
}

/* The first that is not before that. */
static size_t find(const struct own_time *own, const struct xfw_cut *wanted)
{
    size_t first = 0, end = own->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (in_order(&own->cuts[middle], wanted) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* ---- from the thread's own time -------------------------------------------------------------- */

static void cut_gap(const struct own_time *own, const struct xfw_player *player, struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    const struct xfw_cut wanted = {.process = xfw_player_process(player)->number,
                                   .tid = op->tid,
                                   .at_ns = op->start_ns - op->gap_ns - ROUGHLY_NS};
    double less = 0, more = 0;
    for (size_t i = find(own, &wanted); i < own->count; i++) {
        const struct xfw_cut *cut = &own->cuts[i];
        if (cut->process != wanted.process || cut->tid != wanted.tid || cut->at_ns >= op->start_ns)
            break;
        if (cut->of != XFW_CUT_COPY)
            less += cut->ns[certainty];
        if (certainty == XFW_LIKELY)
            more += cut->first_ns;
    }
    op->gap_ns -= fmax(0, fmin(less, op->gap_ns));
    op->gap_ns += more;
}

/* ---- of messages ----------------------------------------------------------------------------- */

static size_t find_message(const struct own_time *own, struct xfw_cut *wanted)
{
    size_t first = 0, end = own->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (by_message(&own->messages[middle], &wanted) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* An end of a request whose message is not known may be of either side. */
static bool is_of(const struct xfw_cut *cut, const struct xfw_op *op)
{
    return (cut->of == XFW_CUT_SENT || cut->of == XFW_CUT_GOT) &&
           (op->side == XFW_ANY_SIDE || (cut->of == XFW_CUT_SENT) == (op->side == XFA_SENDS));
}

/* It takes what another way of it takes. */
static void limit(const struct xfw_cut *cut, enum xfw_certainty certainty, struct xfw_op *op)
{
    bool before = op->most_ns > 0 && (double)op->most_ns < cut->most_ns;
    if (certainty != XFW_LOW && !op->begins && !before)
        op->most_ns = (float)cut->most_ns;
}

static void cut_message(const struct own_time *own, const struct xfw_player *player,
                        struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct xfw_cut wanted = {.process = xfw_player_process(player)->number,
                             .began_ns = op->began_ns};
    for (size_t i = find_message(own, &wanted); i < own->count; i++) {
        const struct xfw_cut *cut = own->messages[i];
        if (cut->process != wanted.process || cut->began_ns > wanted.began_ns)
            break;
        if (!is_of(cut, op))
            continue;
        if (certainty == XFW_LIKELY && !op->begins)
            op->gap_ns += cut->first_ns;
        if (cut->most_ns > 0) {
            limit(cut, certainty, op);
            continue;
        }
        op->less_ns += cut->ns[certainty];
        if (cut->at_ns == op->start_ns && op->awaits != XFW_AWAITS_RANKS) /* else the board's */
            op->own_ns -= fmax(0, fmin(cut->ns[certainty], op->own_ns));
    }
}

/* What the call waits for is the same; the thread works until then. */
static void cut_wait(const struct own_time *own, const struct xfw_player *player, struct xfw_op *op)
{
    const struct xfw_cut wanted = {
        .process = xfw_player_process(player)->number, .tid = op->tid, .at_ns = op->start_ns};
    for (size_t i = find(own, &wanted); i < own->count; i++) {
        if (in_order(&own->cuts[i], &wanted) != 0)
            break;
        if (own->cuts[i].of == XFW_CUT_WAIT)
            op->hidden_ns += own->cuts[i].ns[xfw_player_certainty(player)];
    }
}

/* ---- of copies ------------------------------------------------------------------------------- */

static void leave_out(const struct own_time *own, const struct xfw_player *player,
                      struct xfw_op *op)
{
    const struct xfw_cut wanted = {
        .process = xfw_player_process(player)->number, .tid = op->tid, .at_ns = op->start_ns};
    bool goes = false;
    for (size_t i = find(own, &wanted); i < own->count && !goes; i++) {
        if (in_order(&own->cuts[i], &wanted) != 0)
            break;
        goes = own->cuts[i].of == XFW_CUT_COPY;
    }
    if (!goes || xfw_player_certainty(player) == XFW_LOW)
        return;
    if (op->engine == XFW_TO_DEVICE || op->awaits == XFW_AWAITS_NOTHING)
        xfw_op_drop(op);
    else
        xfw_only_wait(&own->change.analysis->achievable, op);
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct own_time *own = (const struct own_time *)change;
    (void)self;
    if (!xfw_schedule_is_joined(xfw_player_schedule(player)))
        cut_gap(own, player, op);
    else if (op->what == XFW_MESSAGE)
        cut_message(own, player, op);
    if (op->what == XFW_MESSAGE && !op->begins)
        cut_wait(own, player, op);
    if (op->what == XFW_COPY && change->first)
        leave_out(own, player, op);
}

static void release(struct xfw_change *change)
{
    free(((struct own_time *)change)->cuts);
    free(((struct own_time *)change)->messages);
}

struct xfw_change *xfw_change_own_time(const struct xfa_analysis *analysis, struct xfw_cut *cuts,
                                       size_t count)
{
    static const struct xfw_change_type type = {.name = "own time", .op = op, .free = release};
    struct own_time *own = xfw_change_new(sizeof *own, &type, analysis, NULL);
    own->cuts = cuts;
    own->count = count;
    if (count)
        qsort(cuts, count, sizeof *cuts, in_order);
    for (size_t i = 0; i < count; i++) /* other changes have the copies that are left */
        own->change.first = own->change.first || cuts[i].of == XFW_CUT_COPY;
    own->messages = xfa_alloc((count + 1) * sizeof *own->messages);
    for (size_t i = 0; i < count; i++)
        own->messages[i] = &cuts[i];
    if (count)
        qsort(own->messages, count, sizeof *own->messages, by_message);
    return &own->change;
}
