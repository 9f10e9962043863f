/*
 * What is known about an address.
 */
#include <string.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/range.h"

enum {
    P2P_TOKENS = 5,
    SYNC_MEMOPS = 6,
    MAPPED = 13,
    HANDLE_TYPES = 14,
    ACCESS_FLAGS = 16,
    POOL = 17,
    MAPPING_SIZE = 18,
    MAPPING_BASE = 19,
    BLOCK_ID = 20,
    LAST_ATTRIBUTE = 20,
};

static xcu_result put(void *data, const void *value, size_t bytes)
{
    memcpy(data, value, bytes);
    return XCU_SUCCESS;
}

static xcu_result put_int(void *data, int value)
{
    return put(data, &value, sizeof(value));
}

static xcu_result put_word(void *data, uint64_t value)
{
    return put(data, &value, sizeof(value));
}

static xcu_result put_flag(void *data, bool value)
{
    return put(data, &value, 1);
}

static int memory_type(const struct sim_range *r)
{
    return r->memory == XFT_MEM_DEVICE || r->memory == XFT_MEM_MANAGED ? XCU_MEMORY_DEVICE
                                                                       : XCU_MEMORY_HOST;
}

/* For kernels of the current context. */
static bool is_in_reach(const struct sim_range *r)
{
    const struct sim_context *c = sim_current();

    return r->memory != XFT_MEM_DEVICE || r->pool || r->device == c->device ||
           (c->peers >> r->device & 1);
}

static xcu_result known(void *data, int attribute, const struct sim_range *r, uint64_t address)
{
    switch (attribute) {
    case XCU_PTR_CONTEXT:
        return put_word(data, (uint64_t)r->context);
    case XCU_PTR_MEMORY_TYPE:
        return put_int(data, memory_type(r));
    case XCU_PTR_DEVICE_POINTER:
        return is_in_reach(r) ? put_word(data, address) : XCU_ERROR_INVALID_VALUE;
    case XCU_PTR_HOST_POINTER:
        if (r->memory == XFT_MEM_DEVICE)
            return XCU_ERROR_INVALID_VALUE;
        return put_word(data, address);
    case SYNC_MEMOPS:
        return put_flag(data, false);
    case XCU_PTR_BUFFER_ID:
    case BLOCK_ID:
        return put_word(data, r->id);
    case XCU_PTR_IS_MANAGED:
        return put_flag(data, r->memory == XFT_MEM_MANAGED);
    case XCU_PTR_LEGACY_IPC:
        return put_flag(data, r->memory == XFT_MEM_DEVICE && !r->pool);
    case XCU_PTR_DEVICE_ORDINAL:
        return put_int(data, r->device);
    case XCU_PTR_RANGE_START:
    case MAPPING_BASE:
        return put_word(data, (uint64_t)r->start);
    case XCU_PTR_RANGE_SIZE:
    case MAPPING_SIZE:
        return put_word(data, r->bytes);
    case MAPPED:
        return put_flag(data, true);
    case HANDLE_TYPES:
        return put_word(data, 0);
    case ACCESS_FLAGS:
        return put_int(data, 3);
    case POOL:
        return put_word(data, (uint64_t)r->pool);
    }
    return XCU_ERROR_NOT_SUPPORTED;
}

static const struct sim_range *visible_range(xcu_deviceptr address)
{
    const struct sim_range *r = sim_range_at((void *)address);

    return r && !(r->flags & SIM_RANGE_GRAPH) ? r : NULL;
}

SIM_API(cuPointerGetAttribute, SIM_CTX, (void *data, int attribute, xcu_deviceptr address),
        (data, attribute, address))
{
    const struct sim_range *r = visible_range(address);

    if (!data || attribute < 1 || attribute > LAST_ATTRIBUTE || !r)
        return XCU_ERROR_INVALID_VALUE;
    return known(data, attribute, r, address);
}

/* For an address that CUDA does not know every attribute is its zero, and that is no error. */
static void unknown(void *data, int attribute)
{
    switch (attribute) {
    case XCU_PTR_MEMORY_TYPE:
    case ACCESS_FLAGS:
        put_int(data, 0);
        break;
    case XCU_PTR_DEVICE_ORDINAL:
        put_int(data, -2);
        break;
    case SYNC_MEMOPS:
    case XCU_PTR_IS_MANAGED:
    case XCU_PTR_LEGACY_IPC:
    case MAPPED:
        put_flag(data, false);
        break;
    default:
        put_word(data, 0);
    }
}

SIM_API(cuPointerGetAttributes, SIM_CTX,
        (unsigned count, int *attributes, void **data, xcu_deviceptr address),
        (count, attributes, data, address))
{
    const struct sim_range *r = visible_range(address);

    if (!count || !attributes || !data)
        return XCU_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if (attributes[i] < 1 || attributes[i] > LAST_ATTRIBUTE || !data[i])
            return XCU_ERROR_INVALID_VALUE;
        if (!r || known(data[i], attributes[i], r, address))
            unknown(data[i], attributes[i]);
    }
    return XCU_SUCCESS;
}

SIM_API(cuPointerSetAttribute, SIM_CTX, (const void *value, int attribute, xcu_deviceptr address),
        (value, attribute, address))
{
    if (!value || attribute != SYNC_MEMOPS || !sim_range_at((void *)address))
        return XCU_ERROR_INVALID_VALUE;
    return XCU_SUCCESS;
}
