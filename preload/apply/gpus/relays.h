/*
 * Relays: an upload to a GPU by the links of two. One half goes straight, the other one in pieces
 * to a ring in memory of another GPU, and from there to the first by peer access.
 *
 * A relay belongs to two contexts, the destination's and that of the GPU by which it goes. It has
 * two streams in the latter, which wait for nothing of the program's by themselves, and a ring of
 * 16 MiB there. One thread at a time has it.
 */
#ifndef XFS_APPLY_RELAYS_H
#define XFS_APPLY_RELAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/apply/gpus/contexts.h"
#include "preload/apply/gpus/tried.h"

#define XFS_RELAY_SLOTS 4
#define XFS_RELAY_SLOT ((size_t)4 << 20)

struct xfs_relay {
    struct xfs_contexts of; /* the destination's, and that by which it goes */

    /* Of who has taken it. Made by xfs_relay_make(). */
    xcu_deviceptr ring; /* 0: not made */
    xcu_stream in, hop; /* into the ring, on to the destination */
    xcu_event full[XFS_RELAY_SLOTS], empty[XFS_RELAY_SLOTS];
    bool used[XFS_RELAY_SLOTS]; /* `empty` was recorded */
    xcu_event begun, arrived;   /* of the destination's context */
    xcu_event ended;            /* the last piece is there */
    unsigned refused;           /* uploads until it is tried again to make it */

    struct xfs_tries tries;
};

/* One upload, in a stream of the current context, which is the destination's. */
struct xfs_relayed {
    uint64_t dst, src, bytes;
    xcu_stream stream;
};

/* The relay of two contexts, taken; NULL: another thread has it, or there are too many. */
struct xfs_relay *xfs_relay_take(xcu_context to, xcu_context by);
void xfs_relay_give_back(struct xfs_relay *relay);

/* Its memory, streams and events. False: the driver refuses, or the other GPU has little memory
 * left. Needs a large stack. */
bool xfs_relay_make(struct xfs_relay *relay);

/* Whether the other GPU can write this memory of the destination's, and has nothing to do in its
 * default stream. */
bool xfs_relay_is_free(struct xfs_relay *relay, uint64_t dst);

/* Queues the upload: what comes behind in its stream waits for all of it. False: the driver says an
 * error; nothing of it is under way any more, and the destination has parts of it. */
bool xfs_relay_queue(struct xfs_relay *relay, const struct xfs_relayed *upload);

/* Waits until what was queued last has arrived. */
bool xfs_relay_wait(struct xfs_relay *relay);

/* Before a context ends: what we have in it is taken out. NULL: nothing. */
void xfs_relays_leave(xcu_context context);

void xfs_relays_after_fork(void);

#endif
