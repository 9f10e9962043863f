/*
 * What each side of a matched message waits for, and how long the message is under way then, found
 * from what was recorded (sums/message_match.h). Private to whatif/.
 *
 * - A receive waits for its send. A send waits for its receive where messages of its size do
 *   (rendezvous), by what was recorded between its two hosts: a send that had ended before its
 *   receive began shows that up to its size none waits (eager); one whose call or wait the begin of
 *   the receive lies in shows that from its size on they wait. Sizes of which neither is shown
 *   wait from XFW_RENDEZVOUS_BYTES on (MPICH's and Open MPI's limits are from 4 KiB to 64 KiB).
 * - In a collective each rank waits for all, where each needs what all gave; for the root, where
 *   that gives (broadcast, scatter); the root for all, where it receives (reduce, gather).
 * - In a scan each rank waits for all of lower rank. It is a chain: a rank that has begun waits for
 *   the part of the one before it (its side RECEIVES) and then gives its own (SENDS), so that what
 *   it gives has been there no sooner than what any rank below gave; its end waits for that. In a
 *   scan that does not block who waits for its end waits until all of lower rank have begun: each
 *   rank is a group, of XFW_MOST_BELOW + 1 ranks at most; of more none is known to wait.
 *
 * Of a call that waited for several messages the one whose other side began last held it up. How
 * long the others were under way is what others of their size took, at most until it returned; so
 * it is of one that had arrived when it was waited for.
 *
 * Times are ns on the clock that all hosts have in common.
 */
#ifndef XFW_MESSAGE_LINKS_H
#define XFW_MESSAGE_LINKS_H

#include "analyzer/whatif/together/links.h"

#define XFW_RENDEZVOUS_BYTES ((uint64_t)64 << 10)

/* Adds the run's messages to what is linked. */
void xfw_message_links_add(struct xfw_links *links, const struct xfa_analysis *analysis);

#endif
