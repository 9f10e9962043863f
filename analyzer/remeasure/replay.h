/*
 * `analyze --replay`: a run's distinct transfers, as they were and in their alternatives, through
 * the probe (plan.h), worst first, within a limit of time; what was measured goes into the profile.
 */
#ifndef XFA_REPLAY_H
#define XFA_REPLAY_H

#include "analyzer/remeasure/plan.h"

/* What came of it. A distinct transfer is covered when all that it wants is measured or known. */
struct xfa_replayed {
    char *why;      /* one line: nothing could be replayed; NULL = it was */
    char *note;     /* one line: other GPUs stand for the trace's, and the like; NULL = none */
    char *not_kept; /* one line: the profile's file is as it was; NULL = what is new is in it */
    char *failure;  /* why the first copy that could not be measured was not; NULL = none */
    bool unwritten; /* not_kept, although it was asked for */
    bool stopped;   /* by the user */
    size_t distinct, covered;
    size_t impossible; /* distinct transfers that are not replayed: batches of copies,
                          copies within the host, GPUs that are not here */
    uint64_t transfers, covered_transfers;
    uint64_t merged, beyond;        /* cells.h */
    double achieved_ns, covered_ns; /* time of all transfers that is known; of those covered */
    size_t measured, known, failed, no_time; /* copies: now, before; not, and why */
    double seconds, limit_s;
};

void xfa_replayed_free(struct xfa_replayed *replayed);

/* Who measures, and says how late it is; tests have their own. */
struct xfa_meter {
    void *self;
    uint64_t (*now_ns)(void *self);
    void (*measure)(void *self, const struct xfp_transfer_spec *spec,
                    struct xfp_transfer_point *point);
    bool (*stopped)(void *self);
};

/* How far it is: of `count` copies, after so many seconds; NULL: nobody wants to know. */
typedef void xfa_replay_step(void *self, size_t done, size_t count, double seconds);

struct xfa_replay_request {
    const struct xfa_run *run;
    const struct xfa_cells *cells;
    const char *profile_path; /* where what is measured is kept; NULL = nowhere */
    const char *not_kept;     /* it must not be replaced, for that reason; NULL = it may */
    double limit_s;
    xfa_replay_step *step;
    void *step_self;
};

/*
 * Measures, and adds to *profile, which is made when it is NULL and something was measured.
 * Pointers into the profile are lost then. True: the profile is another than before.
 */
bool xfa_replay(const struct xfa_replay_request *request, struct xfp_profile **profile,
                struct xfa_replayed *replayed);

/* ---- the parts, for tests -------------------------------------------------------------------- */

/* Measures what is open in the plan, from its beginning, and counts in `replayed`. */
void xfa_replay_measure(struct xfa_plan *plan, const struct xfa_replay_request *request,
                        const struct xfa_meter *meter, struct xfa_replayed *replayed);

/* Sums up what the plan has become. */
void xfa_replay_sum(const struct xfa_plan *plan, const struct xfa_cells *cells,
                    struct xfa_replayed *replayed);

#endif
