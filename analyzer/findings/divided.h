/*
 * Sums that the members of a team divide (base/team.h): the observer of such a kind of finding is
 * `shared` (pass/observer.h), so that each member has the sums of its own processes. Before
 * anything is found they are merged: each member gives its own, and takes those of all, its own
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
#include "analyzer/base/team.h"

/* Where the key of an item was met first. Members have processes of their own, and walk over them
 * in one order: so the item that came first is the one of the lowest process, and of these the one
 * that came first to who has it. */
struct xfa_met {
    uint32_t process; /* its number; for the observer to set, when the item is new */
    uint32_t place;   /* among the items of who gave it */
};

/* A table of items that have such a one in them, the first of which is the key, without padding
 * before `met`. */
struct xfa_met_table {
    size_t met; /* its place in the item */
    /* Are the key, and whatever else is a number of something, those of the run? */
    bool (*is_good)(const struct xfa_analysis *analysis, const void *item);
    /* Adds the sums of another item with the same key. item: zeroed, where it is new. */
    void (*add)(void *item, const void *more);
};
void xfa_met_give(const struct xfa_table *table, struct xfa_parcel *parcel);
void xfa_met_take(struct xfa_table *table, const struct xfa_met_table *of,
                  const struct xfa_analysis *analysis, struct xfa_unpacking *from);
/* All have been taken. */
void xfa_met_sort(struct xfa_table *table, const struct xfa_met_table *of);

/* Is it the number of a site, of a function? */
bool xfa_divided_site(const struct xfa_analysis *analysis, uint32_t number);
bool xfa_divided_function(const struct xfa_analysis *analysis, uint32_t number);

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
