#include "probe/device/buffer.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "probe/device/flush.h"

void xfp_pattern(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = (i / 8 + 1) * 0x9e3779b97f4a7c15u;

        word ^= word >> 29;
        memcpy(bytes + i, &word, count - i < 8 ? count - i : 8);
    }
}

/* Not through libnuma, which prints messages on failure. */
static bool set_policy(int mode, int node)
{
    struct bitmask *nodes = numa_allocate_nodemask();
    bool done;

    if (node >= 0)
        numa_bitmask_setbit(nodes, (unsigned)node);
    done = !set_mempolicy(mode, node >= 0 ? nodes->maskp : NULL, node >= 0 ? nodes->size + 1 : 0);
    numa_free_nodemask(nodes);
    return done;
}

/* Binds the thread and its new pages to one node. Pageable memory goes to the node of the first
 * touch; the driver allocates pinned memory by the caller's policy. */
int xfp_bind(const struct xfp_system *sys, int node)
{
    if (sys->cu && sys->cu->simulated_bind_numa) { /* the simulated machine has its own nodes */
        sys->cu->simulated_bind_numa(node);
        return 0;
    }
    if (node < 0 || sys->numa_count < 2)
        return 0;
    if (numa_available() < 0)
        return -1;
    return numa_run_on_node(node) || !set_policy(MPOL_BIND, node) ? -1 : 0;
}

void xfp_unbind(const struct xfp_system *sys)
{
    if (sys->cu && sys->cu->simulated_bind_numa) {
        sys->cu->simulated_bind_numa(-1);
        return;
    }
    if (sys->numa_count < 2 || numa_available() < 0)
        return;
    sched_setaffinity(0, sizeof(sys->affinity), &sys->affinity);
    set_policy(MPOL_DEFAULT, -1);
}

static unsigned char *map_pageable(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    memset(p, 1, bytes);
    return p;
}

static xcu_result make_host(struct xfp_system *sys, struct xfp_buffer *b)
{
    unsigned int flags = XCU_HOST_PORTABLE;
    void *p = NULL;
    xcu_result result;

    if (b->place.memory == XFT_MEM_PAGEABLE || b->place.memory == XFT_MEM_REGISTERED) {
        b->host = map_pageable(b->bytes);
        if (!b->host)
            return XCU_ERROR_OUT_OF_MEMORY;
        if (b->place.memory == XFT_MEM_PAGEABLE)
            return XCU_SUCCESS;
        result = sys->cu->cuMemHostRegister(b->host, b->bytes, 0);
        if (result) {
            munmap(b->host, b->bytes);
            b->host = NULL;
        }
        return result;
    }
    if (b->place.memory == XFT_MEM_WRITE_COMBINED)
        flags |= XCU_HOST_WRITECOMBINED;
    if (b->place.memory == XFT_MEM_MAPPED)
        flags |= XCU_HOST_DEVICEMAP;
    result = sys->cu->cuMemHostAlloc(&p, b->bytes, flags);
    b->host = p;
    if (!result)
        memset(p, 1, b->bytes);
    return result;
}

static int explain(struct xfp_system *sys, const struct xfp_buffer *b, xcu_result result)
{
    bool pins = b->place.memory != XFT_MEM_DEVICE && b->place.memory != XFT_MEM_PAGEABLE;
    const char *reason = xfp_driver_reason(sys->cu, result), *hint = "";
    struct rlimit lock;

    if (pins && !getrlimit(RLIMIT_MEMLOCK, &lock) && lock.rlim_cur < b->bytes)
        hint = " (the limit on locked memory is lower: ulimit -l)";
    return xfp_fail(sys, "cannot %s %zu bytes of %s memory: %s%s", pins ? "pin" : "allocate",
                    b->bytes, xft_memory_word(b->place.memory), reason, hint);
}

int xfp_buffer_make(struct xfp_system *sys, struct xfp_device *d, struct xfp_place place,
                    size_t bytes, struct xfp_buffer *b)
{
    xcu_result result;

    *b = (struct xfp_buffer){.place = place, .device = d, .bytes = bytes};
    if (xfp_check(sys, sys->cu->cuCtxSetCurrent(d->context), "cuCtxSetCurrent"))
        return -1;
    if (place.memory == XFT_MEM_DEVICE) {
        result = sys->cu->cuMemAlloc(&b->address, bytes);
    } else {
        if (xfp_bind(sys, place.numa))
            xfp_warn(sys,
                     "no permission to bind to NUMA nodes: figures that name one may be another's");
        result = make_host(sys, b);
    }
    if (!result)
        return 0;
    b->host = NULL;
    explain(sys, b, result);
    b->bytes = 0;
    return -1;
}

