/* The machine profile. */
#include <string.h>

#include "analyzer/report/text/text.h"

/* Of one that nobody named here. */
static const char *found_text(const char *by)
{
    if (by && strcmp(by, "environment") == 0)
        return " (by XFERSCOPE_PROFILE)";
    return by && strcmp(by, "host-name") == 0 ? " (looked up by the host's name)" : "";
}

void xfa_write_machine(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_analysis *analysis = report->analysis;
    const struct xfp_profile *profile = analysis->profile;
    xfa_write_title(view, out, "Machine profile");
    xfa_write_warning(view, out, "UNREADABLE", analysis->profile_problem);
    xfa_write_warning(view, out, "NOT USED", analysis->profile_unused);
    if (!profile) {
        xfa_write_field(out, view->width, "none",
                        "what this machine could have given is not known: measure it with "
                        "`xferscope probe`, then analyze with --profile");
        xfa_write_replay(report, view, out);
        return;
    }
    const char *host = profile->machine.hostname, *created = profile->created;
    xfa_write_fact(out, view->width, "profile", "%s%s", analysis->profile_path,
                   found_text(analysis->profile_by));
    xfa_write_fact(out, view->width, "measured on", "%s%s%s%s",
                   host && *host ? host : "unknown host", created && *created ? ", " : "",
                   created ? created : "", profile->machine.simulated ? " (simulated GPU)" : "");
    xfa_write_replay(report, view, out);
    if (analysis->achievable.match == XFA_MATCH_UNKNOWN)
        xfa_write_field(out, view->width, "note",
                        "whether it is the machine of the run cannot be told from the trace");
    xfa_write_warning(view, out, "WARNING", analysis->achievable.mismatch);
    for (size_t i = 0; i < profile->warning_count; i++)
        xfa_write_field(out, view->width, "note", profile->warnings[i]);
}
