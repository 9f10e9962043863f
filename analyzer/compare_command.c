/* xferscope analyze --compare: docs/analyze.md. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/analyze_steps.h"
#include "analyzer/analyzer.h"
#include "analyzer/base/alloc.h"
#include "analyzer/plan/plan.h"
#include "common/text.h"

/* Both sides, run by run: of each only its snapshot is kept (compare/snapshot.h). */
struct comparing {
    struct xfa_analyze_options *options;
    struct xfa_machine_profile machine;
    struct xfa_apply_plan *plan; /* NULL: none */
    bool lossy;
};

static struct xfa_analysis *read_run(const struct comparing *c, const char *path,
                                     const struct xfa_findings *findings, struct xfa_times *times)
{
    size_t count = findings->observer_count;
    struct xfa_observer *observers = xfa_alloc((count + 1) * sizeof *observers);
    memcpy(observers, findings->observers, count * sizeof *observers);
    observers[count++] = xfa_times_observer(times);
    struct xfa_request request = xfa_analyze_request(&c->machine, path, observers, count);
    if (isatty(STDERR_FILENO)) {
        xfa_progress_begin(&xfa_analyze_progress, stderr, &path, 1);
        request.watch = &xfa_analyze_progress.watch;
    }
    struct xfa_analysis *analysis = xfa_analysis_new(&request);
    xfa_analysis_add(analysis, path, xfa_analyze_complain);
    xfa_progress_clear(&xfa_analyze_progress);
    xfa_analysis_finish(analysis);
    free(observers);
    return analysis;
}

/* NULL: no file of the run could be read. */
static struct xfa_snapshot *take(struct comparing *c, const char *path)
{
    struct xfa_times times = {0};
    struct xfa_findings *findings = xfa_analyze_findings(c->options);
    struct xfa_analysis *analysis = read_run(c, path, findings, &times);
    struct xfa_snapshot *taken = NULL;
    if (analysis->run->process_count > 0) {
        xfa_findings_find(findings, analysis);
        xfa_findings_weigh(findings, analysis);
        xfa_analysis_tell_losses(analysis, xfa_analyze_complain);
        taken = xfa_snapshot_of(analysis, findings, &times);
        c->lossy = c->lossy || analysis->lossy;
    }
    xfa_findings_free(findings);
    xfa_analysis_free(analysis);
    xfa_times_free(&times);
    return taken;
}

static size_t take_side(struct comparing *c, const char *const *paths, size_t count,
                        struct xfa_snapshot **runs)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        runs[taken] = take(c, paths[i]);
        taken += runs[taken] != NULL;
        c->lossy = c->lossy || taken <= i;
    }
    return taken;
}

static int write_comparison(const struct comparing *c, const struct xfa_comparison *comparison)
{
    struct xfa_analyze_options options = *c->options;
    struct xfa_output output;
    struct xfa_view view;
    char *page;
    if (!xfa_analyze_output(&options, &output, &view, &page))
        return XFA_OUTPUT;
    view.brief = options.brief;
    options.format->compare(comparison, &view, output.stream);
    bool failed = xfa_output_close(&output) != 0;
    if (!failed)
        xfa_analyze_show(&options, page);
    free(page);
    if (failed)
        return XFA_OUTPUT;
    if (comparison->failed)
        return XFA_SLOWER;
    return c->lossy ? XFA_LOSSES : XFA_OK;
}

static int compare(const struct comparing *c, struct xfa_snapshot **before, size_t m,
                   struct xfa_snapshot **after, size_t n)
{
    if (m == 0 || n == 0)
        return XFA_NOTHING;
    struct xfa_comparison *comparison = xfa_compare(before, m, after, n, c->options->fail_on);
    if (c->plan)
        xfa_apply_plan_compare(c->plan, comparison);
    for (size_t i = 0; i < comparison->warning_count; i++)
        xfa_analyze_complain(comparison->warnings[i]);
    xfa_analyze_needless(&c->options->answers);
    int status = write_comparison(c, comparison);
    xfa_comparison_free(comparison);
    return status;
}

int xfa_compare_command(struct xfa_analyze_options *options)
{
    struct comparing c = {.options = options};
    struct xfa_snapshot *before[XFA_COMPARED_RUNS], *after[XFA_COMPARED_RUNS];
    char error[512];
    c.plan = options->plan ? xfa_apply_plan_read(options->plan, error, sizeof error) : NULL;
    if (options->plan && !c.plan) {
        xfc_print(stderr, "xferscope analyze: --plan %s: %s\n", options->plan, error);
        return XFA_USAGE;
    }
    xfa_analyze_profile(&c.machine, options);
    c.lossy = c.machine.problem;
    size_t m = take_side(&c, options->traces, options->before, before);
    size_t n = take_side(&c, options->traces + options->before,
                         options->trace_count - options->before, after);
    int status = compare(&c, before, m, after, n);
    while (m > 0)
        xfa_snapshot_free(before[--m]);
    while (n > 0)
        xfa_snapshot_free(after[--n]);
    xfa_apply_plan_free(c.plan);
    xfa_machine_profile_free(&c.machine);
    return status;
}
