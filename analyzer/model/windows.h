/*
 * Windows: device records that were not always on (XFT_EVENT_RECORDS), so that recording stayed
 * within its budget. A call without records was made while they were off, or just before: it is not
 * seen, and its time is taken to be that of its class.
 */
#ifndef XFA_WINDOWS_H
#define XFA_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/figures.h"
#include "xferscope/trace.h"

struct xfa_windows {
    uint64_t opened;            /* how often some records were switched on */
    bool copies_off;            /* for some time */
    bool kernels_off;           /* likewise, having been on */
    uint64_t transfers, unseen; /* that moved something */
    uint64_t launches, launches_unseen;
    uint64_t last; /* aux of the RECORDS before */
};

/* Takes notice of a RECORDS; in the order of the lane. */
void xfa_windows_gather(struct xfa_windows *windows, const struct xft_event *event);

/* Counts a launch: by its number, since kernels are not joined. */
void xfa_windows_launch(struct xfa_windows *windows, const struct xft_event *launch);

/* Counts a transfer that moved something, which has a record or not; true when that is because of
 * the windows. */
bool xfa_windows_transfer(struct xfa_windows *windows, bool recorded);

/*
 * Once a class is complete: what those that were seen lost is taken for all, by their number. Where
 * none was seen, what calls that block took on the host stands in.
 */
void xfa_windows_extend(struct xfa_figures *figures);

#endif
