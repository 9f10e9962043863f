/* Sections of the JSON report, and what they share (json.c). The caller owns what functions
 * return. */
#ifndef XFA_REPORT_JSON_H
#define XFA_REPORT_JSON_H

#include "analyzer/base/json.h"
#include "analyzer/report/format.h"

/* The whole report. */
json_t *xfa_report_json(const struct xfa_report *report, const struct xfa_view *view);

json_t *xfa_run_json(const struct xfa_analysis *analysis);
json_t *xfa_machine_json(const struct xfa_analysis *analysis);
json_t *xfa_replay_json(const struct xfa_replayed *replayed);
json_t *xfa_transfers_json(const struct xfa_analysis *analysis, const struct xfa_view *view);
/* The same, written so many spaces in, as xfa_json_write_in() would: one row after the other, since
 * of a hundred thousand call sites they would take gigabytes. */
void xfa_write_transfers_json(const struct xfa_analysis *analysis, const struct xfa_view *view,
                              FILE *out, size_t flags, size_t deeper);
json_t *xfa_phases_json(const struct xfa_analysis *analysis);
json_t *xfa_managed_json(const struct xfa_analysis *analysis);
json_t *xfa_waits_json(const struct xfa_analysis *analysis);
json_t *xfa_ranks_json(const struct xfa_analysis *analysis);
/* Only of runs with messages. */
json_t *xfa_messages_json(const struct xfa_analysis *analysis);
json_t *xfa_findings_json(const struct xfa_report *report, const struct xfa_view *view);
json_t *xfa_answers_json(const struct xfa_answers *answers);
json_t *xfa_filter_json(const struct xfa_report *report, const struct xfa_view *view);
json_t *xfa_whatif_json(const struct xfa_report *report);

json_t *xfa_comparison_json(const struct xfa_comparison *comparison, const struct xfa_view *view);
/* Writes a comparison instead of a report. */
void xfa_json_comparison(const struct xfa_comparison *comparison, const struct xfa_view *view,
                         FILE *out);

/* ---- what they share: json.c ----------------------------------------------------------------- */

json_t *xfa_site_json(const struct xfa_site *site, bool with_stack);
/* Sets the keys that identify a row. */
void xfa_set_row_json(json_t *json, const struct xfa_row *row, bool with_stack);

/* The basis of the figures of a row or a finding. */
struct xfa_bases {
    enum xfa_basis achieved, achievable;
    double error; /* relative, of achievable */
    const char *note;
};
json_t *xfa_bases_json(const struct xfa_analysis *analysis, const struct xfa_bases *bases);

/* {low, likely, high}: s; null = not known */
json_t *xfa_saving_json(const struct xfw_saving *saving);
/* {transfers, bytes} */
json_t *xfa_traffic_json(const struct xfa_sum *sum);
/* The same by direction, for directions with transfers. */
json_t *xfa_directions_json(const struct xfa_sum by_direction[XFT_DIRECTION_COUNT]);

#endif
