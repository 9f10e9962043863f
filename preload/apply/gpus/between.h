/*
 * A copy between two GPUs as the program asked for it, and how long it took on the GPU.
 *
 * Looked at are copies between memory of cuMemAlloc of two devices, one of which is the current
 * context's, in a stream of that context that is not being captured.
 */
#ifndef XFS_APPLY_BETWEEN_H
#define XFS_APPLY_BETWEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/apply/site/proof.h"
#include "preload/apply/site/site.h"
#include "xferscope/cuda_abi.h"

struct xfs_between {
    uint64_t dst, src, bytes;
    xcu_context to, from; /* as the call named them; NULL: it did not */
    xcu_stream stream;    /* by a handle that means the same in every function */
    bool blocking;        /* the function without Async in its name */

    /* Of xfs_between_look(): the source's and the destination's. */
    xcu_context context[2];
    int device[2];
    unsigned side; /* which of both is current */
};

/* False: it is none of these, or not known for certain. On the program's stack, which is deep
 * enough for the copy itself. */
bool xfs_between_look(struct xfs_between *copy);

/* Both ways. */
bool xfs_between_can_reach(const struct xfs_between *copy);

/* The program makes a stream with these flags; whether it ever made one that does not wait for the
 * default stream. */
void xfs_apart_note(unsigned flags);
bool xfs_has_apart_streams(void);

/* ---- the time of a copy, between two events around it: nothing waits for it ------------------ */

struct xfs_timed {
    xcu_event begun, ended; /* ended NULL: there is none whose time is not known yet */
    uint64_t bytes;
    enum xfs_way way;
    struct xfs_site *site; /* NULL: not known */
};

/* An event in a stream. False: the driver says an error. */
bool xfs_timed_mark(xcu_event *event, xcu_stream stream);

/* The time in ns of a copy that is over, which is forgotten then. 0: it is not over, or there is
 * none, or no time of it. */
uint64_t xfs_timed_read(struct xfs_timed *timed);
void xfs_timed_drop(struct xfs_timed *timed);

#endif
