#include "analyzer/report/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/findings/finding.h"
#include "analyzer/report/described.h"
#include "analyzer/report/headline.h"
#include "analyzer/sums/exposed.h"
#include "common/text.h"

#define SITE_CHARS 120

struct summary {
    const struct xfa_summary_request *request;
    struct xfa_analysis *analysis;
    struct xfa_findings *findings;
    struct xfa_exposed exposed;
    struct xfp_profile *profile; /* NULL: none */
    bool stranger;               /* there was one, but of another machine */
};

/* ---- what it cost ---------------------------------------------------------------------------- */

/* Time of all transfers, from the device or else from blocking calls. */
static double blocked_ns(const struct xfa_analysis *analysis)
{
    double ns = 0;
    for (size_t i = 0; i < analysis->row_count; i++)
        ns += analysis->rows[i].device.ns + analysis->rows[i].host.ns;
    return ns;
}

static char *exposed_text(const struct xfa_exposure *sum)
{
    char time[XFA_UNIT_CHARS];
    if (isnan(sum->exposed_ns))
        return xfa_text("; how much of it was exposed is not known without kernels' times");
    return xfa_print("; %s of it exposed, with no kernel beside it",
                     sum->exposed_ns > 0 ? xfa_time_text(time, sum->exposed_ns) : "nothing");
}

static bool is_limited(const struct summary *summary)
{
    const struct xfa_run *run = summary->analysis->run;
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i]->periods)
            return true;
    return false;
}

static void write_cost(struct summary *summary, FILE *out)
{
    struct xfa_exposure sum = xfa_exposed_sum(&summary->exposed);
    double wall = xfa_run_wall_ns(summary->analysis->run);
    bool device = !isnan(sum.copied_ns) && sum.copied_ns > 0;
    double took = device ? sum.copied_ns : blocked_ns(summary->analysis);
    double all = wall * (device && sum.gpus > 1 ? sum.gpus : 1);
    char time[XFA_UNIT_CHARS], run[XFA_UNIT_CHARS], part[XFA_PERCENT_CHARS], gpus[48] = "";
    if (!(took > 0) || !(wall > 0)) {
        fputs("what that cost is not known: no times were recorded\n", out);
        return;
    }
    if (device && sum.gpus > 1)
        snprintf(gpus, sizeof gpus, " on %u GPUs", sum.gpus);
    char *exposed = device ? exposed_text(&sum) : xfa_text(" (times of the calls)");
    xfc_print(out, "cost %s%s%s, %s of the %s %s%s%s\n", device ? "" : "at most ",
              xfa_time_text(time, took), gpus, xfa_percent_text(part, took, all),
              is_limited(summary) ? "recorded" : "run's", xfa_time_text(run, wall), exposed,
              summary->analysis->simulated ? " (simulated GPU)" : "");
    free(exposed);
}

/* ---- the worst finding ----------------------------------------------------------------------- */

/* The end of the call site's text, in at most SITE_CHARS bytes. */
static char *site_text(const struct xfa_finding *finding)
{
    char *text = xfa_text(finding->site_count ? finding->sites[0].site->text : "");
    size_t n = strlen(text);
    if (n <= SITE_CHARS)
        return text;
    size_t from = n - SITE_CHARS;
    while (((unsigned char)text[from] & 0xc0) == 0x80)
        from++;
    char *shorter = xfa_print("...%s", text + from);
    free(text);
    return shorter;
}

/* Which profile is needed, and how to make it. */
static char *lack_text(const struct summary *summary)
{
    return xfa_print("%s: %s",
                     summary->stranger ? "a profile of this machine" : "a machine profile",
                     summary->request->make_profile);
}

static char *saving_text(const struct summary *summary, const struct xfa_finding *finding)
{
    char *headline = xfa_headline_line(summary->analysis, summary->findings, NULL);
    if (headline)
        return headline;
    struct xfa_described described = xfa_describe(summary->analysis, summary->findings, finding);
    char *text, *lack = summary->profile ? NULL : lack_text(summary);
    if (described.saving.likely > 0)
        text = xfa_print("fixing it saves %s", described.sentence);
    else if (described.known == XFW_AT_MOST)
        text = xfa_print("fixing it saves %s", described.brief);
    else if (lack)
        text = xfa_print("what it would save is not known without %s", lack);
    else
        text = xfa_text("what it would save is not known");
    xfa_described_free(&described);
    free(lack);
    return text;
}

static const struct xfa_finding *worst(const struct xfa_findings *findings)
{
    return findings->count && !findings->items[0].idle ? &findings->items[0] : NULL;
}

