/*
 * The threads that copy: one team for all rings of the process.
 *
 * A thread is made by the first copy that wants it, spins for a moment when it finds nothing to do,
 * then sleeps, and ends after a second of sleep: so it never keeps a process alive for long whose
 * other threads have ended. It makes no CUDA call, holds no lock, and blocks all signals but those
 * of a fault, so that a crash handler of the program's sees one as always.
 *
 * How many: state.h.
 */
#ifndef XFS_APPLY_TEAM_H
#define XFS_APPLY_TEAM_H

#include <stdbool.h>

#include "preload/apply/job.h"

/* From here on the team works on it; for ever. False: too many. */
bool xfs_team_add(struct xfs_job *job);

/* Wakes the team, and makes threads until there are `wanted`; what cannot be made is missing. */
void xfs_team_call(unsigned wanted);

/* Ends all threads; returns when the kernel has none of them any more, or after a moment. */
void xfs_team_leave(void);

/* CPU time of the team's threads so far, ns. */
unsigned long long xfs_team_cpu_ns(void);

/* In a forked child: there is no team. */
void xfs_team_after_fork(void);

#endif
