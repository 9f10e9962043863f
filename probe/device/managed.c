#include "managed.h"

#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "launch.h"

bool xfp_managed_applies(struct xfp_session *s, int ordinal)
{
    return s->cu->cuMemAllocManaged && s->cu->cuMemPrefetchAsync && s->cu->cuMemGetInfo &&
           xfp_kernels_built(s) && xfp_attribute(s, ordinal, XFP_ATTR_CONCURRENT_MANAGED) == 1;
}

size_t xfp_managed_room(struct xfp_session *s, struct xfp_device *d, size_t most, size_t unit)
{
    size_t free_bytes = 0, total = 0;

    s->cu->cuCtxSetCurrent(d->context);
    if (s->cu->cuMemGetInfo(&free_bytes, &total))
        return 0;
    most = most < free_bytes / 4 ? most : free_bytes / 4;
    return most / unit * unit;
}

static unsigned char *host_view(const struct xfp_managed *m)
{
    return (unsigned char *)(uintptr_t)m->address;
}

static void tell(struct xfp_session *s, const void *address, size_t bytes, int write)
{
    if (s->cu->simulated_touch)
        s->cu->simulated_touch(address, bytes, write);
}

int xfp_managed_make(struct xfp_session *s, struct xfp_device *d, size_t bytes,
                     struct xfp_managed *m)
{
    const unsigned int global = 1;

    *m = (struct xfp_managed){.device = d, .bytes = bytes};
    s->cu->cuCtxSetCurrent(d->context);
    if (!bytes)
        return xfp_fail(s, "too little free memory on GPU %d for managed memory", d->ordinal);
    if (xfp_check(s, s->cu->cuMemAllocManaged(&m->address, bytes, global),
                  "allocating managed memory")) {
        m->bytes = 0;
        return -1;
    }
    for (size_t at = 0; at < bytes; at += s->most_bytes)
        memcpy(host_view(m) + at, s->pattern,
               bytes - at < s->most_bytes ? bytes - at : s->most_bytes);
    tell(s, host_view(m), bytes, 1);
    return 0;
}

void xfp_managed_free(struct xfp_session *s, struct xfp_managed *m)
{
    if (!m->bytes)
        return;
    s->cu->cuCtxSetCurrent(m->device->context);
    s->cu->cuMemFree(m->address);
    m->bytes = 0;
}

int xfp_managed_move(struct xfp_session *s, const struct xfp_managed *m, size_t bytes, int to)
{
    struct xfp_device *d = m->device;
    xcu_result result;

    s->cu->cuCtxSetCurrent(d->context);
    result = s->cu->cuMemPrefetchAsync(m->address, bytes, to, d->stream);
    if (!result)
        result = s->cu->cuStreamSynchronize(d->stream);
    return xfp_check(s, result, "moving managed memory");
}

uint64_t xfp_managed_touch(struct xfp_session *s, const struct xfp_managed *m, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const volatile unsigned char *memory = host_view(m);
    uint64_t all = 0;

    tell(s, host_view(m), bytes, 0);
    for (size_t i = 0; i < bytes; i += page)
        all ^= *(const volatile uint64_t *)(memory + i);
    return all;
}

int xfp_managed_verify(struct xfp_session *s, const struct xfp_managed *m, size_t bytes)
{
    const unsigned char *memory = host_view(m);

    if (!s->options->verify)
        return 0;
    tell(s, memory, bytes, 0);
    if (!memcmp(memory, s->pattern, bytes))
        return 0;
    return xfp_fail(s, "wrong data after %zu bytes of managed memory migrated", bytes);
}
