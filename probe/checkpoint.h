/*
 * The profile so far, between two benchmarks, for whoever is killed: marked as interrupted, so that
 * --resume can go on with it.
 */
#ifndef XFP_CHECKPOINT_H
#define XFP_CHECKPOINT_H

#include "probe/session.h"

struct xfp_checkpoint {
    uint64_t last_ns; /* when the profile was last kept, 0: not yet */
    bool failed;      /* a file that cannot be written is tried no more */
};

/* Where options name a file; nothing before there is something, and not too often. */
void xfp_checkpoint_keep(struct xfp_checkpoint *c, struct xfp_session *s,
                         const struct xfp_probe_outcome *outcome);

/* What a profile says that is not whole. */
void xfp_warn_interrupted(struct xfp_session *s, const struct xfp_probe_outcome *outcome);

/* How long measuring has taken, an earlier run's time included, into the profile. */
void xfp_note_time(struct xfp_session *s);

#endif
