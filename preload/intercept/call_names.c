/* The calls' names for the trace: data alone, which the recorder below links to. */
#include "preload/intercept/table.h"
#include "preload/record/process.h"

#define XFS_ROW(id, level, version, symbol, wrapper, moves)                                        \
    [XFS_ID_##id] = {#symbol, XFT_LEVEL_##level},
const struct xfs_call_info xfs_calls[XFS_CALL_COUNT] = {
#include "preload/intercept/call_rows.def"
};
const size_t xfs_call_count = XFS_CALL_COUNT;
