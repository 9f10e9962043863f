#include "preload/apply/gpus/between.h"

#include <stdatomic.h>
#include <stddef.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/calls/ends.h"

#define STREAM_NON_BLOCKING 1u

static bool is_device_end(uint64_t address, uint64_t bytes, xcu_context named, struct xfs_end *end)
{
    return xfs_end_ask(address, bytes, end) && end->type == XCU_MEMORY_DEVICE && end->plain &&
           end->context && (named == NULL || named == end->context);
}

bool xfs_between_look(struct xfs_between *copy)
{
    xcu_context current = NULL;
    struct xfs_end dst, src;
    if (xfs_apply_driver() == NULL || !xfs_has_several_devices() ||
        xfs_apply_driver()->current(&current) != XCU_SUCCESS || current == NULL ||
        !is_device_end(copy->dst, copy->bytes, copy->to, &dst) ||
        !is_device_end(copy->src, copy->bytes, copy->from, &src) || dst.device == src.device ||
        dst.context == src.context || (dst.context != current && src.context != current) ||
        !xfs_is_plain_stream(copy->stream, current))
        return false;
    copy->context[0] = src.context;
    copy->context[1] = dst.context;
    copy->device[0] = src.device;
    copy->device[1] = dst.device;
    copy->side = dst.context == current;
    return true;
}

bool xfs_between_can_reach(const struct xfs_between *copy)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    int there = 0, back = 0;
    return driver->can_access &&
           driver->can_access(&there, copy->device[0], copy->device[1]) == XCU_SUCCESS && there &&
           driver->can_access(&back, copy->device[1], copy->device[0]) == XCU_SUCCESS && back;
}

static atomic_bool has_apart;

void xfs_apart_note(unsigned flags)
{
    if (flags & STREAM_NON_BLOCKING)
        atomic_store(&has_apart, true);
}

bool xfs_has_apart_streams(void)
{
    return atomic_load(&has_apart);
}

/* ---- time ------------------------------------------------------------------------------------ */

bool xfs_timed_mark(xcu_event *event, xcu_stream stream)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    return driver->event_create(event, 0) == XCU_SUCCESS &&
           driver->event_record(*event, stream) == XCU_SUCCESS;
}

void xfs_timed_drop(struct xfs_timed *timed)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (timed->begun)
        driver->event_destroy(timed->begun);
    if (timed->ended)
        driver->event_destroy(timed->ended);
    *timed = (struct xfs_timed){0};
}

uint64_t xfs_timed_read(struct xfs_timed *timed)
{
    float ms = 0;
    if (timed->ended == NULL)
        return 0;
    xcu_result result = xfs_apply_driver()->event_elapsed(&ms, timed->begun, timed->ended);
    if (result == XCU_ERROR_NOT_READY)
        return 0;
    xcu_event begun = timed->begun, ended = timed->ended;
    timed->begun = timed->ended = NULL;
    xfs_apply_driver()->event_destroy(begun);
    xfs_apply_driver()->event_destroy(ended);
    return result == XCU_SUCCESS && ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
}
