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

#define XFS_ROW(id, level, version, symbol, wrapper, moves) XFS_ID_##id,
enum xfs_call_id {
#include "preload/intercept/call_rows.def"
    XFS_CALL_COUNT
};

#endif
