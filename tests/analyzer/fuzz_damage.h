/*
 * Damage as it befalls the file of a process that did not finish, done to a trace in memory: pages
 * that never reached the disk, a cut, parts of the file that lie in the wrong place, and heads of
 * segments, slabs and rooms with other numbers. For the fuzzers and their short replay.
 */
#ifndef FUZZ_DAMAGE_H
#define FUZZ_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Returns the new size, at most `size`. `random`: any number; the same one does the same. */
size_t damage_unfinished(uint8_t *trace, size_t size, uint64_t random);

#endif
