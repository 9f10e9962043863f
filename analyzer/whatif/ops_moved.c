#include "analyzer/whatif/ops_moved.h"

#include <math.h>

#include "analyzer/base/alloc.h"

#define MOST_LOOKED_AT 64

/* How much of from..to, at most up to `last`, comes behind all that was counted before. */
static double more_of(double *until, double from, double to, double last)
{
    from = fmax(from, *until);
    to = fmin(to, last);
    *until = fmax(*until, to);
    return fmax(0, to - from);
}

static int gpu_of(const struct xfw_numbers *numbers, const struct xfa_event *event)
{
    return event->gpu < 0 ? xfa_process_gpu(numbers->process, 0) : event->gpu;
}

static void count_move(struct xfw_moved *moved, const struct xfa_event *event, int gpu)
{
    moved->gpu = (int16_t)gpu;
    if (event->kind != XFT_EVENT_MIGRATION)
        return;
    moved->bytes = xfa_add(moved->bytes, event->bytes);
    moved->records++;
}

/* A kernel had to wait for it: a page that came, or a fault that was served. */
static void demanded(struct xfw_ops_queue *queue, struct xfw_numbers *numbers,
                     const struct xfa_event *event)
{
    int gpu = gpu_of(numbers, event);
    struct xfw_pending *pending = xfw_ops_queue_running(queue, gpu);
    double start = xfw_ops_queue_time(queue, event->start_ns);
    double end = xfw_ops_queue_time(queue, event->end_ns);
    if (!pending || start > pending->op.device_end_ns)
        return;
    struct xfw_moved *moved = &pending->op.demanded;
    pending->stalled_until_ns = fmax(pending->stalled_until_ns, pending->op.device_start_ns);
    moved->stalled_ns += more_of(&pending->stalled_until_ns, start, end, pending->op.device_end_ns);
    count_move(moved, event, gpu);
}

/* In the own time of the thread whose call before ended last. */
static void fetched(struct xfw_ops_queue *queue, struct xfw_numbers *numbers,
                    const struct xfa_event *event)
{
    struct xfw_thread *thread = NULL;
    for (size_t i = 0; i < numbers->threads.count && i < MOST_LOOKED_AT; i++) {
        struct xfw_thread *one = xfa_table_at(&numbers->threads, i);
        if (one->end_ns <= event->start_ns && (!thread || one->end_ns > thread->end_ns))
            thread = one;
    }
    if (!thread)
        return;
    double start = xfw_ops_queue_time(queue, event->start_ns);
    double end = xfw_ops_queue_time(queue, event->end_ns);
    thread->fetched.stalled_ns += more_of(&thread->fetched_until_ns, start, end, end);
    count_move(&thread->fetched, event, gpu_of(numbers, event));
}

void xfw_ops_moved(struct xfw_ops_queue *queue, struct xfw_numbers *numbers,
                   const struct xfa_event *event)
{
    xfw_ops_queue_keep_running(queue);
    if (event->kind == XFT_EVENT_FAULT) {
        if (event->gpu >= 0 && event->end_ns)
            demanded(queue, numbers, event);
    } else if (event->managed.cause == XFT_CAUSE_USER) {
        xfw_ops_queue_record_move(queue, event);
    } else if (event->direction == XFT_DIR_D2H) {
        fetched(queue, numbers, event);
    } else {
        demanded(queue, numbers, event);
    }
}
