#include "analyzer/whatif/schedule/cached.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/schedule/callers.h"

void xfw_cached_free(struct xfw_cached *cached)
{
    free(cached->ns);
    *cached = (struct xfw_cached){0};
}

static bool by_processor(const struct xfa_classes *classes, const struct xfw_op *op)
{
    return op->what == XFW_COPY && op->class < classes->classes.count &&
           xfa_row_pageable(&xfa_class_key_at(classes, op->class)->row);
}

/* What it takes to bring back into the caches what the copy has put out of them. */
static double brought_back_ns(const struct xfw_op *op)
{
    return XFW_CACHED_NS_PER_BYTE * xfw_min((double)op->bytes, XFW_CACHE_BYTES);
}

double *xfw_cached_of(struct xfw_cached *cached, uint32_t thread)
{
    cached->ns =
        xfa_grown(cached->ns, &cached->capacity, &cached->count, thread, sizeof *cached->ns);
    return &cached->ns[thread];
}

void xfw_cached_take(struct xfw_cached *cached, struct xfw_op *op)
{
    if (op->thread >= cached->count)
        return;
    double *to_come = &cached->ns[op->thread];
    double less = xfw_min(*to_come, XFW_MOST_CACHED * op->gap_ns);
    op->gap_ns -= less;
    *to_come -= less;
}

void xfw_cached_op(struct xfw_cached *cached, const struct xfa_classes *classes,
                   const struct xfw_op *was, struct xfw_op *op)
{
    xfw_cached_take(cached, op);
    if (by_processor(classes, was))
        *xfw_cached_of(cached, was->thread) +=
            xfw_min(xfw_max(0, xfw_op_called_ns(was) - xfw_op_called_ns(op)), brought_back_ns(was));
}
