#include "analyzer/whatif/schedule/contexts.h"

static uint64_t bit_of(const struct xfw_op *op)
{
    return UINT64_C(1) << xfw_place_of_gpu(op->gpu);
}

void xfw_contexts_make(struct xfw_contexts *contexts, const struct xfw_op *op, double to)
{
    double from = xfw_max(to - xfw_op_context_ns(op), contexts->busy_until);
    if (to <= from)
        return;
    if (from > contexts->to) {
        contexts->before_ns += contexts->to - contexts->from;
        contexts->before |= contexts->making;
        contexts->making = 0;
        contexts->from = from;
    }
    contexts->to = xfw_max(contexts->to, to);
    contexts->making |= bit_of(op);
}

/* What was made up to then is within. */
static void count(struct xfw_contexts *contexts, double until)
{
    double ns = xfw_max(0, xfw_min(until, contexts->to) - contexts->from);
    contexts->ns += contexts->before_ns + ns;
    contexts->gpus |= contexts->before | (ns > 0 ? contexts->making : 0);
    contexts->from += ns;
    contexts->before_ns = 0;
    contexts->before = 0;
}

void xfw_contexts_work(struct xfw_contexts *contexts, double from, double to)
{
    if (contexts->worked) {
        count(contexts, from);
    } else {
        contexts->before_ns = 0;
        contexts->before = 0;
        contexts->from = xfw_min(contexts->to, xfw_max(contexts->from, from));
        contexts->worked = true;
    }
    contexts->from = xfw_min(contexts->to, xfw_max(contexts->from, to));
    contexts->busy_until = xfw_max(contexts->busy_until, to);
}
