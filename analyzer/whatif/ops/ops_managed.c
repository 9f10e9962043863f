#include "analyzer/whatif/ops/ops_managed.h"

#include <string.h>

#include "analyzer/base/alloc.h"
#include "xferscope/trace.h"

#define MOST_LOOKED_AT 64 /* threads, for the one that touched it */

void xfw_moves_begin(struct xfw_moves *moves, struct xfw_ops_queue *queue,
                     struct xfw_numbers *numbers, const struct xfa_process *process)
{
    xfw_moves_end(moves);
    moves->queue = queue;
    moves->numbers = numbers;
    moves->process = process;
}

void xfw_moves_end(struct xfw_moves *moves)
{
    xfa_blocks_free(&moves->allocations);
    memset(moves->users, 0, sizeof moves->users);
}

void xfw_moves_call(struct xfw_moves *moves, const struct xfa_event *event)
{
    uint64_t address = event->memory.address;
    if (event->kind == XFT_EVENT_ALLOC && event->dst_mem == XFT_MEM_MANAGED) {
        xfw_ops_queue_keep_running(moves->queue);
        xfa_blocks_pass(&moves->allocations, event->start_ns);
        if (address && event->bytes)
            xfa_blocks_add(&moves->allocations, address, xfa_add(address, event->bytes), 0);
    } else if (event->kind == XFT_EVENT_FREE) {
        xfa_blocks_end(&moves->allocations, address, event->start_ns);
    }
}

void xfw_moves_launch(struct xfw_moves *moves, const struct xfw_op *op)
{
    const struct xfa_arguments *arguments =
        moves->allocations.count && op->arguments && moves->process->trace
            ? xfa_trace_arguments(moves->process->trace, op->arguments)
            : NULL;
    for (uint32_t k = 0; arguments && k < arguments->count; k++) {
        const struct xfa_block *block =
            xfa_blocks_find(&moves->allocations, xfa_arguments_pointer(arguments, k));
        if (block)
            moves->users[xfw_allocation_place(block->address)] = op->thread + 1;
    }
}

/* How much of from..to, up to `last`, comes after all that was counted before (until). */
static double more_of(double *until, double from, double to, double last)
{
    from = xfw_max(from, *until);
    to = xfw_min(to, last);
    *until = xfw_max(*until, to);
    return xfw_max(0, to - from);
}

static int gpu_of(const struct xfw_moves *moves, const struct xfa_event *event)
{
    return event->gpu < 0 ? xfa_process_gpu(moves->process, 0) : event->gpu;
}

static const struct xfa_block *block_of(const struct xfw_moves *moves,
                                        const struct xfa_event *event)
{
    return xfa_blocks_find(&moves->allocations, event->managed.address);
}

static void count(const struct xfw_moves *moves, struct xfw_moved *moved,
                  const struct xfa_event *event, int gpu)
{
    moved->gpu = (int16_t)gpu;
    if (event->kind != XFT_EVENT_MIGRATION)
        return;
    const struct xfa_block *of = block_of(moves, event);
    moved->allocations |= of ? xfw_allocation_bit(of->address) : 0;
    moved->bytes = xfa_add(moved->bytes, event->bytes);
    moved->records++;
}

/* A page that a fault brought alone, the driver perhaps those around it by its guess: what is read
 * in one piece is faulted in in pieces of several pages, as threads side by side touch them. */
static void count_page(struct xfw_moved *moved, const struct xfa_event *event)
{
    if (event->kind != XFT_EVENT_MIGRATION || event->managed.cause == XFT_CAUSE_PREFETCH)
        return;
    bool alone = event->managed.cause == XFT_CAUSE_COHERENCE && event->bytes <= XFW_PAGE_BYTES;
    if (!alone)
        moved->pages = XFW_PAGES_TOGETHER;
    else if (moved->pages < XFW_PAGES_TOGETHER)
        moved->pages++;
}

struct user {
    const struct xfa_process *process;
    const struct xfa_block *of;
};

/* The kernel was given a pointer to the allocation. */
static bool uses(const void *self, const struct xfw_op *op)
{
    const struct user *user = self;
    const struct xfa_arguments *arguments =
        op->arguments && user->process->trace
            ? xfa_trace_arguments(user->process->trace, op->arguments)
            : NULL;
    for (uint32_t k = 0; arguments && user->of && k < arguments->count; k++) {
        uint64_t pointer = xfa_arguments_pointer(arguments, k);
        if (pointer >= user->of->address && pointer < user->of->end)
            return true;
    }
    return false;
}

