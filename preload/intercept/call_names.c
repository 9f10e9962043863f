/* The calls' names for the trace: data alone, which the recorder below links to. */
#include "preload/intercept/table.h"
#include "preload/record/process.h"

#define XFS_INIT(symbol, params, args) XFS_WATCH(symbol, XFS_STAYS, params, args, )
#define XFS_FORGET(symbol, params, args, before, after) XFS_WATCH(symbol, XFS_STAYS, params, args, )
#define XFS_GRAPH(symbol, flags, params, args, after) XFS_WATCH(symbol, XFS_MOVES, params, args, )
#define XFS_STEP(symbol, flags, params, args, watch, step)                                         \
    XFS_WATCH(symbol, XFS_STAYS, params, args, )
#define XFS_WATCH(symbol, moves, params, args, after)                                              \
    [XFS_ID_##symbol] = {#symbol, XFT_LEVEL_DRIVER},
#define XFS_CALL(level, symbol, moves, flags, params, args, before, after)                         \
    [XFS_ID_##symbol] = {#symbol, XFT_LEVEL_##level},
#define XFS_CALL_V(ver, level, symbol, moves, flags, params, args, before, after)                  \
    [XFS_ID_v##ver##_##symbol] = {#symbol, XFT_LEVEL_##level},
const struct xfs_call_info xfs_calls[XFS_CALL_COUNT] = {
#include "preload/intercept/calls.def"
};
const size_t xfs_call_count = XFS_CALL_COUNT;
