/* What the run would save, in words, for all formats. The caller frees the texts. */
#ifndef XFA_SAVINGS_H
#define XFA_SAVINGS_H

#include "analyzer/base/units.h"
#include "analyzer/findings/finding.h"

#define XFA_PERCENT_CHARS 16

struct xfa_view;

/* part / whole as "44 %", "8.2 %". */
const char *xfa_percent_text(char text[XFA_PERCENT_CHARS], double part, double whole);
/* A time that may be negative, as of a remedy that costs more than it saves. */
const char *xfa_signed_time_text(char text[XFA_UNIT_CHARS + 1], double ns);

/* The one rule for the ends of a range, for all formats: an end below 0 is never shown as a
 * negative time, but said as what it may cost.
 *
 * The bounds of a saving (whatif/whatif.h): "between 150 ms and 190 ms";
 * "at most 60.0 ms, and may cost up to 4.00 ms"; "costs between ..." */
char *xfa_bounds_text(const struct xfw_saving *saving);
/* The same, for a table: "12.1-40.6 ms"; "up to 60.0 ms," and after the line break "may cost 4.00
 * ms". */
char *xfa_bounds_cell(const struct xfw_saving *saving, const char *line_break);

/* Where only the high end is known: "up to 12.0 ms". */
char *xfa_most_text(const struct xfw_saving *saving);

/* The saving of a finding or of the best set as it is shown: no more than the run. */
struct xfw_saving xfa_saving_shown(const struct xfa_findings *findings,
                                   const struct xfw_saving *saving);

/* The phase of this name, whose time is known; NULL: it is not, or no name is given. */
const struct xfw_range_times *xfa_range_named(const struct xfw_whatif *whatif, const char *name);

/* False: savings were not computed, or cannot be. */
bool xfa_savings_known(const struct xfa_findings *findings);

/* How many findings are advice (not idle); how many of these are in the best set. */
size_t xfa_findings_count(const struct xfa_findings *findings);
size_t xfa_findings_in_set(const struct xfa_findings *findings);
/* The member of the best set at that place, from 1 on; NULL: none. */
const struct xfa_finding *xfa_finding_in_set(const struct xfa_findings *findings, unsigned place);
/* "; in the best set for 1 of them" or the like, for a site of a finding that is in the best set in
 * part; else "". */
#define XFA_IN_PART_CHARS 64
const char *xfa_in_part_text(char text[XFA_IN_PART_CHARS], const struct xfa_finding_site *site);

/* Where savings are known: how exact the replay is. */
char *xfa_check_text(const struct xfw_whatif *whatif);
/* Where threads that sleep keep others' pace (whatif/ops/paces.h), likely, or at worst alone:
 * which, how long, and what that means for savings; NULL: none does for long. */
char *xfa_paced_text(const struct xfa_analysis *analysis, const struct xfw_whatif *whatif,
                     bool likely);
/* A member of the best set that is too small to be advice alone. */
bool xfa_finding_is_smaller(const struct xfa_findings *findings, const struct xfa_finding *finding);
/* The members of the best set: "1 change", "2 changes and 1 smaller" when these are all findings,
 * else "changes 1 to 3" by their numbers in the report; NULL: there is no set. */
char *xfa_changes_text(const struct xfa_findings *findings);
/* The smaller ones that the view shows, for where findings are listed: "1 smaller, in the best set,
 * too little to be advice alone: small-transfers at load (a.c:3), 3.79 ms more"; NULL: none, or
 * savings are not known. */
char *xfa_smaller_text(const struct xfa_findings *findings, const struct xfa_view *view);
/* Their numbers, the first ones of the report: "1", "1 and 2", "1 to 3". Idle ones have none. */
char *xfa_members_text(const struct xfa_findings *findings);
/* What takes whole_ns, with the saving, from the best to the worst: "68.0 to 155 ms"; "at best 8.13
 * ms, may cost up to 938 us". */
char *xfa_after_text(double whole_ns, const struct xfw_saving *saving);
/* Whether `xferscope apply` could save anything worth a line of the unedited program, at best at
 * least; the line where it likely would, or NULL. */
bool xfa_applied_may_save(const struct xfa_findings *findings);
char *xfa_applied_text(const struct xfa_findings *findings);
/* The most that one finding alone would save, likely and at best; 0: none was found. */
struct xfw_saving xfa_best_alone(const struct xfa_findings *findings);
/* The sentence for a run without advice. */
char *xfa_nothing_text(const struct xfa_analysis *analysis, const struct xfa_findings *findings);

#endif