/* A page that came, or a fault that was served: the kernel that runs waited for it. */
static void demanded(struct xfw_moves *moves, const struct xfa_event *event)
{
    int gpu = gpu_of(moves, event);
    double start = xfw_ops_queue_time(moves->queue, event->start_ns);
    struct user user = {moves->process, block_of(moves, event)};
    struct xfw_pending *pending = xfw_ops_queue_running(moves->queue, gpu, start, uses, &user);
    double end = xfw_ops_queue_time(moves->queue, event->end_ns);
    if (!pending || start > pending->op.device_end_ns)
        return;
    struct xfw_moved *moved = &pending->op.demanded;
    if (!xfw_has_moved(moved)) /* it may have been given memory of the host, too */
        pending->op.reach_ns = pending->op.link_ns = 0;
    pending->stalled_until_ns = xfw_max(pending->stalled_until_ns, pending->op.device_start_ns);
    moved->stalled_ns += more_of(&pending->stalled_until_ns, start, end, pending->op.device_end_ns);
    if (event->kind == XFT_EVENT_MIGRATION && user.of &&
        !(moved->allocations & xfw_allocation_bit(user.of->address)))
        pending->came.of = xfa_add(pending->came.of, user.of->end - user.of->address);
    count(moves, moved, event, gpu);
    count_page(moved, event);
    if (event->kind == XFT_EVENT_MIGRATION) {
        pending->op.link_ns += xfw_max(0, end - start);
        pending->came.until_ns = xfw_max(pending->came.until_ns, end);
    }
}

/* It moved in the own time of the thread whose kernels use it or, where that is in a call, of the
 * one whose last call ended last. */
static struct xfw_thread *fetched_by(const struct xfw_moves *moves, const struct xfa_event *event)
{
    const struct xfa_block *block = block_of(moves, event);
    uint32_t user = block ? moves->users[xfw_allocation_place(block->address)] : 0;
    struct xfw_thread *thread = user ? xfa_table_at(&moves->numbers->threads, user - 1) : NULL;
    if (thread && thread->end_ns <= event->start_ns)
        return thread;
    thread = NULL;
    for (size_t i = 0; i < moves->numbers->threads.count && i < MOST_LOOKED_AT; i++) {
        struct xfw_thread *one = xfa_table_at(&moves->numbers->threads, i);
        if (one->end_ns <= event->start_ns && (!thread || one->end_ns > thread->end_ns))
            thread = one;
    }
    return thread;
}

static struct xfw_thread *fetched(struct xfw_moves *moves, const struct xfa_event *event)
{
    struct xfw_thread *thread = fetched_by(moves, event);
    if (!thread)
        return NULL;
    double start = xfw_ops_queue_time(moves->queue, event->start_ns);
    double end = xfw_ops_queue_time(moves->queue, event->end_ns);
    if (!xfw_has_moved(&thread->fetched))
        thread->fetched_from_ns = start;
    thread->fetched.stalled_ns += more_of(&thread->fetched_until_ns, start, end, end);
    double span_us = (thread->fetched_until_ns - thread->fetched_from_ns) / 1e3;
    thread->fetched.span_us = (uint16_t)xfw_max(0, xfw_min(span_us, UINT16_MAX));
    count(moves, &thread->fetched, event, gpu_of(moves, event));
    return thread;
}

/* A page that it brings is a record of its own, behind this one. */
static void faulted(const struct xfw_moves *moves, const struct xfa_event *event)
{
    struct xfw_thread *thread = fetched_by(moves, event);
    if (thread)
        thread->fetched.faults += event->managed.count;
}

struct xfw_thread *xfw_moves_event(struct xfw_moves *moves, const struct xfa_event *event)
{
    xfw_ops_queue_keep_running(moves->queue);
    if (event->kind == XFT_EVENT_FAULT) {
        if (event->gpu < 0)
            faulted(moves, event);
        else if (event->end_ns)
            demanded(moves, event);
    } else if (event->managed.cause == XFT_CAUSE_USER) {
        xfw_ops_queue_record_move(moves->queue, event);
    } else if (event->direction == XFT_DIR_D2H) {
        return fetched(moves, event);
    } else {
        demanded(moves, event);
    }
    return NULL;
}
