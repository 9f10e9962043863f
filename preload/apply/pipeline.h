/*
 * Pipeline: large copies between two GPUs that cannot have peer access, in pieces through
 * page-locked memory of our own (pipes.h). The driver copies them through memory of its own, with
 * less overlap.
 *
 * A copy by Async is carried out where its stream is without work: its pieces then wait for nothing
 * of the program's. Behind work they would wait in the other GPU's context as well, where the
 * program may wait for all work, and perhaps only then does what that work waits for.
 *
 * A blocking copy is serialised with all work of both contexts. It is carried out where their
 * default streams are without work and the program never made a stream that does not wait for them,
 * and is waited for.
 *
 * Trials as of other classes, by the time between two events around the copy.
 */
#ifndef XFS_APPLY_PIPELINE_H
#define XFS_APPLY_PIPELINE_H

#include <stdbool.h>

#include "preload/apply/pipes.h"

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
