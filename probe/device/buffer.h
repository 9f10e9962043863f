/*
 * The source and the destination of a transfer: every kind of memory, on the NUMA node asked for,
 * every page touched before the measurement.
 */
#ifndef XFP_BUFFER_H
#define XFP_BUFFER_H

#include "probe/device/device.h"
#include "xferscope/profile.h"

struct xfp_buffer {
    struct xfp_place place;
    struct xfp_device *device; /* whose context it was made in */
    size_t bytes;
    unsigned char *host;   /* NULL for device memory */
    xcu_deviceptr address; /* of device memory */
};

/*
 * Makes the memory; host memory (and the calling thread) is bound to place.numa when that is not
 * negative. On failure returns -1 with the system's error set and nothing held.
 */
int xfp_buffer_make(struct xfp_system *sys, struct xfp_device *d, struct xfp_place place,
                    size_t bytes, struct xfp_buffer *buffer);

/* As above, with half of `*bytes` (down to `least`) for as long as memory does not suffice; says
 * so in the system's notice. */
int xfp_buffer_make_fitting(struct xfp_system *sys, struct xfp_device *d, struct xfp_place place,
                            size_t least, size_t *bytes, struct xfp_buffer *buffer);
void xfp_buffer_free(struct xfp_system *sys, struct xfp_buffer *buffer);

/* The first bytes become the pattern, or zeros. */
int xfp_buffer_fill(struct xfp_system *sys, const struct xfp_buffer *buffer, size_t bytes);
int xfp_buffer_clear(struct xfp_system *sys, const struct xfp_buffer *buffer, size_t bytes);

/* Flushes the first bytes of host memory from the processor's caches, or writes them into the
 * caches, as the system's settings say; does nothing for device memory. No transfer may be in
 * flight. */
void xfp_flush_buffer(const struct xfp_system *sys, const struct xfp_buffer *buffer, size_t bytes);

/*
 * 0 when the first bytes have the pattern; else -1, and the error names the first wrong byte.
 * Write-combined memory, which the processor reads slowly, is read back through `other`, a device
 * buffer that is overwritten.
 */
int xfp_buffer_verify(struct xfp_system *sys, const struct xfp_buffer *buffer,
                      const struct xfp_buffer *other, size_t bytes);

/* The pattern: all 8-byte words of a buffer differ; the same in every run. */
void xfp_pattern(unsigned char *bytes, size_t count);

/* The calling thread and its new memory stay on that node; -1, or a machine with one node: nothing
 * happens. -1 when the system does not let it (in some containers). */
int xfp_bind(const struct xfp_system *sys, int node);

/* Ends the thread's binding to a node. */
void xfp_unbind(const struct xfp_system *sys);

#endif
