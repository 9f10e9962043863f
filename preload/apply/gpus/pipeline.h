/*
 * Pipeline: large copies between two GPUs that cannot have peer access, in pieces through
 * page-locked memory of our own (pipes.h). The driver copies them through memory of its own, with
 * less overlap.
 *
 * A copy by Async may stand behind work of its stream: its pieces then wait in the other GPU's
 * context as well, where a wait for all work waits for them, as it does for the driver's copy. No
 * other stream's copies wait with them (pipes.h).
 *
 * A blocking copy is carried out where the default streams of both contexts are without work, and
 * is waited for. The driver's is not ordered with streams that do not wait for these, either. What
 * the driver's do was measured with tests/gpu/peer_promises.c.
 *
 * Trials as of other classes, by the time between two events around the copy.
 */
#ifndef XFS_APPLY_PIPELINE_H
#define XFS_APPLY_PIPELINE_H

#include <stdbool.h>

#include "preload/apply/gpus/pipes.h"

struct xfs_piped_copy {
    const struct xfs_between *asked; /* looked at */

    /* Of xfs_pipeline_begin(). */
    struct xfs_pipe *pipe; /* NULL: it is not looked at */
    struct xfs_tried tried;
    bool done;   /* carried out */
    bool failed; /* tried, and it is to be made as asked */
};

/* Is the class on? */
bool xfs_pipeline_on(void);

/* Around the driver's call. Begin: true, it is carried out, and the call is not made. */
bool xfs_pipeline_begin(struct xfs_piped_copy *copy);
void xfs_pipeline_end(struct xfs_piped_copy *copy, int status);

#endif
