/*
 * The entries of list segments: META, CALLS, STACKS, MODULES, SYMBOLS, NAMES, ARGUMENTS, SOURCES
 * (trace.h).
 * One after the other without padding, so that a malformed one makes what follows it unreadable.
 */
#ifndef XFT_LISTS_H
#define XFT_LISTS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the entry that starts at `at`, where `left` bytes are; 0: malformed, or no list type. */
size_t xft_list_entry(unsigned type, const unsigned char *at, size_t left);

/* Whether a payload is nothing but well-formed entries: only such may be joined. */
bool xft_list_ok(unsigned type, const unsigned char *payload, size_t bytes);

#endif
