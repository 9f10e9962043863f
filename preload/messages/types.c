#include "preload/messages/types.h"

#include <errno.h>
#include <stdbool.h>

_Atomic uint64_t xfs_mpi_types[XFS_TYPES];

static bool is_own(const struct xfs_mpi *mpi, xfs_word type)
{
    int ints, addresses, types, combiner;
    return mpi->envelope(type, &ints, &addresses, &types, &combiner) == 0 && combiner == mpi->named;
}

/* Its place belongs to the first of MPI's own, if there are several. That a handle is the program's
 * is kept where that takes nobody's place: it never becomes MPI's. */
static void keep(const struct xfs_mpi *mpi, uint64_t type, uint64_t bytes)
{
    _Atomic uint64_t *place = xfs_mpi_type_place(type);
    uint64_t entry = atomic_load_explicit(place, memory_order_relaxed);
    bool taken = (entry & XFS_TYPE_BYTES_MOST) != 0;
    if (taken || entry >> 8 == type || type >> 56 != 0 || bytes > XFS_TYPE_BYTES_MOST)
        return;
    atomic_store_explicit(place, type << 8 | (is_own(mpi, (xfs_word)type) ? bytes : 0),
                          memory_order_relaxed);
}

int64_t xfs_mpi_type_bytes(const struct xfs_mpi *mpi, xfs_word passed)
{
    xfs_word type = xfs_mpi_handle(mpi, passed);
    uint64_t known = xfs_mpi_type_known(type);
    int64_t bytes = 0;
    if (known > 0)
        return (int64_t)known;
    int saved = errno;
    if (mpi->type_size(type, &bytes) == 0 && bytes > 0)
        keep(mpi, type, (uint64_t)bytes);
    errno = saved;
    return bytes > 0 ? bytes : 0;
}
