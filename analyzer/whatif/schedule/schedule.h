/*
 * When the calls and the device work of a process's ops begin and end, op by op, in constant
 * memory, so that many ways are played side by side. Times are ns. Private to whatif/.
 *
 * Work is placed as it is submitted: at the first time when all that it waits for is done and its
 * engine is idle for as long as it takes. So work of another stream that is submitted later but
 * ready earlier runs first, as on a GPU. Not modelled: work that is submitted later delays work
 * that has been placed; so threads take turns by when they call (turns.h).
 *
 * A copy occupies its engine for its time without lead_ns, which passes while the copy before it on
 * the engine is still running. So n copies that queue take Lo + kG + (n - 1)g (van Werkhoven et
 * al., section V), whatever stream they are in.
 *
 * A launched graph is one piece of work, but its copies occupy their engines: to the device from
 * its start on, to the host at its end.
 *
 * A thread whose sleep others pace (op.h, paced) wakes as long behind its first such sleep as was
 * recorded, but not before it has done what it does between two calls: with calls that take less it
 * sleeps longer, with calls that take more less. What the others rested meanwhile as recorded, they
 * may do without. One that is held (kept_pace.h) calls no sooner than they can have made what it
 * takes.
 *
 * Unchanged ops take what they took. A call to a stream waits while XFW_OUTSTANDING operations of
 * that stream are not done (the depth of its queue: PyTorch's Holistic Trace Analysis names 1024).
 */
#ifndef XFW_SCHEDULE_H
#define XFW_SCHEDULE_H

#include "analyzer/whatif/schedule/board.h"
#include "xferscope/trace.h"

#define XFW_OUTSTANDING 1024
#define XFW_RANGES 64 /* phases whose times are kept apart */

/* How long a phase lasted: while at least one of its ranges was open. Which range an end belongs to
 * is the walk's business (pass/ranges.h). */
struct xfw_phase_time { /* zero to begin with */
    unsigned open;
    double begun, sum;
};
static inline void xfw_phase_time_take(struct xfw_phase_time *phase, const struct xfw_op *op,
                                       double now)
{
    if (op->begins && phase->open++ == 0)
        phase->begun = now;
    else if (!op->begins && phase->open > 0 && --phase->open == 0)
        phase->sum += now - phase->begun;
}

/* Up to now. */
static inline double xfw_phase_time_ns(const struct xfw_phase_time *phase, double now)
{
    return phase->sum + (phase->open > 0 ? xfw_max(0, now - phase->begun) : 0);
}

struct xfw_schedule;
struct xfw_schedule *xfw_schedule_new(void);
void xfw_schedule_free(struct xfw_schedule *schedule);

/* Streams and events that changes make up are numbered from here, the process's from 0, both
 * without holes (xfw_player_side_stream() and xfw_player_side_event(), change.h, give the numbers).
 */
#define XFW_FIRST_SIDE_STREAM 0x80000000u
#define XFW_FIRST_SIDE_EVENT 0x80000000u
/* Another change has taken it to a stream of its own. */
static inline bool xfw_op_is_beside(const struct xfw_op *op)
{
    return op->stream != XFW_NONE && op->stream >= XFW_FIRST_SIDE_STREAM;
}

/* How what is not known for certain is taken (change.h): at its worst, as likely, at its best. */
enum xfw_certainty { XFW_LOW, XFW_LIKELY, XFW_HIGH, XFW_CERTAINTIES };
/* It is played with this certainty; as likely, where that is not said. */
void xfw_schedule_certainty(struct xfw_schedule *schedule, unsigned certainty);

/* From now on its messages are those of the other ranks on the board; the process began at begun_ns
 * of the board's clock. The board outlives the schedule. */
void xfw_schedule_join(struct xfw_schedule *schedule, struct xfw_board *board, double begun_ns);
bool xfw_schedule_is_joined(const struct xfw_schedule *schedule);

/* The next op of the process. */
void xfw_schedule_op(struct xfw_schedule *schedule, const struct xfw_op *op);

/* Work with an engine that the program is taken to have submitted before, while the host did
 * something else: its engine takes it from `ready` on, before what is there already if it fits.
 * The host's clock stays; later work of its stream comes behind it. */
void xfw_schedule_earlier(struct xfw_schedule *schedule, const struct xfw_op *op, double ready);

/* Later work of the stream waits until `ns` at least: for changes that know of a dependency. */
void xfw_schedule_stream_after(struct xfw_schedule *schedule, uint32_t stream, double ns);

/* When all work given to a stream so far is done; how far a thread has come. */
double xfw_schedule_stream_end(const struct xfw_schedule *schedule, uint32_t stream);
/* The end of what the event recorded last; 0: nothing yet. */
double xfw_schedule_event_end(const struct xfw_schedule *schedule, uint32_t event);
/* The end of the job that a function of the host gave on (jobs.h), by that op's number, + 1; 0:
 * not known. */
double xfw_schedule_job_end(const struct xfw_schedule *schedule, uint64_t number);
double xfw_schedule_thread_now(const struct xfw_schedule *schedule, uint32_t thread);
/* It has made a call. */
bool xfw_schedule_has_begun(const struct xfw_schedule *schedule, uint32_t thread);
double xfw_schedule_thread_call(const struct xfw_schedule *schedule, uint32_t thread);
/* Is it known when the call was that op->woken_by_call names, whatever its thread did since? */
bool xfw_schedule_knows_waker(const struct xfw_schedule *schedule, const struct xfw_op *op);
/* When the call of the op would begin if it was the next one. */
double xfw_schedule_begins(const struct xfw_schedule *schedule, const struct xfw_op *op);
/* The op scheduled last. */
struct xfw_last_op {
    double call;       /* when its call began; of queries of one wait the last one */
    double asked;      /* XFW_QUERY: when the first one of its wait did */
    double start, end; /* of its work on the device; NAN: it had none */
};
const struct xfw_last_op *xfw_schedule_last(const struct xfw_schedule *schedule);

/* How far the thread has come that is ahead of all others. */
double xfw_schedule_now(const struct xfw_schedule *schedule);
/* After the last op: from the process's start to its end, which was recorded at end_ns. */
double xfw_schedule_total(const struct xfw_schedule *schedule, double end_ns);
/* The span: from the first submission of device work to the return of the last call that submitted
 * work or waited, without what a process does before and after; and without what
 * xfw_schedule_contexts_ns() has of it. False: no work. */
bool xfw_schedule_worked(const struct xfw_schedule *schedule, double *first_ns, double *last_ns);
static inline bool xfw_op_is_of_span(const struct xfw_op *op)
{
    return xfw_op_is_work(op) || op->kind == XFT_EVENT_SYNC || op->kind == XFT_EVENT_QUERY;
}
/* It ends at `ns` at the earliest. */
void xfw_schedule_span_until(struct xfw_schedule *schedule, double ns);
/* Time in which contexts were made, and nothing else went on (contexts.h). */
double xfw_schedule_contexts_ns(const struct xfw_schedule *schedule);
/* When all device work so far is done, waited for or not. */
double xfw_schedule_work_end(const struct xfw_schedule *schedule);
/* Time in a range, summed over its outermost instances; an open one lasts until the last call so
 * far. */
double xfw_schedule_range(const struct xfw_schedule *schedule, uint32_t range);

#endif
