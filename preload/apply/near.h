/*
 * Where memory of our own lies: on the NUMA node that a GPU hangs on, so that copies between both
 * do not cross the link between sockets.
 */
#ifndef XFS_APPLY_NEAR_H
#define XFS_APPLY_NEAR_H

#include <stddef.h>

#include "xferscope/cuda_abi.h"

/* For pages that nothing has touched yet: they are taken from the device's node while it has some.
 * They are left to the kernel where the driver does not know the node (before CUDA 12.2 it never
 * does), where the process may not have its memory, and where the calling thread has a policy of
 * its own (numactl, set_mempolicy). Keeps errno. */
void xfs_near_place(void *memory, size_t bytes, xcu_device device);

#endif
