/* What runs that are made for measuring have in common (big_trace.c, shape_trace.c). */
#ifndef MADE_RUN_H
#define MADE_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "tests/analyzer/traces/build_trace.h"

/* The same numbers each time (xorshift). */
static inline uint64_t random_number(void)
{
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* META of a run on the machine of the tests' profile. */
static inline void put_run(struct trace_builder *b)
{
    static const char *const pairs[][2] = {
        {"run", "4711.4.0123456789abcdef"},
        {"xferscope.version", "0.1.0"},
        {"exe", "/opt/sample/train"},
        {"cmdline", "./train"},
        {"machine_id", "aaaa1111"}, /* and so the GPU */
        {"timing", "cupti"},
        {"cuda.driver_version", "13000"},
        {"gpu.count", "1"},
        {"gpu.0.name", "Test GPU"},
        {"stacks", "on"},
        {"kernels", "on"},
        {"exit", "exit"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        build_meta(b, pairs[i][0], pairs[i][1]);
}

#endif
