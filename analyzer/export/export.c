#include "analyzer/export/export.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analyzer.h"
#include "analyzer/base/alloc.h"
#include "analyzer/base/output.h"
#include "analyzer/pass/machine_profile.h"
#include "common/text.h"

/* One export under way. */
struct work {
    const struct xfa_export_request *request;
    struct xfa_export export;
    struct xfa_machine_profile machine;
    char *name; /* of the run */
    struct xfa_findings *findings;
    struct xfa_output output;
};

static void complain(const char *line)
{
    xfc_print(stderr, "xferscope export: %s\n", line);
}

/* ---- the observer ---------------------------------------------------------------------------- */

void xfa_export_fail(struct xfa_export *export, int error)
{
    if (export->failed)
        return;
    export->failed = error ? error : EIO;
    xfa_analysis_stop(export->analysis);
}

bool xfa_export_simulated(const struct xfa_export *export, const struct xfa_process *process)
{
    const struct xfp_profile *profile = export->analysis->profile;
    return process->simulated || (profile && profile->machine.simulated);
}

/* The output has failed (its reader has gone, or the disk is full): the rest of the run need not be
 * read. */
static void check(struct xfa_export *export)
{
    if (ferror_unlocked(export->out))
        xfa_export_fail(export, errno);
}

static uint64_t process(void *self, struct xfa_process *process)
{
    struct xfa_export *export = self;
    xfa_words_process(&export->words);
    if (export->format->process && !export->failed)
        export->format->process(export, process);
    check(export);
    return export->format->kinds;
}

static void event(void *self, const struct xfa_event *event)
{
    struct xfa_export *export = self;
    if (!export->failed)
        export->format->event(export, event);
    check(export);
}

static void transfer(void *self, const struct xfa_event *event)
{
    struct xfa_export *export = self;
    if (!export->failed)
        export->format->transfer(export, event);
    check(export);
}

static void copy(void *self, const struct xfa_event *event)
{
    struct xfa_export *export = self;
    if (!export->failed)
        export->format->copy(export, event);
    check(export);
}

static void unended(void *self, const struct xfa_range *range, enum xfa_unended why,
                    uint64_t end_ns)
{
    struct xfa_export *export = self;
    if (!export->failed)
        export->format->unended(export, range, end_ns);
    check(export);
}

static void end(void *self, struct xfa_process *process)
{
    struct xfa_export *export = self;
    if (export->format->end && !export->failed)
        export->format->end(export, process);
    check(export);
}

