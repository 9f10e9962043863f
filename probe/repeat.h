/*
 * Repeating one measurement of any kind by the rules of measure.h.
 */
#ifndef XFP_REPEAT_H
#define XFP_REPEAT_H

#include "measure.h"

/* Measures once, into ns; 0, or -1 with the session's error. A time of 0 was spoiled: it does not
 * count, and is tried again. */
typedef int (*xfp_go)(struct xfp_session *s, void *what, double *ns);

/*
 * A warm-up, then samples until they suffice or slice_ns of wall time is used up. point: n and the
 * statistics; bytes is the caller's. n = 0: interrupted, or spoiled again and again.
 */
int xfp_repeat(struct xfp_session *s, xfp_go go, void *what, uint64_t slice_ns,
               struct xfp_point *point);

/* Wall time for one of `left` steps of the current benchmark (sample.h). */
uint64_t xfp_step_ns(const struct xfp_session *s, size_t left);

#endif
