/*
 * `analyze --replay=run`: the whole run played on this machine's GPUs (probe/play.h), as it was
 * recorded, without what recording cost, and with the changes of the best set; so that what the set
 * saves is measured before anybody changes the program.
 *
 * Each is played several times, by turns; medians count. What does not fit into the limit of time
 * is cut off behind the first part of the run.
 */
#ifndef XFA_PLAY_RUN_H
#define XFA_PLAY_RUN_H

#include "analyzer/whatif/whatif.h"
#include "probe/play.h"

#define XFA_PLAY_MOST_TIMES 9
#define XFA_PLAY_LEAST_TIMES 3

/* How far it is, of so many times. */
typedef void xfa_play_step(void *self, size_t done, size_t count, double seconds);

struct xfa_play_request {
    struct xfa_analysis *analysis;
    struct xfw_change *const *changes; /* borrowed */
    const unsigned *order;             /* in the best set; 0 = not in it */
    size_t count;
    double limit_s;
    xfa_play_step *step; /* NULL: nobody wants to know */
    void *step_self;
};

/* Never NULL; for xfw_played_free(). */
struct xfw_played *xfa_play_run(const struct xfa_play_request *request);

#endif
