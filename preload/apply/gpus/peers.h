/*
 * Peers: peer access enabled between two GPUs that can have it, where the program copies much
 * between them and never enables it. Its copies are made by the program's own calls, as before;
 * with access the driver has them go from GPU to GPU, and not through the host.
 *
 * Copies of at least xfs_move_least bytes (between.h) are timed. Once five were timed as asked, and
 * 30 ms were spent so, access is enabled, and five more are timed; if these are not a tenth faster
 * it is disabled again, and stays so.
 *
 * Both are done only when nothing runs in either context, by the program's own doing: it has just
 * waited for each (cuCtxSynchronize). So it waits for nothing that it did not wait for itself. A
 * copy between GPUs in the default stream returns before it is over (tests/gpu/peer_promises.c).
 */
#ifndef XFS_APPLY_PEERS_H
#define XFS_APPLY_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/gpus/pairs.h"

struct xfs_peer_copy {
    const struct xfs_between *asked; /* looked at */

    /* Of xfs_peers_begin(). */
    struct xfs_pair *pair; /* NULL: it is not looked at */
    struct xfs_site *site;
    struct xfs_timed timed;
    enum xfs_way way;
    bool right; /* xfs_peers_end(): compared, and the same */
};

/* Is the class on? */
bool xfs_peers_on(void);

/* Around the driver's call. End: false, the call has to be made again. */
void xfs_peers_begin(struct xfs_peer_copy *copy);
bool xfs_peers_end(struct xfs_peer_copy *copy, int status);

/* The program has waited for all work of a context; NULL: the current one. */
void xfs_peers_waited(xcu_context context);

#endif
