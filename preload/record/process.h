/*
 * What META says of the process: program, host, clock, rank.
 */
#ifndef XFS_PROCESS_H
#define XFS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/record/ranks.h"
#include "xferscope/trace.h"

#define XFS_VISIBLE_BYTES 4096

struct xfs_recorder;

/* From the environment when recording began, which is when the driver reads it too. */
struct xfs_process {
    struct xfs_rank rank;
    bool visible_set; /* CUDA_VISIBLE_DEVICES was set */
    char visible[XFS_VISIBLE_BYTES];
};

/* Reads the environment. Once per process: threads may change it at any time. */
void xfs_process_look(struct xfs_process *process);

/* The prefix of a rank's file name: "HOST.rankN.", where HOST has only characters that a file name
 * may have; "" for other processes. */
#define XFS_PREFIX_BYTES 64
void xfs_process_prefix(const struct xfs_process *process, char prefix[XFS_PREFIX_BYTES]);

/* Writes the CALLS segment: the names of the intercepted calls. */
bool xfs_process_calls(struct xfs_recorder *recorder);

/* Writes the META pairs; what is not known has none. */
void xfs_process_note(struct xfs_recorder *recorder);

/* Provided by the table of calls: names for the CALLS segment. */
struct xfs_call_info {
    const char *name;
    enum xft_level level;
};
extern const struct xfs_call_info xfs_calls[];
extern const size_t xfs_call_count;

/* The same of MPI's and NCCL's calls, whose ids begin at XFS_MESSAGE_CALLS. */
#define XFS_MESSAGE_CALLS 1024
extern const struct xfs_call_info xfs_message_calls[];
extern const size_t xfs_message_call_count;

#endif
