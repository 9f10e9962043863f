/*
 * What META says of the process: program, host, clock, rank.
 */
#ifndef XFS_PROCESS_H
#define XFS_PROCESS_H

#include <stdbool.h>

#include "preload/record/ranks.h"

#define XFS_VISIBLE_BYTES 4096

struct xfs_recorder;

/* What was in the environment when recording began: as the driver found it, too. */
struct xfs_process {
    struct xfs_rank rank;
    bool visible_told; /* CUDA_VISIBLE_DEVICES was there */
    char visible[XFS_VISIBLE_BYTES];
};

/* Once per process: threads may change the environment at any time. */
void xfs_process_look(struct xfs_process *process);

/* Of a rank: "HOST.rankN.", for the name of its file, in which HOST is cut to what may be in a
 * name; of others "". */
#define XFS_PREFIX_BYTES 64
void xfs_process_prefix(const struct xfs_process *process, char prefix[XFS_PREFIX_BYTES]);

/* Writes the CALLS segment: the names of the intercepted calls. */
bool xfs_process_calls(struct xfs_recorder *recorder);

/* Writes the META pairs; what is not known has none. */
void xfs_process_note(struct xfs_recorder *recorder);

#endif
