#include "preload/apply/calls/ends.h"

#include <stdatomic.h>
#include <stddef.h>

#include "preload/apply/state/driver.h"

bool xfs_end_ask(uint64_t address, uint64_t bytes, struct xfs_end *end)
{
    int which[] = {XCU_PTR_MEMORY_TYPE,    XCU_PTR_IS_MANAGED, XCU_PTR_LEGACY_IPC,
                   XCU_PTR_DEVICE_ORDINAL, XCU_PTR_CONTEXT,    XCU_PTR_RANGE_START,
                   XCU_PTR_RANGE_SIZE,     XCU_PTR_BUFFER_ID};
    void *values[] = {&end->type,    &end->managed, &end->plain, &end->device,
                      &end->context, &end->start,   &end->bytes, &end->buffer};
    *end = (struct xfs_end){.device = -1};
    return xfs_apply_driver()->attributes(8, which, values, address) == XCU_SUCCESS &&
           end->type != 0 && !end->managed && address >= end->start &&
           address - end->start <= end->bytes && bytes <= end->bytes - (address - end->start);
}

bool xfs_is_plain_stream(xcu_stream stream, xcu_context context)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_context owner = context;
    int capturing = XCU_CAPTURE_NONE;
    if (stream != XCU_STREAM_LEGACY && stream != XCU_STREAM_PER_THREAD &&
        driver->stream_context(stream, &owner) != XCU_SUCCESS)
        return false;
    return owner == context && driver->is_capturing(stream, &capturing) == XCU_SUCCESS &&
           capturing == XCU_CAPTURE_NONE;
}

bool xfs_has_several_devices(void)
{
    static atomic_int known;
    int count = atomic_load_explicit(&known, memory_order_relaxed);
    if (count == 0 && xfs_apply_driver() && xfs_apply_driver()->devices(&count) == XCU_SUCCESS)
        atomic_store_explicit(&known, count, memory_order_relaxed);
    return count > 1;
}
