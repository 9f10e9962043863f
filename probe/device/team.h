/*
 * A group of threads that share one piece of work, repeatedly: host copies and page touching, by
 * number of threads.
 */
#ifndef XFP_TEAM_H
#define XFP_TEAM_H

#include "probe/device/device.h"

struct xfp_team; /* at most XFP_MOST_THREADS */

/* One thread's part, `index` of `count`. */
typedef void xfp_work(void *state, size_t index, size_t count);

/* Starts count - 1 threads, on the processors of a NUMA node when that is not negative. NULL with
 * the system's error. */
struct xfp_team *xfp_team_start(struct xfp_system *sys, size_t count, int node);

/* Runs all parts, one of them in the caller; returns when all are done. */
void xfp_team_work(struct xfp_team *team, xfp_work *work, void *state);

/* Ends the threads; team may be NULL. */
void xfp_team_end(struct xfp_team *team);

/* The numbers of threads to try: powers of two (four when quick) up to the processors that this
 * process may use (at most XFP_MOST_THREADS), and that number. Returns how many numbers. */
#define XFP_MOST_THREADS 64
#define XFP_TEAM_SIZES 16
size_t xfp_team_sizes(const struct xfp_system *sys, bool quick, size_t sizes[XFP_TEAM_SIZES]);

/* The range *from to *to of part `index` of `count`, in whole pages. */
void xfp_team_part(size_t bytes, size_t index, size_t count, size_t *from, size_t *to);

#endif
