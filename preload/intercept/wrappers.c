/* The table's rows as exported functions. */
#include <errno.h>

#include "preload/record/record.h"
#include "preload/timing/event_pairs.h"
#include "preload/intercept/captures.h"
#include "preload/intercept/contexts.h"
#include "preload/intercept/faults.h"
#include "preload/intercept/functions.h"
#include "preload/intercept/graph.h"
#include "preload/intercept/hook.h"
#include "preload/intercept/session.h"
#include "preload/lookup/resolve.h"
#include "preload/intercept/table.h"
#include "preload/intercept/work.h"

#define EXPORTED __attribute__((visibility("default")))
#define FROM_ASSEMBLY __attribute__((used)) /* entries.S, which the optimiser does not see */

/*
 * One grammar for all. `before` and `after` are expressions of the row; they see the parameters,
 * f and status.
 */
#define WRAPPER_BODY(level, id, fl, params, args, before, after)                                   \
    {                                                                                              \
        int(*const real) params =                                                                  \
            (int(*) params)xfs_real_##level(id, __builtin_return_address(0));                      \
        struct xfs_frame frame, *f = &frame;                                                       \
        if (!xfs_enter(f, id, fl, XFS_CALLED_AT))                                                  \
            return real args;                                                                      \
        (void)(before);                                                                            \
        const int status = real args;                                                              \
        xfs_returned(f, status);                                                                   \
        after;                                                                                     \
        xfs_publish(f);                                                                            \
        return status;                                                                             \
    }

#define XFS_CALL(level, symbol, moves, flags, params, args, before, after)                         \
    EXPORTED int symbol params;                                                                    \
    EXPORTED int symbol params WRAPPER_BODY(level, XFS_ID_##symbol, flags, params, args, before,   \
                                            after)

/* What is exported is its entry (entries.S), the wrapper lies behind it. */
#define XFS_CALL_ENTERED(level, symbol, moves, flags, params, args, before, after)                 \
    EXPORTED int symbol params;                                                                    \
    FROM_ASSEMBLY int xfs_behind_##symbol params;                                                  \
    FROM_ASSEMBLY int xfs_behind_##symbol params WRAPPER_BODY(level, XFS_ID_##symbol, flags,       \
                                                              params, args, before, after)

