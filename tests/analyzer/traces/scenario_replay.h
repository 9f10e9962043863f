/*
 * A run whose distinct transfers are to be replayed: seven of them, of sizes that no sweep has.
 */
#ifndef SCENARIO_REPLAY_H
#define SCENARIO_REPLAY_H

#include "tests/analyzer/traces/build_trace.h"

enum {                            /* bytes */
       REPLAY_PAGEABLE = 1000003, /* 20 synchronous copies to the device, the worst */
       REPLAY_PINNED = 300001,    /* 30 asynchronous ones */
       REPLAY_DOWN = 77777,       /* 5 synchronous ones to the host, pinned */
       REPLAY_ROWS = 96000,       /* 4 in rows that are not contiguous */
       REPLAY_ROW = 1500,
       REPLAY_BATCH = 40000, /* one call of 4 copies */
       REPLAY_WITHIN = 5000, /* within the host, and within the device */
       REPLAY_FAR = 123457,  /* of two GPUs: 3 from node 0 to the second, which is on node 1 */
       REPLAY_PEER = 234567, /* 2 between them without peer access */
};

void scenario_replay(struct trace_builder *b, bool simulated);

/* Another one, of two GPUs, on a simulated machine. */
void scenario_replay_two(struct trace_builder *b);

#endif
