/*
 * Allocation of device, pinned and managed memory; host registration.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/clock.h"
#include "tools/simgpu/gpu/machine.h"
#include "tools/simgpu/gpu/managed.h"
#include "tools/simgpu/gpu/memory.h"
#include "tools/simgpu/gpu/nodes.h"
#include "tools/simgpu/gpu/queue.h"

static struct sim_region *managed_region, *host_region;

/* ---- device memory ------------------------------------------------------------------------ */

SIM_API(cuMemAlloc_v2, SIM_CTX | SIM_UNSAFE, (xcu_deviceptr * out, size_t bytes), (out, bytes))
{
    return out ? sim_device_alloc(sim_current()->device, bytes, 0, NULL, out)
               : XCU_ERROR_INVALID_VALUE;
}

SIM_API(cuMemAllocPitch_v2, SIM_CTX | SIM_UNSAFE,
        (xcu_deviceptr * out, size_t *pitch, size_t width, size_t height, unsigned element),
        (out, pitch, width, height, element))
{
    size_t row = (width + 511) / 512 * 512, all;

    if (!out || !pitch || !width || !height || (element != 4 && element != 8 && element != 16))
        return XCU_ERROR_INVALID_VALUE;
    if (row < width || __builtin_mul_overflow(row, height, &all))
        return XCU_ERROR_OUT_OF_MEMORY;
    *pitch = row;
    return sim_device_alloc(sim_current()->device, all, 0, NULL, out);
}

/* The range that starts here, when it is of a kind that this call frees. */
static struct sim_range *to_free(const void *address, bool host)
{
    struct sim_range *r = sim_range_at(address);
    bool is_host;

    if (!r || r->start != address ||
        (r->flags & (SIM_RANGE_REGISTERED | SIM_RANGE_VMM | SIM_RANGE_SYMBOL)))
        return NULL;
    is_host = r->memory != XFT_MEM_DEVICE && r->memory != XFT_MEM_MANAGED;
    return is_host == host ? r : NULL;
}

SIM_API(cuMemFree_v2, SIM_CTX | SIM_UNSAFE, (xcu_deviceptr address), (address))
{
    struct sim_range *r = to_free((void *)address, false);
    struct sim_context *owner;

    if (!address)
        return XCU_SUCCESS;
    if (!r)
        return XCU_ERROR_INVALID_VALUE;
    owner = r->context;
    if (sim_handle_is(owner, SIM_CONTEXT))
        sim_wait_context(owner); /* frees synchronise */
    sim_do_all_owed();
    r = to_free((void *)address, false); /* another thread may have freed it meanwhile */
    return r ? sim_range_free(r) : XCU_ERROR_INVALID_VALUE;
}

SIM_API(cuMemGetInfo_v2, SIM_CTX, (size_t * left, size_t *total), (left, total))
{
    const struct sim_device *d = &sim_devices[sim_current()->device];

    if (!left || !total)
        return XCU_ERROR_INVALID_VALUE;
    *total = d->gpu->memory_bytes;
    *left = d->gpu->memory_bytes - d->used;
    return XCU_SUCCESS;
}

SIM_API(cuMemGetAddressRange_v2, SIM_CTX,
        (xcu_deviceptr * base, size_t *bytes, xcu_deviceptr address), (base, bytes, address))
{
    struct sim_range *r = sim_range_at((void *)address);

    if (!r)
        return XCU_ERROR_NOT_FOUND;
    if (base)
        *base = (xcu_deviceptr)r->start;
    if (bytes)
        *bytes = r->bytes;
    return XCU_SUCCESS;
}

/* ---- pinned memory ------------------------------------------------------------------------ */

enum { HOST_FLAGS = XCU_HOST_PORTABLE | XCU_HOST_DEVICEMAP | XCU_HOST_WRITECOMBINED };

static enum xft_memory pinned_kind(unsigned flags)
{
    if (flags & XCU_HOST_WRITECOMBINED)
        return XFT_MEM_WRITE_COMBINED;
    return flags & XCU_HOST_DEVICEMAP ? XFT_MEM_MAPPED : XFT_MEM_PINNED;
}

/* A call that allocates, registers or frees memory of this kind takes what the profile has for it,
 * else `without`. */
static void spend_call(const char *call, enum xft_memory memory, const struct sim_range *range,
                       uint64_t without)
{
    char name[64];
    uint64_t ns;

    snprintf(name, sizeof(name), "%s/%s/gpu%d", call, xft_memory_word(memory), range->device);
    ns = sim_table_ns(name, range->bytes);
    if (ns)
        sim_advance(ns > sim_settings.call_ns ? ns - sim_settings.call_ns : 0);
    else
        sim_advance(without);
}

static xcu_result host_alloc(void **out, size_t bytes, unsigned flags)
{
    struct sim_range range = {.bytes = bytes,
                              .memory = pinned_kind(flags),
                              .device = sim_current()->device,
                              .host_flags = flags | XCU_HOST_DEVICEMAP,
                              .context = sim_current()};
    xcu_result r;

    if (!out || !bytes || (flags & ~(unsigned)HOST_FLAGS))
        return XCU_ERROR_INVALID_VALUE;
    r = sim_allocate(&host_region, (size_t)1 << 40, &range);
    if (!r) {
        sim_range_at(range.start)->numa = sim_locked_numa(range.start, bytes);
        *out = range.start;
        spend_call("alloc", range.memory, &range, 0);
    }
    return r;
}

