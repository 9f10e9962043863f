/* The tables' rows as exported functions. */
#include <errno.h>

#include "preload/intercept/hook.h"
#include "preload/lookup/resolve.h"
#include "preload/messages/around.h"
#include "preload/messages/describe_mpi.h"
#include "preload/messages/describe_nccl.h"
#include "preload/messages/requests.h"
#include "preload/messages/straight.h"
#include "preload/messages/table.h"

#define EXPORTED __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)
#define XFT_MESSAGE_KEPT XFS_MESSAGE_KEPT

_Static_assert(XFS_MESSAGE_CALLS == XFS_ROWS_MOST, "their ids follow those of CUDA's calls");
_Static_assert(XFS_MESSAGE_ROWS_END <= 2 * XFS_ROWS_MOST, "the look-up's keys tell them apart");

#define REAL(row, parameters) ((int(*) parameters)xfs_real_message(row, CALLER))

/* One grammar for all; before and after are expressions of the row. */
#define RECORDED(function, row, call, level, op, parameters, arguments, before, after)             \
    EXPORTED int function parameters;                                                              \
    EXPORTED int function parameters                                                               \
    {                                                                                              \
        int(*const real) parameters = REAL(row, parameters);                                       \
        struct xfs_message message, *m = &message;                                                 \
        if (!xfs_message_begins(m, level, XFS_CALLED_AT, CALLER))                                  \
            return real arguments;                                                                 \
        before;                                                                                    \
        const int returned = real arguments;                                                       \
        if (xfs_message_returned(m, returned, call, op))                                           \
            (void)(after);                                                                         \
        xfs_message_over(m);                                                                       \
        return returned;                                                                           \
    }

