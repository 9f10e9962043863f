#include "preload/apply/gpus/pipes.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/memory/memory.h"
#include "preload/apply/memory/near.h"
#include "preload/apply/state/state.h"

#define MOST_PIPES 32
#define MOST_SLOT ((size_t)4 << 20)
#define LEAST_SLOT ((size_t)1 << 20)
#define BATCH 4         /* pieces that are queued on one side before the other */
#define TRIED_AGAIN 256 /* copies after which what was refused is asked for again */
#define STILL_NS 20000  /* an event in a stream without work */
#define MOST_WAITING 64 /* pieces behind work: two waits, a copy and an event each */
#define STREAM_NON_BLOCKING 1
#define EVENT_WITHOUT_TIME 2
#define REGISTER_PORTABLE 1

static struct xfs_pipe pipes[MOST_PIPES];
static struct xfs_contexts_table table = {
    .entries = pipes, .bytes = sizeof *pipes, .most = MOST_PIPES, .adding = ATOMIC_FLAG_INIT};

/* Of contexts that ended unseen the memory stays: the driver may still know it. */
struct xfs_pipe *xfs_pipe_take(const struct xfs_between *copy)
{
    return xfs_contexts_take(&table, copy->context[0], copy->context[1]);
}

void xfs_pipe_give_back(struct xfs_pipe *pipe)
{
    xfs_contexts_give_back(&pipe->of);
}

/* ---- in its contexts ------------------------------------------------------------------------- */

static bool enter(const struct xfs_pipe *pipe, unsigned side)
{
    return xfs_apply_driver()->push(pipe->of.context[side]) == XCU_SUCCESS;
}

static void leave(void)
{
    xcu_context popped;
    xfs_apply_driver()->pop(&popped);
}

/* ---- making ---------------------------------------------------------------------------------- */

static size_t slot_bytes_now(void)
{
    uint64_t most = xfs_apply_memory(), used = xfs_locked_bytes();
    uint64_t left = most > used ? most - used : 0;
    uint64_t slot = left / XFS_PIPE_SLOTS & ~((uint64_t)LEAST_SLOT - 1);
    return slot < MOST_SLOT ? (size_t)slot : MOST_SLOT;
}

/* A child of a fork gets no copy of it. */
static bool make_memory(struct xfs_pipe *pipe, int device)
{
    size_t slot = slot_bytes_now(), bytes = slot * XFS_PIPE_SLOTS;
    char *memory = bytes ? xfs_map_aligned(bytes, MAP_PRIVATE) : NULL;
    if (memory == NULL)
        return false;
    madvise(memory, bytes, MADV_HUGEPAGE);
    madvise(memory, bytes, MADV_DONTFORK);
    xfs_near_place(memory, bytes, device);
    if (xfs_apply_driver()->lock_pages(memory, bytes, REGISTER_PORTABLE) != XCU_SUCCESS) {
        munmap(memory, bytes);
        return false;
    }
    pipe->memory = memory;
    pipe->slot_bytes = slot;
    xfs_locked_more(bytes);
    return true;
}

static bool make_side(struct xfs_pipe *pipe, unsigned side)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_event *events = side ? pipe->empty : pipe->full;
    if (driver->stream_create(&pipe->stream[side], STREAM_NON_BLOCKING) != XCU_SUCCESS ||
        driver->event_create(&pipe->begun[side], EVENT_WITHOUT_TIME) != XCU_SUCCESS ||
        (side && driver->event_create(&pipe->ended, EVENT_WITHOUT_TIME) != XCU_SUCCESS))
        return false;
    for (unsigned i = 0; i < XFS_PIPE_SLOTS; i++)
        if (driver->event_create(&events[i], EVENT_WITHOUT_TIME) != XCU_SUCCESS)
            return false;
    return true;
}

static void destroy_side(struct xfs_pipe *pipe, unsigned side)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_event *events = side ? pipe->empty : pipe->full;
    if (pipe->stream[side])
        driver->stream_destroy(pipe->stream[side]);
    for (unsigned i = 0; i < XFS_PIPE_SLOTS; i++)
        if (events[i])
            driver->event_destroy(events[i]);
    if (pipe->begun[side])
        driver->event_destroy(pipe->begun[side]);
    if (side && pipe->ended)
        driver->event_destroy(pipe->ended);
}

