/*
 * Measuring what is no sweep of copies: repeats one operation under the same rules (measure.h),
 * with the clock that fits it, and gathers costs for the profile.
 */
#ifndef XFP_SAMPLE_H
#define XFP_SAMPLE_H

#include "../session.h"
#include "stats.h"

#define XFP_MOST_VALUES 2

/* One sample: up to XFP_MOST_VALUES figures, all of one go. 0, or -1 with the session's error. */
typedef int xfp_once(struct xfp_session *s, void *state, double *values);

/*
 * Repeats `once` until the first figure's interval is narrow enough or budget_ns of wall time are
 * over; the first go warms up and does not count, nor does one whose first figure is not above 0:
 * it was spoiled. stats has an entry per figure, n = 0 when it was interrupted or spoiled again and
 * again. 0, or -1 with the session's error.
 */
int xfp_sample(struct xfp_session *s, xfp_once *once, void *state, uint64_t budget_ns,
               struct xfp_stats *stats, size_t values);

/* The same of one figure, as a point's statistics; its bytes are the caller's. */
int xfp_repeat(struct xfp_session *s, xfp_once *once, void *state, uint64_t budget_ns,
               struct xfp_point *point);

/* Wall time for one of `left` steps of the current benchmark, out of its own budget. */
uint64_t xfp_step_ns(const struct xfp_session *s, size_t left);

/* Powers of four from the smallest to the largest size, of sixteen when quick; only those that
 * --sizes allows. When that names one size from `least` on, this one, whatever `most` is. */
size_t xfp_coarse_sizes(const struct xfp_session *s, uint64_t least, uint64_t most, uint64_t *sizes,
                        size_t room);

/* The largest of them at most: for making buffers. */
size_t xfp_coarse_most(const struct xfp_session *s, uint64_t most);

/* Are there any? A benchmark without sizes does not apply. */
bool xfp_has_sizes(const struct xfp_session *s, uint64_t least, uint64_t most);

/* Something queued into a stream; what it works on is in state. */
typedef xcu_result xfp_queue(struct xfp_session *s, void *state, xcu_stream stream);

/*
 * What the device needs for one thing, or for two at once, between events.
 *
 * prepare (may be NULL) is called before each go, with everything idle. One thing goes into the
 * device's stream; with `second`, that goes into `other` and starts together with the first, and
 * the time runs until both have ended. gated: submission is over before either starts.
 */
struct xfp_timed {
    struct xfp_device *device;
    xcu_stream other;
    int (*prepare)(struct xfp_session *s, void *state);
    xfp_queue *lead; /* may be NULL: queued before the first event, to bring the stream from the
                        gate's engine to that of the first thing */
    xfp_queue *first, *second;
    void *state;
    bool gated;
};

/* An xfp_once whose state is a struct xfp_timed; one figure, ns. */
int xfp_once_timed(struct xfp_session *s, void *timed, double *ns);

int xfp_elapsed(struct xfp_session *s, xcu_event from, xcu_event to, double *ns);

/* Is the gate to be used on this GPU? */
bool xfp_gate_usable(const struct xfp_device *d);

/* ---- costs: into the profile --------------------------------------------------------------- */

int xfp_add_scalar(struct xfp_session *s, const char *unit, const struct xfp_stats *stats,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

struct xfp_rows {
    size_t count;
    struct xfp_row rows[64];
};

/* Figures that are not above 0 (a clock too coarse, an interruption) are left out. */
void xfp_add_row(struct xfp_rows *rows, uint64_t at, const struct xfp_stats *stats);

/* Adds a table unless it is empty. bytes: see struct xfp_table. */
int xfp_add_table(struct xfp_session *s, const struct xfp_rows *rows, const char *by,
                  const char *unit, uint64_t bytes, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Appends to path a point with these times. points of a path must have room (XFP_COARSE_ROOM). */
#define XFP_COARSE_ROOM 32
void xfp_add_point(struct xfp_path *path, uint64_t bytes, const struct xfp_stats *stats);

#endif
