/*
 * One look at a run that is being recorded: its sums so far, by row. Files of a run can be read
 * while they grow (read.h); each look reads them from the beginning, so that counters are exact.
 */
#ifndef XFA_LOOK_H
#define XFA_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xferscope/terms.h"

/* Transfers with the same texts. */
struct xfa_live_row {
    char *site, *function; /* fit to be shown */
    uint8_t direction, src_mem, dst_mem;
    uint64_t transfers, bytes;
};

struct xfa_look {
    double at_s;               /* of the monotonic clock, when it began */
    double took_s;             /* reading */
    double run_s;              /* from the run's start to its last call; 0: not known */
    size_t processes, working; /* working: they still record, as far as this host can tell */
    bool simulated;
    uint64_t transfers, bytes;
    struct xfa_live_row *rows; /* sorted by xfa_live_row_order() */
    size_t row_count;
    char *metrics; /* OpenMetrics text of `metrics_bytes`, as of export; NULL: not asked for */
    size_t metrics_bytes;
};

/* Reads the run. NULL after a line in error: nothing could be read. */
struct xfa_look *xfa_look_at(const char *run, bool metrics, char *error, size_t error_bytes);
void xfa_look_free(struct xfa_look *look);

/* By all but their figures, as for qsort(). */
int xfa_live_row_order(const void *a, const void *b);

/* "H2D pageable"; "P2P"; static or in `text`. */
const char *xfa_live_kind(const struct xfa_live_row *row, char text[64]);

#endif
