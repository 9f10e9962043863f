/*
 * Launches the probe's kernels (kernels.h), and computes the results that they should have.
 */
#ifndef XFP_LAUNCH_H
#define XFP_LAUNCH_H

#include "probe/device/device.h"

/* Whether kernels are available: built with nvcc, or known to the simulated GPU. */
bool xfp_kernels_built(const struct xfp_system *sys);

/* Opens the device; -1 with the system's error also when its kernels do not load. */
int xfp_device_open_kernels(struct xfp_system *sys, struct xfp_device *d);

/* bytes: a multiple of 16, address aligned to 16. sink: a 32-bit word on the device. */
xcu_result xfp_launch_read(struct xfp_system *sys, struct xfp_device *d, xcu_stream stream,
                           xcu_deviceptr src, uint64_t bytes, xcu_deviceptr sink);
xcu_result xfp_launch_write(struct xfp_system *sys, struct xfp_device *d, xcu_stream stream,
                            xcu_deviceptr dst, uint64_t bytes, uint32_t value);
xcu_result xfp_launch_copy(struct xfp_system *sys, struct xfp_device *d, xcu_stream stream,
                           xcu_deviceptr src, uint64_t bytes, xcu_deviceptr dst);
xcu_result xfp_launch_chase(struct xfp_system *sys, struct xfp_device *d, xcu_stream stream,
                            xcu_deviceptr first, uint64_t steps, xcu_deviceptr last);

/* What xfp_read leaves in a sink of 0 after reading these bytes. */
uint32_t xfp_fold(const unsigned char *bytes, size_t count);

/* Whether every 32-bit word equals value. */
bool xfp_all_words(const unsigned char *bytes, size_t count, uint32_t value);

/* Whether kernels on device `from` may access memory of device `to` (ordinals). */
bool xfp_can_access(struct xfp_system *sys, int from, int to);

/* An attribute of a device by number, 0 when not known. */
int xfp_attribute(struct xfp_system *sys, int ordinal, int which);

#endif
