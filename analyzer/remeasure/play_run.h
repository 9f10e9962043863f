/*
 * `analyze --replay=run`: plays the whole run on this machine's GPUs (probe/play.h), as recorded
 * (without what recording cost) and with the changes of the best set: what the set saves is
 * measured before the program is changed.
 *
 * Both are played several times in turn, and medians are compared. Of a run that does not fit into
 * the limit of time the first part is played.
 */
#ifndef XFA_PLAY_RUN_H
#define XFA_PLAY_RUN_H

#include "analyzer/whatif/whatif.h"
#include "probe/play.h"

#define XFA_PLAY_MOST_TIMES 9
#define XFA_PLAY_LEAST_TIMES 3

/* Called before each play: `done` of `count` are done, after so many seconds. */
typedef void xfa_play_progress(void *self, size_t done, size_t count, double seconds);

struct xfa_play_request {
    struct xfa_analysis *analysis;
    struct xfw_change *const *changes; /* borrowed */
    const unsigned *order;             /* place in the best set, from 1 on; 0: not in it */
    size_t count;
    double limit_s;
    xfa_play_progress *progress; /* NULL: not called */
    void *progress_self;
};

/* Never NULL; for xfw_played_free(). */
struct xfw_played *xfa_play_run(const struct xfa_play_request *request);

#endif