static struct xfa_observer observer_of(struct xfa_export *export)
{
    const struct xfa_export_format *format = export->format;
    return (struct xfa_observer){
        .name = "export",
        .self = export,
        .kinds = format->kinds,
        .process = process,
        .event = format->event ? event : NULL,
        .transfer = format->transfer ? transfer : NULL,
        .copy = format->copy ? copy : NULL,
        .unended = format->unended ? unended : NULL,
        .end = end,
    };
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool saves(const struct xfa_export_request *request)
{
    const struct xfa_export_format *format = request->format;
    return format->saves && (!format->weighed || request->weight == XFA_WEIGHT_SAVING);
}

/* A profile that cannot be read leaves what is achievable unknown. */
static void take_profile(struct work *work)
{
    struct xfa_profile_request request = {.named = work->request->profile,
                                          .none = work->request->no_profile,
                                          .traces = work->request->traces,
                                          .trace_count = work->request->trace_count};
    xfa_machine_profile_take(&work->machine, &request);
    xfa_machine_profile_tell(&work->machine, complain);
}

static void open_analysis(struct work *work)
{
    size_t count = work->findings ? work->findings->observer_count : 0;
    struct xfa_observer *all = xfa_alloc((count + 1) * sizeof *all);
    if (count > 0)
        memcpy(all, work->findings->observers, count * sizeof *all);
    all[count] = observer_of(&work->export);
    struct xfa_request request = {
        .path = work->name,
        .profile = work->machine.profile,
        .profile_path = work->machine.path,
        .profile_problem = work->machine.problem,
        .observers = all,
        .observer_count = count + 1,
    };
    work->export.analysis = xfa_analysis_new(&request);
    free(all);
}

static void read_run(struct work *work)
{
    struct xfa_analysis *analysis = work->export.analysis;
    const struct xfa_export_request *request = work->request;
    for (size_t i = 0; i < request->trace_count && !analysis->stopped; i++)
        xfa_analysis_add(analysis, request->traces[i], complain);
    xfa_analysis_finish(analysis);
}

static void say_losses(const struct xfa_analysis *analysis)
{
    if (analysis->achievable.mismatch)
        complain(analysis->achievable.mismatch);
    xfa_analysis_tell_losses(analysis, complain);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void weigh(struct work *work)
{
    if (!work->findings)
        return;
    xfa_findings_find(work->findings, work->export.analysis);
    xfa_findings_weigh(work->findings, work->export.analysis);
    work->export.findings = work->findings;
}

static void finish(struct work *work)
{
    struct xfa_export *export = &work->export;
    if (export->failed || export->analysis->run->process_count == 0)
        return;
    weigh(work);
    if (export->format->finish)
        export->format->finish(export);
    check(export);
}

static int close_output(struct work *work)
{
    const struct xfa_export *export = &work->export;
    errno = export->failed; /* closing says it, unless it fails for a reason of its own */
    if (export->failed && !ferror(export->out)) {
        xfc_print(stderr, "xferscope: cannot write %s: %s\n",
                  work->request->output ? work->request->output : "standard output",
                  strerror(export->failed));
        xfa_output_drop(&work->output);
        return XFA_OUTPUT;
    }
    if (!export->failed && export->analysis->run->process_count == 0) {
        xfa_output_drop(&work->output);
        return XFA_NOTHING;
    }
    if (xfa_output_close(&work->output) != 0)
        return XFA_OUTPUT;
    say_losses(export->analysis);
    return export->analysis->lossy ? XFA_LOSSES : XFA_OK;
}

static bool open_output(struct work *work)
{
    const struct xfa_export_request *request = work->request;
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone is an output that cannot be written */
    if (xfa_output_open(&work->output, request->output) != 0)
        return false;
    work->export.out = work->output.stream;
    if (!request->format->regular || (work->output.path && work->output.file.target))
        return true;
    xfc_print(
        stderr, "xferscope: cannot write %s: %s is no file that can be written at any place\n",
        request->output ? request->output : "standard output", work->output.path ? "it" : "that");
    xfa_output_drop(&work->output);
    return false;
}

static void end_work(struct work *work)
{
    if (work->export.format->free)
        work->export.format->free(&work->export);
    free(work->export.self);
    xfa_words_free(&work->export.words);
    xfa_analysis_free(work->export.analysis);
    xfa_findings_free(work->findings);
    xfa_machine_profile_free(&work->machine);
    free(work->name);
}

int xfa_export_run(const struct xfa_export_request *request)
{
    struct work work = {.request = request,
                        .name = xfa_texts_joined(request->traces, request->trace_count)};
    struct xfa_export *export = &work.export;
    export->format = request->format;
    export->weight = request->weight;
    if (!open_output(&work)) {
        free(work.name);
        return XFA_OUTPUT;
    }
    export->self = xfa_alloc(request->format->self_bytes + 1);
    xfa_words_init(&export->words, request->format->words);
    take_profile(&work);
    work.findings = saves(request) ? xfa_findings_new() : NULL;
    open_analysis(&work);
    if (request->format->begin)
        request->format->begin(export);
    check(export);
    read_run(&work);
    finish(&work);
    if (request->format->close)
        request->format->close(export);
    int status = close_output(&work);
    end_work(&work);
    return status;
}

/* ---- the formats ----------------------------------------------------------------------------- */

#define XFA_EXPORT_FORMAT(name) extern const struct xfa_export_format xfa_export_##name;
#include "analyzer/export/formats.def"
#undef XFA_EXPORT_FORMAT

const struct xfa_export_format *const xfa_export_formats[] = {
#define XFA_EXPORT_FORMAT(name) &xfa_export_##name,
#include "analyzer/export/formats.def"
#undef XFA_EXPORT_FORMAT
    NULL,
};

const struct xfa_export_format *xfa_export_find(const char *name)
{
    for (size_t i = 0; xfa_export_formats[i]; i++)
        if (strcmp(xfa_export_formats[i]->name, name) == 0)
            return xfa_export_formats[i];
    return NULL;
}
