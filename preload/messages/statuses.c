#include "preload/messages/statuses.h"

atomic_char xfs_mpi_statuses;

int64_t xfs_mpi_bytes_arrived(const struct xfs_mpi *mpi, const char *status)
{
    int64_t bytes = xfs_mpi_bytes_at_once(mpi, status);
    if (bytes >= 0)
        return bytes;
    if (mpi->elements(status, mpi->byte, &bytes) != 0 || bytes < 0)
        return -1;
    if (bytes > 0 && atomic_load(&xfs_mpi_statuses) != XFS_STATUSES_DIFFER)
        atomic_store(&xfs_mpi_statuses, xfs_mpi_bytes_in(mpi, status) == bytes
                                            ? XFS_STATUSES_AGREE
                                            : XFS_STATUSES_DIFFER);
    return bytes;
}