/* Before savings are computed: `known` is false, and the line stands for the one to come. */
/* The question with the most, if that is more than what is certain: "up to 639 ms if ...". NULL:
 * there is none. */
static char *question_text(const struct summary *summary)
{
    const struct xfa_findings *findings = summary->findings;
    size_t count, *places = xfa_questions(findings, &count);
    const struct xfa_finding *most = count ? &findings->items[*places] : NULL;
    char *text = NULL;
    free(places);
    if (most && !(xfa_finding_up_to(most) <= findings->whatif->set.likely)) {
        struct xfa_described described = xfa_describe(summary->analysis, findings, most);
        text = xfa_text(described.question);
        xfa_described_free(&described);
    }
    return text;
}

static void write_worst(const struct summary *summary, bool known, FILE *out)
{
    const struct xfa_finding *finding = worst(summary->findings);
    char *question = question_text(summary);
    if (finding) {
        char *site = site_text(finding);
        char *saving =
            known ? saving_text(summary, finding) : xfa_text("what it would save is in the report");
        if (!known)
            fputc(XFA_SUMMARY_SO_FAR, out);
        xfc_print(out, "worst: %s at %s; %s%s%s\n", xfa_finding_word(finding->id), site, saving,
                  question ? "; " : "", question ? question : "");
        free(site);
        free(saving);
    } else if (question) {
        xfc_print(out, "worst: nothing is certain; %s\n", question);
    } else if (known && summary->profile) {
        fputs("worst: nothing worth changing was found\n", out);
    } else if (known) {
        char *lack = lack_text(summary);
        xfc_print(out, "worst: none is known without %s\n", lack);
        free(lack);
    }
    free(question);
    fflush(out);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the run. */
static void read_run(struct summary *summary)
{
    const struct xfa_summary_request *request = summary->request;
    size_t count = 0;
    struct xfa_observer observers[XFA_FINDINGS + 1];
    struct xfa_request analysis = {.path = request->run,
                                   .profile = summary->profile,
                                   .profile_path = summary->profile ? request->profile : NULL,
                                   .observers = observers};
    summary->findings = xfa_findings_new();
    for (; count < summary->findings->observer_count; count++)
        observers[count] = summary->findings->observers[count];
    observers[count++] = xfa_exposed_observer(&summary->exposed);
    analysis.observer_count = count;
    summary->analysis = xfa_analysis_new(&analysis);
    xfa_analysis_add(summary->analysis, request->run, NULL);
    xfa_analysis_finish(summary->analysis);
}

static void forget_run(struct summary *summary)
{
    xfa_analysis_free(summary->analysis);
    xfa_findings_free(summary->findings);
    xfa_exposed_free(&summary->exposed);
    memset(&summary->exposed, 0, sizeof summary->exposed);
}

static void read_all(struct summary *summary)
{
    char error[1024];
    const char *path = summary->request->profile;
    summary->profile = path ? xfp_read_file(path, error, sizeof error) : NULL;
    read_run(summary);
    if (!summary->profile || !summary->analysis->achievable.mismatch)
        return;
    summary->stranger = true;
    forget_run(summary);
    xfp_free(summary->profile);
    summary->profile = NULL;
    read_run(summary);
}

static uint64_t transfers_of(const struct xfa_analysis *analysis)
{
    uint64_t count = 0;
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++)
        count += analysis->directions[d].transfers;
    return count;
}

bool xfa_summarize(const struct xfa_summary_request *request, FILE *out)
{
    struct summary summary = {.request = request};
    fprintf(out, "%cwhat that cost is in the report\n", XFA_SUMMARY_SO_FAR);
    fflush(out);
    read_all(&summary);
    bool any = summary.analysis->run->process_count > 0;
    if (any && transfers_of(summary.analysis)) {
        write_cost(&summary, out);
        fflush(out);
        xfa_findings_find(summary.findings, summary.analysis);
        write_worst(&summary, false, out);
        xfa_findings_weigh(summary.findings, summary.analysis);
        write_worst(&summary, true, out);
    }
    forget_run(&summary);
    if (summary.profile)
        xfp_free(summary.profile);
    return any;
}

void xfa_summary_lines(char *text, const char *why, void (*say)(const char *line, const char *why))
{
    const char *so_far = NULL; /* the last line, if it stands for the next one */
    for (char *end; (end = strchr(text, '\n')); text = end + 1) {
        *end = '\0';
        so_far = *text == XFA_SUMMARY_SO_FAR ? text + 1 : NULL;
        if (!so_far)
            say(text, NULL);
    }
    if (so_far && why)
        say(so_far, why);
}
