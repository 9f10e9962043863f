#include "preload/apply/move.h"

#include <errno.h>

#include "preload/apply/apply.h"
#include "preload/apply/leave_out.h"
#include "preload/apply/staging.h"
#include "preload/apply/uploads.h"
#include "preload/base/sandbox.h"

enum xft_direction xfs_move_direction(const struct xfs_move *move)
{
    switch (move->form) {
    case XFS_MOVE_UP:
    case XFS_MOVE_UP_ASYNC:
        return XFT_DIR_H2D;
    case XFS_MOVE_DOWN:
    case XFS_MOVE_DOWN_ASYNC:
        return XFT_DIR_D2H;
    default:
        return XFT_DIR_UNKNOWN;
    }
}

#define HOST(address) ((void *)(uintptr_t)(address))

int xfs_move_as_asked(const struct xfs_move *move, uint64_t offset, uint64_t bytes)
{
    uint64_t dst = move->dst + offset, src = move->src + offset;
    xfs_function real = move->real;
    switch (move->form) {
    case XFS_MOVE_UP:
        return ((int (*)(xcu_deviceptr, const void *, size_t))real)(dst, HOST(src), bytes);
    case XFS_MOVE_UP_ASYNC:
        return ((int (*)(xcu_deviceptr, const void *, size_t, xcu_stream))real)(dst, HOST(src),
                                                                                bytes, move->given);
    case XFS_MOVE_DOWN:
        return ((int (*)(void *, xcu_deviceptr, size_t))real)(HOST(dst), src, bytes);
    case XFS_MOVE_DOWN_ASYNC:
        return ((int (*)(void *, xcu_deviceptr, size_t, xcu_stream))real)(HOST(dst), src, bytes,
                                                                          move->given);
    case XFS_MOVE_ANY:
        return ((int (*)(xcu_deviceptr, xcu_deviceptr, size_t))real)(dst, src, bytes);
    case XFS_MOVE_ANY_ASYNC:
        return ((int (*)(xcu_deviceptr, xcu_deviceptr, size_t, xcu_stream))real)(dst, src, bytes,
                                                                                 move->given);
    }
    return XCU_ERROR_INVALID_VALUE;
}

/* Each class in turn: the first that takes the copy carries it out. */
static bool (*const classes[])(const struct xfs_move *move, int *status) = {
    xfs_leave_out_move,
    xfs_staging_move,
};

/* Made as asked: who follows what is written where has to know. */
static bool pass_on(const struct xfs_move *move)
{
    if (xfs_leave_out_on() && xfs_move_direction(move) != XFT_DIR_D2H)
        xfs_uploads_written(move->dst, move->bytes);
    return false;
}

bool xfs_move_carried_out(const struct xfs_move *move, int *status)
{
    if (!xfs_may_call_kernel() || xfs_apply_capturing == NULL || xfs_apply_capturing() > 0)
        return pass_on(move);
    int saved = errno;
    bool done = false;
    for (unsigned i = 0; i < sizeof classes / sizeof *classes && !done; i++)
        done = classes[i](move, status);
    errno = saved;
    return done;
}
