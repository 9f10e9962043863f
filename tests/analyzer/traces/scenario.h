/*
 * Runs and profiles that the tests analyse. All figures are chosen so that results can be worked
 * out by hand: the profile's link takes 2000 ns + bytes / 50 B/ns in both directions.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "tests/analyzer/traces/build_trace.h"
#include "xferscope/profile.h"

#define LINK_LO_NS 2000.0
#define LINK_GBPS 50.0
#define LINK_GAP_NS 1500.0
#define SUBMIT_NS 1000.0

enum test_call { CALL_MEMCPY = 1, CALL_MEMCPY_ASYNC = 2, CALL_HTOD = 3 };
enum test_stack { STACK_UPLOAD = 1, STACK_RESULTS = 2, STACK_TORCH = 3, STACK_UNNAMED = 4 };

static inline double link_ns(uint64_t bytes)
{
    return LINK_LO_NS + (double)bytes / LINK_GBPS;
}

/* Names, META, stacks: what every scenario has. */
void scenario_names(struct trace_builder *b);

/* One process with every kind of thing the report speaks of. */
void scenario_mixed(struct trace_builder *b);

/* The same, killed: half of the events lie in slabs, some of them compressed already. */
void scenario_killed(struct trace_builder *b);

/* `transfers` small and large transfers from ten call sites, with device times. */
void scenario_many(struct trace_builder *b, size_t transfers);

/* A profile of that link; freed with xfp_free(). */
struct xfp_profile *scenario_profile(void);
/* Makes it another machine's. */
void scenario_other_machine(struct xfp_profile *profile);

#endif
