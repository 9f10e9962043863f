#include "preload/record/hold.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/sandbox.h"
#include "preload/record/clock.h"
#include "preload/record/lanes.h"
#include "preload/record/recorder.h"

static long barrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

/* Its first use in a process takes the kernel milliseconds, in this thread only. */
static bool prepare(void)
{
    static bool prepared;
    if (!prepared && xfs_may_call_kernel())
        prepared = barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    return prepared;
}

/* After the barrier each thread has either seen that it must wait, or its call is visible. */
static bool wait_for_calls(struct xfs_recorder *recorder)
{
    uint64_t until = xfs_monotonic_ns() + XFS_HOLD_WAIT_NS;
    if (barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
        return false;
    while (xfs_lanes_are_calling(&recorder->lanes)) {
        if (xfs_monotonic_ns() > until)
            return false;
        sched_yield(); /* it may be waiting for this processor */
    }
    return true;
}

bool xfs_with_calls_held(void (*work)(void *), void *argument)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    struct xfs_recorder *recorder = xfs_recorder_current(), *open = recorder, *closed = XFS_HELD;
    if (l == NULL || recorder == NULL || !prepare() ||
        !atomic_compare_exchange_strong(&l->begins, &open, XFS_HELD))
        return false;
    bool alone = wait_for_calls(recorder);
    xfs_holding = true;
    if (alone)
        work(argument);
    xfs_holding = false;
    atomic_compare_exchange_strong(&l->begins, &closed, recorder); /* unless recording has ended */
    return alone;
}
