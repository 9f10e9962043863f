/* A trace as the reader's tests take it: opened from memory, all its events in one list. */
#ifndef GATHER_H
#define GATHER_H

#include <stddef.h>
#include <stdint.h>

#include "analyzer/read/read.h"
#include "tests/analyzer/traces/build_trace.h"

struct gathered {
    struct xft_event *events;
    uint64_t *names; /* lane << 32 | sequence */
    size_t count, room;
};

/* For xfa_trace_events(), with a struct gathered. */
void gather(void *context, const struct xfa_batch *batch);
void forget(struct gathered *all);

/* Fails the test when it cannot be opened. */
struct xfa_trace *open_built(const struct trace_builder *b);

#endif
