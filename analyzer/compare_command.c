#include "analyzer/compare_command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "analyzer/base/alloc.h"
#include "analyzer/base/output.h"
#include "analyzer/pass/machine_profile.h"
#include "analyzer/progress.h"
#include "common/text.h"

static struct xfa_progress progress; /* the line on stderr, when that is a terminal */

static void complain(const char *line)
{
    xfa_progress_clear(&progress);
    xfc_print(stderr, "xferscope analyze: %s\n", line);
}

struct comparing {
    const struct xfa_analyze_options *options;
    struct xfa_machine_profile machine;
    bool lossy;
};

/* Of all runs. */
static void take_profile(struct comparing *c)
{
    const struct xfa_analyze_options *options = c->options;
    struct xfa_profile_request request = {.named = options->profile,
                                          .none = options->no_profile,
                                          .traces = options->traces,
                                          .trace_count = options->trace_count};
    xfa_machine_profile_take(&c->machine, &request);
    c->lossy = c->machine.problem;
    xfa_machine_profile_tell(&c->machine, complain);
}

static struct xfa_analysis *read_run(const struct comparing *c, const char *path,
                                     const struct xfa_findings *findings, struct xfa_times *times)
{
    size_t count = findings->observer_count;
    struct xfa_observer *observers = xfa_alloc((count + 1) * sizeof *observers);
    memcpy(observers, findings->observers, count * sizeof *observers);
    observers[count++] = xfa_times_observer(times);
    struct xfa_request request = {
        .path = path,
        .profile = c->machine.profile,
        .profile_path = c->machine.path,
        .profile_problem = c->machine.problem,
        .profile_unused = c->machine.unused,
        .profile_by = c->machine.by,
        .observers = observers,
        .observer_count = count,
    };
    if (isatty(STDERR_FILENO)) {
        xfa_progress_begin(&progress, stderr, &path, 1);
        request.watch = &progress.watch;
    }
    struct xfa_analysis *analysis = xfa_analysis_new(&request);
    xfa_analysis_add(analysis, path, complain);
    xfa_progress_clear(&progress);
    xfa_analysis_finish(analysis);
    free(observers);
    return analysis;
}

/* NULL: nothing of it could be read. */
static struct xfa_summary *take(struct comparing *c, const char *path)
{
    struct xfa_times times = {0};
    struct xfa_findings *findings = xfa_findings_new();
    struct xfa_analysis *analysis = read_run(c, path, findings, &times);
    struct xfa_summary *taken = NULL;
    if (analysis->run->process_count > 0) {
        xfa_findings_find(findings, analysis);
        xfa_findings_weigh(findings, analysis);
        xfa_analysis_tell_losses(analysis, complain);
        taken = xfa_summary_of(analysis, findings, &times);
        c->lossy = c->lossy || analysis->lossy;
    }
    xfa_findings_free(findings);
    xfa_analysis_free(analysis);
    xfa_times_free(&times);
    return taken;
}

static size_t take_side(struct comparing *c, const char *const *paths, size_t count,
                        struct xfa_summary **runs)
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
    struct xfa_output output;
    if (xfa_output_open(&output, c->options->output) != 0)
        return XFA_OUTPUT;
    struct xfa_view view = c->options->view;
    view.width = xfa_output_width(output.stream);
    view.colour = c->options->colour == XFA_COLOUR_AUTO ? xfa_output_colour(output.stream)
                                                        : c->options->colour == XFA_COLOUR_ALWAYS;
    c->options->format->compare(comparison, &view, output.stream);
    if (xfa_output_close(&output) != 0)
        return XFA_OUTPUT;
    if (comparison->failed)
        return XFA_SLOWER;
    return c->lossy ? XFA_LOSSES : XFA_OK;
}

static int compare(const struct comparing *c, struct xfa_summary **before, size_t m,
                   struct xfa_summary **after, size_t n)
{
    if (m == 0 || n == 0)
        return XFA_NOTHING;
    struct xfa_comparison *comparison = xfa_compare(before, m, after, n, c->options->fail_on);
    for (size_t i = 0; i < comparison->warning_count; i++)
        complain(comparison->warnings[i]);
    int status = write_comparison(c, comparison);
    xfa_comparison_free(comparison);
    return status;
}

int xfa_compare_command(const struct xfa_analyze_options *options)
{
    struct comparing c = {.options = options};
    struct xfa_summary *before[XFA_COMPARED_RUNS], *after[XFA_COMPARED_RUNS];
    take_profile(&c);
    size_t m = take_side(&c, options->traces, options->before, before);
    size_t n = take_side(&c, options->traces + options->before,
                         options->trace_count - options->before, after);
    int status = compare(&c, before, m, after, n);
    while (m > 0)
        xfa_summary_free(before[--m]);
    while (n > 0)
        xfa_summary_free(after[--n]);
    xfa_machine_profile_free(&c.machine);
    return status;
}
