/*
 * Measures single transfers of any size by the probe's rules (docs/probe.md, "How it measures").
 * Interface for other parts of the project: `analyze --replay` uses it.
 *
 *     session = xfp_transfers_open(&settings, error, sizeof(error));
 *     here = xfp_transfers_machine(session);
 *     xfp_measure_transfers(session, specs, n, points);
 *     xfp_free(xfp_transfers_close(session));
 *
 * One session at a time, and from one thread. GPUs are this machine's, by the driver's ordinals (so
 * CUDA_VISIBLE_DEVICES counts); times are ns.
 */
#ifndef XFP_MEASURE_TRANSFERS_H
#define XFP_MEASURE_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/profile.h"

struct xfp_transfers;

struct xfp_transfers_settings {
    uint64_t most_bytes; /* of the largest transfer to come */
    bool flush;          /* XFP_COLD: host memory leaves the processor's caches before each copy */
};

/*
 * The driver, its GPUs and this machine's description. NULL with one line in error: no driver, no
 * GPU ("no driver: ...", "no GPU: ..."), not enough memory. While it is open, SIGINT, SIGTERM and
 * SIGHUP ask to stop measuring; xfp_transfers_stopped() is then true.
 */
struct xfp_transfers *xfp_transfers_open(const struct xfp_transfers_settings *settings, char *error,
                                         size_t error_bytes);
/* Releases everything except this machine's description, which the caller frees (xfp_free()). */
struct xfp_profile *xfp_transfers_close(struct xfp_transfers *session);
bool xfp_transfers_stopped(const struct xfp_transfers *session);

/* This machine: a profile without paths, the session's. */
const struct xfp_profile *xfp_transfers_machine(const struct xfp_transfers *session);

/* A copy to be measured: H2D, D2H, D2D or P2P. */
struct xfp_transfer_spec {
    uint64_t bytes;
    uint64_t row_bytes; /* bytes of a row; the host's pitch is twice that (H2D, D2H); bytes is a
                           multiple of it. 0 = contiguous */
    enum xft_direction direction;
    struct xfp_place src, dst; /* numa -1: as the system gives it */
    enum xfp_cache cache;      /* of the host's memory */
    bool blocking;             /* also measures the synchronous form (contiguous H2D, D2H) */
    bool peer_access;          /* P2P: enabled */
    uint64_t slice_ns;         /* wall time for its samples; at least six are taken */
};

struct xfp_transfer_point {
    enum xfp_basis basis;   /* XFP_MEASURED, or XFP_UNKNOWN: it could not be */
    struct xfp_point point; /* of exactly the spec's bytes */
    char why[240];          /* why it was not measured; "" = it was, or measuring was stopped */
};

/* Measures n specs in sequence. Those not begun when measuring is stopped are unknown.
 * Returns how many were measured. */
size_t xfp_measure_transfers(struct xfp_transfers *session, const struct xfp_transfer_spec *specs,
                             size_t n, struct xfp_transfer_point *points);

#endif
