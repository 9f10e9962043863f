/*
 * Memory for the analyzer. Running out of memory ends the process with one line on stderr. Sizes
 * from a trace are bounded before they are allocated (read.h).
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
/* "A, B"; count is at least 1 */
char *xfa_texts_joined(const char *const *texts, size_t count);
char *xfa_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends to a text: frees it, and returns the longer one. */
char *xfa_append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *xfa_vprint(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Returns the array `items` with a capacity of at least `needed`, grown by doubling; updates
 * *capacity. New items are not zeroed. */
void *xfa_room(void *items, size_t *capacity, size_t needed, size_t item_bytes);

/* Returns the array `items` with at least index + 1 items: when it has fewer, it grows as above,
 * new items are zeroed, and *count becomes index + 1. */
void *xfa_grown_more(void *items, size_t *capacity, size_t *count, size_t index, size_t item_bytes);
static inline void *xfa_grown(void *items, size_t *capacity, size_t *count, size_t index,
                              size_t item_bytes)
{
    return index < *count ? items : xfa_grown_more(items, capacity, count, index, item_bytes);
}

/* Returns the array `items` with room for `count` of them alone; updates *capacity. */
void *xfa_trimmed(void *items, size_t *capacity, size_t count, size_t item_bytes);

/* A copy of n bytes of a trace, with U+FFFD for each zero byte. Print it only by xfc_print()
 * (common/text.h) or as JSON (json.h). */
char *xfa_kept(const char *bytes, size_t n);

/* A copy of n bytes that is safe to print: xfc_shown(). */
char *xfa_clean(const char *bytes, size_t n);

static inline uint64_t xfa_add(uint64_t a, uint64_t b) /* saturates */
{
    return a + b < a ? UINT64_MAX : a + b;
}

#endif
