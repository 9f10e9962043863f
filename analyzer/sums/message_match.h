/*
 * Messages matched across the processes of a run: the n-th send of a communicator, two ranks and a
 * tag with the n-th receive; the n-th collective of a communicator with that of all its ranks. Only
 * where both sides (all ranks) recorded equally many, and their order is known: else one side's
 * recording began later, or was cut short, and nothing is matched there.
 *
 * Of what the host waited in a call, or in the call that waited for its request, the part before
 * the other side had begun is separated from the part since: a late sender, or a late receiver,
 * from the link. In a collective no rank waits for another one once the last rank has come. Where
 * the two are on hosts whose clocks are not known to a tenth of the wait, neither is shown.
 *
 * How long a message took, since both sides had begun, is known where the receive blocked, or where
 * at least half of that time was spent in the call that waited for it: else it may have arrived
 * before.
 *
 * A collective took from when the last rank had begun until the last one had its part: this time
 * counts for each rank's call. Where each rank needs what all others give, none can end before that
 * begin. Of the others a part may have been moved before: a root's data (broadcast, scatter), or
 * that of the ranks that came first (reduce, gather, scan). How long the last rank came behind
 * these is what their time may be off: which calls count is in doubts.h.
 *
 * A rank is slow where its messages take longer, since both sides had begun, than the median of all
 * pairs of ranks takes for the same sizes (in powers of two), within a host or between hosts: with
 * every one of its peers, of which it has two at least, so that one slow link makes no rank slow.
 * What counts is how slow it is with the peer with which it is fastest; how much is slow is found
 * by the test of ranks.h.
 */
#ifndef XFA_MESSAGE_MATCH_H
#define XFA_MESSAGE_MATCH_H

#include "analyzer/pass/achievable_message.h"
#include "analyzer/sums/matched.h"
#include "analyzer/sums/messages.h"

#define XFA_MAX_MESSAGE_CELLS (1u << 18)

/* Adds the results of matching to the rows. Once, when all processes were read. */
void xfa_messages_match(struct xfa_matched *matched, struct xfa_messages *messages,
                        const struct xfa_achievable *achievable);
void xfa_matched_free(struct xfa_matched *matched);

/* What was matched, once more: a send and its receive, or a collective of all its ranks by rank. */
typedef void xfa_matched_fn(void *self, const struct xfa_kept_message *all, size_t count);
void xfa_matched_each(const struct xfa_messages *messages, xfa_matched_fn *pair,
                      xfa_matched_fn *collective, void *self);

#endif
