/*
 * Large allocations of page-locked memory of the program's own.
 *
 * The driver maps, zeroes and locks such memory with one thread. Here it is mapped as the driver's
 * is (shared with forked children), its pages are made by threads, on the NUMA node of the device
 * (near.h), and it is registered as a whole. What the driver then says of it (range, flags,
 * addresses on the device) is what it says of memory that it allocated, but for one attribute,
 * CU_POINTER_ATTRIBUTE_MAPPING_SIZE. Measured with tests/gpu/copy_promises.c: both kinds of memory
 * are given back only when the device's work is over.
 *
 * Taken: allocations without flags, of at least 32 MiB, in a process that has one device. All else
 * is the driver's: flags for write-combined, mapped and portable memory too.
 *
 * What is freed and allocated again and again is kept between (locked_pool.h), and cleared by
 * threads.
 *
 * The memory is given back by cuMemFreeHost, and with its context; the calls that a program could
 * make by mistake (registering it, unregistering it) are answered as the driver answers them.
 */
#ifndef XFS_APPLY_LOCKING_H
#define XFS_APPLY_LOCKING_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/lookup/driver.h"
#include "xferscope/cuda_abi.h"

struct xfs_locking {
    xfs_function real;
    void **out;
    size_t bytes;
    unsigned flags;
    bool has_flags; /* cuMemHostAlloc; else cuMemAllocHost */
    int node;       /* where it is to lie; -1: near the device */
};

/* True: it was carried out, *status is what the call returns. */
bool xfs_locking_alloc(const struct xfs_locking *call, int *status);

/* As the driver does it; once more, if it found no memory and what is kept could be given back. */
int xfs_locking_as_asked(const struct xfs_locking *call);

/* The same of cuMemFreeHost, cuMemHostUnregister and cuMemHostRegister. */
bool xfs_locking_free(void *memory, int *status);
bool xfs_locking_unregister(void *memory, int *status);
bool xfs_locking_register(void *memory, int *status);

/* Another allocation found no memory: gives back what is kept. False: nothing was. */
bool xfs_locking_drain(void);

/* Before a context ends. */
void xfs_locking_leave(xcu_context context);

/* Before a fork, and in the parent after it. */
void xfs_locking_before_fork(void);

/* In a forked child, where CUDA knows nothing of it. */
void xfs_locking_after_fork(void);

#endif
