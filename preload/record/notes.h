/*
 * What `xferscope record` learns of the processes of its run besides their traces: how many began
 * to record in its run directory, and why others could not.
 *
 * It lies in memory that record owns (a memfd), which processes find through /proc by
 * XFERSCOPE_RUN=PID.DESCRIPTOR.RANDOM. Nothing is inherited, nothing lies in a file system, and it
 * is gone with record. A process that does not find it (another container, another user) tells
 * nothing, and records all the same.
 */
#ifndef XFS_NOTES_H
#define XFS_NOTES_H

#include <limits.h>
#include <stdint.h>

#define XFS_NOTES_NAME "xferscope-run-" /* of the memfd, before RANDOM */
#define XFS_NOTES_WHY_BYTES 512

enum xfs_why_state { XFS_WHY_NONE, XFS_WHY_BEING_WRITTEN, XFS_WHY_THERE };

/* Fields but `directory` are changed with atomic operations. */
struct xfs_notes {
    char directory[PATH_MAX];      /* the run directory, absolute; by record */
    uint32_t begun;                /* processes that began to record in it */
    uint32_t refused;              /* processes that could not record */
    uint64_t bytes;                /* of the files of its processes */
    uint32_t why_state;            /* enum xfs_why_state */
    char why[XFS_NOTES_WHY_BYTES]; /* what the first of these said */
};

/* ---- the recorder's side; one thread at a time ------------------------------------------- */

/* Finds the notes of the run; none when `run` is empty or record has gone. A forked child keeps
 * its parent's. */
void xfs_notes_open(const char *run);

/* This process records in this directory. */
void xfs_notes_begun(const char *directory);

/* The run's files have become larger by this much; how large they are together, as far as is
 * known. 0 where record cannot be asked. */
uint64_t xfs_notes_size(int64_t more);

/* This process cannot record, and said why. */
void xfs_notes_refused(const char *why);

#endif