/* Two functions under one name: each is exported under its library's version node (exports.map). */
#define SYMVER_12(symbol) symbol "@libcudart.so.12"
#define SYMVER_13(symbol) symbol "@@libcudart.so.13"
#define XFS_CALL_V(version, level, symbol, moves, flags, params, args, before, after)              \
    EXPORTED int XFS_VNAME(version, symbol) params;                                                \
    __attribute__((symver(SYMVER_##version(#symbol)))) EXPORTED int XFS_VNAME(version, symbol)     \
    params WRAPPER_BODY(level, XFS_ID_v##version##_##symbol, flags, params, args, before, after)

/* Does not change xfs_depth, since a runtime function may have called it; makes no event. */
#define XFS_WATCH(symbol, moves, params, args, after)                                              \
    EXPORTED int symbol params;                                                                    \
    EXPORTED int symbol params                                                                     \
    {                                                                                              \
        int(*const real) params = (int(*) params)xfs_real_DRIVER(XFS_ID_##symbol, NULL);           \
        xfs_before_moving(XFS_ID_##symbol);                                                        \
        const int status = real args;                                                              \
        const int saved = errno;                                                                   \
        after;                                                                                     \
        errno = saved;                                                                             \
        return status;                                                                             \
    }
/* As XFS_WATCH, and an event where it is the outermost call. */
#define XFS_GRAPH(symbol, fl, params, args, after)                                                 \
    EXPORTED int symbol params;                                                                    \
    EXPORTED int symbol params                                                                     \
    {                                                                                              \
        int(*const real) params = (int(*) params)xfs_real_DRIVER(XFS_ID_##symbol, NULL);           \
        struct xfs_frame frame, *f = &frame;                                                       \
        xfs_before_moving(XFS_ID_##symbol);                                                        \
        const bool outermost = xfs_enter(f, XFS_ID_##symbol, fl, XFS_CALLED_AT);                   \
        const int status = real args;                                                              \
        const int saved = errno;                                                                   \
        xfs_graph_call_returned(f, status, outermost);                                             \
        after;                                                                                     \
        if (outermost)                                                                             \
            xfs_publish(f);                                                                        \
        errno = saved;                                                                             \
        return status;                                                                             \
    }
#define XFS_DONE(what)                                                                             \
    if (status == 0)                                                                               \
    what
/* As few instructions as possible: a call that is not recorded jumps to the real function. */
#define STEP(symbol, fl, params, args, watch, step, otherwise)                                     \
    EXPORTED int symbol params;                                                                    \
    EXPORTED int symbol params                                                                     \
    {                                                                                              \
        int(*const real) params = (int(*) params)xfs_real_DRIVER(XFS_ID_##symbol, NULL);           \
        struct xfs_step this = {.call = XFS_ID_##symbol, .flags = (fl)}, *const s = &this;         \
        if (!xfs_step_begins(s, XFS_CALLED_AT)) {                                                  \
            const int status = real args;                                                          \
            if (status == 0)                                                                       \
                (void)(watch);                                                                     \
            return status;                                                                         \
        }                                                                                          \
        const int status = real args;                                                              \
        if (status == 0) {                                                                         \
            (void)(watch);                                                                         \
            step;                                                                                  \
        } else {                                                                                   \
            otherwise;                                                                             \
        }                                                                                          \
        return status;                                                                             \
    }
#define XFS_STEP(symbol, fl, params, args, watch, step)                                            \
    STEP(symbol, fl, params, args, watch, step, xfs_step_over())
#define XFS_QUERY(symbol, fl, params, args, of, step)                                              \
    STEP(symbol, fl, params, args, 0, step, xfs_step_not_done(s, status, XFS_ADDR(of)))

/* Does not change xfs_depth either. */
#define XFS_FORGET(symbol, params, args, before, after)                                            \
    EXPORTED int symbol params;                                                                    \
    EXPORTED int symbol params                                                                     \
    {                                                                                              \
        int(*const real) params = (int(*) params)xfs_real_DRIVER(XFS_ID_##symbol, NULL);           \
        before;                                                                                    \
        const int status = real args, saved = errno;                                               \
        (void)(after);                                                                             \
        errno = saved;                                                                             \
        return status;                                                                             \
    }

/* Does not change xfs_depth either. */
#define XFS_CONTEXT(symbol, primary, params, args)                                                 \
    EXPORTED int symbol params;                                                                    \
    EXPORTED int symbol params                                                                     \
    {                                                                                              \
        int(*const real) params = (int(*) params)xfs_real_DRIVER(XFS_ID_##symbol, NULL);           \
        struct xfs_context_call made;                                                              \
        xfs_context_call_begins(&made, device, primary);                                           \
        const int status = real args;                                                              \
        xfs_context_call_ends(&made, XFS_ID_##symbol, status);                                     \
        return status;                                                                             \
    }

/* cuInit, inside which a session begins. */
#define XFS_INIT(symbol, params, args)                                                             \
    EXPORTED int symbol params;                                                                    \
    EXPORTED int symbol params                                                                     \
    {                                                                                              \
        int(*const real) params = (int(*) params)xfs_real_DRIVER(XFS_ID_##symbol, NULL);           \
        const enum xfs_init_turn turn = xfs_init_begins();                                         \
        const int status = real args;                                                              \
        xfs_init_ends(turn, status);                                                               \
        return status;                                                                             \
    }
#include "preload/intercept/calls.def"
#undef XFS_CALL
#undef XFS_CALL_V
#undef XFS_WATCH
#undef XFS_GRAPH
#undef XFS_STEP
#undef STEP
#undef XFS_FORGET
#undef XFS_CONTEXT
#undef XFS_INIT

#define XFS_ROW(id, level, version, symbol, wrapper, moves)                                        \
    [XFS_ID_##id] = {#symbol, XFT_LEVEL_##level, version, moves, (void (*)(void))wrapper},
_Static_assert(XFS_CALL_COUNT <= XFS_ROWS_MOST, "all of them are looked up");
const unsigned xfs_row_count = XFS_CALL_COUNT;
const struct xfs_row xfs_rows[XFS_CALL_COUNT] = {
#include "preload/intercept/call_rows.def"
};
