/* The calls' names for the trace: data alone, which the recorder below links to. */
#include "preload/messages/table.h"
#include "preload/record/process.h"

#define XFS_MPI_AS(function, op, parameters, arguments, before, after)                             \
    [XFS_CALL_##function - XFS_MESSAGE_CALLS] = {#function, XFT_LEVEL_MPI},
#define XFS_MADE(name, parameters, arguments, before, after)
#define XFS_NCCL(name, op, parameters, arguments, after)                                           \
    [XFS_CALL_##name - XFS_MESSAGE_CALLS] = {#name, XFT_LEVEL_NCCL},
#define XFS_NCCL_MADE(name, parameters, arguments, before, after)
const struct xfs_call_info xfs_message_calls[] = {
#include "preload/messages/mpi.def"
#include "preload/messages/nccl.def"
};
const size_t xfs_message_call_count = XFS_MESSAGE_CALLS_END - XFS_MESSAGE_CALLS;
