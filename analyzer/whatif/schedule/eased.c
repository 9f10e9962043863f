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
    } taken[TAKEN];
    uint8_t order[TAKEN]; /* their places, by from */
    unsigned count;
};

struct xfw_eased *xfw_eased_new(const double *alone_ns)
{
    struct xfw_eased *eased = xfa_alloc(sizeof *eased);
    eased->alone_ns = alone_ns;
    return eased;
}

void xfw_eased_free(struct xfw_eased *eased)
{
    free(eased);
}

static const struct taken *nth(const struct xfw_eased *eased, unsigned i)
{
    return &eased->taken[eased->order[i]];
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
        if (are(nth(eased, middle), ns))
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
    for (; at < eased->count && nth(eased, at)->from < from + ns; at++)
        from = xfw_max(from, nth(eased, at)->to);
    return from;
}

/* Of many the first is forgotten. */
static void take(struct xfw_eased *eased, double from, double ns)
{
    const double to = from + ns;
    unsigned at = eased->count;
    if (at > 0 && !begins_by(nth(eased, at - 1), from))
        at = how_many(eased, begins_by, from);
    uint8_t place = (uint8_t)eased->count;
    if (eased->count == TAKEN) {
        place = eased->order[0];
        at -= at > 0;
        memmove(eased->order, eased->order + 1, at);
    } else {
        memmove(eased->order + at + 1, eased->order + at, eased->count - at);
        eased->count++;
    }
    double before = at > 0 ? nth(eased, at - 1)->latest : 0;
    eased->order[at] = place;
    eased->taken[place] = (struct taken){from, to, xfw_max(before, to)};
    for (unsigned i = at + 1; i < eased->count && nth(eased, i)->latest < to; i++)
        eased->taken[eased->order[i]].latest = to;
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
