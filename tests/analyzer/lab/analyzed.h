/*
 * Analyses of traces that were built in memory, with their findings. Fails by abort() where a trace
 * cannot be opened.
 */
#ifndef ANALYZED_H
#define ANALYZED_H

#include "analyzer/report/format.h"
#include "tests/analyzer/traces/build_trace.h"

struct analyzed {
    struct xfa_analysis *analysis;
    struct xfa_findings *findings;
    uint32_t *order; /* rows, worst first */
};

/* Start, add processes, finish; or all at once for one process. */
struct analyzed analyzed_start(const struct xfp_profile *profile);
void analyzed_add(struct analyzed *a, const struct trace_builder *b);
void analyzed_finish(struct analyzed *a);
struct analyzed analyzed_trace(const struct trace_builder *b, const struct xfp_profile *profile);
/* The same from a file, which is there until it has been weighed what the findings would save. */
struct analyzed analyzed_weighed(const struct trace_builder *b, const struct xfp_profile *profile);
/* The same of several processes. */
struct analyzed analyzed_weighed_all(const struct trace_builder *const *all, size_t count,
                                     const struct xfp_profile *profile);
/* The same, of a test that needs neither the trace nor the profile any more: both are freed. */
struct analyzed analyzed_played(struct trace_builder *b, struct xfp_profile *profile);
/* The same from memory, with what a user answered (--assume; NULL: nothing). */
struct analyzed analyzed_answered(struct trace_builder *b, struct xfp_profile *profile,
                                  const char *answer);
void analyzed_free(struct analyzed *a);

/* The row that is the i-th worst, and its figures. */
const struct xfa_row *analyzed_row(const struct analyzed *a, size_t i);
const struct xfa_figures *analyzed_figures(const struct analyzed *a, size_t i);

/* The first finding of a kind, at a site whose text has `site` in it (NULL: at any); NULL = none.
 */
const struct xfa_finding *analyzed_finding(const struct analyzed *a, enum xfa_finding_id id,
                                           const char *site);

void analyzed_write(const struct analyzed *a, const struct xfa_format *format, FILE *out);

/* The report in a format, for the caller to free. */
char *analyzed_report(const struct analyzed *a, const struct xfa_format *format);

#endif
