#include "tests/analyzer/lab/surveyed.h"

struct analyzed analyzed_traces(struct xfa_findings *findings, struct xfa_request as,
                                const struct trace_builder *traces, size_t count)
{
    struct analyzed a = {.findings = findings};
    as.path = "test";
    as.observers = findings->observers;
    as.observer_count = findings->observer_count;
    a.analysis = xfa_analysis_new(&as);
    for (size_t i = 0; i < count; i++)
        analyzed_add(&a, &traces[i]);
    return a;
}

struct xfa_survey *surveyed(struct xfa_team *team, const struct xfp_profile *profile,
                            const struct trace_builder *traces, size_t count)
{
    if (!team)
        return NULL;
    const struct xfa_request as = {.profile = profile, .team = team, .surveys = true};
    struct analyzed a = analyzed_traces(xfa_findings_of_survey(), as, traces, count);
    struct xfa_survey *survey = xfa_survey_of(a.analysis);
    analyzed_free(&a);
    return survey;
}
