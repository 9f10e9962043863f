/*
 * Copies of rows that are not contiguous take the time of one run of as many bytes. Likely and at
 * best the program keeps its data that way; at worst the host gathers the rows before each copy (or
 * spreads them behind it), at the rate of copying what is in no cache.
 */
#ifndef XFW_CHANGE_ROWS_H
#define XFW_CHANGE_ROWS_H

#include "analyzer/whatif/change.h"

struct xfw_rows_path {
    uint32_t class;
    const struct xfp_path *path; /* contiguous copies between the same memories; borrowed */
    bool in_call;                /* of pageable memory: the call is what gets shorter */
};

/* paths: made with xfa_alloc(), become the change's. */
struct xfw_change *xfw_change_rows(const struct xfa_analysis *analysis, struct xfw_rows_path *paths,
                                   size_t count);

#endif
