#include "analyzer/whatif/changes/both_ways.h"

#include <math.h>

#include "analyzer/whatif/changes/asked.h"

/* Relative errors: how much of them is added. */
static double errors_taken(enum xfw_certainty certainty)
{
    return certainty == XFW_LOW ? 1 : certainty == XFW_HIGH ? -1 : 0;
}

static void ask(struct xfw_slower *slower, const struct xfa_analysis *analysis,
                const struct xfw_op *op, enum xfw_certainty certainty)
{
    double errors = errors_taken(certainty);
    int gpu = xfa_achievable_gpu(&analysis->achievable, op->gpu);
    struct xfp_place host = {XFT_MEM_PINNED, -1, -1}, device = {XFT_MEM_DEVICE, gpu, -1};
    struct xfp_place src = op->engine == XFW_TO_DEVICE ? host : device;
    struct xfp_place dst = op->engine == XFW_TO_DEVICE ? device : host;
    const struct xfp_path *alone = xfp_find(analysis->profile, XFP_COPY, src, dst, false);
    const struct xfp_path *both =
        xfp_find_loaded(analysis->profile, XFP_COPY, src, dst, XFP_BOTH_WAYS);
    struct xfp_estimate one = {.basis = XFP_UNKNOWN}, two = one;
    if (alone && both) {
        one = xfp_time(alone, op->bytes);
        two = xfp_time(both, op->bytes);
    }
    bool known = one.basis != XFP_UNKNOWN && two.basis != XFP_UNKNOWN;
    *slower = (struct xfw_slower){.bytes = op->bytes, .gpu = op->gpu};
    if (known) {
        slower->alone = one.ns * (1 - errors * one.error);
        slower->both = two.ns * (1 + errors * two.error);
    }
}

double xfw_both_ways(struct xfw_both_ways *ways, const struct xfa_analysis *analysis,
                     enum xfw_certainty certainty, const struct xfw_op *op)
{
    struct xfw_slower *slower =
        &ways->answers[op->engine == XFW_TO_HOST][xfw_asked_place(op->bytes, XFW_BOTH_WAYS_SIZES)];
    if (!analysis->profile || op->duration_ns <= 0)
        return 1;
    if (slower->bytes != op->bytes || slower->gpu != op->gpu)
        ask(slower, analysis, op, certainty);
    if (slower->alone <= 0)
        return 1;
    return fmax(1, fmin(slower->both / slower->alone, slower->both / op->duration_ns));
}
