/*
 * Repeats one operation until its duration is known, by the rules of docs/probe.md ("How it
 * measures"): the first repetition warms up, and samples are taken until the median's 95 %
 * confidence interval is within 1 % or the time for them is used up.
 */
#ifndef XFP_SAMPLE_H
#define XFP_SAMPLE_H

#include "probe/session.h"
#include "probe/measure/stats.h"

#define XFP_MOST_VALUES 3
#define XFP_SAMPLE_ROOM (1024 + XFP_MOST_IN_BATCH)

/* Samples of up to XFP_MOST_VALUES figures each. Their order may change. */
struct xfp_samples {
    size_t n; /* number taken; the last XFP_SAMPLE_ROOM are stored */
    double of[XFP_MOST_VALUES][XFP_SAMPLE_ROOM];
};

void xfp_samples_add(struct xfp_samples *samples, const double *values, size_t count);

/* Statistics of one figure; n = 0 when there are too few for an interval (stats.h). */
struct xfp_stats xfp_samples_stats(struct xfp_samples *samples, size_t figure);

/* One repetition. Adds its samples, or none when they are invalid. 0, or -1 with the session's
 * error. */
typedef int xfp_go(struct xfp_session *s, void *state, struct xfp_samples *samples);

/* What is repeated, and when to stop. */
struct xfp_sampling {
    xfp_go *go;
    void *state;
    uint64_t budget_ns; /* wall time, from the end of the first repetition */
    bool whole_budget;  /* the paper's rule: not less than that, however narrow the interval is */
    size_t
        goes; /* not 0: this many repetitions after the first, whatever the interval and the time */
};

/* Ends early after an interruption, or when samples are invalid again and again. 0, or -1 with the
 * session's error. */
int xfp_take_samples(struct xfp_session *s, const struct xfp_sampling *what,
                     struct xfp_samples *samples);

/* One sample: up to XFP_MOST_VALUES figures of one repetition; invalid when the first is not above
 * 0. 0, or -1 with the session's error. */
typedef int xfp_once(struct xfp_session *s, void *state, double *values);

/*
 * Repeats `once` until the first figure's interval is narrow enough or budget_ns are over. stats
 * has an entry per figure, n = 0 when there were too few samples. 0, or -1 with the session's
 * error.
 */
int xfp_sample(struct xfp_session *s, xfp_once *once, void *state, uint64_t budget_ns,
               struct xfp_stats *stats, size_t values);

/* The same of one figure, as a point's statistics; its bytes are the caller's. */
int xfp_repeat(struct xfp_session *s, xfp_once *once, void *state, uint64_t budget_ns,
               struct xfp_point *point);

/* A point's times; n = 0 when the clock was too coarse for them. */
void xfp_set_point(struct xfp_point *point, const struct xfp_stats *stats);

#endif