#define XFS_MPI_AS(function, op, parameters, arguments, before, after)                             \
    RECORDED(function, XFS_ROW_##function, XFS_CALL_##function, XFT_LEVEL_MPI, XFT_MESSAGE_##op,   \
             parameters, arguments, before, after)                                                 \
    RECORDED(P##function, XFS_ROW_P##function, XFS_CALL_##function, XFT_LEVEL_MPI,                 \
             XFT_MESSAGE_##op, parameters, arguments, before, after)

/* A call that goes the straight way. What it is given lies in m, so that nothing need keep it in
 * registers meanwhile: `kept` puts it there, `from_m` passes it on. */
#define STRAIGHT(function, row, call, way, parameters, kept, before, from_m)                       \
    EXPORTED int function parameters;                                                              \
    EXPORTED int function parameters                                                               \
    {                                                                                              \
        struct xfs_message message, *m = &message;                                                 \
        kept;                                                                                      \
        int(*const real) parameters = REAL(row, parameters);                                       \
        if (!xfs_message_begins(m, XFT_LEVEL_MPI, XFS_CALLED_AT, CALLER))                          \
            return real from_m;                                                                    \
        before;                                                                                    \
        return xfs_message_##way(m, real from_m, call);                                            \
    }
#define STRAIGHT_MPI(name, ...)                                                                    \
    STRAIGHT(MPI_##name, XFS_ROW_MPI_##name, XFS_CALL_MPI_##name, __VA_ARGS__)                     \
    STRAIGHT(PMPI_##name, XFS_ROW_PMPI_##name, XFS_CALL_MPI_##name, __VA_ARGS__)

#define XFS_ONE(name, way)                                                                         \
    STRAIGHT_MPI(name, way,                                                                        \
                 (const void *buffer, int count, xfs_word type, int peer, int tag, xfs_word comm), \
                 (m->one = (struct xfs_one){buffer, type, comm, NULL, count, peer, tag}), (void)0, \
                 (m->one.buffer, m->one.count, m->one.type, m->one.peer, m->one.tag, m->one.comm))
#define XFS_ONE_MORE(name, way)                                                                    \
    STRAIGHT_MPI(name, way,                                                                        \
                 (const void *buffer, int count, xfs_word type, int peer, int tag, xfs_word comm,  \
                  void *more),                                                                     \
                 (m->one = (struct xfs_one){buffer, type, comm, more, count, peer, tag}), (void)0, \
                 (m->one.buffer, m->one.count, m->one.type, m->one.peer, m->one.tag, m->one.comm,  \
                  m->one.more))
#define XFS_ONE_WAIT(name)                                                                         \
    STRAIGHT_MPI(name, waited, (void *request, void *status),                                      \
                 (m->wait = (struct xfs_one_wait){request, status, NULL}),                         \
                 xfs_requests_take_one(m, m->wait.request), (m->wait.request, m->wait.status))
#define XFS_ONE_TEST(name)                                                                         \
    STRAIGHT_MPI(name, tested, (void *request, int *flag, void *status),                           \
                 (m->wait = (struct xfs_one_wait){request, status, flag}),                         \
                 xfs_requests_take_one(m, m->wait.request),                                        \
                 (m->wait.request, m->wait.flag, m->wait.status))

/* Within another of them (a tool's, that calls PMPI_name) it is the outer one that counts. */
#define WATCHED(function, row, parameters, arguments, before, after)                               \
    EXPORTED int function parameters;                                                              \
    EXPORTED int function parameters                                                               \
    {                                                                                              \
        int(*const real) parameters = REAL(row, parameters);                                       \
        const void *const caller = CALLER;                                                         \
        before;                                                                                    \
        const int returned = real arguments;                                                       \
        after;                                                                                     \
        (void)caller;                                                                              \
        return returned;                                                                           \
    }
#define xfs_mpi_comm_made(made) returned == 0 ? xfs_mpi_made_from(made, caller) : (void)0
#define xfs_mpi_window_made(window, comm)                                                          \
    returned == 0 ? xfs_mpi_window_made_from(window, comm, caller) : (void)0
#define xfs_mpi_gone(gone) xfs_mpi_gone_from(gone, caller)
#define XFS_MADE(name, parameters, arguments, before, after)                                       \
    WATCHED(MPI_##name, XFS_ROW_MPI_##name, parameters, arguments, before, after)                  \
    WATCHED(PMPI_##name, XFS_ROW_PMPI_##name, parameters, arguments, before, after)

#define XFS_NCCL(name, op, parameters, arguments, after)                                           \
    RECORDED(name, XFS_ROW_##name, XFS_CALL_##name, XFT_LEVEL_NCCL, XFT_MESSAGE_##op, parameters,  \
             arguments, (void)0, after)
#define XFS_NCCL_MADE(name, parameters, arguments, before, after)                                  \
    WATCHED(name, XFS_ROW_##name, parameters, arguments, before, after)

#include "preload/messages/mpi.def"
#include "preload/messages/nccl.def"
#undef XFS_MPI_AS
#undef XFS_MADE
#undef XFS_NCCL
#undef XFS_NCCL_MADE

#define ROW(function, row, of_level)                                                               \
    [row - XFS_ROWS_MOST] = {                                                                      \
        .symbol = #function, .level = of_level, .wrapper = (void (*)(void))function},
#define XFS_MPI_AS(function, op, parameters, arguments, before, after)                             \
    ROW(function, XFS_ROW_##function, XFT_LEVEL_MPI)                                               \
    ROW(P##function, XFS_ROW_P##function, XFT_LEVEL_MPI)
#define XFS_MADE(name, parameters, arguments, before, after)                                       \
    XFS_MPI_AS(MPI_##name, , parameters, arguments, before, after)
#define XFS_NCCL_MADE(name, parameters, arguments, before, after)                                  \
    ROW(name, XFS_ROW_##name, XFT_LEVEL_NCCL)
#define XFS_NCCL(name, op, parameters, arguments, after) ROW(name, XFS_ROW_##name, XFT_LEVEL_NCCL)
const struct xfs_row xfs_message_rows[] = {
#include "preload/messages/mpi.def"
#include "preload/messages/nccl.def"
};
const unsigned xfs_message_row_count = XFS_MESSAGE_ROWS_END - XFS_ROWS_MOST;
