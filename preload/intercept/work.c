#include "preload/intercept/captures.h"
#include "preload/intercept/work.h"

#include <errno.h>
#include <stddef.h>

#include "preload/content/verify.h"
#include "preload/nvtx/nvtx.h"
#include "preload/intercept/arguments.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/describe.h"
#include "preload/intercept/faults.h"
#include "preload/intercept/functions.h"
#include "preload/record/clock.h"

/* The fields of a step's event other than its call and times. */
struct short_event {
    uint64_t src, dst, aux, stream;
    uint64_t kept; /* of a launch; of a query that ends a polled wait, how long that was */
    uint32_t correlation;
    uint32_t polls, stack; /* of such a query */
    uint16_t flags;
    uint8_t kind;
    int16_t device;
};

/* Keeps errno. */
static inline void record(const struct xfs_step *s, uint64_t end_ns, const struct short_event *v)
{
    xfs_nvtx_catch_up();
    struct xfs_lane *lane = xfs_row_open();
    if (lane == NULL)
        return;
    struct xft_event *e = &lane->rows[lane->next];
    e->start_ns = s->start_ns;
    e->end_ns = end_ns;
    e->src = v->src;
    e->dst = v->dst;
    e->aux = v->aux;
    e->stream = v->stream;
    e->correlation = v->correlation;
    e->call = s->call;
    e->flags = s->flags | v->flags;
    e->kind = v->kind;
    e->device = v->device;
    if (__builtin_expect(v->kept != 0, 0)) {
        e->width = v->kept;
        e->count = v->polls;
        e->stack = v->stack;
    }
    xfs_row_close(lane);
    if (xfs_call_is_timed(lane))
        xfs_cost_ends(lane, v->kind, s->start_ns, end_ns);
    xfs_call_over(lane);
}

/* Queries the driver for the stream's number and device. */
static XFS_COLD void ask_driver(struct short_event *v, const struct xfs_step *s, bool is_default)
{
    int saved = errno;
    if (is_default)
        v->device = xfs_default_device();
    if (xfs_captures_now() > 0 &&
        xfs_stream_captured((xcu_stream)(uintptr_t)v->stream, (s->flags & XFT_PER_THREAD) != 0))
        v->flags |= XFT_CAPTURED;
    errno = saved;
}

/* The flags and the device that go with a stream. */
static inline void set_stream(struct short_event *v, const struct xfs_step *s, xcu_stream stream)
{
    v->stream = XFS_ADDR(stream);
    v->flags = XFT_STREAM_KNOWN;
    bool is_default = xfs_stream_is_default(v->stream);
    v->device = (int16_t)(is_default ? xfs_only_device : XFT_PLACE_UNKNOWN);
    if (__builtin_expect(xfs_captures_now() > 0 || (is_default && v->device < 0), 0))
        ask_driver(v, s, is_default);
}

/* ---- launches -------------------------------------------------------------------------------- */

static inline void launched(const struct xfs_step *s, uint64_t end_ns, uint32_t correlation,
                            const void *function, uint64_t threads, xcu_stream stream,
                            void **values, void **extra, bool alone)
{
    struct xfs_function *f = xfs_function_of(function);
    struct short_event v = {.kind = XFT_EVENT_LAUNCH,
                            .src = f ? atomic_load_explicit(&f->name, memory_order_relaxed) : 0,
                            .dst = threads,
                            .aux = xfs_arguments_of(f, values, extra),
                            .correlation = correlation};
    set_stream(&v, s, stream);
    if (xfs_verify_on() && !(v.flags & XFT_CAPTURED)) {
        if (v.aux && alone)
            v.kept = xfs_arguments_verify(f, values, extra, stream, s->flags & XFT_PER_THREAD);
        else
            xfs_verify_unknown();
    }
    record(s, end_ns, &v);
    xfs_faults_launched();
}

void xfs_launch(const struct xfs_step *s, const void *function, uint64_t threads, xcu_stream stream,
                void **values, void **extra)
{
    launched(s, xfs_now_ns(), xfs_timing_correlation(), function, threads, stream, values, extra,
             true);
}

static uint64_t threads_of(const unsigned grid[3], const unsigned block[3])
{
    return XFS_THREADS(grid[0], grid[1], grid[2], block[0], block[1], block[2]);
}

void xfs_launch_config(const struct xfs_step *s, const void *function,
                       const struct xcu_launch_config *config, void **values, void **extra)
{
    xfs_launch(s, function, threads_of(config->grid, config->block), config->stream, values, extra);
}