/* Nothing of it is under way. It is as it was before it was made. */
static void destroy(struct xfs_pipe *pipe)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    size_t bytes = pipe->slot_bytes * XFS_PIPE_SLOTS;
    for (unsigned side = 0; side < 2; side++) {
        if (!enter(pipe, side))
            continue;
        destroy_side(pipe, side);
        if (side == 0 && pipe->memory && driver->unlock_pages(pipe->memory) == XCU_SUCCESS)
            munmap(pipe->memory, bytes); /* else the driver may still use it */
        leave();
    }
    if (pipe->memory)
        xfs_locked_less(bytes);
    xfs_timed_drop(&pipe->tries.last);
    struct xfs_tries known = pipe->tries;
    xfs_contexts_begin(&table, &pipe->of, pipe->of.context[0], pipe->of.context[1]);
    pipe->tries = known;
}

bool xfs_pipe_make(struct xfs_pipe *pipe, const struct xfs_between *copy)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    bool made = true;
    if (pipe->memory)
        return true;
    if (pipe->refused > 0) {
        pipe->refused--;
        return false;
    }
    xfs_apply_driver()->exchange(&mode); /* another thread's capture is not disturbed */
    for (unsigned side = 0; side < 2 && made; side++) {
        made = enter(pipe, side);
        if (!made)
            break;
        made = (side || make_memory(pipe, copy->device[0])) && make_side(pipe, side);
        leave();
    }
    if (!made) {
        destroy(pipe);
        pipe->refused = TRIED_AGAIN;
    }
    xfs_apply_driver()->exchange(&mode);
    return made;
}

/* ---- one copy -------------------------------------------------------------------------------- */

/* Whether the stream of the current context has nothing to wait for now: its own work, or that of
 * streams that it is ordered with. */
static bool is_idle(struct xfs_pipe *pipe, unsigned side, xcu_stream stream)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_result r = XCU_ERROR_NOT_READY;
    if (driver->event_record(pipe->begun[side], stream) != XCU_SUCCESS)
        return false;
    uint64_t since = xfs_apply_now_ns();
    while ((r = driver->event_query(pipe->begun[side])) == XCU_ERROR_NOT_READY &&
           xfs_apply_now_ns() - since < STILL_NS)
        ;
    return r == XCU_SUCCESS;
}

bool xfs_pipe_is_still(struct xfs_pipe *pipe)
{
    for (unsigned side = 0; side < 2; side++) {
        if (!enter(pipe, side))
            return false;
        bool idle = is_idle(pipe, side, XCU_STREAM_LEGACY);
        leave();
        if (!idle)
            return false;
    }
    return true;
}

/* As many pieces as fill the ring at least, so that small copies overlap too. */
static size_t piece_bytes(const struct xfs_pipe *pipe, uint64_t bytes)
{
    size_t piece = (size_t)(bytes / XFS_PIPE_SLOTS) & ~(LEAST_SLOT - 1);
    if (piece < LEAST_SLOT)
        piece = LEAST_SLOT;
    return piece < pipe->slot_bytes ? piece : pipe->slot_bytes;
}

static uint64_t piece_count(const struct xfs_pipe *pipe, uint64_t bytes)
{
    size_t most = piece_bytes(pipe, bytes);
    return (bytes + most - 1) / most;
}

/* A thread's default stream has the same handle as another thread's. */
bool xfs_pipe_has_room(struct xfs_pipe *pipe, const struct xfs_between *copy, bool waits)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (pipe->pieces && driver->event_query(pipe->ended) == XCU_SUCCESS) {
        pipe->pieces = 0;
        pipe->behind = NULL;
    }
    if (driver->stream_query(copy->stream) == XCU_SUCCESS &&
        is_idle(pipe, copy->side, copy->stream))
        return pipe->behind == NULL;
    if (!waits || copy->stream == XCU_STREAM_PER_THREAD ||
        pipe->pieces + piece_count(pipe, copy->bytes) > MOST_WAITING ||
        (pipe->behind && (pipe->behind != copy->stream || pipe->behind_side != copy->side)))
        return false;
    pipe->behind = copy->stream;
    pipe->behind_side = copy->side;
    return true;
}

struct piece {
    unsigned slot;
    char *memory;
    uint64_t offset;
    size_t bytes;
};

/* Out of the source, into a slot that is empty. */
static bool fill(struct xfs_pipe *pipe, const struct xfs_between *copy, const struct piece *piece)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_stream out = pipe->stream[0];
    return (!pipe->used[piece->slot] ||
            driver->stream_wait(out, pipe->empty[piece->slot], 0) == XCU_SUCCESS) &&
           driver->to_host(piece->memory, copy->src + piece->offset, piece->bytes, out) ==
               XCU_SUCCESS &&
           driver->event_record(pipe->full[piece->slot], out) == XCU_SUCCESS;
}

