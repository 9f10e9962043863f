#include "tests/analyzer/lab/analyzed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct analyzed analyzed_start(const struct xfp_profile *profile)
{
    struct analyzed a = {.findings = xfa_findings_new()};
    struct xfa_request request = {
        .path = "test",
        .profile = profile,
        .observers = a.findings->observers,
        .observer_count = a.findings->observer_count,
    };
    a.analysis = xfa_analysis_new(&request);
    return a;
}

void analyzed_add(struct analyzed *a, const struct trace_builder *b)
{
    char error[512] = "";
    if (!xfa_analysis_add_bytes(a->analysis, b->bytes, b->size, error, sizeof error)) {
        fprintf(stderr, "analyzed: %s\n", error);
        abort();
    }
}

void analyzed_finish(struct analyzed *a)
{
    xfa_analysis_finish(a->analysis);
    xfa_findings_find(a->findings, a->analysis);
    size_t count;
    a->order = xfa_view_rows(a->analysis, &(struct xfa_view){.sort = XFA_SORT_LOST}, &count);
}

struct analyzed analyzed_trace(const struct trace_builder *b, const struct xfp_profile *profile)
{
    struct analyzed a = analyzed_start(profile);
    analyzed_add(&a, b);
    analyzed_finish(&a);
    return a;
}

struct analyzed analyzed_weighed_all(const struct trace_builder *const *all, size_t count,
                                     const struct xfp_profile *profile)
{
    char paths[8][40];
    if (count > sizeof paths / sizeof *paths)
        abort();
    struct analyzed a = analyzed_start(profile);
    for (size_t i = 0; i < count; i++) {
        snprintf(paths[i], sizeof paths[i], "/tmp/xferscope-test-XXXXXX.trace");
        int file = mkstemps(paths[i], 6);
        if (file < 0)
            abort();
        close(file);
        build_save(all[i], paths[i]);
        xfa_analysis_add(a.analysis, paths[i], NULL);
    }
    analyzed_finish(&a);
    xfa_findings_weigh(a.findings, a.analysis);
    for (size_t i = 0; i < count; i++)
        unlink(paths[i]);
    return a;
}

struct analyzed analyzed_weighed(const struct trace_builder *b, const struct xfp_profile *profile)
{
    return analyzed_weighed_all(&b, 1, profile);
}

static void free_played(struct analyzed *a, struct trace_builder *b, struct xfp_profile *profile)
{
    build_free(b);
    a->analysis->profile = NULL; /* not asked any more */
    xfp_free(profile);
}

struct analyzed analyzed_played(struct trace_builder *b, struct xfp_profile *profile)
{
    struct analyzed a = analyzed_weighed(b, profile);
    free_played(&a, b, profile);
    return a;
}

struct analyzed analyzed_answered(struct trace_builder *b, struct xfp_profile *profile,
                                  const char *answer)
{
    struct xfa_answers answers = {0};
    char error[256];
    struct analyzed a = analyzed_start(profile);
    if (answer && xfa_answers_take(&answers, answer, error, sizeof error) != 0)
        abort();
    a.findings->answers = &answers;
    analyzed_add(&a, b);
    analyzed_finish(&a);
    xfa_findings_weigh(a.findings, a.analysis);
    a.findings->answers = NULL;
    xfa_answers_free(&answers);
    free_played(&a, b, profile);
    return a;
}

void analyzed_free(struct analyzed *a)
{
    xfa_findings_free(a->findings);
    xfa_analysis_free(a->analysis);
    free(a->order);
    *a = (struct analyzed){0};
}

const struct xfa_row *analyzed_row(const struct analyzed *a, size_t i)
{
    return xfa_analysis_row(a->analysis, a->order[i]);
}

const struct xfa_figures *analyzed_figures(const struct analyzed *a, size_t i)
{
    return &a->analysis->rows[a->order[i]];
}

const struct xfa_finding *analyzed_finding(const struct analyzed *a, enum xfa_finding_id id,
                                           const char *site)
{
    for (size_t i = 0; i < a->findings->count; i++) {
        const struct xfa_finding *finding = &a->findings->items[i];
        for (size_t k = 0; finding->id == id && k < finding->site_count; k++)
            if (!site || strstr(finding->sites[k].site->text, site))
                return finding;
    }
    return NULL;
}

void analyzed_write(const struct analyzed *a, const struct xfa_format *format, FILE *out)
{
    struct xfa_report report = {.analysis = a->analysis, .findings = a->findings};
    format->write(&report, &(struct xfa_view){.width = 100}, out);
}

char *analyzed_report(const struct analyzed *a, const struct xfa_format *format)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        abort();
    analyzed_write(a, format, out);
    fclose(out);
    return text;
}
