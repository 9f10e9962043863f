/*
 * Kinds of finding: one file and one row of the table in finding.c each.
 *
 * A kind looks at one row of the report and says what there is to gain. finding.c applies the
 * common thresholds, puts sites with the same remedy into one finding and sorts, worst first.
 * Findings stand each alone: one transfer may be in several, and their losses do not add up.
 *
 * Thresholds (docs/analyze.md): what is lost is more than XFA_LEAST_LOST_NS, more than
 * XFA_LEAST_PART of the run's wall time, and more than the error of the achievable time.
 */
#ifndef XFA_FINDING_H
#define XFA_FINDING_H

#include "analyzer/report/report.h"

#define XFA_LEAST_LOST_NS 10000.0
#define XFA_LEAST_PART 0.001

/* What one row would gain. */
struct xfa_gain {
    uint64_t transfers, bytes;
    double took_ns, best_ns; /* NAN = not known */
    double lost_ns;
    double weight_ns; /* where lost is not known: what stands in for it against the thresholds */
    double error;     /* relative, of best_ns; NAN */
    const char *achieved_basis, *achievable_basis;
    const char *note;
    const struct xfa_site *earlier; /* the other end, where there is one; NULL */
    char *fix;                      /* the caller frees it */
};

struct xfa_finding_kind {
    const char *name;
    const char *title;
    /* False when the row has nothing of this kind. */
    bool (*look)(const struct xfa_row *row, struct xfa_gain *gain);
};

extern const struct xfa_finding_kind xfa_finding_pageable, xfa_finding_small, xfa_finding_sync;
extern const struct xfa_finding_kind xfa_finding_repeated, xfa_finding_returned,
    xfa_finding_duplicate;

#endif
