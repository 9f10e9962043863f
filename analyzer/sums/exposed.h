/*
 * How long copies kept GPUs' links busy, and how much of that was exposed: no kernel ran on that
 * GPU meanwhile. By the device's own times of copies to and from a GPU, and of kernels. Where
 * recording gave way (xfa_process sampled), copies without such times count from their call on, for
 * as long as others of their class take; up to one in 16 of which nothing is known may be left out.
 */
#ifndef XFA_EXPOSED_H
#define XFA_EXPOSED_H

#include "analyzer/pass/observer.h"

#define XFA_MAX_BUSY (1u << 20) /* kept in all; beyond, nothing is known */

struct xfa_busy {
    uint64_t start_ns, end_ns; /* of the wall clock */
    int16_t gpu;               /* the run's number */
};

struct xfa_busy_times {
    struct xfa_busy *all;
    size_t count, capacity;
    uint32_t last[XFA_PROCESS_GPUS]; /* by GPU: number + 1 of the one added last */
};

struct xfa_exposed {
    struct xfa_busy_times copies, kernels;
    uint64_t timed, untimed; /* copies with times, and without */
    bool any_untimed;        /* a process has some of which none should be */
    bool no_kernels;         /* a process did not record them */
    bool beyond;
};

/* What it comes to. Not known: NAN. */
struct xfa_exposure {
    double copied_ns;  /* on each GPU, copies at the same time counted once; GPUs added up */
    double exposed_ns; /* of these */
    unsigned gpus;     /* that copied */
};

struct xfa_observer xfa_exposed_observer(struct xfa_exposed *exposed); /* which starts zeroed */
struct xfa_exposure xfa_exposed_sum(struct xfa_exposed *exposed);
void xfa_exposed_free(struct xfa_exposed *exposed);

#endif
