#include "analyzer/analysis/analysis.h"

#include "analyzer/analysis/survey.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/check.h"
#include "analyzer/base/compare.h"
#include "analyzer/run/recordings.h"

/* ---- what recording cost --------------------------------------------------------------------- */

static bool add_costs(struct xfa_recording *recording, const struct xfa_process *process,
                      const uint64_t *calls)
{
    bool known = false;
    for (unsigned kind = 1; kind < XFA_EVENT_KINDS; kind++) {
        const struct xfa_cost *cost = &process->costs[kind];
        struct xfa_recording_kind *sum = &recording->kinds[kind];
        if (cost->samples == 0)
            continue;
        known = true;
        sum->samples += cost->samples;
        sum->calls += calls ? calls[kind] : 0;
        sum->took_ns += calls ? (double)cost->ns * (double)calls[kind] : 0;
    }
    return known;
}

static double lasted_ns(const struct xfa_process *process)
{
    uint64_t start = process->start_real_ns, end = process->end_real_ns;
    return start && end > start ? (double)(end - start) : NAN;
}

static struct xfa_recording recording_of(const struct xfa_run *run, const struct xfa_pass *pass)
{
    struct xfa_recording recording = {0};
    for (size_t i = 0; i < run->process_count; i++) {
        const struct xfa_process *process = run->processes[i];
        recording.once_ns += xfa_pass_overhead_ns(pass, process->number);
        if (!add_costs(&recording, process, xfa_pass_kinds(pass, process->number)))
            continue;
        recording.known = true;
        recording.processes_ns += lasted_ns(process);
    }
    for (unsigned kind = 1; kind < XFA_EVENT_KINDS; kind++) {
        struct xfa_recording_kind *sum = &recording.kinds[kind];
        sum->ns = sum->calls ? sum->took_ns / (double)sum->calls : NAN;
        recording.took_ns += sum->took_ns;
    }
    return recording;
}

/* ---- orders of rows -------------------------------------------------------------------------- */

/* Not by numbers of sites and functions, which depend on the order of reading. */
static int by_key(const struct xfa_row *a, const struct xfa_row *b)
{
    const size_t from = offsetof(struct xfa_row_key, direction);
    int order = memcmp(&a->site->identity, &b->site->identity, sizeof a->site->identity);
    order = order ? order : strcmp(xfa_row_called(a)->name, xfa_row_called(b)->name);
    order = order ? order : a->function->level - b->function->level;
    return order ? order
                 : memcmp((const char *)&a->key + from, (const char *)&b->key + from,
                          sizeof a->key - from);
}

int xfa_by_bytes(const struct xfa_analysis *analysis, uint32_t a, uint32_t b)
{
    const struct xfa_row *x = xfa_analysis_row(analysis, a), *y = xfa_analysis_row(analysis, b);
    int order = xfa_descending((double)analysis->rows[a].bytes, (double)analysis->rows[b].bytes);
    order = order ? order : strcmp(x->site->text, y->site->text);
    order = order ? order : strcmp(x->function->name, y->function->name);
    return order ? order : by_key(x, y);
}

int xfa_by_lost(const struct xfa_analysis *analysis, uint32_t a, uint32_t b)
{
    int order = xfa_descending(xfa_lost_ns(&analysis->rows[a]), xfa_lost_ns(&analysis->rows[b]));
    return order ? order : xfa_by_bytes(analysis, a, b);
}

int xfa_by_count(const struct xfa_analysis *analysis, uint32_t a, uint32_t b)
{
    int order =
        xfa_descending((double)analysis->rows[a].transfers, (double)analysis->rows[b].transfers);
    return order ? order : xfa_by_bytes(analysis, a, b);
}

struct sorting {
    const struct xfa_analysis *analysis;
    xfa_row_order *order;
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    return sorting->order(sorting->analysis, *(const uint32_t *)a, *(const uint32_t *)b);
}

uint32_t *xfa_rows_sorted(const struct xfa_analysis *analysis, xfa_row_order *order)
{
    struct sorting sorting = {analysis, order};
    uint32_t *rows = xfa_alloc((analysis->row_count + 1) * sizeof *rows);
    for (uint32_t i = 0; i < analysis->row_count; i++)
        rows[i] = i;
    qsort_r(rows, analysis->row_count, sizeof *rows, compare_rows, &sorting);
    return rows;
}

#define OWN_OBSERVERS 7

/* ---- reading --------------------------------------------------------------------------------- */

static void walk(struct xfa_analysis *analysis, struct xfa_process *process)
{
    xfa_achievable_match(&analysis->achievable, process);
    if (analysis->surveys)
        xfa_survey_walk(analysis, process);
    else
        xfa_pass_walk(analysis->pass, process);
}

static void unreadable(struct xfa_analysis *analysis, const char *line, xfa_complain_fn *complain)
{
    xfa_run_unreadable(analysis->run, line);
    if (complain)
        complain(line);
}

struct added_file { /* key only */
    uint64_t device, inode;
};

