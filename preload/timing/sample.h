/*
 * Which calls are timed where not all of them are: of each class (a function, called from one
 * place) the first XFS_SAMPLE_FIRST, and the more of it have been seen the fewer: about one in a
 * ninth of those so far. So a class of a million calls has some hundred times, and its mean is
 * known to a tenth of how much its times differ. The gaps vary, so that a program that repeats a
 * sequence of calls is not met always at the same one.
 *
 * Counts are approximate where threads call the same function from the same place at once, and two
 * classes may share one count. Nothing here depends on the clock.
 */
#ifndef XFS_SAMPLE_H
#define XFS_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define XFS_SAMPLE_FIRST 8

/* A call of a class begins: function, and the address to which it returns. True: time it. */
bool xfs_sample_takes(uint16_t call, uintptr_t returns_to);

#endif
