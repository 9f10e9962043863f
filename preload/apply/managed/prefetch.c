#include "preload/apply/managed/prefetch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/managed/kernels.h"
#include "preload/apply/managed/managed.h"
#include "preload/apply/calls/move.h"
#include "preload/apply/site/plan.h"
#include "preload/apply/site/site.h"
#include "preload/apply/state/state.h"
#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"

#define PART_FREE 16         /* of the device's memory one part in so many is left free */
#define CONCURRENT_ACCESS 89 /* CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS */
#define ATTACH_GLOBAL 1u     /* CU_MEM_ATTACH_GLOBAL */

bool xfs_prefetch_on(void)
{
    return xfs_class_on(XFS_CLASS_PREFETCH) && xfs_plan_has(XFT_PLAN_PREFETCH);
}

static const struct xfs_apply_driver *whole_driver(void)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    return driver && driver->prefetch && driver->left && driver->device_attribute &&
                   driver->event_elapsed
               ? driver
               : NULL;
}

/* ---- allocating ------------------------------------------------------------------------------ */

/* Of a device that host and kernels may use such memory of at the same time. */
static bool can_prefetch(void)
{
    const struct xfs_apply_driver *driver = whole_driver();
    xcu_device device;
    int can = 0;
    return driver && driver->device(&device) == XCU_SUCCESS &&
           driver->device_attribute(&can, CONCURRENT_ACCESS, device) == XCU_SUCCESS && can;
}

static void look(void *argument)
{
    struct xfs_site **found = argument;
    struct xfs_site *site =
        can_prefetch() ? xfs_site_here(XFS_CLASS_PREFETCH, XFT_DIR_UNKNOWN) : NULL;
    if (site == NULL)
        return;
    *found = site->planned && !site->off ? site : NULL;
    xfs_site_release(site);
}

typedef int alloc_function(xcu_deviceptr *, size_t, unsigned);

bool xfs_prefetch_alloc(xfs_function real, xcu_deviceptr *p, size_t bytes, unsigned flags,
                        int *status)
{
    struct xfs_site *site = NULL;
    if (p == NULL || bytes == 0 || flags != ATTACH_GLOBAL || !xfs_may_call_kernel() ||
        xfs_apply_captures() || !xfs_apply_begin() || !xfs_on_own_stack(look, &site) ||
        site == NULL)
        return false;
    *status = ((alloc_function *)real)(p, bytes, flags);
    if (*status == XCU_SUCCESS)
        xfs_managed_follow(*p, bytes, site);
    return true;
}

/* ---- launching ------------------------------------------------------------------------------- */

struct turn {
    const struct xfs_launch *launch;
    xcu_stream stream;
    xcu_device device;
    struct xfs_kernel *kernel; /* held; NULL: the launch is given nothing that is planned */
    struct xfs_managed given[XFS_MANAGED_GIVEN];
    unsigned count;
    enum xfs_way way;
    bool no_room;
    int status;
};

static uint64_t bytes_of(const struct turn *turn)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < turn->count; i++)
        bytes += turn->given[i].bytes;
    return bytes;
}

/* As if none of it were there. */
static bool has_room(const struct turn *turn)
{
    size_t left = 0, total = 0;
    return xfs_apply_driver()->left(&left, &total) == XCU_SUCCESS &&
           left >= bytes_of(turn) + total / PART_FREE;
}

/* False: not all of it. */
static bool prefetch(struct turn *turn)
{
    struct xcu_location there = {XCU_LOCATION_DEVICE, turn->device};
    bool all = true;
    turn->no_room = !has_room(turn);
    for (unsigned i = 0; i < turn->count && !turn->no_room; i++) {
        const struct xfs_managed *one = &turn->given[i];
        if (xfs_managed_is_there(one) &&
            xfs_apply_driver()->prefetch(one->address, one->bytes, there, 0, turn->stream) ==
                XCU_SUCCESS)
            continue;
        xfs_managed_leave(one->address, one->bytes);
        all = false;
    }
    return all && !turn->no_room;
}

