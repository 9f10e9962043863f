/* Traces that were built in memory, read by members of a team: the survey
 * (analyzer/analysis/survey.h), and the walk that counts. */
#ifndef SURVEYED_H
#define SURVEYED_H

#include "analyzer/analysis/survey.h"
#include "tests/analyzer/lab/analyzed.h"

/* A step of all members. NULL: without a team, or all have to read all. For xfa_survey_free(). */
struct xfa_survey *surveyed(struct xfa_team *team, const struct xfp_profile *profile,
                            const struct trace_builder *traces, size_t count);

/* An analysis of them with the observers of these findings, which it has then; `as` says the
 * profile, the team, the survey. For analyzed_finish(), or xfa_survey_of(). */
struct analyzed analyzed_traces(struct xfa_findings *findings, struct xfa_request as,
                                const struct trace_builder *traces, size_t count);

#endif