SIM_API(cuMemAllocHost_v2, SIM_CTX | SIM_UNSAFE, (void **out, size_t bytes), (out, bytes))
{
    return host_alloc(out, bytes, 0);
}

SIM_API(cuMemHostAlloc, SIM_CTX | SIM_UNSAFE, (void **out, size_t bytes, unsigned flags),
        (out, bytes, flags))
{
    return host_alloc(out, bytes, flags);
}

SIM_API(cuMemFreeHost, SIM_CTX | SIM_UNSAFE, (void *address), (address))
{
    struct sim_range *r = to_free(address, true);

    if (!address)
        return XCU_SUCCESS;
    if (!r)
        return XCU_ERROR_INVALID_VALUE;
    if (sim_handle_is(r->context, SIM_CONTEXT))
        sim_wait_context(r->context);
    sim_do_all_owed();
    r = to_free(address, true);
    if (r)
        spend_call("free", r->memory, r, 0);
    return r ? sim_range_free(r) : XCU_ERROR_INVALID_VALUE;
}

static struct sim_range *host_range(const void *address)
{
    struct sim_range *r = sim_range_at(address);

    return r && r->memory != XFT_MEM_DEVICE && r->memory != XFT_MEM_MANAGED ? r : NULL;
}

SIM_API(cuMemHostGetDevicePointer_v2, SIM_CTX, (xcu_deviceptr * out, void *address, unsigned flags),
        (out, address, flags))
{
    if (!out || flags || !host_range(address))
        return XCU_ERROR_INVALID_VALUE;
    *out = (xcu_deviceptr)address;
    return XCU_SUCCESS;
}

SIM_API(cuMemHostGetFlags, SIM_CTX, (unsigned *flags, void *address), (flags, address))
{
    struct sim_range *r = host_range(address);

    if (!flags || !r)
        return XCU_ERROR_INVALID_VALUE;
    *flags = r->host_flags;
    return XCU_SUCCESS;
}

/* Bits: portable, mapped, IO memory, read only. */
SIM_API(cuMemHostRegister_v2, SIM_CTX | SIM_UNSAFE, (void *address, size_t bytes, unsigned flags),
        (address, bytes, flags))
{
    struct sim_range range = {.start = address,
                              .bytes = bytes,
                              .memory = XFT_MEM_REGISTERED,
                              .device = sim_current()->device,
                              .flags = SIM_RANGE_REGISTERED,
                              .host_flags = flags | XCU_HOST_DEVICEMAP,
                              .context = sim_current()};

    if (!address || !bytes || (flags & ~15u) || sim_region_owns(address))
        return XCU_ERROR_INVALID_VALUE;
    range.numa = sim_locked_numa(address, bytes);
    /* 26 GB/s: page-locking 256 MiB of touched memory takes 10 ms */
    spend_call("register", XFT_MEM_PAGEABLE, &range, bytes / 26);
    return sim_range_add(&range) ? XCU_SUCCESS : XCU_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

SIM_API(cuMemHostUnregister, SIM_CTX | SIM_UNSAFE, (void *address), (address))
{
    struct sim_range *r;

    if (!address)
        return XCU_ERROR_INVALID_VALUE;
    sim_do_all_owed();
    r = sim_range_at(address);
    if (r && !(r->flags & SIM_RANGE_REGISTERED) && r->start == address)
        return XCU_ERROR_INVALID_VALUE; /* memory that the driver allocated */
    if (!r || !(r->flags & SIM_RANGE_REGISTERED) || r->start != address)
        return XCU_ERROR_HOST_MEMORY_NOT_REGISTERED;
    spend_call("unregister", XFT_MEM_PAGEABLE, r, r->bytes / 67);
    return sim_range_free(r);
}

/* ---- managed memory ----------------------------------------------------------------------- */

static size_t blocks(size_t bytes)
{
    return (bytes + SIM_BLOCK - 1) / SIM_BLOCK;
}

SIM_API(cuMemAllocManaged, SIM_CTX | SIM_UNSAFE,
        (xcu_deviceptr * out, size_t bytes, unsigned flags), (out, bytes, flags))
{
    struct sim_range range = {.bytes = bytes,
                              .memory = XFT_MEM_MANAGED,
                              .device = sim_current()->device,
                              .numa = sim_host_numa(NULL),
                              .context = sim_current()};
    xcu_result r;

    if (!out || !bytes || (flags != 1 && flags != 2))
        return XCU_ERROR_INVALID_VALUE;
    range.where = malloc(blocks(bytes) * sizeof(*range.where));
    range.copies = calloc(blocks(bytes), sizeof(*range.copies));
    r = range.where && range.copies ? XCU_SUCCESS : XCU_ERROR_OUT_OF_MEMORY;
    if (!r) {
        memset(range.where, 0xff, blocks(bytes) * sizeof(*range.where)); /* -1: on the host */
        r = sim_allocate(&managed_region, (size_t)1 << 40, &range);
    }
    if (r) {
        free(range.where);
        free(range.copies);
    } else {
        *out = (xcu_deviceptr)range.start;
    }
    return r;
}
