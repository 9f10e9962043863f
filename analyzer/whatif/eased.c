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
    struct xfw_callers callers;
    bool eased[XFW_CALLERS]; /* the call of the caller in the same place */
    struct span {            /* in which a call has the driver, as played */
        double from, to;
    } taken[TAKEN]; /* the last of them, a ring */
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
    if (eased)
        xfw_callers_free(&eased->callers);
    free(eased);
}

/* Was an eased call of another thread under way, as recorded? */
static bool is_freed(const struct xfw_eased *eased, const struct xfw_op *was)
{
    for (unsigned i = 0; i < eased->callers.count; i++) {
        const struct xfw_caller *other = &eased->callers.items[i];
        if (other->tid != was->tid && other->holds && other->end_ns > was->start_ns &&
            eased->eased[i])
            return true;
    }
    return false;
}

/* When the driver lets in a call that comes then and takes so long: it does nothing else
 * meanwhile. */
static double let_in(const struct xfw_eased *eased, double from, double ns)
{
    unsigned count = eased->taken_count < TAKEN ? eased->taken_count : TAKEN;
    bool moved = true;
    while (moved) {
        moved = false;
        for (unsigned i = 0; i < count; i++) {
            const struct span *span = &eased->taken[i];
            bool in = span->from < from + ns && span->to > from;
            from = in ? span->to : from;
            moved = moved || in;
        }
    }
    return from;
}

static void take(struct xfw_eased *eased, double from, double ns)
{
    eased->taken[eased->taken_count++ % TAKEN] = (struct span){from, from + ns};
}

void xfw_eased_op(struct xfw_eased *eased, const struct xfw_op *was, struct xfw_op *op,
                  double begins_ns, enum xfw_certainty certainty)
{
    bool gives = xfw_op_submits(was);
    const struct xfw_call call = {.tid = was->tid,
                                  .kind = was->kind,
                                  .name = was->name,
                                  .start_ns = was->start_ns,
                                  .end_ns = was->end_ns,
                                  .submits = gives || xfw_op_waits_for_copy(was)};
    if (!xfw_op_is_call(was))
        return;
    const struct xfw_caller *before = xfw_callers_add(&eased->callers, &call);
    const struct xfw_caller *own = xfw_callers_of(&eased->callers, was->tid);
    if (!own)
        return;
    double alone = eased->alone_ns[was->kind];
    double held = xfw_op_called_ns(was), wait = 0;
    if (gives && before && isfinite(alone) && !own->loads && !before->loads &&
        certainty != XFW_LOW && (op->was_legacy || is_freed(eased, was))) {
        if (certainty != XFW_HIGH)
            wait = let_in(eased, begins_ns, alone) - begins_ns;
        op->own_ns = xfw_min(op->own_ns, alone + wait);
    }
    double holds = xfw_op_called_ns(op);
    eased->eased[own - eased->callers.items] = held > 0 && holds < EASED_PART * held;
    if (own->holds && holds > 0)
        take(eased, begins_ns + wait, gives && isfinite(alone) ? xfw_min(holds, alone) : holds);
}
