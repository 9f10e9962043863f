/*
 * The rows of a chunk by time. They are nearly in order as they lie: a thread's are, and the
 * device's come a little late; what is in order costs one look.
 */
#ifndef XFA_TIME_ORDER_H
#define XFA_TIME_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct xfa_time_key {
    uint64_t ns;
    uint32_t row;
};

/* Sorts by ns; those of the same ns stay as they were. `spare` has room for as many. */
void xfa_time_order(struct xfa_time_key *keys, size_t count, struct xfa_time_key *spare);

#endif
