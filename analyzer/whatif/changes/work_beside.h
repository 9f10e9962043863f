/* The host's work in another thread, as a change of the replayed run. A part of changes.h. */
#ifndef XFW_WORK_BESIDE_H
#define XFW_WORK_BESIDE_H

#include "analyzer/whatif/schedule/change.h"

#define XFW_TURN_BYTES 65536u /* of a copy whose bytes the host works on, on average */

/*
 * The thread's own time behind copies to the host (as for host_turns.c) is another thread's, one
 * for each thread of the program that has such: it begins when the copy is there and the job before
 * is done, while the program's thread goes on. That has two buffers by turns: a copy waits until
 * the job on what the last but one brought is done; and the process does not end before the last
 * job. Time before a copy to the device of as many bytes stays: it may make of one what the other
 * sends. So does time behind a function of the host that a stream calls behind the copy: it gives
 * the work to another thread already. Of time that makes what is sent, too (own_work.h), at best
 * half goes, which saves most. No record shows whether what follows needs the job's result: at
 * worst nothing changes, and as likely, unless `likely` (nothing is sent behind such copies by
 * which it could).
 */
struct xfw_change *xfw_change_work_beside(const struct xfa_analysis *analysis,
                                          struct xfw_set *classes, double part, bool likely);

#endif