/* One call with several launches: an event for each, with the call's times and correlation. */
void xfs_launch_many(const struct xfs_step *s, const struct xcu_launch *launches, unsigned count)
{
    uint64_t end_ns = xfs_now_ns();
    uint32_t correlation = xfs_timing_correlation();
    for (unsigned i = 0; i < count; i++)
        launched(s, end_ns, correlation, launches[i].function,
                 threads_of(launches[i].grid, launches[i].block), launches[i].stream,
                 launches[i].values, NULL, count == 1);
    xfs_step_over();
}

/* ---- events, questions ----------------------------------------------------------------------- */

void xfs_step_event(const struct xfs_step *s, int kind, xcu_event event, xcu_stream stream)
{
    uint64_t end_ns = xfs_now_ns();
    struct short_event v = {.kind = (uint8_t)kind, .src = XFS_ADDR(event)};
    set_stream(&v, s, stream);
    record(s, end_ns, &v);
}

/* The thread asks for the same again, and nothing was recorded of it meanwhile. */
static inline bool polls_on(const struct xfs_lane *lane, const struct xfs_step *s, uint64_t of)
{
    const struct xfs_poll *poll = &lane->poll;
    return poll->queries != 0 && poll->of == of && poll->call == s->call &&
           poll->at == lane->next_seq + lane->next;
}

/* The first query of its kind that found unfinished work. What the processor did is read only in a
 * thread that slept in its last polled wait: others ask for something else in between, or all the
 * time. */
static XFS_COLD void poll_begins(struct xfs_lane *lane, const struct xfs_step *s, uint64_t of)
{
    int saved = errno;
    struct xfs_poll *poll = &lane->poll;
    if (poll->queries != 0)
        poll->slept = false;
    *poll = (struct xfs_poll){.of = of,
                              .at = lane->next_seq + lane->next,
                              .first_ns = s->start_ns,
                              .last_ns = s->start_ns,
                              .worked_ns = poll->slept ? xfs_thread_ns() : 0,
                              .call = s->call,
                              .slept = poll->slept,
                              .queries = 1};
    errno = saved;
}

void xfs_step_not_done(const struct xfs_step *s, int status, uint64_t of)
{
    struct xfs_lane *lane = xfs_self;
    if (lane == NULL)
        return;
    if (status != XCU_ERROR_NOT_READY) {
        lane->poll.queries = 0;
    } else if (__builtin_expect(polls_on(lane, s, of), 1)) {
        lane->poll.last_ns = s->start_ns;
        lane->poll.queries += lane->poll.queries != UINT32_MAX;
    } else {
        poll_begins(lane, s, of);
    }
    xfs_call_over(lane);
}

/* The query at the end of a polled wait has what is known of that. Keeps errno. */
static XFS_COLD void poll_ends(struct xfs_lane *lane, const struct xfs_step *s,
                               uintptr_t called_from, struct short_event *v)
{
    int saved = errno;
    struct xfs_poll *poll = &lane->poll;
    uint64_t since_ns = s->start_ns - poll->last_ns, all_ns = s->start_ns - poll->first_ns;
    bool is_in_order = poll->first_ns <= poll->last_ns && poll->last_ns < s->start_ns;
    v->polls = poll->queries;
    poll->queries = 0;
    if (is_in_order) { /* no handler polled on top of it */
        poll->slept = since_ns >= XFS_POLL_SLEPT_NS;
        uint64_t worked_ns = poll->slept && poll->worked_ns ? xfs_thread_ns() : 0;
        v->kept = all_ns;
        v->dst = xft_polled(since_ns, worked_ns > poll->worked_ns, worked_ns - poll->worked_ns);
        v->stack = xfs_stacks_wanted() ? xfs_stack_capture(called_from) : 0;
    }
    errno = saved;
}

static inline void end_poll(const struct xfs_step *s, uint64_t of, uintptr_t called_from,
                            struct short_event *v)
{
    struct xfs_lane *lane = xfs_self;
    if (lane && __builtin_expect(polls_on(lane, s, of), 0))
        poll_ends(lane, s, called_from, v);
}

void xfs_step_event_done(const struct xfs_step *s, xcu_event event, uintptr_t called_from)
{
    uint64_t end_ns = xfs_now_ns();
    struct short_event v = {.kind = XFT_EVENT_QUERY,
                            .src = XFS_ADDR(event),
                            .aux = XFT_SYNC_EVENT,
                            .device = XFT_PLACE_UNKNOWN};
    end_poll(s, v.src, called_from, &v);
    record(s, end_ns, &v);
}

void xfs_step_stream_done(const struct xfs_step *s, xcu_stream stream, uintptr_t called_from)
{
    uint64_t end_ns = xfs_now_ns();
    struct short_event v = {.kind = XFT_EVENT_QUERY, .aux = XFT_SYNC_STREAM};
    end_poll(s, XFS_ADDR(stream), called_from, &v);
    set_stream(&v, s, stream);
    record(s, end_ns, &v);
}
