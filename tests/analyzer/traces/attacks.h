/*
 * Files that want more of their reader than they are long: each says, in the fewest bytes, what
 * makes some part of it work or keep the most. For the tests of what reading may take, and as seeds
 * for the fuzzers.
 */
#ifndef ATTACKS_H
#define ATTACKS_H

#include "tests/analyzer/traces/build_trace.h"

struct attack {
    const char *name;
    void (*fill)(struct trace_builder *b, size_t bytes); /* with segments, up to this size */
};
extern const struct attack attacks[];
extern const size_t attack_count;

/* False: there is none of this name. */
bool build_attack(struct trace_builder *b, const char *name, size_t bytes);

/* A file of `bytes` whose only data is a header and here and there a segment or a slab: the rest
 * are holes. `how`: what lies there. Aborts where it cannot be made. */
enum sparse { SPARSE_END, SPARSE_LANES, SPARSE_PLAIN, SPARSE_ROOM, SPARSE_HOWS };
void make_sparse(const char *path, enum sparse how, uint64_t bytes);

#endif
