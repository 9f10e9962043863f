#include "tests/analyzer/surveyed.h"

#include "tests/analyzer/analyzed.h"

struct xfa_survey *surveyed(struct xfa_team *team, const struct xfp_profile *profile,
                            const struct trace_builder *traces, size_t count)
{
    if (!team)
        return NULL;
    struct analyzed a = {.findings = xfa_findings_of_survey()};
    const struct xfa_request request = {.path = "test",
                                        .profile = profile,
                                        .observers = a.findings->observers,
                                        .observer_count = a.findings->observer_count,
                                        .team = team,
                                        .surveys = true};
    a.analysis = xfa_analysis_new(&request);
    for (size_t i = 0; i < count; i++)
        analyzed_add(&a, &traces[i]);
    struct xfa_survey *survey = xfa_survey_of(a.analysis);
    analyzed_free(&a);
    return survey;
}
