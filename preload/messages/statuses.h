/*
 * Bytes that arrived, by MPI's statuses. Both interfaces keep them at a place of their own, where
 * they are read once MPI itself (PMPI_Get_elements_x) has said of one status what is kept there;
 * before, and where it says something else, it is asked each time.
 */
#ifndef XFS_STATUSES_H
#define XFS_STATUSES_H

#include <stdatomic.h>
#include <stdint.h>

#include "preload/messages/mpi_abi.h"

/* Bytes, by where both interfaces keep them; negative: it was cancelled. */
static inline int64_t xfs_mpi_bytes_in(const struct xfs_mpi *mpi, const char *status)
{
    const int *words = (const int *)(const void *)status;
    if (mpi->wide)
        return words[3] ? -1 : *(const int64_t *)(const void *)(status + 16);
    return words[1] & 1 ? -1 : (int64_t)(uint32_t)words[0] | (int64_t)(words[1] >> 1) << 32;
}

/* MPI itself said once what is kept there (not 0), or something else. */
enum xfs_mpi_statuses { XFS_STATUSES_UNKNOWN, XFS_STATUSES_AGREE, XFS_STATUSES_DIFFER };
extern atomic_char xfs_mpi_statuses;

/* The same; -1: not known. */
static inline int64_t xfs_mpi_bytes_at_once(const struct xfs_mpi *mpi, const char *status)
{
    return atomic_load_explicit(&xfs_mpi_statuses, memory_order_relaxed) == XFS_STATUSES_AGREE
               ? xfs_mpi_bytes_in(mpi, status)
               : -1;
}

/* As MPI says; -1: it does not. Of a status that is not of a cancelled operation. */
int64_t xfs_mpi_bytes_arrived(const struct xfs_mpi *mpi, const char *status);

#endif
