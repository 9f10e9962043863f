/*
 * Host memory out of the processor's caches (Comm|Scope does so before every copy: what a program
 * finds that did not touch its data just now).
 */
#ifndef XFP_FLUSH_H
#define XFP_FLUSH_H

#include <stdbool.h>
#include <stddef.h>

/* Writes back and drops every cache line of the memory. Takes about a nanosecond a line. */
void xfp_flush(const void *memory, size_t bytes);

/* Does this processor have an instruction for it that this build knows? */
bool xfp_can_flush(void);

#endif
