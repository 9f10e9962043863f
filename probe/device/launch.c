#include "probe/device/launch.h"

#include <string.h>

enum {
    THREADS = 256,
    BLOCKS_EACH = 4 /* per multiprocessor: enough reads in flight for any link */
};

bool xfp_kernels_built(const struct xfp_system *sys)
{
    size_t bytes;

    return sys->cu->simulated_now_ns || xfp_kernel_image(&bytes);
}

int xfp_device_open_kernels(struct xfp_system *sys, struct xfp_device *d)
{
    if (xfp_device_open(sys, d))
        return -1;
    return d->gate ? 0 : xfp_fail(sys, "GPU %d: the probe's kernels do not load", d->ordinal);
}

int xfp_attribute(struct xfp_system *sys, int ordinal, int which)
{
    xcu_device device;
    int value = 0;

    if (sys->cu->cuDeviceGet(&device, ordinal) ||
        sys->cu->cuDeviceGetAttribute(&value, which, device))
        return 0;
    return value;
}

bool xfp_can_access(struct xfp_system *sys, int from, int to)
{
    xcu_device a, b;
    int can = 0;

    return from != to && !sys->cu->cuDeviceGet(&a, from) && !sys->cu->cuDeviceGet(&b, to) &&
           !sys->cu->cuDeviceCanAccessPeer(&can, a, b) && can;
}

static unsigned blocks_for(struct xfp_system *sys, struct xfp_device *d, uint64_t bytes)
{
    uint64_t wanted = (bytes / 16 + THREADS - 1) / THREADS;
    int processors = xfp_attribute(sys, d->ordinal, XFP_ATTR_MULTIPROCESSORS);
    uint64_t most = (uint64_t)(processors > 0 ? processors : 8) * BLOCKS_EACH;

    return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

static xcu_result launch_grid(struct xfp_system *sys, struct xfp_device *d, xcu_stream stream,
                              void *kernel, uint64_t bytes, void **parameters)
{
    return sys->cu->cuLaunchKernel(kernel, blocks_for(sys, d, bytes), 1, 1, THREADS, 1, 1, 0,
                                   stream, parameters, NULL);
}

xcu_result xfp_launch_read(struct xfp_system *sys, struct xfp_device *d, xcu_stream stream,
                           xcu_deviceptr src, uint64_t bytes, xcu_deviceptr sink)
{
    void *parameters[] = {&src, &bytes, &sink};

    return launch_grid(sys, d, stream, d->kernels[XFP_KERNEL_READ], bytes, parameters);
}

xcu_result xfp_launch_write(struct xfp_system *sys, struct xfp_device *d, xcu_stream stream,
                            xcu_deviceptr dst, uint64_t bytes, uint32_t value)
{
    void *parameters[] = {&dst, &bytes, &value};

    return launch_grid(sys, d, stream, d->kernels[XFP_KERNEL_WRITE], bytes, parameters);
}

xcu_result xfp_launch_copy(struct xfp_system *sys, struct xfp_device *d, xcu_stream stream,
                           xcu_deviceptr src, uint64_t bytes, xcu_deviceptr dst)
{
    void *parameters[] = {&src, &bytes, &dst};

    return launch_grid(sys, d, stream, d->kernels[XFP_KERNEL_COPY], bytes, parameters);
}

xcu_result xfp_launch_chase(struct xfp_system *sys, struct xfp_device *d, xcu_stream stream,
                            xcu_deviceptr first, uint64_t steps, xcu_deviceptr last)
{
    void *parameters[] = {&first, &steps, &last};

    return sys->cu->cuLaunchKernel(d->kernels[XFP_KERNEL_CHASE], 1, 1, 1, 1, 1, 1, 0, stream,
                                   parameters, NULL);
}

uint32_t xfp_fold(const unsigned char *bytes, size_t count)
{
    uint32_t all = 0, word;

    for (size_t i = 0; i + 4 <= count; i += 4) {
        memcpy(&word, bytes + i, 4);
        all ^= word;
    }
    return all;
}

bool xfp_all_words(const unsigned char *bytes, size_t count, uint32_t value)
{
    for (size_t i = 0; i + 4 <= count; i += 4)
        if (memcmp(bytes + i, &value, 4) != 0)
            return false;
    return true;
}
