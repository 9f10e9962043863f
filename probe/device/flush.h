/*
 * Host memory out of the processor's caches (Comm|Scope does so before every copy: what a program
 * finds that did not touch its data just now), or into them.
 */
#ifndef XFP_FLUSH_H
#define XFP_FLUSH_H

#include <stdbool.h>
#include <stddef.h>

/* Writes back and drops every cache line of the memory. Takes about a nanosecond a line. */
void xfp_flush(const void *memory, size_t bytes);

/* Writes every cache line of the memory anew, with what it holds: as much of it as has room is in
 * the caches then, and not yet in memory. */
void xfp_rewrite(void *memory, size_t bytes);

/* Does this processor have an instruction for it that this build knows? */
bool xfp_can_flush(void);

#endif
