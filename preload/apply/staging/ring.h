/*
 * Page-locked memory of our own: for each context one ring of slots that copies go through.
 *
 * The memory is mapped by ourselves and registered with the context, so that it stays readable and
 * writable whatever becomes of the context; its events go with the context, which is known by its
 * handle and its number. A ring belongs to one operation at a time;
 * another copy of the same context meanwhile is made as the program asked.
 */
#ifndef XFS_APPLY_RING_H
#define XFS_APPLY_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/apply/team/job.h"
#include "xferscope/cuda_abi.h"

struct xfs_ring {
    xcu_context context;
    unsigned long long id; /* the context's number, which no other has */
    int device;
    atomic_bool taken;
    bool
        pending[XFS_JOB_SLOTS]; /* the slot's event was recorded and has not been seen to be over */
    bool asks;                  /* see job.h */
    char *memory;
    size_t slot_bytes;
    xcu_event events[XFS_JOB_SLOTS];
    xcu_event before; /* of the work that a copy has to wait for */
    struct xfs_job job;
};

/* The current context's ring, for one operation. `make`: it is made where there is none. NULL:
 * taken, no memory, or the driver refuses; *missing: there is none. */
struct xfs_ring *xfs_ring_take(xcu_context context, bool make, bool *missing);
void xfs_ring_give_back(struct xfs_ring *ring);

/* Before a context ends: what we have in it is taken out. NULL: nothing. */
void xfs_rings_leave(xcu_context context);

/* In a forked child: the memory is its parent's. */
void xfs_rings_after_fork(void);

#endif
