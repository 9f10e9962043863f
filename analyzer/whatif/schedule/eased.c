#include "analyzer/whatif/schedule/eased.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/schedule/callers.h"

#define EASED_PART 0.5
#define TAKEN 64 /* the threads are not further from each other, as played, than so many calls */

struct xfw_eased {
    const double *alone_ns;
    double reaches_ns;   /* until a copy that its call waits for begins, with nobody in the driver:
                            the mean of late; 0: not known */
    uint64_t eased;      /* a bit for each place of a thread: its last call is */
    struct taken {       /* in which a call has the driver, as played */
        double from, to; /* ns */
        double latest;   /* the end of this one and of all before it */
    } room[2 * TAKEN];   /* at its end they move to its front */
    struct taken *taken; /* a part of room, by from */
    unsigned count;
};

struct xfw_eased *xfw_eased_new(const double *alone_ns)
{
    struct xfw_eased *eased = xfa_alloc(sizeof *eased);
    eased->alone_ns = alone_ns;
    eased->taken = eased->room;
    return eased;
}

void xfw_eased_free(struct xfw_eased *eased)
{
    free(eased);
}

static bool are_over(const struct taken *taken, double ns)
{
    return !(taken->latest > ns); /* which only grows */
}

static bool begins_by(const struct taken *taken, double ns)
{
    return !(taken->from > ns);
}

/* How many of the first are so by then. Inlined together with what is asked. */
__attribute__((always_inline)) static inline unsigned
how_many(const struct xfw_eased *eased, bool (*are)(const struct taken *, double), double ns)
{
    unsigned low = 0, high = eased->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (are(&eased->taken[middle], ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* When the driver lets in a call that comes then and takes so long: it does nothing else
 * meanwhile. */
static double let_in(const struct xfw_eased *eased, double from, double ns)
{
    unsigned at = how_many(eased, are_over, from);
    for (; at < eased->count && eased->taken[at].from < from + ns; at++)
        from = xfw_max(from, eased->taken[at].to);
    return from;
}

/* A place for one more in front of that one. Of many the first is forgotten. */
static struct taken *make_room(struct xfw_eased *eased, unsigned at)
{
    if (eased->count == TAKEN && at == 0)
        return eased->taken;
    if (eased->count == TAKEN) {
        eased->taken++;
        eased->count--;
        at--;
    }
    if (eased->taken + eased->count == eased->room + 2 * (size_t)TAKEN) {
        memcpy(eased->room, eased->taken, eased->count * sizeof *eased->taken);
        eased->taken = eased->room;
    }
    struct taken *taken = &eased->taken[at];
    for (struct taken *last = &eased->taken[eased->count++]; last > taken; last--)
        *last = last[-1]; /* few: most come in about this order */
    return taken;
}

static void take(struct xfw_eased *eased, double from, double ns)
{
    const double to = from + ns;
    unsigned at = eased->count;
    if (at > 0 && !begins_by(&eased->taken[at - 1], from))
        at = how_many(eased, begins_by, from);
    struct taken *taken = make_room(eased, at);
    const struct taken *end = eased->taken + eased->count;
    double before = taken > eased->taken ? taken[-1].latest : 0;
    *taken = (struct taken){from, to, xfw_max(before, to)};
    for (taken++; taken < end && taken->latest < to; taken++)
        taken->latest = to;
}

/* Its work is submitted when the driver has let it in: that begins as much sooner. */
static void shorten(struct xfw_op *op, double less_ns)
{
    op->own_ns -= less_ns;
    if (xfw_op_is_work(op))
        op->latency_ns = xfw_max(0, op->latency_ns - less_ns);
}

/* A copy that its call waits for begins behind calls of others, too. */
static void ease_copy(struct xfw_eased *eased, const struct xfw_op *was, struct xfw_op *op,
                      uint64_t freed, double begins_ns, enum xfw_certainty certainty)
{
    if (was->under_way == 0) {
        double less = was->latency_ns - eased->reaches_ns;
        eased->reaches_ns += eased->reaches_ns > 0 ? less / 8 : less;
        return;
    }
    double reaches = eased->reaches_ns, wait = 0;
    if (!freed || !(reaches > 0) || certainty == XFW_LOW || !xfw_op_waits_for_copy(op))
        return;
    if (certainty != XFW_HIGH)
        wait = let_in(eased, begins_ns, reaches) - begins_ns;
    op->latency_ns = xfw_min(op->latency_ns, reaches + wait);
}

void xfw_eased_op(struct xfw_eased *eased, const struct xfw_op *was, struct xfw_op *op,
                  double begins_ns, enum xfw_certainty certainty)
{
    if (was->caller == 0)
        return;
    const bool gives = xfw_op_submits(was);
    double alone = eased->alone_ns[was->kind], held = xfw_op_called_ns(was), wait = 0;
    const uint64_t freed = op->was_legacy ? was->under_way : was->under_way & eased->eased;
    if (gives && freed && isfinite(alone) && certainty != XFW_LOW) {
        if (certainty != XFW_HIGH)
            wait = let_in(eased, begins_ns, alone) - begins_ns;
        shorten(op, xfw_max(0, op->own_ns - (alone + wait)));
    }
    if (xfw_op_waits_for_copy(was))
        ease_copy(eased, was, op, freed, begins_ns, certainty);
    double holds = xfw_op_called_ns(op);
    const uint64_t own = (uint64_t)1 << (was->caller - 1);
    bool is_eased = held > 0 && holds < EASED_PART * held;
    eased->eased = is_eased ? eased->eased | own : eased->eased & ~own;
    if (certainty == XFW_LIKELY && xfw_op_holds(was) && holds > 0) /* who else asks? */
        take(eased, begins_ns + wait, gives && isfinite(alone) ? xfw_min(holds, alone) : holds);
}
