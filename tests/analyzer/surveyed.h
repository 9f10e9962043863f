/* A survey (analyzer/analysis/survey.h) of traces that were built in memory. */
#ifndef SURVEYED_H
#define SURVEYED_H

#include "analyzer/analysis/survey.h"
#include "tests/analyzer/build_trace.h"

/* A step of all members. NULL: without a team, or all have to read all. For xfa_survey_free(). */
struct xfa_survey *surveyed(struct xfa_team *team, const struct xfp_profile *profile,
                            const struct trace_builder *traces, size_t count);

#endif
