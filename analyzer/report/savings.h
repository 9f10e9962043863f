/* What the run would save, in words, for all formats. The caller frees the texts. */
#ifndef XFA_SAVINGS_H
#define XFA_SAVINGS_H

#include "analyzer/base/units.h"
#include "analyzer/findings/finding.h"

#define XFA_PERCENT_CHARS 16

/* part / whole as "44 %", "8.2 %". */
const char *xfa_percent_text(char text[XFA_PERCENT_CHARS], double part, double whole);
/* A time that may be negative, as of a remedy that costs more than it saves. */
const char *xfa_signed_time_text(char text[XFA_UNIT_CHARS + 1], double ns);

/* The bounds of a saving (whatif/whatif.h); a negative one is a cost: "between 150 ms and 190 ms";
 * "at most 60.0 ms, and may cost up to 4.00 ms"; "costs between ..." */
char *xfa_bounds_text(const struct xfw_saving *saving);
/* The same, for a table: "12.1-40.6 ms"; "up to 60.0 ms," and after the line break "may cost 4.00
 * ms". */
char *xfa_bounds_cell(const struct xfw_saving *saving, const char *line_break);

/* The saving of a finding or of the best set as it is shown: no more than the run. */
struct xfw_saving xfa_saving_shown(const struct xfa_findings *findings,
                                   const struct xfw_saving *saving);

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
/* What the best set saves: "with 1 and 3: 4 s -> 3 s (25 % less), between ..."; NULL: there is
 * none. by_number: names findings by their numbers in the report. */
char *xfa_set_text(const struct xfa_findings *findings, bool by_number);
/* The sentence for a run without advice. */
char *xfa_nothing_text(const struct xfa_findings *findings);

#endif
