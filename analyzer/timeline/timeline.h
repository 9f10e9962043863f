/*
 * A run in the order of time, as far as a page can show it: what ran when, as recorded and as the
 * best set of remedies would have it, whose time it was, what moved between which places, and in
 * which buffers. Memory is bounded, however long the run is (tracks.h).
 *
 * Use: the observer in the run's (last) walk; then xfa_timeline_finish(), and, where there is a
 * best set, xfa_timeline_advise(), which reads the files again.
 *
 * As recorded: kernels, memsets, copies and migrations when the device says that they ran; copies
 * without its times, where the call waits for them, as long as the call; waits and copies that
 * block as their calls; NVTX ranges, up to the fourth level of a thread. As advised: as the
 * schedule (whatif/schedule/schedule.h) has them.
 */
#ifndef XFA_TIMELINE_H
#define XFA_TIMELINE_H

#include "analyzer/analysis/analysis.h"
#include "analyzer/timeline/buffers.h"
#include "analyzer/timeline/labels.h"
#include "analyzer/timeline/phase_shares.h"
#include "analyzer/timeline/shares.h"
#include "analyzer/timeline/traffic.h"
#include "analyzer/whatif/whatif.h"

#define XFA_TIMELINE_SLICES 400000 /* as recorded, at most, */
#define XFA_TIMELINE_BYTES 1200000 /* and as they are packed (pack.h) */
#define XFA_ADVISED_SLICES 100000  /* the same, as advised */
#define XFA_ADVISED_BYTES 200000
#define XFA_SETS_SLICES 10000        /* of all sets that are tried */
#define XFA_SET_SLICES 2500          /* of one of these */
#define XFA_TIMELINE_ALL_SETS 5      /* members of which every subset is tried */
#define XFA_TIMELINE_SET_OPS 8000000 /* calls that are played for these, at most */

struct xfa_version {
    struct xfa_tracks tracks;
    bool draws;                 /* into the tracks */
    double wall_ns;             /* of the run */
    uint64_t latest;            /* ns since its process's start: the last end of anything */
    uint64_t process_latest;    /* the same, of the process at hand */
    double shares[XFA_SHARES];  /* ns; they add up to wall_ns */
    uint64_t launches, kernels; /* calls, and those that the device recorded */
    struct xfa_order order;
    struct xfa_shares times;
};

/* A part of the best set, played by itself. */
struct xfa_set_tried {
    uint32_t members; /* bit i: the one with the place i + 1 in the best set */
    struct xfa_version version;
};

struct xfa_timeline {
    struct xfa_labels labels;
    struct xfa_version recorded, advised;
    struct xfa_phase_shares *phases; /* as recorded */
    bool has_advised;
    struct xfa_set_tried *sets;
    size_t set_count;
    double alone_ns; /* what savings are relative to, for the caller to set; 0: not known */
    double *begun;   /* by process number: ns since the run's start */
    struct xfa_buffers buffers;
    struct xfa_traffic traffic;
    uint64_t untimed;                    /* transfers whose time is not known: in no track */
    const struct xfa_analysis *analysis; /* that the observer was given to: for the caller to set */
    bool shares_alone; /* the same, before the observer is asked for: no tracks, traffic, buffers */
    /* Private. */
    struct xfa_process *process;
    struct xfa_version *playing;
    uint64_t ops;                          /* of the last play */
    struct xfa_table of_kernels, of_waits; /* names by what they are of */
    struct xfa_row_label {
        bool known;
        uint32_t name;
    } * of_rows; /* by number */
    size_t row_count, row_capacity;
};

/* The observer's self is the timeline, which outlives it. */
void xfa_timeline_init(struct xfa_timeline *timeline);
struct xfa_observer xfa_timeline_observer(struct xfa_timeline *timeline);
void xfa_timeline_free(struct xfa_timeline *timeline);

/* Of a timeline of shares alone, which members of a team divide where reading is divided
 * (analysis/survey.h): to another member, and from one, added. */
void xfa_timeline_give(const struct xfa_timeline *timeline, struct xfa_parcel *parcel);
void xfa_timeline_take(struct xfa_timeline *timeline, struct xfa_unpacking *from);

/* The analysis is finished. */
void xfa_timeline_finish(struct xfa_timeline *timeline);

/* The changes that have a place in the order (NULL: none) are the set. One line for free() when the
 * files cannot be read again: there is no version as advised then. */
char *xfa_timeline_advise(struct xfa_timeline *timeline, struct xfa_analysis *analysis,
                          struct xfw_change *const *changes, const unsigned *order, size_t count);

/* Behind the former: also parts of the best set, each by itself: all of them, where the set has at
 * most XFA_TIMELINE_ALL_SETS members and they take at most XFA_TIMELINE_SET_OPS calls; else the
 * first member, the first two, and so on, as far as these calls go. What was tried before an error
 * stays. */
char *xfa_timeline_try_sets(struct xfa_timeline *timeline, struct xfa_analysis *analysis,
                            struct xfw_change *const *changes, const unsigned *order, size_t count);

/* Kernels were launched, and the device recorded none: what was compute, and what transfers were
 * hidden behind, is not known. */
static inline bool xfa_version_lacks_kernels(const struct xfa_version *version)
{
    return version->launches > 0 && version->kernels == 0;
}

#endif
