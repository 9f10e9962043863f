/* The functions of functions.def, and which of them are on. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/apply/apply.h"
#include "preload/apply/streams/beside.h"
#include "preload/apply/state/classes.h"
#include "preload/apply/gpus/crossed.h"
#include "preload/apply/gpus/crossings.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/managed/kernels.h"
#include "preload/apply/streams/launched.h"
#include "preload/apply/leave_out/leave_out.h"
#include "preload/apply/site/lines.h"
#include "preload/apply/memory/locking.h"
#include "preload/apply/managed/managed.h"
#include "preload/apply/memory/memory.h"
#include "preload/apply/calls/move.h"
#include "preload/apply/state/noted.h"
#include "preload/apply/offer.h"
#include "preload/apply/streams/own.h"
#include "preload/apply/gpus/pairs.h"
#include "preload/apply/gpus/peer_access.h"
#include "preload/apply/gpus/peers.h"
#include "preload/apply/gpus/pipeline.h"
#include "preload/apply/memory/placed.h"
#include "preload/apply/memory/placement.h"
#include "preload/apply/site/plan.h"
#include "preload/apply/memory/pool.h"
#include "preload/apply/managed/prefetch.h"
#include "preload/apply/streams/reach.h"
#include "preload/apply/gpus/relay.h"
#include "preload/apply/gpus/relays.h"
#include "preload/apply/staging/ring.h"
#include "preload/apply/site/site.h"
#include "preload/apply/state/state.h"
#include "preload/apply/streams/streams.h"
#include "preload/apply/leave_out/sum.h"
#include "preload/apply/team/team.h"
#include "preload/apply/leave_out/uploads.h"
#include "preload/apply/calls/writes.h"
#include "preload/base/command_memory.h"
#include "preload/base/settings.h"
#include "preload/lookup/driver.h"

void xfs_apply_follow_captures(int (*now)(void))
{
    xfs_apply_watch_captures(now);
}

void xferscope_apply_pass_on(int all)
{
    xfs_apply_pass_on(all != 0);
}

/* ---- the functions --------------------------------------------------------------------------- */

#define XFS_IN_PLACE_IF(on, symbol, params, args, carried)                                         \
    XFS_IN_PLACE(symbol, params, args, carried)
enum {
#define XFS_IN_PLACE(symbol, params, args, carried) ID_##symbol,
#include "preload/apply/functions.def"
#undef XFS_IN_PLACE
    FUNCTIONS
};
static xfs_function real_of[FUNCTIONS]; /* written before the function in its place is known */

#define XFS_MOVED(form_, per_thread, stream_, blocking_)                                           \
    ((bytes >= xfs_move_least || xfs_leave_out_on() || xfs_streams_want(bytes) ||                  \
      xfs_placed_want(bytes)) &&                                                                   \
     xfs_offer_copy(&(struct xfs_move){.form = (form_),                                            \
                                       .real = (xfs_function)real,                                 \
                                       .dst = (uint64_t)(uintptr_t)dst,                            \
                                       .src = (uint64_t)(uintptr_t)src,                            \
                                       .bytes = bytes,                                             \
                                       .given = (stream_),                                         \
                                       .stream = xfs_move_stream(stream_, per_thread),             \
                                       .blocking = (blocking_)},                                   \
                    &status))

/* A context ends; NULL: it is not known which. */
static void leave(xcu_context context)
{
    xfs_locking_leave(context);
    xfs_rings_leave(context);
    xfs_pool_leave(context);
    xfs_crossings_leave(context);
    xfs_peer_access_leave(context);
    xfs_pipes_leave(context);
    xfs_relays_leave(context);
    xfs_uploads_forget();
    xfs_prefetch_leave();
    xfs_streams_leave();
}
static xcu_context primary(xcu_device device)
{
    return xfs_apply_started() ? xfs_apply_primary(device) : NULL;
}
#define XFS_LEAVES(context) leave(context)

/* A call that writes there is still to be made. */
#define XFS_WRITES(p, bytes)                                                                       \
    (xfs_leave_out_on() && (xfs_uploads_written((uint64_t)(p), bytes), false))

/* A call that may need what is kept of page-locked memory. */
#define XFS_NEEDS_LOCKED(call)                                                                     \
    (xfs_class_on(XFS_CLASS_LOCKING) && (status = (call), true) &&                                 \
     (status != XCU_ERROR_OUT_OF_MEMORY || !xfs_locking_drain() || (status = (call), true)))

#define XFS_LOCKS(flags_, has_flags_)                                                              \
    xfs_placement_alloc(&(struct xfs_locking){.real = (xfs_function)real,                          \
                                              .out = p,                                            \
                                              .bytes = bytes,                                      \
                                              .flags = (flags_),                                   \
                                              .has_flags = (has_flags_),                           \
                                              .node = -1},                                         \
                        &status)

/* The program's memory is page-locked by `call`. */
#define XFS_PLACES(call)                                                                           \
    (xfs_placement_on() &&                                                                         \
     (placing = &(struct xfs_placing){.memory = p, .bytes = bytes},                                \
      xfs_placement_begin(placing)) &&                                                             \
     (status = (call),                                                                             \
      status != XCU_ERROR_OUT_OF_MEMORY || !xfs_locking_drain() || (status = (call), true)) &&     \
     (xfs_placement_end(placing, status), true))

