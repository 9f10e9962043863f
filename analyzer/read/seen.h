/*
 * Which sequence numbers of which lane have been met: an event that lies in a compressed segment
 * and still in its slab counts once, and holes in the numbers are events that were lost.
 *
 * Of a lane at most XFA_SEEN_HOLES holes are known at a time, so that neither memory nor time grows
 * with what a file makes of its numbers: of more, the one with the lowest numbers counts as lost
 * and is closed. No recorder leaves as many open: the events of a lane lie in a file in their
 * order.
 */
#ifndef XFA_SEEN_H
#define XFA_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/table.h"

#define XFA_SEEN_HOLES 4096

struct xfa_seen {
    struct xfa_table lanes;
};

void xfa_seen_init(struct xfa_seen *seen);
void xfa_seen_free(struct xfa_seen *seen);

/* Marks [first, end) of a lane. */
void xfa_seen_add(struct xfa_seen *seen, uint32_t lane, uint64_t first, uint64_t end);

/* Whether `at` was met; *until is the end of the stretch, at most `end`, for which the answer is
 * the same. */
bool xfa_seen_get(const struct xfa_seen *seen, uint32_t lane, uint64_t at, uint64_t end,
                  uint64_t *until);

/* Numbers not met before the last one of each lane, or met when their hole had been closed. */
uint64_t xfa_seen_missing(const struct xfa_seen *seen);

#endif
