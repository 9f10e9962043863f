/*
 * The threads that copy: one team for all rings of the process.
 *
 * A thread is made by the first copy that wants it. While an operation is under way it spins where
 * it finds nothing to do, for a moment; else it sleeps at once, since a thread that spins takes
 * speed from the processor's other one, on which the program may go on. After a second of sleep it
 * ends: so it never keeps a process alive for long whose other threads have ended. It makes no CUDA
 * call, holds no lock, and blocks all signals but those of a fault, so that a crash handler of the
 * program's sees one as always.
 *
 * How many: state.h.
 */
#ifndef XFS_APPLY_TEAM_H
#define XFS_APPLY_TEAM_H

#include <stdbool.h>

#include "preload/apply/team/job.h"

/* From here on the team works on it; for ever. False: too many. */
bool xfs_team_add(struct xfs_job *job);

/* An operation on the job begins, or goes on after the host has waited: wakes the team, and makes
 * threads until there are `wanted`; what cannot be made is missing. xfs_job_close() ends it. */
void xfs_team_call(struct xfs_job *job, unsigned wanted);

/* Ends all threads; returns when the kernel has none of them any more, or after a moment. */
void xfs_team_leave(void);

/* CPU time of the team's threads so far, ns. */
unsigned long long xfs_team_cpu_ns(void);

/* In a forked child: there is no team. */
void xfs_team_after_fork(void);

#endif
