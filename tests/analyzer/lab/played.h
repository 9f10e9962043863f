/*
 * Ops that are made by hand and played with a change, for tests of what it makes of them: one
 * thread, one GPU. Fails by abort().
 */
#ifndef PLAYED_H
#define PLAYED_H

#include "analyzer/whatif/schedule/change.h"
#include "tests/analyzer/lab/analyzed.h"

#define MOST_PLAYED 64

struct played {
    struct xfw_op ops[MOST_PLAYED];
    size_t count;
};

/* The thread does something else for gap_ns, then calls; the call takes own_ns. Pointers are good
 * until played_ns(). */
struct xfw_op *played_call(struct played *played, double gap_ns, double own_ns);
/* Submitted in stream 0; latency and space are 0. The engine is that of the direction. */
struct xfw_op *played_copy(struct played *played, double gap_ns, double own_ns, double device_ns);
struct xfw_op *played_kernel(struct played *played, double gap_ns, double own_ns, double device_ns);
/* Waits for stream 0. */
struct xfw_op *played_sync(struct played *played, double gap_ns);

/* When the thread is through with all of it; change NULL: unchanged. */
double played_ns(const struct played *played, const struct xfa_analysis *analysis,
                 struct xfw_change *change, enum xfw_certainty certainty);
/* When the device is. */
double played_device_ns(const struct played *played, const struct xfa_analysis *analysis,
                        struct xfw_change *change, enum xfw_certainty certainty);

#endif
