/* What the run would save, in words that the formats share. Texts are the caller's to free. */
#ifndef XFA_SAVINGS_H
#define XFA_SAVINGS_H

#include "analyzer/base/units.h"
#include "analyzer/findings/finding.h"

#define XFA_PERCENT_CHARS 16

/* "44 %", "8.2 %", of the whole. */
const char *xfa_percent_text(char text[XFA_PERCENT_CHARS], double part, double whole);
/* Times that may be negative: what costs more than it saves. */
const char *xfa_signed_time_text(char text[XFA_UNIT_CHARS + 1], double ns);

/* Low and high of a saving (whatif/saving.h), the same in all formats: a low below nothing is what
 * it may cost. "between 150 ms and 190 ms"; "at most 60.0 ms, and may cost up to 4.00 ms"; "costs
 * between ..." */
char *xfa_bounds_text(const struct xfw_saving *saving);
/* The same, for a table: "12.1-40.6 ms"; "up to 60.0 ms," and behind the break "may cost 4.00 ms".
 */
char *xfa_bounds_cell(const struct xfw_saving *saving, const char *line_break);

/* A finding's saving, or the best set's, to be shown: checked against the run. */
struct xfw_saving xfa_saving_shown(const struct xfa_findings *findings,
                                   const struct xfw_saving *saving);

/* False: it was not asked for, or cannot be told. */
bool xfa_savings_known(const struct xfa_findings *findings);

/* Those that stand as findings, which idle ones do not; those of them that are in the best set. */
size_t xfa_findings_count(const struct xfa_findings *findings);
size_t xfa_findings_in_set(const struct xfa_findings *findings);
/* The finding that is in the set at that place, from 1 on; NULL: none. */
const struct xfa_finding *xfa_finding_in_set(const struct xfa_findings *findings, unsigned place);
/* "; in the best set for 1 of them" or the like, of a site whose finding is in it in part; "" of
 * others. */
#define XFA_IN_PART_CHARS 64
const char *xfa_in_part_text(char text[XFA_IN_PART_CHARS], const struct xfa_finding_site *site);

/* Where savings are known: how far the replay can be believed; what the best set comes to ("with 1
 * and 3: 4 s -> 3 s (25 % less), between ..."; NULL: there is none); what it comes to when nothing
 * stands as a finding. by_number: findings are called by the numbers that they have in the report.
 */
char *xfa_check_text(const struct xfw_whatif *whatif);
char *xfa_set_text(const struct xfa_findings *findings, bool by_number);
char *xfa_nothing_text(const struct xfa_findings *findings);

#endif
