/*
 * Texts that events refer to by number (NAMES segments): kernels, NVTX ranges. Each is kept once.
 */
#ifndef XFS_NAMES_H
#define XFS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "preload/base/numbers.h"

struct xfs_recorder;

#define XFS_NAME_SLOTS (1u << 16)

/* Number of the text, cut at XFT_NAME_MOST bytes; 0 when it is empty or could not be kept. */
uint32_t xfs_names_intern(struct xfs_recorder *recorder, const char *text, size_t bytes);

#endif
