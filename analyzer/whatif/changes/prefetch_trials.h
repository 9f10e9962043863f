/*
 * What `xferscope apply` finds out about prefetching before a kernel's launches, in the replay
 * (preload/apply/managed/kernels.h): the first launches stay as asked, until two of their times are
 * known; then two in four are made its way, until there are five of each. Two times decide, by
 * their means: from when the stream comes to the launch to the kernel's end, which has to be a
 * tenth shorter, and from there to the next launch of this kernel in the stream, which must not be
 * longer.
 *
 * Of launches that waited for pages; of one process, by one thread at a time.
 */
#ifndef XFW_PREFETCH_TRIALS_H
#define XFW_PREFETCH_TRIALS_H

#include "analyzer/whatif/schedule/change.h"

#define XFW_TRIED_KERNELS 64u /* distinct, by their names' ids; others share a place */
#define XFW_TRIED_STREAMS 64u /* the same, by their numbers */

enum xfw_tried_way { XFW_AS_ASKED, XFW_BY_APPLY, XFW_TRIED_WAYS };

struct xfw_prefetch_trials { /* zeroed */
    struct xfw_tried_kernel {
        unsigned launches;
        uint64_t streams; /* a bit for each place that had some */
        struct xfw_tried_times {
            unsigned count;
            double ns; /* of all */
        } work[XFW_TRIED_WAYS], rounds[XFW_TRIED_WAYS];
    } kernels[XFW_TRIED_KERNELS];
    struct xfw_tried_launch { /* the last one */
        bool was, made_our_way;
        uint32_t name;
        double begin_ns; /* of the schedule's clock */
    } streams[XFW_TRIED_STREAMS];
    struct xfw_tried_launch *open; /* its kernel's end is known when the next op comes */
    uint32_t stream;               /* of that */
};

/* The next op comes. */
void xfw_prefetch_trials_op(struct xfw_prefetch_trials *trials, const struct xfw_player *player);

/* A launch that waited for pages: is it made apply's way? */
bool xfw_prefetch_trials_launch(struct xfw_prefetch_trials *trials, const struct xfw_player *player,
                                const struct xfw_op *op);

#endif
