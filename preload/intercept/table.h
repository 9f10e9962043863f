/*
 * The table of intercepted calls (calls.def) as numbers and rows. A row's number is its id in the
 * trace's CALLS segment.
 */
#ifndef XFS_TABLE_H
#define XFS_TABLE_H

#include "preload/lookup/rows.h"
#include "xferscope/cuda_abi.h"
#include "xferscope/trace.h"

/* C name of a versioned wrapper: two of them share one exported name. */
#define XFS_VNAME(version, symbol) xfs_v##version##_##symbol

#define XFS_CALL(level, symbol, moves, flags, params, args, before, after) XFS_ID_##symbol,
#define XFS_CALL_V(version, level, symbol, moves, flags, params, args, before, after)              \
    XFS_ID_v##version##_##symbol,
#define XFS_WATCH(symbol, moves, params, args, after) XFS_ID_##symbol,
#define XFS_GRAPH(symbol, flags, params, args, after) XFS_ID_##symbol,
#define XFS_STEP(symbol, flags, params, args, watch, step) XFS_ID_##symbol,
#define XFS_FORGET(symbol, params, args, before, after) XFS_ID_##symbol,
#define XFS_INIT(symbol, params, args) XFS_ID_##symbol,
enum xfs_call_id {
#include "preload/intercept/calls.def"
    XFS_CALL_COUNT
};
#undef XFS_CALL
#undef XFS_CALL_V
#undef XFS_WATCH
#undef XFS_GRAPH
#undef XFS_STEP
#undef XFS_FORGET
#undef XFS_INIT

#endif
