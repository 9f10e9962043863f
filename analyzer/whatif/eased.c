#include "analyzer/whatif/eased.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/callers.h"

#define EASED_PART 0.5
#define TAKEN                                                                                      \
    64 /* the threads are not further from each other, as played, than such a number of calls */

struct xfw_eased {
    const double *alone_ns;
    uint64_t eased;      /* a bit for each place of a thread: its last call is */
    struct taken {       /* in which a call has the driver, as played */
        double from, to; /* ns */
        double latest;   /* the end of this one and of all before it */
    } taken[TAKEN];      /* the last ones */
    unsigned taken_count;
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

/* When the driver lets in a call that comes then and takes so long: it does nothing else
 * meanwhile. From the last ones on, as few are still to be over. */
static double let_in(const struct xfw_eased *eased, double from, double ns)
{
    const unsigned count = eased->taken_count < TAKEN ? eased->taken_count : TAKEN;
    for (;;) {
        double next = from;
        for (unsigned i = 1; i <= count; i++) {
            const struct taken *taken = &eased->taken[(eased->taken_count - i) % TAKEN];
            if (taken->latest <= from)
                break;
            if (taken->from < from + ns && taken->to > next)
                next = taken->to;
        }
        if (next == from)
            return from;
        from = next;
    }
}

static void take(struct xfw_eased *eased, double from, double ns)
{
    const double before =
        eased->taken_count ? eased->taken[(eased->taken_count - 1) % TAKEN].latest : 0;
    eased->taken[eased->taken_count++ % TAKEN] =
        (struct taken){from, from + ns, xfw_max(before, from + ns)};
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
        op->own_ns = xfw_min(op->own_ns, alone + wait);
    }
    double holds = xfw_op_called_ns(op);
    const uint64_t own = (uint64_t)1 << (was->caller - 1);
    bool is_eased = held > 0 && holds < EASED_PART * held;
    eased->eased = is_eased ? eased->eased | own : eased->eased & ~own;
    if (xfw_op_holds(was) && holds > 0)
        take(eased, begins_ns + wait, gives && isfinite(alone) ? xfw_min(holds, alone) : holds);
}
