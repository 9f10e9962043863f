/*
 * Launches of a thread that come one after the other, so that they can become one: a graph
 * (launch_graphs.h), or one launch for all pieces (batch_launches.h). Private to changes/, and to
 * the finding that looks for them.
 */
#ifndef XFW_LAUNCH_RUNS_H
#define XFW_LAUNCH_RUNS_H

#include "analyzer/whatif/schedule/change.h"

#define XFW_RUNS_LEAST 0.05 /* of the span: merging launches is more work than other changes */

/* Of a thread's own time, more is no part of a run: the host does something that may decide. */
double xfw_run_gap_ns(enum xfw_certainty certainty);

/* The op is no call, or another change has taken it away: the run goes on behind it. */
bool xfw_is_between_launches(const struct xfw_op *op);
/* The thread works before the call, or something woke it: what it launches then is apart. */
bool xfw_ends_launches(const struct xfw_op *op, enum xfw_certainty certainty);

#endif
