/*
 * One way a process could have run: ops in, one after the other in the order of their calls as
 * recorded, and out comes how long it takes. The state is threads, streams, events, engines; not
 * the run, so that runs of any length can be played in many ways side by side.
 *
 * Work is placed as it is submitted: at the first time when all it waits for is done and its engine
 * is idle for as long as it takes, so that work of another stream that is submitted later but ready
 * earlier goes ahead of it, as it does on a GPU. What that cannot see: work that is submitted later
 * and would delay what has been placed.
 *
 * Unchanged ops take what they took. XFW_OUTSTANDING operations of a stream that are not done yet
 * make the next call to it wait (the depth of a stream's queue: PyTorch's Holistic Trace Analysis
 * names 1024). Private to whatif/.
 */
#ifndef XFW_SCHEDULE_H
#define XFW_SCHEDULE_H

#include "analyzer/whatif/op.h"

#define XFW_OUTSTANDING 1024
#define XFW_RANGES 64 /* phases whose times are kept apart */

struct xfw_schedule;
struct xfw_schedule *xfw_schedule_new(void);
void xfw_schedule_free(struct xfw_schedule *schedule);

/* Streams that a change made up are numbered from here on, densely; the process's from 0 on. */
#define XFW_FIRST_SIDE_STREAM 0x80000000u
#define XFW_FIRST_SIDE_EVENT 0x80000000u /* and events */

/* ops: those of one process in order. */
void xfw_schedule_op(struct xfw_schedule *schedule, const struct xfw_op *op);

/* The stream is set (not only begun) for what comes: its work waits at least until `ns`. For
 * changes that know of a dependency. */
void xfw_schedule_stream_after(struct xfw_schedule *schedule, uint32_t stream, double ns);

/* When all work given to a stream so far is done; what a thread has reached. */
double xfw_schedule_stream_end(const struct xfw_schedule *schedule, uint32_t stream);
double xfw_schedule_thread_now(const struct xfw_schedule *schedule, uint32_t thread);
/* When the call of the op scheduled last began. */
double xfw_schedule_last_call(const struct xfw_schedule *schedule);
/* When the device work of the op scheduled last began and ended; NAN: it had none. */
double xfw_schedule_last_start(const struct xfw_schedule *schedule);
double xfw_schedule_last_end(const struct xfw_schedule *schedule);

/* What the thread that is ahead of all others has reached. */
double xfw_schedule_now(const struct xfw_schedule *schedule);
/* From the process's beginning until its end, as recorded `end_ns`: after the last op. */
double xfw_schedule_total(const struct xfw_schedule *schedule, double end_ns);
/* From when the first work for a device was submitted until the last call was back that submitted
 * work or waited for some: without what a process does before and after. 0: none. */
double xfw_schedule_span(const struct xfw_schedule *schedule);
/* Time between begin and end of a range, summed over its outermost instances; what is open lasts
 * until the last call so far. 0: none. */
double xfw_schedule_range(const struct xfw_schedule *schedule, uint32_t range);

#endif
