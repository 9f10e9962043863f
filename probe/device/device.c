/*
 * A GPU in use: context, stream, events and the gate.
 */
#include "probe/device/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Far longer than any submission, and shorter than the GPU's watchdog allows. */
#define XFP_GATE_LIMIT_NS 500000000u

int xfp_fail(struct xfp_system *sys, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(sys->error, sizeof(sys->error), format, args);
    va_end(args);
    return -1;
}

int xfp_check(struct xfp_system *sys, xcu_result result, const char *what)
{
    return result ? xfp_fail(sys, "%s: %s", what, xfp_driver_reason(sys->cu, result)) : 0;
}

void xfp_warn(struct xfp_system *sys, const char *format, ...)
{
    char line[400];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (sys->warn)
        sys->warn(sys->warned, line);
}

static int open_context(struct xfp_system *sys, struct xfp_device *d)
{
    const struct xfp_driver *cu = sys->cu;
    xcu_result result = cu->cuDeviceGet(&d->handle, d->ordinal);

    if (!result)
        result = cu->cuDevicePrimaryCtxRetain(&d->context, d->handle);
    if (result) {
        d->context = NULL;
        return xfp_fail(sys, "GPU %d: %s", d->ordinal, xfp_driver_reason(cu, result));
    }
    return xfp_check(sys, cu->cuCtxSetCurrent(d->context), "cuCtxSetCurrent");
}

static int open_queue(struct xfp_system *sys, struct xfp_device *d)
{
    const unsigned int non_blocking = 1;

    if (xfp_check(sys, sys->cu->cuStreamCreate(&d->stream, non_blocking), "cuStreamCreate"))
        return -1;
    for (size_t i = 0; i < sizeof(d->events) / sizeof(d->events[0]); i++)
        if (xfp_check(sys, sys->cu->cuEventCreate(&d->events[i], 0), "cuEventCreate"))
            return -1;
    return 0;
}

static xcu_result load_kernels(struct xfp_system *sys, struct xfp_device *d)
{
    static const char *const names[] = {
#define NAME(symbol, name) name,
        XFP_KERNEL_LIST(NAME)
#undef NAME
    };
    size_t bytes;
    const void *image = xfp_kernel_image(&bytes);
    xcu_result result;

    if (!image && sys->cu->simulated_now_ns)
        image = "the simulated GPU knows the kernels by name";
    if (!image)
        return XCU_ERROR_NOT_FOUND;
    result = sys->cu->cuModuleLoadData(&d->module, image);
    for (int k = 0; k < XFP_KERNEL_COUNT && !result; k++)
        result = sys->cu->cuModuleGetFunction(&d->kernels[k], d->module, names[k]);
    return result;
}

/* Without kernels there is no gate: small copies are then measured as fast as they can be
 * submitted, and the profile says so. */
static void open_gate(struct xfp_system *sys, struct xfp_device *d)
{
    const unsigned int flags = XCU_HOST_DEVICEMAP | XCU_HOST_PORTABLE;
    xcu_result result = load_kernels(sys, d);
    void *words = NULL;

    if (result == XCU_ERROR_NOT_FOUND) {
        xfp_warn(sys, "built without nvcc: no gate kernel, small copies are timed as they are "
                      "submitted and g is not known");
        return;
    }
    if (!result)
        result = sys->cu->cuMemHostAlloc(&words, XFP_GATE_WORDS * sizeof(uint32_t), flags);
    if (!result)
        result = sys->cu->cuMemHostGetDevicePointer(&d->gate_address, words, 0);
    if (result) {
        xfp_warn(sys,
                 "GPU %d: the probe's kernels do not load (%s): small copies are timed as they "
                 "are submitted and g is not known",
                 d->ordinal, xfp_driver_reason(sys->cu, result));
        if (words)
            sys->cu->cuMemFreeHost(words);
        return;
    }
    d->gate = words;
}

/* This process has allocated almost nothing yet: the rest is used by others. */
static void warn_when_crowded(struct xfp_system *sys, const struct xfp_device *d)
{
    size_t free_bytes = 0, total = 0;

    if (!sys->cu->cuMemGetInfo || sys->cu->cuMemGetInfo(&free_bytes, &total) || !total ||
        free_bytes > total / 4 * 3)
        return;
    xfp_warn(sys, "GPU %d: %zu of %zu MiB of its memory are free: other programs use it",
             d->ordinal, free_bytes >> 20, total >> 20);
}

int xfp_device_open(struct xfp_system *sys, struct xfp_device *d)
{
    if (d->context)
        return xfp_check(sys, sys->cu->cuCtxSetCurrent(d->context), "cuCtxSetCurrent");
    if (open_context(sys, d))
        return -1;
    if (open_queue(sys, d)) {
        xfp_device_close(sys, d);
        return -1;
    }
    open_gate(sys, d);
    warn_when_crowded(sys, d);
    return 0;
}

void xfp_device_close(struct xfp_system *sys, struct xfp_device *d)
{
    const struct xfp_driver *cu = sys->cu;

    if (!d->context)
        return;
    cu->cuCtxSetCurrent(d->context);
    for (size_t i = 0; i < sizeof(d->events) / sizeof(d->events[0]); i++)
        if (d->events[i])
            cu->cuEventDestroy(d->events[i]);
    if (d->gate)
        cu->cuMemFreeHost((void *)d->gate);
    if (d->module)
        cu->cuModuleUnload(d->module);
    if (d->stream)
        cu->cuStreamDestroy(d->stream);
    cu->cuCtxSetCurrent(NULL);
    cu->cuDevicePrimaryCtxRelease(d->handle);
    *d = (struct xfp_device){.ordinal = d->ordinal};
}

int xfp_gate_close(struct xfp_system *sys, struct xfp_device *d)
{
    uint64_t limit = XFP_GATE_LIMIT_NS;
    void *parameters[] = {&d->gate_address, &limit};

    d->gate[XFP_GATE_OPEN] = 0;
    d->gate[XFP_GATE_GAVE_UP] = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return xfp_check(sys,
                     sys->cu->cuLaunchKernel(d->kernels[XFP_KERNEL_GATE], 1, 1, 1, 1, 1, 1, 0,
                                             d->stream, parameters, NULL),
                     "launching the gate");
}

void xfp_gate_open(struct xfp_device *d)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    d->gate[XFP_GATE_OPEN] = 1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool xfp_gate_held(struct xfp_device *d)
{
    bool held = !d->gate[XFP_GATE_GAVE_UP];

    d->gave_up += !held;
    return held;
}
