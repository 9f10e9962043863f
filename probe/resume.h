/*
 * Resumes an interrupted run: `xferscope probe --resume FILE`.
 *
 * Complete results of the earlier profile are not measured again. After an interrupted run the last
 * entry of every part may be incomplete and is measured again.
 */
#ifndef XFP_RESUME_H
#define XFP_RESUME_H

#include "probe/bench/bench.h"

/* Checks that the profile is of this machine in its present state. 0, or -1 with the session's
 * error. */
int xfp_resume_check(struct xfp_session *s, const struct xfp_profile *old);

/* Removes from the list the benchmarks that are complete; returns their number. */
size_t xfp_resume_skip(const struct xfp_session *s, const struct xfp_profile *old,
                       struct xfp_bench_list *list);

/*
 * Moves figures that only the old profile has into the session's profile, before the new ones, with
 * their warnings. The old profile keeps the rest. 0, or -1 with the session's error.
 */
int xfp_resume_merge(struct xfp_session *s, struct xfp_profile *old);

#endif
