/*
 * What calls took whose time may be off: a part of the data may have been moved before all sides
 * had begun, and clocks differ. Which calls count is not decided by what they took, or slow ones,
 * of which an error is a smaller part, would count more often: of each row count those that may be
 * off by the least (in powers of two), as many of them as together may be off by a tenth of what
 * they took together.
 */
#ifndef XFA_DOUBTS_H
#define XFA_DOUBTS_H

#include "analyzer/base/table.h"
#include "analyzer/pass/achievable_message.h"
#include "analyzer/sums/messages.h"

#define XFA_MAX_DOUBTS (1u << 18) /* rows by powers of two; calls of further ones do not count */
#define XFA_DOUBT_PART 0.1

struct xfa_doubts {
    struct xfa_table classes;
};

struct xfa_doubted_call {
    uint32_t row;   /* of messages */
    uint64_t bytes; /* that the row has of it */
    double ns;
    double off_ns;   /* by which that may be off, */
    double order_ns; /* and what decides: alike for all calls that are of one; NAN: it does not
                        count */
    struct xfa_price price;
};

void xfa_doubts_init(struct xfa_doubts *doubts);
void xfa_doubts_free(struct xfa_doubts *doubts);
void xfa_doubts_add(struct xfa_doubts *doubts, const struct xfa_doubted_call *call);

/* Adds those that count to their rows. Once. */
void xfa_doubts_choose(struct xfa_doubts *doubts, const struct xfa_messages *messages);

#endif
