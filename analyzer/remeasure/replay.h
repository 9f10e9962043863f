/*
 * `analyze --replay`: measures a run's distinct transfers, as they were and in their alternatives
 * (plan.h), through the probe: worst first, within a limit of time. The measurements go into the
 * profile.
 */
#ifndef XFA_REPLAY_H
#define XFA_REPLAY_H

#include "analyzer/remeasure/plan.h"

/* The result. A distinct transfer is covered when all its measurements are made or known. */
struct xfa_replayed {
    char *why;  /* one line: why nothing was measured; NULL: it was */
    char *note; /* one line: other GPUs stand for the trace's; NULL: none do */
    char *
        not_kept; /* one line: why the profile's file is unchanged; NULL: it has the measurements */
    char *failure;  /* one line: why the first copy that failed did; NULL: none failed */
    bool unwritten; /* not_kept, although a profile was named */
    bool stopped;   /* by the user */
    size_t distinct, covered;
    size_t impossible; /* distinct transfers that are not replayed: batches of copies,
                          copies within the host, GPUs that are not here */
    uint64_t transfers, covered_transfers;
    uint64_t merged, beyond;        /* cells.h */
    double achieved_ns, covered_ns; /* known time of all transfers; of the covered ones */
    size_t measured, known, failed,
        no_time; /* copies: measured now, known before, failed, left out for lack of time */
    double seconds, limit_s;
};

void xfa_replayed_free(struct xfa_replayed *replayed);

/* Measures copies, and has the clock; tests have meters of their own. */
struct xfa_meter {
    void *self;
    uint64_t (*now_ns)(void *self);
    void (*measure)(void *self, const struct xfp_transfer_spec *spec,
                    struct xfp_transfer_point *point);
    bool (*stopped)(void *self);
};

/* Called before each copy: `done` of `count` are done, after so many seconds. */
typedef void xfa_replay_progress(void *self, size_t done, size_t count, double seconds);

struct xfa_replay_request {
    const struct xfa_run *run;
    const struct xfa_cells *cells;
    const char *profile_path; /* where the measurements are kept; NULL: nowhere */
    const char *not_kept;     /* why that file must not be replaced; NULL: it may */
    double limit_s;
    xfa_replay_progress *progress;
    void *progress_self;
};

/*
 * Measures, and adds the points to *profile, which is made when it is NULL and something was
 * measured. True: the profile has changed, and pointers into it are invalid.
 */
bool xfa_replay(const struct xfa_replay_request *request, struct xfp_profile **profile,
                struct xfa_replayed *replayed);

/* ---- the parts, for tests -------------------------------------------------------------------- */

/* Measures what is open in the plan, worst first. */
void xfa_replay_measure(struct xfa_plan *plan, const struct xfa_replay_request *request,
                        const struct xfa_meter *meter, struct xfa_replayed *replayed);

/* Counts what was measured, known and left out into `replayed`. */
void xfa_replay_sum(const struct xfa_plan *plan, const struct xfa_cells *cells,
                    struct xfa_replayed *replayed);

#endif
