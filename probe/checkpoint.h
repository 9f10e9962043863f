/*
 * Writes the profile so far between two benchmarks, marked as interrupted, so that --resume can
 * continue after the probe was killed.
 */
#ifndef XFP_CHECKPOINT_H
#define XFP_CHECKPOINT_H

#include "probe/session.h"

struct xfp_checkpoint {
    uint64_t last_ns; /* when the profile was last written; 0: never */
    bool failed;      /* the file could not be written: no further tries */
};

/* Writes the checkpoint if the options name a file, there is a result, and a few seconds have
 * passed since the last one. */
void xfp_checkpoint_keep(struct xfp_checkpoint *c, struct xfp_session *s,
                         const struct xfp_probe_outcome *outcome);

/* The warning in a profile that is not complete. */
void xfp_warn_interrupted(struct xfp_session *s, const struct xfp_probe_outcome *outcome);

/* Stores the time spent on measuring in the profile, that of an earlier run included. */
void xfp_note_time(struct xfp_session *s);

#endif
