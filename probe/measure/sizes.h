/*
 * The sizes that are measured: those of each benchmark that --sizes and --quick allow.
 */
#ifndef XFP_SIZES_H
#define XFP_SIZES_H

#include "probe/session.h"

/* Enough for xfp_coarse_sizes() and the points of a path with these sizes. */
#define XFP_COARSE_ROOM 32

/* Of a sweep of copies: powers of two, of four when quick. */
size_t xfp_sweep_sizes(const struct xfp_probe_options *options, uint64_t *sizes, size_t room);

/* Powers of four from the smallest to the largest size, of sixteen when quick; only those that
 * --sizes allows. If that names a single size of at least `least`, only this one, even above
 * `most`. */
size_t xfp_coarse_sizes(const struct xfp_session *s, uint64_t least, uint64_t most, uint64_t *sizes,
                        size_t room);

/* The largest of them at most: for making buffers. */
size_t xfp_coarse_most(const struct xfp_session *s, uint64_t most);

/* Whether there are any. A benchmark without sizes does not apply. */
bool xfp_has_sizes(const struct xfp_session *s, uint64_t least, uint64_t most);

#endif
