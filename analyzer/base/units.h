/* Numbers for people, and from them. "-" where a figure is not known (NAN). Each writes to and
 * returns `text`. */
#ifndef XFA_UNITS_H
#define XFA_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XFA_UNIT_CHARS 32

const char *xfa_bytes_text(char text[XFA_UNIT_CHARS], uint64_t bytes); /* 64 B, 1.5 MiB */
const char *xfa_time_text(char text[XFA_UNIT_CHARS], double ns);       /* 3.5 us, 1.25 s */
const char *xfa_gbps_text(char text[XFA_UNIT_CHARS], double gbps);     /* 55.3, without unit */

/* The largest count where there are more; of less than none, or of what is not known, 0. */
static inline uint64_t xfa_count_of(double value)
{
    return value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
}

/* A whole number of digits alone: no sign, no space, nothing after it. */
bool xfa_number(const char *word, uint64_t *number);

#endif
