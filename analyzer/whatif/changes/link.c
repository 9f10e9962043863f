#include "analyzer/whatif/changes/link.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

#define FIXED_NS 3000.0 /* of a copy, where the profile has no model */

struct link {
    struct xfw_change change;
    struct xfw_link_factors *factors;
    size_t count;
    double at_worst; /* of what is gained */
};

static void change_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                      struct xfw_op *op)
{
    const struct link *link = (const struct link *)change;
    (void)self;
    if (op->what != XFW_COPY || op->class == XFW_NONE || op->gpu < 0 ||
        (size_t)op->gpu >= link->count ||
        (op->engine != XFW_TO_DEVICE && op->engine != XFW_TO_HOST))
        return;
    const struct xfa_class *class = xfa_class_at(&change->analysis->classes, op->class);
    if (xfa_row_pageable(&class->key.row))
        return;
    const struct xfp_fit *fit = class->achievable.fit;
    double fixed = fmin(op->duration_ns, fit ? fit->Lo_ns : FIXED_NS);
    const struct xfw_link_factors *factors = &link->factors[op->gpu];
    double factor = op->engine == XFW_TO_DEVICE ? factors->to_device : factors->to_host;
    double faster = fixed + (op->duration_ns - fixed) / factor;
    double gained = op->duration_ns - faster;
    op->duration_ns -= xfw_player_certainty(player) == XFW_LOW ? link->at_worst * gained : gained;
}

static void release(struct xfw_change *change)
{
    free(((struct link *)change)->factors);
}

static const struct xfw_change_type type = {.name = "link", .op = change_op, .free = release};

struct xfw_change *xfw_change_link(const struct xfa_analysis *analysis,
                                   const struct xfw_link_factors *factors, size_t count,
                                   bool surely)
{
    struct link *link = xfa_alloc(sizeof *link);
    link->change = (struct xfw_change){.type = &type, .analysis = analysis};
    link->factors = xfa_alloc((count + 1) * sizeof *factors);
    memcpy(link->factors, factors, count * sizeof *factors);
    link->count = count;
    link->at_worst = surely ? 0.5 : 0;
    return &link->change;
}
