/*
 * The summary of five lines at the end of record: what moved, what it cost, the worst finding, what
 * was recorded, and what to type next.
 */
#ifndef XFERSCOPE_RECORD_SUMMARY_H
#define XFERSCOPE_RECORD_SUMMARY_H

#include "tools/xferscope/record_end.h"

/* Prints the first three. `used`: gets the path of the profile that was used ("" = none). */
void record_summary(const struct rundir *dir, const struct rundir_totals *totals,
                    const struct record_words *words, char used[PATH_MAX]);

#endif
