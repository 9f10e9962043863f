/*
 * What events refer to by number, each kept once: texts (NAMES segments: kernels, NVTX ranges), and
 * sets of pointers that kernel launches were given (ARGUMENTS segments).
 */
#ifndef XFS_NAMES_H
#define XFS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "preload/base/numbers.h"

struct xfs_recorder;

#define XFS_NAME_SLOTS (1u << 16)
#define XFS_ARGUMENT_SLOTS (1u << 18)

/* Number of the text, cut at XFT_NAME_MOST bytes; 0 when it is empty or could not be kept. */
uint32_t xfs_names_intern(struct xfs_recorder *recorder, const char *text, size_t bytes);

/* Number of a set that was kept before; 0: none. */
uint32_t xfs_arguments_find(struct xfs_recorder *recorder, const uint64_t *pointers,
                            uint32_t count);

/* Number of the set, of at most XFT_ARGUMENTS_MOST pointers; 0, and counted as lost, when it could
 * not be kept. */
uint32_t xfs_arguments_intern(struct xfs_recorder *recorder, const uint64_t *pointers,
                              uint32_t count);

#endif
