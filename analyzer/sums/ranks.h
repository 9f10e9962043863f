/*
 * What each rank of a run moved: the processes of one rank (its forked helpers too) are one, a
 * process without a rank is one by itself. And which of them stand out: where there are ranks only
 * these are compared (a launcher is no rank), else processes that moved something.
 *
 * A rank stands out when its figure's modified z-score 0.6745 |x - median| / MAD is over 3.5
 * (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993) and it differs from the median by
 * a tenth of it at least. MAD is the median of |x - median|. Fewer than XFA_LEAST_RANKS are not
 * compared.
 */
#ifndef XFA_RANKS_H
#define XFA_RANKS_H

#include "analyzer/base/exact.h"
#include "analyzer/base/team.h"
#include "analyzer/pass/observer.h"
#include "analyzer/sums/figures.h"

#define XFA_LEAST_RANKS 4

struct xfa_rank_sum {
    struct xfa_rank_key { /* key */
        uint64_t world;   /* hash of the launch's name */
        uint32_t rank;    /* or the process's number */
        uint32_t is_rank;
    } key;
    const struct xfa_process *process; /* the first of them */
    uint64_t processes;
    struct xfa_sum by_direction[XFT_DIRECTION_COUNT]; /* ns: where the time is known */
    uint64_t transfers, bytes;
    uint64_t timed_bytes; /* of transfers whose time is known */
    double timed_ns;      /* as all other times: once they are finished */
    struct xfa_exact time, time_by_direction[XFT_DIRECTION_COUNT];
    uint64_t near_bytes, far_bytes; /* between a GPU and host memory of its own NUMA node, or of
                                       another; both nodes are known */
};

struct xfa_ranks {
    bool any;             /* there are ranks */
    struct xfa_table all; /* struct xfa_rank_sum */
    uint32_t *of_process; /* by process number: index in `all` + 1 */
    size_t process_count, process_capacity;
};

struct xfa_observer xfa_ranks_observer(struct xfa_ranks *ranks); /* starts zeroed */
void xfa_ranks_free(struct xfa_ranks *ranks);

/* To other members of a team, and from one, added: each has met all processes. */
void xfa_ranks_give(const struct xfa_ranks *ranks, struct xfa_parcel *parcel);
void xfa_ranks_take(struct xfa_ranks *ranks, struct xfa_unpacking *from);
/* Before those of all are taken, one's own too: as if no process had had a transfer. */
void xfa_ranks_empty(struct xfa_ranks *ranks);
/* All was added: times become known. */
void xfa_ranks_finish(struct xfa_ranks *ranks);

/* What is compared. */
enum xfa_rank_measure {
    XFA_RANK_BYTES, /* moved */
    XFA_RANK_GBPS,  /* achieved, over transfers whose time is known */
    XFA_RANK_FAR,   /* part of its host-device traffic that is far, 0 to 1 */
    XFA_RANK_MEASURES
};

size_t xfa_ranks_count(const struct xfa_ranks *ranks); /* those that are compared with others */

/* NAN = not known. */
double xfa_rank_figure(const struct xfa_rank_sum *sum, enum xfa_rank_measure measure);
double xfa_ranks_median(const struct xfa_ranks *ranks, enum xfa_rank_measure measure);

struct xfa_outlier {
    uint32_t rank; /* index */
    enum xfa_rank_measure measure;
    double figure, median;
};

/* Of so many figures, which are sorted; NAN of none. */
double xfa_rank_median(double *figures, size_t count);

/* By the test above. of: what a tenth is taken of. */
bool xfa_is_far(double figure, double median, double mad, double of);

/* Those that stand out: by measure, furthest first. *count of them, the caller frees them. */
struct xfa_outlier *xfa_ranks_outliers(const struct xfa_ranks *ranks, size_t *count);

#endif