/* False: the file was added before, under any name. */
static bool note_file(struct xfa_analysis *analysis, const char *file)
{
    struct stat status;
    if (stat(file, &status) != 0)
        return true; /* opening it will fail with the reason */
    struct added_file key = {status.st_dev, status.st_ino};
    size_t before = analysis->files.count;
    xfa_table_put(&analysis->files, &key);
    return analysis->files.count > before;
}

static void add_file(struct xfa_analysis *analysis, const char *file, xfa_complain_fn *complain)
{
    char error[1024] = "";
    if (!note_file(analysis, file)) {
        snprintf(error, sizeof error, "%s: given twice; it is read once", file);
        if (complain)
            complain(error);
        return;
    }
    if (analysis->watch)
        analysis->watch->file(analysis->watch->self, file);
    struct xfa_process *process = xfa_run_open(analysis->run, file, error, sizeof error);
    if (process)
        walk(analysis, process);
    else
        unreadable(analysis, error, complain);
}

void xfa_analysis_add(struct xfa_analysis *analysis, const char *path, xfa_complain_fn *complain)
{
    char error[1024] = "";
    size_t count = 0;
    char **files = xfa_run_files(path, &count, error, sizeof error);
    if (count == 0)
        unreadable(analysis, error, complain);
    for (size_t i = 0; i < count && !analysis->stopped; i++)
        add_file(analysis, files[i], complain);
    xfa_run_files_free(files, count);
}

void xfa_analysis_tell_losses(const struct xfa_analysis *analysis, xfa_complain_fn *complain)
{
    const struct xfa_run *run = analysis->run;
    for (size_t i = 0; i < run->process_count; i++) {
        if (!run->processes[i]->losses)
            continue;
        char *line = xfa_print("%s: %s; the rest was read", run->processes[i]->file,
                               run->processes[i]->losses);
        complain(line);
        free(line);
    }
}

void xfa_analysis_stop(struct xfa_analysis *analysis)
{
    analysis->stopped = true;
    xfa_pass_stop(analysis->pass);
}

bool xfa_analysis_add_bytes(struct xfa_analysis *analysis, const void *data, size_t bytes,
                            char *error, size_t error_bytes)
{
    struct xfa_process *process =
        xfa_run_open_bytes(analysis->run, data, bytes, error, error_bytes);
    if (process)
        walk(analysis, process);
    return process != NULL;
}

/* ---- sums over the rows ---------------------------------------------------------------------- */

static void add(struct xfa_sum *sum, const struct xfa_figures *figures)
{
    sum->transfers += figures->transfers;
    sum->bytes = xfa_add(sum->bytes, figures->bytes);
}

static void note_gpu(struct xfa_analysis *analysis, int gpu)
{
    int known = gpu < 0 || !analysis->profile ? -1 : xfa_achievable_gpu(&analysis->achievable, gpu);
    if (known >= 0 && known < XFA_COPIED_GPUS)
        analysis->copied_gpus |= (uint64_t)1 << known;
}

/* All sums of the analysis' own observers are complete: times become known. */
static void finish_sums(struct xfa_analysis *analysis)
{
    if (analysis->survey)
        xfa_survey_merge(analysis);
    xfa_rows_finish(&analysis->of_classes);
    xfa_waits_finish(&analysis->waits);
    xfa_ranks_finish(&analysis->ranks);
    xfa_messages_finish(&analysis->messages);
}

static void sum_rows(struct xfa_analysis *analysis)
{
    analysis->rows = xfa_rows_figures(&analysis->of_classes, &analysis->classes);
    analysis->row_count = analysis->classes.rows.count;
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        const struct xfa_figures *figures = &analysis->rows[i];
        add(&analysis->directions[row->key.direction], figures);
        note_gpu(analysis, row->key.src_gpu);
        note_gpu(analysis, row->key.dst_gpu);
        if (row->function->level == XFT_LEVEL_RUNTIME)
            add(&analysis->runtime, figures);
        else if (row->function->level == XFT_LEVEL_DRIVER)
            add(&analysis->driver, figures);
    }
}

static void sum_folded(struct xfa_analysis *analysis)
{
    for (size_t i = 0; i < analysis->classes.classes.count; i++) {
        unsigned fold = xfa_class_at(&analysis->classes, i)->key.fold;
        uint64_t transfers = xfa_rows_class(&analysis->of_classes, (uint32_t)i)->transfers;
        analysis->without_gpu += fold == XFA_WITHOUT_GPU ? transfers : 0;
        analysis->without_site += fold == XFA_WITHOUT_SITE ? transfers : 0;
    }
}

static void note_mixed(struct xfa_analysis *analysis)
{
    char *names;
    analysis->runs = xfa_run_recordings(analysis->run, &names);
    if (names)
        analysis->mixed = xfa_print("these files are of %zu runs (%s): the figures add them up",
                                    analysis->runs, names);
    free(names);
}

