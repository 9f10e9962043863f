/*
 * Copies between page-locked memory and a GPU do not make the host wait any more: the call returns
 * when it has submitted them, and the host waits before it uses the memory again (reuse.h). At
 * worst it uses it at once, and the copy blocks as before.
 *
 * Of pageable memory: times.h, whose terms have `asynchronous`.
 */
#ifndef XFW_CHANGE_ASYNC_H
#define XFW_CHANGE_ASYNC_H

#include "analyzer/whatif/change.h"

/* classes: taken over, and left empty. */
struct xfw_change *xfw_change_async(const struct xfa_analysis *analysis, struct xfw_set *classes);

#endif
