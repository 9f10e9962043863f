/*
 * The communicators of this process, by their handle: MPI's, MPI's windows (which stand for the
 * communicator that they were made of) and NCCL's. A bounded table; one that finds no place has no
 * number, and messages in it count as of a communicator that is not known.
 *
 * Their number in the file, and the COMMUNICATOR event, come with the first message. What tells two
 * communicators apart in all processes (aux of the event) is found where one is made: the ranks in
 * it, and how many with the same ranks were made before; all of its processes make them in the same
 * order. It is not known of a communicator that was made by a call that is not watched.
 */
#ifndef XFS_COMMUNICATORS_H
#define XFS_COMMUNICATORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/messages/mpi_abi.h"
#include "xferscope/trace.h"

struct xfs_communicator {
    _Atomic uintptr_t handle;              /* 0: no entry; 1: it was removed */
    _Atomic uint32_t number;               /* in the file; 0: no message yet */
    _Atomic uint32_t persistent;           /* collectives that were made for it, of MPI */
    _Atomic(struct xfs_communicator *) of; /* of a window */
    int size, rank;
    uint64_t id;    /* aux of its event */
    uint32_t parts; /* of NCCL: how often it was split */
    bool nameless;  /* between two groups: its ranks have no one numbering */
    /* Neighbors in its topology, from which something comes, and to which it goes: the i-th is no
     * rank (MPI_PROC_NULL, at the edge of a grid) where bit i of `absent` is set. */
    int sources, targets;
    uint64_t absent;
} __attribute__((aligned(64)));

#define XFS_ABSENT_MOST 64

/* Adds one, in the place of another that had this handle. NULL: there is no room. */
struct xfs_communicator *xfs_communicator_add(uintptr_t handle,
                                              const struct xfs_communicator *like);
struct xfs_communicator *xfs_communicator_find(uintptr_t handle);
void xfs_communicator_remove(uintptr_t handle);

/* One of MPI with a message; adds it if need be. NULL: not known. */
struct xfs_communicator *xfs_mpi_communicator(const struct xfs_mpi *mpi, xfs_word comm);

/* The number in the file; 0: not known. The first time writes the event, with this message's call
 * and begin, so that it comes before it in the order of time, too; `ranks` writes its list of ranks
 * to `text` and returns its bytes. */
typedef unsigned xfs_ranks_list(const void *context, uintptr_t handle, int size, char *text,
                                unsigned room);
uint32_t xfs_communicator_number(struct xfs_communicator *known, const struct xft_event *message,
                                 xfs_ranks_list *ranks, const void *context);
xfs_ranks_list xfs_mpi_ranks;
xfs_ranks_list xfs_all_ranks; /* from 0 on */

/* After a call that made one, and before one that frees it (called from `caller`): kept also where
 * nothing is recorded yet. */
void xfs_mpi_made_from(const void *made, const void *caller);
void xfs_mpi_window_made_from(const void *window, xfs_word comm, const void *caller);
void xfs_mpi_gone_from(const void *gone, const void *caller);

/* Mixes a number into an id. */
static inline uint64_t xfs_id_mix(uint64_t id, uint64_t number)
{
    id = (id ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return id ^ id >> 29;
}

void xfs_communicators_after_fork(void);

#endif
