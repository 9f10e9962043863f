/*
 * Managed memory for the benchmarks: allocated, moved to where a sample starts, touched by the
 * host.
 *
 * Never more than a quarter of the device's free memory (Comm|Scope, section 3.4, leaves room in
 * the same way), so that no evictions are measured.
 */
#ifndef XFP_MANAGED_H
#define XFP_MANAGED_H

#include "probe/device/device.h"

#define XFP_HOST (-1) /* the host, where functions take a device's ordinal */

struct xfp_managed {
    struct xfp_device *device; /* in whose context it was made */
    xcu_deviceptr address;
    size_t bytes;
};

/* Whether memory migrates on access between the host and this device. */
bool xfp_managed_applies(struct xfp_system *sys, int ordinal);

/* Bytes that may be allocated on this device, at most `most`: a multiple of `unit`, possibly 0. The
 * device is open. */
size_t xfp_managed_room(struct xfp_system *sys, struct xfp_device *d, size_t most, size_t unit);

/* 0, or -1 with the system's error and nothing held. Filled with the pattern, on the host. */
int xfp_managed_make(struct xfp_system *sys, struct xfp_device *d, size_t bytes,
                     struct xfp_managed *m);
void xfp_managed_free(struct xfp_system *sys, struct xfp_managed *m);

/* Moves the first bytes to a device, or XFP_HOST, before it returns. */
int xfp_managed_move(struct xfp_system *sys, const struct xfp_managed *m, size_t bytes, int to);

/* The host reads a word of every page of the first bytes; returns their xor. */
uint64_t xfp_managed_touch(struct xfp_system *sys, const struct xfp_managed *m, size_t bytes);

/* 0 when the first bytes have the pattern; -1 with the system's error if not. Moves them to the
 * host. */
int xfp_managed_verify(struct xfp_system *sys, const struct xfp_managed *m, size_t bytes);

#endif
