/*
 * Adds measured figures to the profile: scalars, tables, points of a path. All are in ns.
 */
#ifndef XFP_RESULTS_H
#define XFP_RESULTS_H

#include "probe/session.h"
#include "probe/measure/stats.h"

/* Adds nothing when the median is not above 0. 0, or -1 with the session's error. */
int xfp_add_scalar(struct xfp_session *s, const struct xfp_stats *stats, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a difference of two times. A negative one is noise, and is written as 0. */
int xfp_add_added(struct xfp_session *s, const struct xfp_stats *stats, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The rows of a table that is being measured. Begins zeroed. */
struct xfp_rows {
    size_t count;
    struct xfp_row rows[64];
};

/* Adds nothing when the median is not above 0: the clock was too coarse, or the user interrupted.
 */
void xfp_add_row(struct xfp_rows *rows, uint64_t at, const struct xfp_stats *stats);

/* Adds a table unless it is empty. bytes: see struct xfp_table. 0, or -1 with the session's
 * error. */
int xfp_add_table(struct xfp_session *s, const struct xfp_rows *rows, enum xfp_by by,
                  uint64_t bytes, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Appends a point with these times to the path, whose points have room for XFP_COARSE_ROOM
 * (sizes.h). */
void xfp_add_point(struct xfp_path *path, uint64_t bytes, const struct xfp_stats *stats);

#endif
