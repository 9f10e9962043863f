/* Numbers as text, and text as numbers. Figures that are not known (NAN) are "-". The functions
 * write to `text`, and return it. */
#ifndef XFA_UNITS_H
#define XFA_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XFA_UNIT_CHARS 32

const char *xfa_bytes_text(char text[XFA_UNIT_CHARS], uint64_t bytes); /* 64 B, 1.5 MiB */
const char *xfa_time_text(char text[XFA_UNIT_CHARS], double ns);       /* 3.5 us, 1.25 s */
const char *xfa_gbps_text(char text[XFA_UNIT_CHARS], double gbps);     /* 55.3, without unit */

/* value as a count: saturates at UINT64_MAX; negative or NAN: 0. */
static inline uint64_t xfa_count_of(double value)
{
    return value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
}

/* Parses a decimal number: digits alone, no sign, no spaces. False: it is none, or too large. */
bool xfa_number(const char *word, uint64_t *number);

#endif
