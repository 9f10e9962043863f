#include "analyzer/report/described.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

static const char *why_not(const struct xfa_analysis *analysis)
{
    return analysis->profile ? "what this fix would change in the run is not known"
                             : "that takes a machine profile";
}

/* "; not in the best set" where there is one. */
static const char *in_set_text(const struct xfa_findings *findings,
                               const struct xfa_finding *finding)
{
    bool set = xfw_saving_known(&findings->whatif->set) == XFW_KNOWN;
    return finding->order || !set ? "" : "; not in the best set";
}

static void describe_known(struct xfa_described *described, const struct xfa_findings *findings)
{
    const struct xfw_saving *saving = &described->saving;
    char likely[XFA_UNIT_CHARS + 1], part[XFA_PERCENT_CHARS];
    described->likely = xfa_text(xfa_signed_time_text(likely, saving->likely));
    described->part = xfa_text(xfa_percent_text(part, saving->likely, findings->whatif->alone_ns));
    described->cell = xfa_bounds_cell(saving, " ");
    described->brief = xfa_print("%s (%s)", described->likely, described->cell);
    char *range = xfa_bounds_text(saving);
    described->sentence =
        xfa_print("%s of the run (%s), %s (modelled)%s", described->likely, described->part, range,
                  in_set_text(findings, described->finding));
    free(range);
}

static void describe_at_most(struct xfa_described *described)
{
    described->likely = xfa_most_text(&described->saving);
    described->brief = xfa_text(described->likely);
    described->sentence = xfa_print("%s of the run; how much is not known: %s", described->likely,
                                    described->why_not);
}

struct xfa_described xfa_describe(const struct xfa_analysis *analysis,
                                  const struct xfa_findings *findings,
                                  const struct xfa_finding *finding)
{
    struct xfa_described described = {
        .finding = finding,
        .word = xfa_finding_word(finding->id),
        .title = xfa_finding_title(finding->id),
        .saving = xfa_saving_shown(findings, &finding->saving),
        .assumed = xfa_finding_assumed(finding),
    };
    if (!xfa_savings_known(findings))
        return described;
    described.known = xfw_saving_known(&described.saving);
    described.why_not = described.known == XFW_KNOWN ? NULL : why_not(analysis);
    if (described.known == XFW_KNOWN)
        describe_known(&described, findings);
    else if (described.known == XFW_AT_MOST)
        describe_at_most(&described);
    else
        described.sentence = xfa_print("not known: %s", described.why_not);
    return described;
}

void xfa_described_free(struct xfa_described *described)
{
    free(described->likely);
    free(described->part);
    free(described->cell);
    free(described->brief);
    free(described->sentence);
    free(described->assumed);
}
