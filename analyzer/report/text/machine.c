/* The section "Machine profile", with what --replay measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"

/* ---- replay ---------------------------------------------------------------------------------- */

/* " (98 % of their time)", of the known times. */
static char *covered_text(const struct xfa_replayed *replayed)
{
    if (!(replayed->achieved_ns > 0))
        return xfa_text("");
    return xfa_print(" (%.3g %% of their time)",
                     replayed->covered_ns / replayed->achieved_ns * 100);
}

static char *rest_text(const struct xfa_replayed *replayed)
{
    size_t left = replayed->distinct - replayed->covered - replayed->impossible;
    char *impossible = replayed->impossible
                           ? xfa_print("; %zu cannot be replayed", replayed->impossible)
                           : xfa_text("");
    char *merged = replayed->merged
                       ? xfa_print("; %llu transfers count as ones of the nearest size",
                                   (unsigned long long)replayed->merged)
                       : xfa_text("");
    const char *why = replayed->stopped   ? "measuring was stopped"
                      : replayed->no_time ? "no time was left"
                                          : "not all could be measured";
    char *text = left ? xfa_print("%s; for %zu %s%s", impossible, left, why, merged)
                      : xfa_print("%s%s", impossible, merged);
    free(impossible);
    free(merged);
    return text;
}

static void write_replay(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_replayed *replayed = report->replayed;
    char took[XFA_UNIT_CHARS];
    if (!replayed)
        return;
    if (replayed->why) {
        xfa_write_fact(out, view->width, "replay", "not done: %s", replayed->why);
        return;
    }
    char *covered = covered_text(replayed), *rest = rest_text(replayed);
    xfa_write_fact(
        out, view->width, "replay",
        "%zu of %zu distinct transfers%s: %zu copies measured in %s, %zu known before%s%s",
        replayed->covered, replayed->distinct, covered, replayed->measured,
        xfa_time_text(took, replayed->seconds * 1e9), replayed->known, rest,
        replayed->not_kept ? "; not kept in a profile" : "");
    xfa_write_field(out, view->width, "note", replayed->note);
    free(covered);
    free(rest);
}

/* ---- the section ----------------------------------------------------------------------------- */

/* How a profile was found that no option names. */
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
        write_replay(report, view, out);
        return;
    }
    const char *host = profile->machine.hostname, *created = profile->created;
    xfa_write_fact(out, view->width, "profile", "%s%s", analysis->profile_path,
                   found_text(analysis->profile_by));
    xfa_write_fact(out, view->width, "measured on", "%s%s%s%s",
                   host && *host ? host : "unknown host", created && *created ? ", " : "",
                   created ? created : "", profile->machine.simulated ? " (simulated GPU)" : "");
    write_replay(report, view, out);
    if (analysis->achievable.match == XFA_MATCH_UNKNOWN)
        xfa_write_field(out, view->width, "note",
                        "the trace does not say whether it is the machine of the run");
    xfa_write_warning(view, out, "WARNING", analysis->achievable.mismatch);
    for (size_t i = 0; i < profile->warning_count; i++)
        xfa_write_field(out, view->width, "note", profile->warnings[i]);
}
