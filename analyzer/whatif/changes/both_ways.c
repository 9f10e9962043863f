#include "analyzer/whatif/changes/both_ways.h"

#include <math.h>

#include "analyzer/whatif/changes/asked.h"

/* Relative errors: how much of them is added. */
static double errors_taken(enum xfw_certainty certainty)
{
    return certainty == XFW_LOW ? 1 : certainty == XFW_HIGH ? -1 : 0;
}

static void find_paths(struct xfw_directions *paths, const struct xfa_analysis *analysis,
                       const struct xfw_op *op)
{
    int gpu = xfa_achievable_gpu(&analysis->achievable, op->gpu);
    struct xfp_place host = {XFT_MEM_PINNED, -1, -1}, device = {XFT_MEM_DEVICE, gpu, -1};
    struct xfp_place src = op->engine == XFW_TO_DEVICE ? host : device;
    struct xfp_place dst = op->engine == XFW_TO_DEVICE ? device : host;
    *paths = (struct xfw_directions){
        .asked = true,
        .gpu = op->gpu,
        .alone = xfp_find(analysis->profile, XFP_COPY, src, dst, false),
        .both = xfp_find_loaded(analysis->profile, XFP_COPY, src, dst, XFP_BOTH_WAYS),
    };
}

static void ask(struct xfw_slower *slower, const struct xfw_directions *paths,
                const struct xfw_op *op, enum xfw_certainty certainty)
{
    double errors = errors_taken(certainty);
    struct xfp_estimate one = {.basis = XFP_UNKNOWN}, two = one;
    if (paths->alone && paths->both) {
        one = xfp_time(paths->alone, op->bytes);
        two = xfp_time(paths->both, op->bytes);
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
    bool to_host = op->engine == XFW_TO_HOST;
    struct xfw_slower *slower =
        &ways->answers[to_host][xfw_asked_place(op->bytes, XFW_BOTH_WAYS_SIZES)];
    struct xfw_directions *paths = &ways->paths[to_host];
    if (!analysis->profile || op->duration_ns <= 0)
        return 1;
    if (slower->bytes != op->bytes || slower->gpu != op->gpu) {
        if (!paths->asked || paths->gpu != op->gpu)
            find_paths(paths, analysis, op);
        ask(slower, paths, op, certainty);
    }
    if (slower->alone <= 0)
        return 1;
    return xfw_max(1, xfw_min(slower->both / slower->alone, slower->both / op->duration_ns));
}
