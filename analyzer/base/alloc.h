/*
 * Memory for the analyzer. Running out of memory ends the process with one line: there is
 * nothing sensible to report without it. Sizes that a trace dictates are bounded before they
 * come here (read.h).
 */
#ifndef XFA_ALLOC_H
#define XFA_ALLOC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *xfa_alloc(size_t bytes); /* zeroed */
void *xfa_alloc_unset(size_t bytes);
char *xfa_text(const char *text);
/* "A, B"; there is one at least. */
char *xfa_texts_joined(const char *const *texts, size_t count);
char *xfa_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *xfa_vprint(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* The array `items` with room for `needed` items, grown by doubling; *capacity is updated. New
 * room is not zeroed. */
void *xfa_room(void *items, size_t *capacity, size_t needed, size_t item_bytes);

/* The array `items` with one that has the number `index`: when it has fewer, room is made as above,
 * the new ones are zeroed, and *count becomes index + 1. */
void *xfa_grown(void *items, size_t *capacity, size_t *count, size_t index, size_t item_bytes);

/* A copy of n bytes of a trace to be kept: as they are, the number 0 as U+FFFD. Not fit to be
 * printed but by xfc_print() (common/text.h) and as JSON (json.h). */
char *xfa_kept(const char *bytes, size_t n);

/* A copy of n bytes that is safe to show: xfc_shown(). */
char *xfa_clean(const char *bytes, size_t n);

static inline uint64_t xfa_add(uint64_t a, uint64_t b) /* sticks at the largest number */
{
    return a + b < a ? UINT64_MAX : a + b;
}

#endif