/* A copy that may be between two GPUs, whose contexts the call names or not (NULL): carried out, or
 * made by `call`, once more where it brought other bytes. */
#define XFS_BETWEEN(per_thread, to_, from_, stream_, blocking_, call)                              \
    ((bytes >= xfs_move_least || xfs_pairs_ours()) && xfs_offers_between() &&                      \
     (between = &(struct xfs_offered){.asked = {.dst = dst,                                        \
                                                .src = src,                                        \
                                                .bytes = bytes,                                    \
                                                .to = (to_),                                       \
                                                .from = (from_),                                   \
                                                .stream = xfs_move_stream(stream_, per_thread),    \
                                                .blocking = (blocking_)}},                         \
      xfs_offer_between(between) || (status = (call), xfs_offer_between_end(between, status)) ||   \
          (status = (call), true)))
/* Made by `call`, and followed where it may be between GPUs that have access of ours. */
#define XFS_FOLLOWS(call, crossed)                                                                 \
    (xfs_pairs_ours() && (status = (call), true) && (status != XCU_SUCCESS || ((crossed), true)))
#define XFS_FOLLOWS_COPY(stream_, per_thread, dst_, src_, call)                                    \
    XFS_FOLLOWS(call, xfs_crossed_copy(                                                            \
                          &(struct xfs_crossed){.stream = xfs_move_stream(stream_, per_thread),    \
                                                .dst = (uint64_t)(uintptr_t)(dst_),                \
                                                .src = (uint64_t)(uintptr_t)(src_)}))
static bool shapes_matter(void)
{
    return xfs_streams_on() || xfs_peers_on();
}
/* Streams that the program makes matter to classes. */
static bool made_streams_matter(void)
{
    return xfs_relay_on() || xfs_streams_on();
}
static bool ended_streams_matter(void)
{
    return xfs_pipeline_on() || xfs_peers_on();
}
#define XFS_STREAM_ENDS(stream) (xfs_pipes_forget(stream), xfs_crossings_forget(stream), false)
#define XFS_STREAM_MADE(flags) (xfs_apart_note(flags), xfs_streams_end(), false)
/* Work in a stream, or in a default stream; work whose order is not followed. */
#define XFS_USES(stream, per_thread) (xfs_streams_used(xfs_move_stream(stream, per_thread)), false)
#define XFS_WITHIN (xfs_streams_within(dst, src), false)
#define XFS_IN_ANY_ORDER (xfs_streams_end(), false)
/* Work of a default stream that stands for what is before it; calls that wait for that, or ask. */
#define XFS_STANDS_FOR(stream, per_thread) (XFS_USES(stream, per_thread) || (xfs_own_join(), false))
#define XFS_WAITS_FOR(stream, per_thread)                                                          \
    (xfs_streams_on() && xfs_move_stream(stream, per_thread) == XCU_STREAM_LEGACY &&               \
     (xfs_own_wait_all(), false))
#define XFS_ASKS_FOR(stream, per_thread)                                                           \
    (xfs_move_stream(stream, per_thread) == XCU_STREAM_LEGACY && xfs_own_pending() &&              \
     (xfs_own_wait_all(), xfs_streams_end(), false))
/* A fill of a default stream. */
#define XFS_FILLS(address_, n_, width_, value_, stream_, per_thread)                               \
    (xfs_launched_on() &&                                                                          \
     xfs_filled_move(&(struct xfs_fill){.address = (address_),                                     \
                                        .n = (n_),                                                 \
                                        .width = (width_),                                         \
                                        .value = (value_),                                         \
                                        .stream = xfs_move_stream(stream_, per_thread)},           \
                     &status))
static bool launches_matter(void)
{
    return xfs_prefetch_on() || xfs_streams_on();
}

/* All work of a context is over. */
#define XFS_WAITED(context, call)                                                                  \
    (xfs_peers_on() && (xfs_crossings_wait(context), status = (call), true) &&                     \
     (status != XCU_SUCCESS || (xfs_peers_waited(context), true)))

/* An allocation that may need what the pool keeps. */
#define XFS_NEEDS(call)                                                                            \
    (xfs_pool_on() && (status = (call), true) &&                                                   \
     (status != XCU_ERROR_OUT_OF_MEMORY || !xfs_pool_drain() || (status = (call), true)))

static bool allocates(xfs_function real, xcu_deviceptr *p, size_t bytes, int *status)
{
    bool made = xfs_pool_on() && xfs_pool_alloc(real, p, bytes, status);
    if (!made && xfs_launched_checked()) {
        *status = ((int (*)(xcu_deviceptr *, size_t))real)(p, bytes);
        made = true;
    }
    if (made && xfs_launched_checked() && *status == XCU_SUCCESS)
        xfs_beside_allocated(*p, bytes);
    return made;
}