static bool is_of_this_context(xcu_stream stream)
{
    xcu_context current = NULL, of = NULL;
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    return stream == XCU_STREAM_LEGACY || stream == XCU_STREAM_PER_THREAD ||
           (driver->current(&current) == XCU_SUCCESS &&
            driver->stream_context(stream, &of) == XCU_SUCCESS && current == of);
}

static void find_given(struct turn *turn)
{
    uint64_t words[XFS_KERNEL_WORDS];
    if (!is_of_this_context(turn->stream) ||
        xfs_apply_driver()->device(&turn->device) != XCU_SUCCESS)
        return;
    turn->kernel = xfs_kernel_hold(turn->launch->function);
    if (turn->kernel == NULL)
        return;
    unsigned n = xfs_kernel_words(turn->kernel, turn->launch->values, words);
    turn->count = xfs_managed_given(words, n, turn->device, turn->given);
    if (turn->count)
        return;
    xfs_kernel_release(turn->kernel);
    turn->kernel = NULL;
}

static void begin(void *argument)
{
    struct turn *turn = argument;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    find_given(turn);
    if (turn->kernel == NULL)
        return;
    xfs_apply_driver()->exchange(&mode);
    turn->way = xfs_kernel_begins(turn->kernel, turn->stream, bytes_of(turn));
    if (turn->way == XFS_WAY_OURS && !prefetch(turn))
        turn->way = XFS_WAY_AS_ASKED;
    xfs_apply_driver()->exchange(&mode);
}

static void tell(const struct turn *turn)
{
    struct xfs_report_site *line = turn->given[0].site->report;
    uint64_t done_ns = 0, instead_ns = 0, bytes = bytes_of(turn);
    if (line == NULL)
        return;
    __atomic_fetch_add(&line->asked, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->asked_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->no_room, turn->no_room, __ATOMIC_RELAXED);
    __atomic_store_n(&line->verdict, xfs_kernel_verdict(turn->kernel), __ATOMIC_RELAXED);
    if (turn->way != XFS_WAY_OURS)
        return;
    __atomic_fetch_add(&line->done, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->done_bytes, bytes, __ATOMIC_RELAXED);
    if (!xfs_kernel_times(turn->kernel, &done_ns, &instead_ns))
        return;
    __atomic_fetch_add(&line->compared_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->done_ns, done_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->instead_ns, instead_ns, __ATOMIC_RELAXED);
}

static void end(void *argument)
{
    struct turn *turn = argument;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    xfs_apply_driver()->exchange(&mode);
    xfs_kernel_ends(turn->kernel, turn->stream, turn->way, turn->status == XCU_SUCCESS);
    xfs_apply_driver()->exchange(&mode);
    tell(turn);
}

/* All launches until now came from this thread. */
static bool is_only_thread(void)
{
    static _Atomic uintptr_t launching; /* 1: several */
    uintptr_t self = (uintptr_t)pthread_self(), known = 0;
    if (atomic_load(&launching) == self || atomic_compare_exchange_strong(&launching, &known, self))
        return true;
    atomic_store(&launching, 1);
    return false;
}

static bool may(const struct xfs_launch *launch, xcu_stream stream)
{
    bool only = is_only_thread();
    return xfs_managed_any() && xfs_launch_is_plain(launch) &&
           (only || stream != XCU_STREAM_LEGACY) && xfs_may_call_kernel() &&
           !xfs_apply_captures() && whole_driver();
}

bool xfs_prefetch_launch(const struct xfs_launch *launch, int *status)
{
    struct turn turn = {.launch = launch, .stream = xfs_launch_stream(launch)};
    if (!may(launch, turn.stream))
        return false;
    xfs_apply_enter();
    if (!xfs_on_own_stack(begin, &turn) || turn.kernel == NULL)
        return false;
    *status = turn.status = xfs_launch_as_asked(launch);
    if (!xfs_on_own_stack(end, &turn))
        xfs_kernel_ends(turn.kernel, turn.stream, turn.way, false);
    xfs_kernel_release(turn.kernel);
    return true;
}

/* ---- the ends -------------------------------------------------------------------------------- */

void xfs_prefetch_leave(void)
{
    xfs_managed_forget_all();
    xfs_kernels_forget(true);
}

void xfs_prefetch_after_fork(void)
{
    xfs_managed_after_fork();
    xfs_kernels_after_fork();
}
