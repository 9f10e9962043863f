#include "preload/apply/calls/move.h"

uint64_t xfs_move_least;

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
