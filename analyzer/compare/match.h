/*
 * Rows of transfers of two runs matched with each other, although the program was edited or built
 * anew between them: lines move, memory becomes page-locked, a call becomes another.
 *
 * A row's place is function and file; of a function that is not known, the module. In passes, each
 * with what the one before it left: the same place, CUDA function and kind of transfer (direction,
 * memories, GPUs); then another CUDA function; then other memory; then the same three with the
 * function alone, the file being another. Several rows that a pass cannot tell apart are matched in
 * the order of their lines; when there are more of them in one run, those that are most alike in
 * number and bytes stay, in that order.
 */
#ifndef XFA_MATCH_ROWS_H
#define XFA_MATCH_ROWS_H

#include "analyzer/compare/snapshot.h"

enum xfa_moved { /* what differs of a matched row: bits */
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