/* Transfers in rows, and those that are counted as in none: all of every process, together. */
static uint64_t transfers_counted(const struct xfa_analysis *analysis)
{
    const struct xfa_counts *counts = &analysis->counts;
    uint64_t count = counts->failed + counts->captured + counts->empty;
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++)
        count += analysis->directions[d].transfers;
    return count;
}

static uint64_t transfers_met(const struct xfa_analysis *analysis)
{
    uint64_t met = 0;
    for (size_t i = 0; i < analysis->run->process_count; i++)
        met += analysis->transfers[i];
    return met;
}

void xfa_analysis_finish(struct xfa_analysis *analysis)
{
    const struct xfa_run *run = analysis->run;
    analysis->counts = xfa_pass_counts(analysis->pass);
    analysis->recording = recording_of(run, analysis->pass);
    analysis->transfers = xfa_alloc((run->process_count + 1) * sizeof *analysis->transfers);
    for (size_t i = 0; i < run->process_count; i++)
        analysis->transfers[i] = xfa_pass_transfers(analysis->pass, (uint32_t)i);
    finish_sums(analysis);
    sum_rows(analysis);
    sum_folded(analysis);
    xfa_messages_match(&analysis->matched, &analysis->messages, &analysis->achievable);
    analysis->simulated =
        run->simulated || (analysis->profile && analysis->profile->machine.simulated);
    analysis->lossy = xfa_run_lossy(run) || analysis->profile_problem;
    note_mixed(analysis);
    XFA_EXPECT(analysis->stopped || transfers_counted(analysis) == transfers_met(analysis),
               "the report's transfers are not those of the traces");
}

/* ---- the analysis ---------------------------------------------------------------------------- */

static char *kept(const char *text)
{
    return text ? xfa_kept(text, strlen(text)) : NULL;
}

static struct xfa_observer *observers_of(struct xfa_analysis *analysis,
                                         const struct xfa_request *request)
{
    const struct xfa_observer own[OWN_OBSERVERS] = {
        xfa_rows_observer(&analysis->of_classes),   xfa_phases_observer(&analysis->phases),
        xfa_managed_observer(&analysis->managed),   xfa_contents_observer(&analysis->contents),
        xfa_waits_observer(&analysis->waits),       xfa_ranks_observer(&analysis->ranks),
        xfa_messages_observer(&analysis->messages),
    };
    struct xfa_observer *all = xfa_alloc((OWN_OBSERVERS + request->observer_count) * sizeof *all);
    memcpy(all, own, sizeof own);
    if (request->observer_count)
        memcpy(all + OWN_OBSERVERS, request->observers,
               request->observer_count * sizeof *request->observers);
    return all;
}

struct xfa_analysis *xfa_analysis_new(const struct xfa_request *request)
{
    struct xfa_analysis *analysis = xfa_alloc(sizeof *analysis);
    xfa_table_init(&analysis->files, sizeof(struct added_file), sizeof(struct added_file));
    analysis->run = xfa_run_new(request->path);
    analysis->run->team = request->team;
    analysis->profile = request->profile;
    analysis->profile_path = kept(request->profile_path);
    analysis->profile_problem = kept(request->profile_problem);
    analysis->profile_unused = kept(request->profile_unused);
    analysis->profile_by = request->profile_by;
    xfa_achievable_init(&analysis->achievable, request->profile, analysis->run);
    xfa_classes_init(&analysis->classes, analysis->run, &analysis->achievable);
    analysis->managed.run = analysis->waits.run = analysis->messages.run = analysis->run;
    analysis->observers = observers_of(analysis, request);
    analysis->observer_count = OWN_OBSERVERS + request->observer_count;
    analysis->pass =
        xfa_pass_new(&analysis->classes, analysis->observers, analysis->observer_count);
    analysis->surveys = request->surveys;
    analysis->survey = request->survey;
    xfa_pass_by_survey(analysis->pass, request->survey);
    analysis->watch = request->watch;
    xfa_pass_watch(analysis->pass, request->watch);
    return analysis;
}

void xfa_analysis_free(struct xfa_analysis *analysis)
{
    if (!analysis)
        return;
    xfa_table_free(&analysis->files);
    xfa_pass_free(analysis->pass);
    free(analysis->observers);
    xfa_rows_free(&analysis->of_classes);
    xfa_phases_free(&analysis->phases);
    xfa_managed_free(&analysis->managed);
    xfa_contents_free(&analysis->contents);
    xfa_waits_free(&analysis->waits);
    xfa_ranks_free(&analysis->ranks);
    xfa_messages_free(&analysis->messages);
    xfa_matched_free(&analysis->matched);
    xfa_classes_free(&analysis->classes);
    xfa_achievable_free(&analysis->achievable);
    xfa_run_free(analysis->run);
    free(analysis->rows);
    free(analysis->transfers);
    free(analysis->profile_path);
    free(analysis->profile_problem);
    free(analysis->profile_unused);
    free(analysis->mixed);
    free(analysis);
}
