/*
 * Which rank of a launch this process is, from the variables that launchers set (ranks.def).
 *
 * They are looked up in the environment when recording begins, since some programs set them for
 * themselves, and in a copy made when the library was loaded, since others clear it.
 * /proc/self/environ is not used: the program may have written over it, and reading it takes a
 * descriptor.
 */
#ifndef XFS_RANKS_H
#define XFS_RANKS_H

#include <stdint.h>

#define XFS_RANK_TEXT_BYTES 256

struct xfs_rank {
    const char *launcher;                        /* NULL: no rank is known */
    int32_t rank, size, local, local_size, node; /* -1: not known */
    char world[XFS_RANK_TEXT_BYTES];             /* the launch; "": not known */
    char job[XFS_RANK_TEXT_BYTES];               /* of the batch system, also without a rank */
    char step[XFS_RANK_TEXT_BYTES];              /* of the job */
    char node_name[XFS_RANK_TEXT_BYTES];         /* as the batch system calls it */
    const char *senseless;                       /* the first variable that made no sense */
};

/* Reads the environment, which other threads may be changing, as getenv does: once. */
void xfs_rank_find(struct xfs_rank *rank);

/* The same from two environments of getenv's shape, the present one and the first. For tests. */
void xfs_rank_choose(const char *(*now)(const char *name), const char *(*start)(const char *name),
                     struct xfs_rank *rank);

#endif
