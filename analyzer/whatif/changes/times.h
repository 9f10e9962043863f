/*
 * Copies take the times of another path: of page-locked memory, of a near node, of peer access.
 *
 * Alone, a copy takes on the device what the profile has for that path (to), or as much less as it
 * has for that path than for the one that was taken (from and to). A call that blocked takes that
 * path's blocking time; an Async call that had blocked because its memory was pageable returns when
 * it has submitted the copy, and the memory must be left alone until it is done (reuse.h; at worst
 * the host waits at once).
 *
 * What the new path costs is paid where it is due: page-locking each buffer before its first use,
 * or around each use; staging takes the thread's time as long as the copy.
 */
#ifndef XFW_CHANGE_TIMES_H
#define XFW_CHANGE_TIMES_H

#include "analyzer/whatif/changes/buffers.h"
#include "analyzer/whatif/change.h"

struct xfw_new_path {
    uint32_t class;
    const struct xfp_path *to, *from; /* borrowed; from NULL: not measured, or of no interest */
};

enum xfw_pinning {
    XFW_MOVED, /* nothing is: the memory lies elsewhere, or is reached by another way */
    XFW_PIN_ONCE,
    XFW_PIN_PER_USE,
    XFW_STAGE
};

struct xfw_times_terms {
    enum xfw_pinning pinning;
    unsigned threads;                  /* XFW_STAGE */
    const struct xfw_buffers *buffers; /* XFW_PIN_ONCE: borrowed */
    bool asynchronous; /* where it is page-locked: synchronous calls become Async ones */
};

/* paths: copied. */
struct xfw_change *xfw_change_times(const struct xfa_analysis *analysis,
                                    const struct xfw_new_path *paths, size_t count,
                                    const struct xfw_times_terms *terms);

#endif
