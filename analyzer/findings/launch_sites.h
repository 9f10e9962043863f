/*
 * Call sites of launches, which have no stack: a site is the first call with one in a row of
 * launches of a thread, or behind it. For kinds of finding of which launches go.
 */
#ifndef XFA_LAUNCH_SITES_H
#define XFA_LAUNCH_SITES_H

#include "analyzer/findings/wait_sites.h"
#include "analyzer/whatif/changes/pieces.h"

/* A thread of the process, by lane; zeroed as the process begins. */
struct xfa_launcher {
    uint64_t end_ns; /* of its last call */
    struct xfa_launches {
        uint64_t times;
        double ns;
    } calls, pieces; /* that go, and have no site yet; a site's `pieces` are the latter */
};

/* The thread's time since its call before. */
double xfa_launcher_gap_ns(const struct xfa_launcher *launcher, const struct xfa_event *event);

/* The call goes, with the time before it. */
void xfa_launches_add(struct xfa_launches *launches, double gap_ns, const struct xfa_event *event);

/* The call is made: where it has a stack, what goes has its site. */
void xfa_launcher_called(struct xfa_launcher *launcher, struct xfa_table *sites,
                         const struct xfa_event *event);

/* Of a LAUNCH. */
struct xfw_piece_launch xfa_launch_of(const struct xfa_event *event);

#endif
