/*
 * Flushes host memory from the processor's caches, as Comm|Scope does before every copy (the state
 * of a program that has not touched its data recently), or writes it into them.
 */
#ifndef XFP_FLUSH_H
#define XFP_FLUSH_H

#include <stdbool.h>
#include <stddef.h>

/* Writes back and drops every cache line of the memory. Takes about a nanosecond a line. */
void xfp_flush(const void *memory, size_t bytes);

/* Rewrites every cache line of the memory with its own content: as much as fits is then dirty in
 * the caches. */
void xfp_rewrite(void *memory, size_t bytes);

/* Whether this processor has a flush instruction that this build supports. */
bool xfp_can_flush(void);

#endif