/* Out of the slot, once it is full, into the destination. */
static bool drain(struct xfs_pipe *pipe, const struct xfs_between *copy, const struct piece *piece)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_stream in = pipe->stream[1];
    if (driver->stream_wait(in, pipe->full[piece->slot], 0) != XCU_SUCCESS ||
        driver->to_device(copy->dst + piece->offset, piece->memory, piece->bytes, in) !=
            XCU_SUCCESS)
        return false;
    pipe->used[piece->slot] = driver->event_record(pipe->empty[piece->slot], in) == XCU_SUCCESS;
    return pipe->used[piece->slot];
}

/* Some pieces from `first` on, on one side. */
static bool queue_batch(struct xfs_pipe *pipe, const struct xfs_between *copy, uint64_t first,
                        unsigned side)
{
    size_t most = piece_bytes(pipe, copy->bytes);
    bool good = enter(pipe, side);
    if (!good)
        return false;
    for (uint64_t i = first; i < first + BATCH && i * most < copy->bytes && good; i++) {
        struct piece piece = {.slot = (unsigned)(i % XFS_PIPE_SLOTS), .offset = i * most};
        uint64_t left = copy->bytes - piece.offset;
        piece.bytes = left < most ? (size_t)left : most;
        piece.memory = pipe->memory + piece.slot * pipe->slot_bytes;
        good = side ? drain(pipe, copy, &piece) : fill(pipe, copy, &piece);
    }
    leave();
    return good;
}

/* The source's stream begins when the program's is at this moment. */
static bool queue_begin(struct xfs_pipe *pipe, const struct xfs_between *copy)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_event moment = pipe->begun[copy->side];
    if (driver->event_record(moment, copy->stream) != XCU_SUCCESS || !enter(pipe, 0))
        return false;
    bool good = driver->stream_wait(pipe->stream[0], moment, 0) == XCU_SUCCESS;
    leave();
    return good;
}

/* What comes behind in the program's stream waits for the last piece. */
static bool queue_end(struct xfs_pipe *pipe, const struct xfs_between *copy)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (!enter(pipe, 1))
        return false;
    bool good = driver->event_record(pipe->ended, pipe->stream[1]) == XCU_SUCCESS;
    leave();
    return good && driver->stream_wait(copy->stream, pipe->ended, 0) == XCU_SUCCESS;
}

static bool queue_all(struct xfs_pipe *pipe, const struct xfs_between *copy)
{
    size_t most = piece_bytes(pipe, copy->bytes);
    if (!queue_begin(pipe, copy))
        return false;
    for (uint64_t first = 0; first * most < copy->bytes; first += BATCH)
        if (!queue_batch(pipe, copy, first, 0) || !queue_batch(pipe, copy, first, 1))
            return false;
    return queue_end(pipe, copy);
}

bool xfs_pipe_queue(struct xfs_pipe *pipe, const struct xfs_between *copy)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    pipe->pieces += piece_count(pipe, copy->bytes);
    if (queue_all(pipe, copy))
        return true;
    for (unsigned side = 0; side < 2 && !queue_end(pipe, copy); side++)
        driver->stream_sync(pipe->stream[side]);
    return false;
}

bool xfs_pipe_wait(struct xfs_pipe *pipe)
{
    return xfs_apply_driver()->event_wait(pipe->ended) == XCU_SUCCESS;
}

/* ---- the ends -------------------------------------------------------------------------------- */

/* Until what waits behind it is over the pipe is nobody's: no stream has this handle. */
void xfs_pipes_forget(xcu_stream stream)
{
    for (unsigned i = 0; i < xfs_contexts_count(&table); i++) {
        struct xfs_pipe *pipe = &pipes[i];
        if (pipe->behind != stream || xfs_contexts_take_of(&table, i, pipe->of.context[0]) == NULL)
            continue;
        if (pipe->behind == stream)
            pipe->behind = (xcu_stream)pipe;
        xfs_pipe_give_back(pipe);
    }
}

/* Not one of a copy that is under way while its context ends. */
void xfs_pipes_leave(xcu_context context)
{
    for (unsigned i = 0; context && i < xfs_contexts_count(&table); i++) {
        struct xfs_pipe *pipe = xfs_contexts_take_of(&table, i, context);
        if (pipe == NULL)
            continue;
        if (xfs_contexts_alive(&pipe->of)) {
            for (unsigned side = 0; side < 2 && pipe->memory; side++)
                xfs_apply_driver()->stream_sync(pipe->stream[side]);
            destroy(pipe);
        }
        xfs_contexts_begin(&table, &pipe->of, NULL, NULL);
        xfs_pipe_give_back(pipe);
    }
}

void xfs_pipes_after_fork(void)
{
    xfs_contexts_after_fork(&table);
}
