#include "analyzer/whatif/cached.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/callers.h"
#include "analyzer/whatif/change.h"

void xfw_cached_free(struct xfw_cached *cached)
{
    free(cached->ns);
    *cached = (struct xfw_cached){0};
}

static bool by_processor(const struct xfa_classes *classes, const struct xfw_op *op)
{
    return op->what == XFW_COPY && op->class != XFW_NONE &&
           xfa_row_pageable(&xfa_class_at(classes, op->class)->key.row);
}

/* For how long the thread is in the call, without work that was there before. */
static double called_ns(const struct xfw_op *op)
{
    return xfw_op_waits_for_copy(op) ? op->own_ns + xfw_op_took(op) : op->own_ns;
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
        *to_come += xfw_max(0, called_ns(was) - called_ns(op));
}
