#include "analyzer/whatif/eased.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/callers.h"

#define EASED_PART 0.5

struct xfw_eased {
    const double *alone_ns;
    struct xfw_callers callers;
    struct now { /* the call of the caller in the same place */
        bool eased, submits;
        double ns;
    } now[XFW_CALLERS];
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

/* For how long the call has the driver. */
static double held_ns(const struct xfw_op *op)
{
    return xfw_op_waits_for_copy(op) ? op->own_ns + xfw_op_took(op) : op->own_ns;
}

/* What a call that comes now waits for; less than 0: none that was under way is eased. */
static double rest_ns(const struct xfw_eased *eased, const struct xfw_op *was)
{
    bool any = false;
    double rest = 0;
    for (unsigned i = 0; i < eased->callers.count; i++) {
        const struct xfw_caller *other = &eased->callers.items[i];
        const struct now *now = &eased->now[i];
        double left = other->end_ns - was->start_ns;
        if (other->tid == was->tid || !other->holds || left <= 0)
            continue;
        any = any || now->eased;
        rest += now->eased
                    ? xfw_min(left, now->ns)
                    : xfw_caller_rest_ns(other, was->start_ns,
                                         now->submits ? eased->alone_ns[other->kind] : INFINITY);
    }
    return any ? rest : -1;
}

static struct now *now_of(struct xfw_eased *eased, int32_t tid)
{
    const struct xfw_caller *of = xfw_callers_of(&eased->callers, tid);
    return of ? &eased->now[of - eased->callers.items] : NULL;
}

void xfw_eased_op(struct xfw_eased *eased, const struct xfw_op *was, struct xfw_op *op,
                  enum xfw_certainty certainty)
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
    struct now *now = now_of(eased, was->tid);
    if (!now)
        return;
    double alone = eased->alone_ns[was->kind], rest = before ? rest_ns(eased, was) : -1;
    const struct xfw_caller *own = xfw_callers_of(&eased->callers, was->tid);
    if (gives && before && rest >= 0 && isfinite(alone) && !own->loads && !before->loads &&
        certainty != XFW_LOW)
        op->own_ns = xfw_min(op->own_ns, alone + (certainty == XFW_HIGH ? 0 : rest));
    double held = held_ns(was), holds = held_ns(op);
    *now =
        (struct now){.eased = held > 0 && holds < EASED_PART * held, .submits = gives, .ns = holds};
}
