/*
 * Runs of transfers that several rows have in common: what each row has of them, and groups of rows
 * that take part in the same runs, which stand or fall together. For kinds of finding that advise
 * to make one copy of a run.
 */
#ifndef XFA_ROW_GROUPS_H
#define XFA_ROW_GROUPS_H

#include "analyzer/findings/divided.h"
#include "analyzer/findings/finding.h"

/* Events that may end a run, beside transfers and calls for memory. */
#define XFA_RUN_ENDS                                                                               \
    (XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH) | XFA_KIND(XFT_EVENT_SET) |     \
     XFA_KIND(XFT_EVENT_HOST_FUNCTION) | XFA_KIND(XFT_EVENT_PREFETCH) | XFA_KIND(XFT_EVENT_SYNC) | \
     XFA_KIND(XFT_EVENT_QUERY) | XFA_KIND(XFT_EVENT_WAIT) | XFA_KIND(XFT_EVENT_RECORD))

/* A row's part in runs, or runs of a group. */
struct xfa_runs {
    uint64_t transfers, bytes;
    uint64_t modelled;           /* of its transfers: by the model */
    uint64_t strided, lines;     /* of its transfers: 2D and 3D ones, and the rows of these */
    uint64_t short_rows;         /* of its transfers: whose rows take longer than their bytes */
    struct xfa_exact count;      /* of a row: its parts of runs, by pieces */
    struct xfa_exact took_ns;    /* measured or by the model */
    struct xfa_exact scattered;  /* of count: those whose pieces are not contiguous (pack.h) */
    struct xfa_exact batched_ns; /* one transfer per run instead */
    double error;                /* of the model, relative */
};

/* Zeroed at first. */
struct xfa_row_groups {
    struct xfa_grouped_row {
        struct xfa_runs own, group; /* group: of the first row of a group, all of it */
        uint32_t first;             /* number + 1 of another row of the group, towards its first; 0:
                                       it is the first */
        uint32_t members;           /* of the first: rows of the group but itself */
    } * rows;                       /* by number */
    size_t count, capacity;
};
void xfa_row_groups_free(struct xfa_row_groups *groups);

/* The row has so much of a run that `with`, perhaps the same row, takes part in. */
void xfa_row_groups_add(struct xfa_row_groups *groups, uint32_t row, uint32_t with,
                        const struct xfa_runs *runs);

/* NULL: the row has none. */
const struct xfa_runs *xfa_row_groups_own(const struct xfa_row_groups *groups, size_t row);
/* The first row of the group of a row that has some: of the lowest number, whatever the order. */
uint32_t xfa_row_groups_first(const struct xfa_row_groups *groups, uint32_t row);
double xfa_runs_lost_ns(const struct xfa_runs *runs);

/* For look(): all of a gain but the reckoning and the remedy. False: its group loses nothing beyond
 * the error of the model. */
bool xfa_row_groups_gain(const struct xfa_row_groups *groups, const struct xfa_analysis *analysis,
                         size_t row, struct xfa_gain *gain);

/* Rows of groups that are in the finding as a whole: the user may have denied one of their sites.
 */
struct xfw_set xfa_row_groups_whole(const struct xfa_row_groups *groups,
                                    const struct xfa_finding *finding);

/* divided.h */
void xfa_row_groups_give(const struct xfa_row_groups *groups, struct xfa_parcel *parcel);
void xfa_row_groups_take(struct xfa_row_groups *groups, const struct xfa_analysis *analysis,
                         struct xfa_unpacking *from);

#endif
