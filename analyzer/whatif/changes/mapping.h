/*
 * What kernels take in memory of the device and in memory of the host that is mapped, by the
 * machine's profile. Times are ns; GPUs are the run's numbers.
 */
#ifndef XFW_MAPPING_H
#define XFW_MAPPING_H

#include "analyzer/whatif/change.h"

/* Nothing is known of less: a kernel's own time is more than that of its memory. */
#define XFW_MAPPING_LEAST ((uint64_t)1 << 20)

/* A byte that a kernel reads of the device's memory, at the pace of copies within it; NAN: not
 * measured. */
double xfw_device_byte_ns(const struct xfa_achievable *achievable, int gpu);

/* To read (or write) so many bytes of the host's memory, each once; NAN: not measured. */
double xfw_mapped_ns(const struct xfa_achievable *achievable, int gpu, bool writes, double bytes);

/* How many times over a kernel can have read (at most) memory of so many bytes. */
double xfw_times_over(const struct xfa_achievable *achievable, int gpu, uint64_t bytes,
                      double kernel_ns);
#define XFW_READ_AGAIN 1.5      /* it has read some of it more than once */
#define XFW_MOST_TIMES_OVER 100 /* more than that: it does something else all the time */

/* The part of so many bytes in the device's memory that a kernel can have read in its time. */
double xfw_share_read(const struct xfa_achievable *achievable, int gpu, uint64_t bytes,
                      double kernel_ns);
#define XFW_READ_IN_PART 0.25

#endif
