/*
 * What kernel launches are given (ARGUMENTS segments): sets of pointers, each kept once.
 */
#ifndef XFS_RECORD_ARGUMENTS_H
#define XFS_RECORD_ARGUMENTS_H

#include <stdint.h>

struct xfs_recorder;

#define XFS_ARGUMENT_SLOTS (1u << 18)

/* Number of a set that is known; 0: it is not. */
uint32_t xfs_arguments_find(struct xfs_recorder *recorder, const uint64_t *pointers,
                            uint32_t count);

/* Number of the set, of at most XFT_ARGUMENTS_MOST pointers; 0, and counted, when it could not be
 * kept. */
uint32_t xfs_arguments_intern(struct xfs_recorder *recorder, const uint64_t *pointers,
                              uint32_t count);

#endif
