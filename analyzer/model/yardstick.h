/*
 * What the machine could have given: the profile asked about one kind of transfer.
 *
 * A host-device transfer is held against the best page-locked memory that was measured (pinned,
 * write-combined, mapped, registered) in the same direction on the same GPU; D2D and P2P against
 * that copy. GPUs of trace and profile are matched by uuid, else by ordinal. Times are ns.
 */
#ifndef XFA_YARDSTICK_H
#define XFA_YARDSTICK_H

#include "analyzer/read/read.h"
#include "xferscope/profile.h"

#define XFA_MAX_GPUS 64

enum xfa_match { XFA_MATCH_UNKNOWN, XFA_MATCH_YES, XFA_MATCH_NO };

struct xfa_yardstick {
    const struct xfp_profile *profile; /* NULL: nothing is achievable that we know of */
    int gpus[XFA_MAX_GPUS];            /* the profile's ordinal of a trace's */
    enum xfa_match match;              /* was the profile measured on the trace's machine? */
    char *mismatch;                    /* one line when not */
};

/* Both outlive the yardstick. */
void xfa_yardstick_init(struct xfa_yardstick *yardstick, const struct xfp_profile *profile,
                        const struct xfa_trace *trace);
void xfa_yardstick_free(struct xfa_yardstick *yardstick);

/* One kind of transfer. Device ordinals are the trace's, -1 = not known or not a device. */
struct xfa_reach {
    bool found;
    const struct xfp_path *paths[4];
    size_t path_count;
    uint64_t last_bytes; /* the answer before, often asked for again */
    struct xfp_estimate last;
    const struct xfp_path *last_path;
    double last_submit_ns;
};

void xfa_reach_init(struct xfa_reach *reach, const struct xfa_yardstick *yardstick,
                    enum xft_direction direction, int src_device, int dst_device);

/* The shortest time of one transfer; basis XFP_UNKNOWN when there is none. */
struct xfp_estimate xfa_reach_time(struct xfa_reach *reach, uint64_t bytes);

/* Host time of submitting it asynchronously, NAN = not measured. */
double xfa_reach_submit(struct xfa_reach *reach, uint64_t bytes);

/* The fitted model of the path that is best for long transfers, NULL = none. */
const struct xfp_fit *xfa_reach_fit(const struct xfa_reach *reach);

#endif
