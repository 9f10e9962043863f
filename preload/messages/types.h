/*
 * Bytes of MPI's types. Those of its own (MPI_DOUBLE) are asked of it once: they are never freed,
 * so no other type gets their handle. Of all others, whose handle may be another type's at the next
 * call, they are asked each time.
 *
 * After a call of the program with the same handle succeeded (mpi_abi.h).
 */
#ifndef XFS_MESSAGE_TYPES_H
#define XFS_MESSAGE_TYPES_H

#include <stdatomic.h>
#include <stdint.h>

#include "preload/messages/mpi_abi.h"

/* A handle, and below it its bytes (0: it is the program's), in one word, so that no thread sees
 * half of it. */
#define XFS_TYPES 128
#define XFS_TYPE_BYTES_MOST 255
extern _Atomic uint64_t xfs_mpi_types[XFS_TYPES];

/* Open MPI's types lie 512 bytes apart; MPICH's are numbered. */
static inline _Atomic uint64_t *xfs_mpi_type_place(uint64_t type)
{
    return &xfs_mpi_types[(type ^ type >> 9) % XFS_TYPES];
}

/* 0: not known. */
static inline uint64_t xfs_mpi_type_known(uint64_t type)
{
    uint64_t entry = atomic_load_explicit(xfs_mpi_type_place(type), memory_order_relaxed);
    return entry >> 8 == type ? entry & XFS_TYPE_BYTES_MOST : 0;
}

/* 0 when MPI does not say. Keeps errno. */
int64_t xfs_mpi_type_bytes(const struct xfs_mpi *mpi, xfs_word type);

#endif
