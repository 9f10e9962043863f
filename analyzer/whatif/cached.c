#include "analyzer/whatif/cached.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/callers.h"

void xfw_cached_free(struct xfw_cached *cached)
{
    free(cached->ns);
    *cached = (struct xfw_cached){0};
}

static bool by_processor(const struct xfa_classes *classes, const struct xfw_op *op)
{
    return op->what == XFW_COPY && op->class < classes->classes.count &&
           xfa_row_pageable(&xfa_class_at(classes, op->class)->key.row);
}

/* What it takes to bring back into the caches what the copy has put out of them. */
static double brought_back_ns(const struct xfw_op *op)
{
    return XFW_CACHED_NS_PER_BYTE * xfw_min((double)op->bytes, XFW_CACHE_BYTES);
}

void xfw_cached_op(struct xfw_cached *cached, const struct xfa_classes *classes,
                   const struct xfw_op *was, struct xfw_op *op)
{
    cached->ns =
        xfa_grown(cached->ns, &cached->capacity, &cached->count, was->thread, sizeof *cached->ns);
    double *to_come = &cached->ns[was->thread];
    double less = xfw_min(*to_come, XFW_MOST_CACHED * op->gap_ns);
    op->gap_ns -= less;
    *to_come -= less;
    if (by_processor(classes, was))
        *to_come +=
            xfw_min(xfw_max(0, xfw_op_called_ns(was) - xfw_op_called_ns(op)), brought_back_ns(was));
}
