#include "probe/device/managed.h"

#include <string.h>
#include <unistd.h>

#include "probe/device/buffer.h"
#include "probe/device/launch.h"

bool xfp_managed_applies(struct xfp_system *sys, int ordinal)
{
    return sys->cu->cuMemAllocManaged && sys->cu->cuMemPrefetchAsync && sys->cu->cuMemGetInfo &&
           xfp_kernels_built(sys) && xfp_attribute(sys, ordinal, XFP_ATTR_CONCURRENT_MANAGED) == 1;
}

size_t xfp_managed_room(struct xfp_system *sys, struct xfp_device *d, size_t most, size_t unit)
{
    size_t free_bytes = 0, total = 0;

    sys->cu->cuCtxSetCurrent(d->context);
    if (sys->cu->cuMemGetInfo(&free_bytes, &total))
        return 0;
    most = most < free_bytes / 4 ? most : free_bytes / 4;
    return most / unit * unit;
}

static unsigned char *host_view(const struct xfp_managed *m)
{
    return (unsigned char *)(uintptr_t)m->address;
}

static void tell(struct xfp_system *sys, const void *address, size_t bytes, int write)
{
    if (sys->cu->simulated_touch)
        sys->cu->simulated_touch(address, bytes, write);
}

int xfp_managed_make(struct xfp_system *sys, struct xfp_device *d, size_t bytes,
                     struct xfp_managed *m)
{
    const unsigned int global = 1;

    *m = (struct xfp_managed){.device = d, .bytes = bytes};
    sys->cu->cuCtxSetCurrent(d->context);
    if (!bytes)
        return xfp_fail(sys, "too little free memory on GPU %d for managed memory", d->ordinal);
    if (xfp_check(sys, sys->cu->cuMemAllocManaged(&m->address, bytes, global),
                  "allocating managed memory")) {
        m->bytes = 0;
        return -1;
    }
    for (size_t at = 0; at < bytes; at += sys->most_bytes)
        memcpy(host_view(m) + at, sys->pattern,
               bytes - at < sys->most_bytes ? bytes - at : sys->most_bytes);
    tell(sys, host_view(m), bytes, 1);
    return 0;
}

void xfp_managed_free(struct xfp_system *sys, struct xfp_managed *m)
{
    if (!m->bytes)
        return;
    sys->cu->cuCtxSetCurrent(m->device->context);
    sys->cu->cuMemFree(m->address);
    m->bytes = 0;
}

int xfp_managed_move(struct xfp_system *sys, const struct xfp_managed *m, size_t bytes, int to)
{
    struct xfp_device *d = m->device;
    xcu_result result;

    sys->cu->cuCtxSetCurrent(d->context);
    result = sys->cu->cuMemPrefetchAsync(m->address, bytes, to, d->stream);
    if (!result)
        result = sys->cu->cuStreamSynchronize(d->stream);
    return xfp_check(sys, result, "moving managed memory");
}

uint64_t xfp_managed_touch(struct xfp_system *sys, const struct xfp_managed *m, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const volatile unsigned char *memory = host_view(m);
    uint64_t all = 0;

    tell(sys, host_view(m), bytes, 0);
    for (size_t i = 0; i < bytes; i += page)
        all ^= *(const volatile uint64_t *)(memory + i);
    return all;
}

int xfp_managed_verify(struct xfp_system *sys, const struct xfp_managed *m, size_t bytes)
{
    const unsigned char *memory = host_view(m);

    if (!sys->verify)
        return 0;
    tell(sys, memory, bytes, 0);
    if (!memcmp(memory, sys->pattern, bytes))
        return 0;
    return xfp_fail(sys, "wrong data after %zu bytes of managed memory migrated", bytes);
}
