/*
 * The probe's GPU kernels: names and parameters, used by the code that launches them (probe/),
 * implements them (kernels.cu) or simulates them (tools/simgpu, by name).
 *
 * All are extern "C" in one module. Parameters are passed to cuLaunchKernel in the order below;
 * pointers are device addresses (of device, mapped or managed memory).
 *
 *   xfp_gate(uint32_t *words, uint64_t limit_ns)            1 thread
 *     Spins until words[0] is not 0. What is queued behind it in its stream starts together, so
 *     that the host's submission is no part of what is measured. After limit_ns of device time it
 *     gives up, sets words[1] to 1 and ends: a host that died or blocked never hangs the GPU.
 *
 *   xfp_read(const uint8_t *src, uint64_t bytes, uint32_t *sink)      any grid
 *     Reads every 16-byte word of src once, neighbouring threads neighbouring words; bytes is a
 *     multiple of 16, src aligned to 16. Adds the xor of all 32-bit words to *sink by xor, so that
 *     *sink tells whether all of src was seen.
 *
 *   xfp_write(uint8_t *dst, uint64_t bytes, uint32_t value)           any grid
 *     Writes value to every 32-bit word of dst; alignment and size as above.
 *
 *   xfp_copy(const uint8_t *src, uint64_t bytes, uint8_t *dst)        any grid
 *     Reads every 16-byte word of src and writes it to dst, in one pass; aligned and
 *     sized as above.
 *
 *   xfp_chase(const uint64_t *first, uint64_t steps, uint64_t *last)  1 thread
 *     Follows steps links from first: each cell holds the byte distance, from first, of the next
 *     cell. Stores the last distance.
 *
 *   xfp_spin(uint64_t ns)                                             any grid
 *     Each block spins for ns of the device's clock.
 */
#ifndef XFP_KERNELS_H
#define XFP_KERNELS_H

#include <stddef.h>

#define XFP_KERNEL_LIST(X)                                                                         \
    X(XFP_KERNEL_GATE, "xfp_gate")                                                                 \
    X(XFP_KERNEL_READ, "xfp_read")                                                                 \
    X(XFP_KERNEL_WRITE, "xfp_write")                                                               \
    X(XFP_KERNEL_CHASE, "xfp_chase")                                                               \
    X(XFP_KERNEL_SPIN, "xfp_spin")                                                                 \
    X(XFP_KERNEL_COPY, "xfp_copy")

#define XFP_KERNEL_ENUM(symbol, name) symbol,
enum xfp_kernel { XFP_KERNEL_LIST(XFP_KERNEL_ENUM) XFP_KERNEL_COUNT };
#undef XFP_KERNEL_ENUM

enum xfp_gate_words { XFP_GATE_OPEN = 0, XFP_GATE_GAVE_UP = 1, XFP_GATE_WORDS = 2 };

/* The module to load (a fat binary), or NULL when the build had no nvcc. */
const void *xfp_kernel_image(size_t *bytes);

#endif