int xfp_buffer_make_fitting(struct xfp_system *sys, struct xfp_device *d, struct xfp_place place,
                            size_t least, size_t *bytes, struct xfp_buffer *b)
{
    size_t wanted = *bytes;
    char why[sizeof(sys->error)];

    why[0] = '\0';
    while (xfp_buffer_make(sys, d, place, *bytes, b)) {
        if (!*why)
            memcpy(why, sys->error, sizeof(why));
        if (*bytes / 2 < least)
            return -1;
        *bytes /= 2;
    }
    if (*bytes < wanted)
        snprintf(sys->notice, sizeof(sys->notice), "measured up to %zu bytes only: %.180s", *bytes,
                 why);
    return 0;
}

void xfp_buffer_free(struct xfp_system *sys, struct xfp_buffer *b)
{
    if (!b->bytes)
        return;
    sys->cu->cuCtxSetCurrent(b->device->context);
    if (b->place.memory == XFT_MEM_DEVICE)
        sys->cu->cuMemFree(b->address);
    else if (b->place.memory == XFT_MEM_REGISTERED)
        sys->cu->cuMemHostUnregister(b->host);
    else if (b->place.memory != XFT_MEM_PAGEABLE)
        sys->cu->cuMemFreeHost(b->host);
    if (b->place.memory == XFT_MEM_PAGEABLE || b->place.memory == XFT_MEM_REGISTERED)
        munmap(b->host, b->bytes);
    *b = (struct xfp_buffer){0};
}

int xfp_buffer_fill(struct xfp_system *sys, const struct xfp_buffer *b, size_t bytes)
{
    if (b->host) {
        memcpy(b->host, sys->pattern, bytes);
        return 0;
    }
    sys->cu->cuCtxSetCurrent(b->device->context);
    return xfp_check(sys, sys->cu->cuMemcpyHtoD(b->address, sys->pattern, bytes),
                     "filling the source");
}

int xfp_buffer_clear(struct xfp_system *sys, const struct xfp_buffer *b, size_t bytes)
{
    if (b->host) {
        memset(b->host, 0, bytes);
        return 0;
    }
    sys->cu->cuCtxSetCurrent(b->device->context);
    if (xfp_check(sys, sys->cu->cuMemsetD8(b->address, 0, bytes), "clearing the destination"))
        return -1;
    return xfp_check(sys, sys->cu->cuCtxSynchronize(), "clearing the destination");
}

void xfp_flush_buffer(const struct xfp_system *sys, const struct xfp_buffer *b, size_t bytes)
{
    if (!b->host)
        return;
    if (sys->warm && b->place.memory != XFT_MEM_WRITE_COMBINED)
        xfp_rewrite(b->host, bytes);
    else if (sys->flush)
        xfp_flush(b->host, bytes);
}

static int compare(struct xfp_system *sys, const unsigned char *got, size_t bytes)
{
    size_t at = 0;

    if (!memcmp(got, sys->pattern, bytes))
        return 0;
    while (got[at] == sys->pattern[at])
        at++;
    return xfp_fail(sys, "wrong data after a copy of %zu bytes: byte %zu is 0x%02x, not 0x%02x",
                    bytes, at, got[at], sys->pattern[at]);
}

int xfp_buffer_verify(struct xfp_system *sys, const struct xfp_buffer *b,
                      const struct xfp_buffer *other, size_t bytes)
{
    const struct xfp_buffer *on_device = b;

    if (b->host && b->place.memory != XFT_MEM_WRITE_COMBINED)
        return compare(sys, b->host, bytes);
    if (b->host) {
        if (xfp_buffer_clear(sys, other, bytes) ||
            xfp_check(sys, sys->cu->cuMemcpyHtoD(other->address, b->host, bytes), "verifying"))
            return -1;
        on_device = other;
    }
    sys->cu->cuCtxSetCurrent(on_device->device->context);
    memset(sys->check, 0, bytes);
    if (xfp_check(sys, sys->cu->cuMemcpyDtoH(sys->check, on_device->address, bytes), "verifying"))
        return -1;
    return compare(sys, sys->check, bytes);
}
