/*
 * What the processes of a run report to `xferscope record` apart from their traces: how many began
 * to record in its run directory, why others could not, and the size of their files.
 *
 * It lies in memory of the command (a memfd), which processes find through /proc by
 * XFERSCOPE_RUN=PID.DESCRIPTOR.RANDOM. No descriptor is inherited, no file is made, and it is gone
 * when the command ends. A process that does not find it (another container, another user) reports
 * nothing, and records all the same.
 */
#ifndef XFS_NOTES_H
#define XFS_NOTES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define XFS_NOTES_NAME "xferscope-run-" /* of the memfd, before RANDOM */
#define XFS_NOTES_WHY_BYTES 512
#define XFS_NOTES_STARTED_BYTES 6144

enum xfs_why_state { XFS_WHY_NONE, XFS_WHY_BEING_WRITTEN, XFS_WHY_THERE };

/* Fields but `directory` are changed with atomic operations. */
struct xfs_notes {
    char directory[PATH_MAX];      /* the run directory, absolute; by record */
    uint32_t begun;                /* processes that began to record in it */
    uint32_t refused;              /* processes that could not record */
    uint64_t bytes;                /* of the files of its processes */
    uint32_t why_state;            /* enum xfs_why_state */
    char why[XFS_NOTES_WHY_BYTES]; /* the reason of the first of these */
    /* The command line of record, as META has it (`started`); "": too long. By record. */
    char started[XFS_NOTES_STARTED_BYTES];
};

/* ---- the recorder's side; one thread at a time ------------------------------------------- */

/* Finds the notes of the run; none when `run` is empty or record has gone. A forked child keeps
 * its parent's. */
void xfs_notes_open(const char *run);

/* This process records in this directory. */
void xfs_notes_begun(const char *directory);

/* What record was started with: terminated; NULL when it is not known. */
const char *xfs_notes_started(void);

/* This process cannot record, for this reason. */
void xfs_notes_refused(const char *why);

/*
 * The size of the run, for XFERSCOPE_MAX_SIZE (`most_bytes`; 0: no limit). The files of all its
 * processes count where record can be asked, else this process's own. The run is full at seven
 * eighths of the limit. Any thread.
 */

/* This process's file has `file_bytes` bytes now. */
void xfs_size_wrote(uint64_t most_bytes, uint64_t file_bytes);
bool xfs_size_is_full(void);

/* Before a process makes its file: false when the run is full. */
bool xfs_size_allows(uint64_t most_bytes);

/* In a forked child, which begins with a file of its own. */
void xfs_size_after_fork(void);

#endif
