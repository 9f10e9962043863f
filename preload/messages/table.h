/*
 * The tables of messages (mpi.def, nccl.def) as numbers: their ids in the trace follow those of
 * CUDA's calls (XFS_MESSAGE_CALLS). MPI_name and PMPI_name are two rows of the look-up (rows.h) and
 * one call.
 */
#ifndef XFS_MESSAGES_TABLE_H
#define XFS_MESSAGES_TABLE_H

#include <stdint.h>

#include "preload/lookup/rows.h"
#include "preload/record/process.h"
#include "xferscope/message.h"

typedef uintptr_t xfs_word; /* a handle of MPI: a pointer, or an int in the lower half */

#define XFS_MPI_AS(function, op, parameters, arguments, before, after)                             \
    XFS_ROW_##function, XFS_ROW_P##function,
#define XFS_MADE(name, parameters, arguments, before, after)                                       \
    XFS_ROW_MPI_##name, XFS_ROW_PMPI_##name,
#define XFS_NCCL(name, op, parameters, arguments, after) XFS_ROW_##name,
#define XFS_NCCL_MADE(name, parameters, arguments, before, after) XFS_ROW_##name,
enum xfs_message_row {
    XFS_MESSAGE_ROWS_BEGIN = XFS_ROWS_MOST - 1,
#include "preload/messages/mpi.def"
#include "preload/messages/nccl.def"
    XFS_MESSAGE_ROWS_END
};
#undef XFS_MPI_AS
#undef XFS_MADE
#undef XFS_NCCL
#undef XFS_NCCL_MADE

#define XFS_MPI_AS(function, op, parameters, arguments, before, after) XFS_CALL_##function,
#define XFS_MADE(name, parameters, arguments, before, after)
#define XFS_NCCL(name, op, parameters, arguments, after) XFS_CALL_##name,
#define XFS_NCCL_MADE(name, parameters, arguments, before, after)
enum xfs_message_call {
    XFS_MESSAGE_CALLS_BEGIN = XFS_MESSAGE_CALLS - 1,
#include "preload/messages/mpi.def"
#include "preload/messages/nccl.def"
    XFS_MESSAGE_CALLS_END
};
#undef XFS_MPI_AS
#undef XFS_MADE
#undef XFS_NCCL
#undef XFS_NCCL_MADE

#endif