/* Managed memory. */
#define XFS_MANAGES                                                                                \
    (xfs_prefetch_on() && xfs_prefetch_alloc((xfs_function)real, p, bytes, flags, &status))
#define XFS_FREES(p)                                                                               \
    ((xfs_pairs_ours() && (xfs_crossings_free(p), false)) ||                                       \
     (xfs_prefetch_on() && (xfs_managed_forget(p), false)))
#define XFS_FREES_HOST(p)                                                                          \
    (xfs_pairs_ours() && (xfs_crossings_free((xcu_deviceptr)(uintptr_t)(p)), false))
static bool is_launched(const struct xfs_launch *launch, int *status)
{
    return (xfs_launched_on() && xfs_launched_move(launch, status)) ||
           (xfs_prefetch_on() && xfs_prefetch_launch(launch, status));
}
#define XFS_LAUNCHED(per_thread_, ...)                                                             \
    is_launched(&(struct xfs_launch){.real = (xfs_function)real,                                   \
                                     .function = function,                                         \
                                     .values = values,                                             \
                                     .extra = extra,                                               \
                                     .per_thread = (per_thread_),                                  \
                                     __VA_ARGS__},                                                 \
                &status)
static void forget_modules(void)
{
    xfs_kernels_forget(false);
    xfs_reach_forget();
}

#define XFS_IN_PLACE(symbol, params, args, carried)                                                \
    static int in_##symbol params                                                                  \
    {                                                                                              \
        int(*const real) params = (int(*) params)real_of[ID_##symbol];                             \
        int status = 0;                                                                            \
        struct xfs_offered *between = NULL;                                                        \
        struct xfs_placing *placing = NULL;                                                        \
        (void)placing;                                                                             \
        (void)between;                                                                             \
        if (carried)                                                                               \
            return status;                                                                         \
        return real args;                                                                          \
    }
#include "preload/apply/functions.def"
#undef XFS_IN_PLACE

#undef XFS_IN_PLACE_IF
static bool always(void)
{
    return true;
}

static const struct {
    const char *symbol;
    xfs_function function;
    bool (*on)(void);
} rows[] = {
#define XFS_IN_PLACE(symbol, params, args, carried) {#symbol, (xfs_function)in_##symbol, always},
#define XFS_IN_PLACE_IF(on, symbol, params, args, carried) {#symbol, (xfs_function)in_##symbol, on},
#include "preload/apply/functions.def"
#undef XFS_IN_PLACE_IF
#undef XFS_IN_PLACE
};

/* A function that may write device memory in ways that are not followed. */
static xfs_function counted(const char *symbol, xfs_function real)
{
    bool counts = xfs_leave_out_on() || xfs_streams_on();
    xfs_function found = counts ? xfs_writes_counted(symbol, real) : real;
    if (found == NULL) {
        xfs_leave_out_give_up();
        xfs_streams_end();
    }
    return found ? found : real;
}

static xfs_function in_place(const char *symbol, xfs_function real)
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        if (strcmp(symbol, rows[i].symbol) != 0 || !rows[i].on())
            continue;
        real_of[i] = rows[i].on == always ? real : counted(symbol, real);
        return rows[i].function;
    }
    return counted(symbol, real);
}

static bool has_plan;

/* In a forked child, in which the parent's CUDA is gone, and its threads. */
static void after_fork(void)
{
    if (xfs_apply_after_fork()) {
        xfs_team_after_fork();
        xfs_locked_after_fork();
        xfs_rings_after_fork();
        xfs_sites_after_fork();
        xfs_locking_after_fork();
        xfs_crossings_after_fork();
        xfs_pair_after_fork();
        xfs_pipes_after_fork();
        xfs_relays_after_fork();
    }
    if (!has_plan)
        return;
    xfs_uploads_after_fork();
    xfs_pool_after_fork();
    xfs_sums_after_fork();
    xfs_placed_after_fork();
    xfs_prefetch_after_fork();
    xfs_streams_after_fork();
    xfs_lines_after_fork();
}

static void read_plan(const char *which)
{
    const unsigned char *memory = xfs_command_memory(XFS_PLAN_NAME, which, XFT_PLAN_BYTES_MOST);
    has_plan = memory && xfs_plan_take(memory, XFT_PLAN_BYTES_MOST);
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

/* A copy of no bytes is not one. */
static uint64_t least_bytes(void)
{
    struct xfs_settings settings;
    xfs_settings_parse(&settings, from_environment);
    return settings.apply_least > 0 ? settings.apply_least : 1;
}

/* In a set-uid program the environment belongs to another user. What makes no sense is reported
 * with the other settings. */
__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("XFERSCOPE_APPLY");
    if (text == NULL || strcmp(text, "off") == 0 || getauxval(AT_SECURE))
        return;
    xfs_move_least = least_bytes();
    bool any = xfs_classes_choose(text);
    if (getenv("XFERSCOPE_APPLY_PLAN"))
        read_plan(getenv("XFERSCOPE_APPLY_PLAN"));
    if (!any)
        return;
    pthread_atfork(xfs_locking_before_fork, xfs_locking_before_fork, after_fork);
    xfs_in_place = in_place;
    xfs_noted_watch();
}
