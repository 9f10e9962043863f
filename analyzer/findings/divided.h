/*
 * Sums that the members of a team divide (base/team.h): the observer of such a kind of finding is
 * `shared`, or, where it looks for sites, `divided` (pass/observer.h), so that each member has the
 * sums of its own processes; of the latter only after a survey. Before anything is found they are
 * merged: each member gives its own, and takes those of all, its own
 * too, in the order of ranks, into sums that are as zero as at first.
 *
 * Rules, for the report to be that of one process, byte for byte:
 *   - what is added up is whole (integers) or exact (base/exact.h), or the most of all;
 *   - nothing that one process leaves behind changes what another one adds;
 *   - items of a table whose order shows are put into the order in which one process would have met
 *     them: struct xfa_met;
 *   - what comes from another member is checked: numbers against what the run has.
 */
#ifndef XFA_DIVIDED_H
#define XFA_DIVIDED_H

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/exact.h"
#include "analyzer/base/met.h"
#include "analyzer/base/team.h"
#include "analyzer/sums/figures.h"

/* Is it the number of a site, of a function? */
bool xfa_divided_site(const struct xfa_analysis *analysis, uint32_t number);
bool xfa_divided_function(const struct xfa_analysis *analysis, uint32_t number);

/* Transfers that are picked one by one, whose times add up to the same in any order; zeroed at
 * first. */
struct xfa_divided_sum {
    struct xfa_timed_sum moved; /* its ns: 0 */
    struct xfa_exact ns;
};
/* achieved_ns: NAN = not known. */
void xfa_divided_add(struct xfa_divided_sum *sum, uint64_t bytes, double achieved_ns,
                     bool by_device);
void xfa_divided_merge(struct xfa_divided_sum *into, const struct xfa_divided_sum *from);
struct xfa_timed_sum xfa_divided_value(const struct xfa_divided_sum *sum);

/* Of one kind: are its sums divided? All of them into a parcel, and those of another member added.
 */
struct xfa_finding_kind;
bool xfa_is_divided(const struct xfa_finding_kind *kind);
void xfa_divided_give(const struct xfa_finding_kind *kind, void *self, struct xfa_parcel *parcel);
void xfa_divided_take(const struct xfa_finding_kind *kind, void *self,
                      const struct xfa_analysis *analysis, struct xfa_unpacking *from);

/* Merges all sums that were divided; an exchange. Without a team there is nothing to do. One that
 * cannot be read ends the team. */
struct xfa_findings;
void xfa_findings_merge(struct xfa_findings *findings, const struct xfa_analysis *analysis);

#endif
