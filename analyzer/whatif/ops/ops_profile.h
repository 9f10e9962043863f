/*
 * What the profile has for ops, looked up once for each GPU. Private to whatif/. GPUs are the run's
 * numbers, times ns, 0 where the profile has none.
 */
#ifndef XFW_OPS_PROFILE_H
#define XFW_OPS_PROFILE_H

#include "analyzer/pass/achievable.h"
#include "analyzer/whatif/op/op.h"

/* Zeroed at first but for achievable. */
struct xfw_ops_profile {
    const struct xfa_achievable *achievable;
    struct xfw_ops_gpu {
        bool asked, one_engine;
        double hold_ns; /* for which a host function holds its stream up by itself (recorded.h) */
        const struct xfp_path *fetches; /* to pageable memory; NULL: not known */
    } gpus[XFW_GPUS];
};

const struct xfw_ops_gpu *xfw_ops_profile_gpu(struct xfw_ops_profile *profile, int gpu);

/* The call of a copy from the GPU to pageable memory, which waits for it, without records; 0: not
 * known. */
double xfw_ops_profile_fetch_ns(struct xfw_ops_profile *profile, int gpu, uint64_t bytes);

/* What it takes by itself to free device memory: to know what a function took that it waited for.
 * 0: not known. */
double xfw_ops_profile_free_ns(const struct xfw_ops_profile *profile, const struct xfw_op *op);

#endif
