/*
 * Pipes: from one GPU to another through page-locked memory of our own, piece by piece. While one
 * piece is on its way from the host to the destination, the next one is on its way from the source.
 *
 * A pipe belongs to two contexts, the source's and the destination's, known by their handles and
 * their numbers. It has a stream in each, which wait for nothing of the program's by themselves, a
 * ring of slots in memory near the source, and two events for each slot: it is full, it is empty.
 * One thread at a time has it; what it queued may still be under way when another takes it.
 *
 * A copy may stand behind work of its stream. Then all that is queued in the pipe behind it waits
 * for that work as well: only copies of the same stream are, until it is over. And they are few,
 * since a driver's queue that is full makes its calls wait.
 */
#ifndef XFS_APPLY_PIPES_H
#define XFS_APPLY_PIPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/apply/gpus/between.h"
#include "preload/apply/gpus/contexts.h"
#include "preload/apply/gpus/tried.h"

#define XFS_PIPE_SLOTS 8

struct xfs_pipe {
    struct xfs_contexts of; /* the source's, the destination's */

    /* Of who has taken it. Made by xfs_pipe_make(). */
    char *memory; /* NULL: not made */
    size_t slot_bytes;
    xcu_stream stream[2];
    xcu_event full[XFS_PIPE_SLOTS], empty[XFS_PIPE_SLOTS];
    bool used[XFS_PIPE_SLOTS]; /* `empty` was recorded */
    xcu_event begun[2];        /* a moment of the program's stream, by its context */
    xcu_event ended;           /* the last piece has arrived */
    uint64_t pieces;           /* queued since it was seen to be over */
    xcu_stream behind;         /* of whose work they wait for some; NULL: of none */
    unsigned behind_side;
    unsigned refused; /* copies until it is tried again to make it */

    struct xfs_tries tries;
};

/* The pipe of a copy's contexts, taken; NULL: another thread has it, or there are too many. */
struct xfs_pipe *xfs_pipe_take(const struct xfs_between *copy);
void xfs_pipe_give_back(struct xfs_pipe *pipe);

/* Its memory, streams and events. False: there is no memory, or the driver refuses. Needs a large
 * stack. */
bool xfs_pipe_make(struct xfs_pipe *pipe, const struct xfs_between *copy);

/* Whether all that is in the default streams of both contexts is over now. */
bool xfs_pipe_is_still(struct xfs_pipe *pipe);

/* Whether the copy can be queued now and hold up nothing but its own stream. waits: behind work of
 * that, if need be. */
bool xfs_pipe_has_room(struct xfs_pipe *pipe, const struct xfs_between *copy, bool waits);

/* Queues the copy: it begins when the program's stream is at this moment, and what comes behind in
 * that stream waits for it. False: the driver says an error; what comes behind in the stream waits
 * for what is under way of it, and the destination has parts of it. */
bool xfs_pipe_queue(struct xfs_pipe *pipe, const struct xfs_between *copy);

/* Waits until what was queued last has arrived. */
bool xfs_pipe_wait(struct xfs_pipe *pipe);

/* Before a stream of the program ends: another one may get its handle. */
void xfs_pipes_forget(xcu_stream stream);

/* Before a context ends: what we have in it is taken out. NULL: nothing. */
void xfs_pipes_leave(xcu_context context);

/* In a forked child: the memory is its parent's. */
void xfs_pipes_after_fork(void);

#endif
