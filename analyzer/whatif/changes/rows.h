/*
 * What copies of rows that are not contiguous (2D, 3D) would take from and to page-locked memory,
 * by the machine's profile: the tables copy-2d/pinned and copy-3d/pinned, of copies of the same
 * bytes in ever longer rows.
 */
#ifndef XFW_ROWS_H
#define XFW_ROWS_H

#include "analyzer/whatif/changes/costs.h"

struct xfw_rows_way {
    enum xft_direction direction;
    int node, gpu;               /* of the host's memory, -1: any; the run's number */
    const struct xfp_path *path; /* contiguous copies of page-locked memory; borrowed */
};

/*
 * Of `bytes` in rows of row_bytes (0: contiguous) each. To the time of a contiguous copy comes, for
 * each row, what one of that length took beyond its part of such a copy: as likely and at best
 * those of two dimensions, at worst the slower ones of two and three. Rows shorter than the
 * shortest that was measured likely take as long as that one, at worst twice as long (a guess), at
 * best as much less as they are shorter. Where the profile has no rows they likely cost nothing
 * more, and at worst the time is not known.
 */
struct xfw_copy_cost xfw_rows_cost(const struct xfa_achievable *achievable,
                                   const struct xfw_rows_way *way, uint64_t bytes,
                                   uint64_t row_bytes, enum xfw_certainty certainty);

/* Answers remembered (costs.h); zeroed at first, of one analysis. */
#define XFW_ASKED_ROWS 16
struct xfw_asked_rows {
    struct xfw_asked_row {
        struct xfw_rows_way way; /* path NULL: none yet */
        uint64_t bytes, row_bytes;
        enum xfw_certainty certainty;
        struct xfw_copy_cost cost;
    } rows[XFW_ASKED_ROWS];
    unsigned next;
};
struct xfw_copy_cost xfw_asked_rows(struct xfw_asked_rows *asked,
                                    const struct xfa_achievable *achievable,
                                    const struct xfw_rows_way *way, uint64_t bytes,
                                    uint64_t row_bytes, enum xfw_certainty certainty);

#endif
