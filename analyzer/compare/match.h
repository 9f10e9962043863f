/*
 * Matches the rows of transfers of two runs, although the program was edited or rebuilt between
 * them: lines move, memory becomes page-locked, calls are replaced.
 *
 * The place of a row is its function and file; without a function, the module. Six rules, each for
 * the rows that are not matched yet:
 * - the same place, CUDA function and kind of transfer (direction, memories, GPUs);
 * - the same without the CUDA function;
 * - the same without CUDA function and memories;
 * - these three with the function alone, in another file.
 *
 * Rows that a rule cannot tell apart are matched in the order of their lines; when one run has more
 * of them, those that are most alike in count and bytes are matched, in that order.
 */
#ifndef XFA_MATCH_ROWS_H
#define XFA_MATCH_ROWS_H

#include "analyzer/compare/snapshot.h"

enum xfa_moved { /* bits: what differs between matched rows */
                 XFA_MOVED_LINE = 1,
                 XFA_MOVED_CALL = 2,
                 XFA_MOVED_KIND = 4, /* memories */
                 XFA_MOVED_FILE = 8,
};

#define XFA_UNMATCHED SIZE_MAX

/* For each of the m rows its place among the n others or XFA_UNMATCHED; the caller frees it. */
size_t *xfa_match_rows(const struct xfa_snapshot_row *const *before, size_t m,
                       const struct xfa_snapshot_row *const *after, size_t n);

unsigned xfa_moved_of(const struct xfa_snapshot_row *before, const struct xfa_snapshot_row *after);

#endif
