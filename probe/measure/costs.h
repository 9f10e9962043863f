/*
 * What was measured, into the profile: costs by themselves, costs in a table, points of a path.
 */
#ifndef XFP_COSTS_H
#define XFP_COSTS_H

#include "probe/session.h"
#include "probe/measure/stats.h"

int xfp_add_scalar(struct xfp_session *s, const char *unit, const struct xfp_stats *stats,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* What something adds: the difference of two times, which is 0 where chance brings it below. */
int xfp_add_added(struct xfp_session *s, const char *unit, const struct xfp_stats *stats,
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

/* Appends to path a point with these times. points of a path must have room (XFP_COARSE_ROOM of
 * sizes.h). */
void xfp_add_point(struct xfp_path *path, uint64_t bytes, const struct xfp_stats *stats);

#endif
