#include "analyzer/report/report.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"

#define XFA_MAX_ROWS_KEPT 32768
#define MAX_ARGUMENTS 4096

struct report_site {
    uint64_t identity; /* key */
    struct xfa_site *site;
};

struct xfa_report *xfa_report_new(const char *path, const struct xfp_profile *profile)
{
    struct xfa_report *report = xfa_alloc(sizeof *report);
    report->run.path = xfa_kept(path, strlen(path));
    report->run.oldest_minor = -1;
    report->profile = profile;
    xfa_shelf_init(&report->shelf);
    xfa_table_init(&report->sites, sizeof(uint64_t), sizeof(struct report_site));
    xfa_table_init(&report->rows, sizeof(struct xfa_row_key), sizeof(struct xfa_row));
    xfa_report_phases_init(&report->phases);
    xfa_report_managed_init(&report->managed);
    return report;
}

/* ---- the run -------------------------------------------------------------------------- */

static char *meta_clean(const struct xfa_trace *trace, const char *key)
{
    const char *value = xfa_trace_meta(trace, key);
    return value && *value ? xfa_kept(value, strlen(value)) : NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void take_arguments(struct xfa_run *run, const char *line)
{
    size_t capacity = run->argument_count;
    while (line && run->argument_count < MAX_ARGUMENTS) {
        size_t length = strcspn(line, "\x1f");
        run->arguments =
            xfa_room(run->arguments, &capacity, run->argument_count + 1, sizeof *run->arguments);
        run->arguments[run->argument_count++] = xfa_kept(line, length);
        line = line[length] ? line + length + 1 : NULL;
    }
}

static void take_gpus(struct xfa_run *run, const struct xfa_trace *trace)
{
    for (int i = 0; i < XFA_MAX_GPUS && run->gpu_count == (size_t)i; i++) {
        char key[32];
        snprintf(key, sizeof key, "gpu.%d.name", i);
        char *name = meta_clean(trace, key);
        snprintf(key, sizeof key, "gpu.%d.uuid", i);
        char *uuid = meta_clean(trace, key);
        if (!name && !uuid)
            return;
        size_t capacity = run->gpu_count;
        run->gpus = xfa_room(run->gpus, &capacity, run->gpu_count + 1, sizeof *run->gpus);
        run->gpus[run->gpu_count++] = (struct xfa_gpu){name, uuid};
    }
}

static void forget_program(struct xfa_run *run)
{
    for (size_t i = 0; i < run->argument_count; i++)
        free(run->arguments[i]);
    for (size_t i = 0; i < run->gpu_count; i++) {
        free(run->gpus[i].name);
        free(run->gpus[i].uuid);
    }
    free(run->arguments);
    free(run->gpus);
    free(run->program);
    free(run->hostname);
    run->arguments = NULL;
    run->gpus = NULL;
    run->program = run->hostname = NULL;
    run->argument_count = run->gpu_count = 0;
}

static void take_program(struct xfa_run *run, const struct xfa_trace *trace)
{
    forget_program(run);
    run->program = meta_clean(trace, "exe");
    run->hostname = meta_clean(trace, "hostname");
    take_arguments(run, xfa_trace_meta(trace, "cmdline"));
    const char *version = xfa_trace_meta(trace, "cuda.driver_version");
    long number = version ? strtol(version, NULL, 10) : 0;
    run->driver_version = number > 0 && number < INT_MAX ? (int)number : 0;
    take_gpus(run, trace);
}

/* How long the process is known to have run: up to the end of recording or, where that is not told,
 * to its last call. 0 = not known. */
static uint64_t duration(const struct xft_file_header *header, const struct xfa_totals *totals)
{
    uint64_t end = header->end_mono_ns ? header->end_mono_ns : totals->last_ns;
    if (header->start_mono_ns && end > header->start_mono_ns)
        return end - header->start_mono_ns;
    return totals->first_ns && totals->last_ns > totals->first_ns
               ? totals->last_ns - totals->first_ns
               : 0;
}

const char *const *xfa_run_lacks(const struct xfa_run *run)
{
    static const char *const by_minor[XFA_LACKS + 1] = {
        "managed memory's moves, NVTX ranges, contents",
        "launches, streams, events, memsets and queries as calls",
        NULL,
    };
    int minor = run->oldest_minor;
    return by_minor + (minor < 0 || minor > XFA_LACKS ? XFA_LACKS : minor);
}

static void take_process(struct xfa_report *report, const struct xfa_trace *trace,
                         const struct xfa_totals *totals)
{
    struct xfa_run *run = &report->run;
    const struct xft_file_header *header = &trace->header;
    uint64_t ns = duration(header, totals);
    bool known = header->version_major == XFT_VERSION_MAJOR; /* else its header is damaged */
    if (known && (run->oldest_minor < 0 || header->version_minor < run->oldest_minor))
        run->oldest_minor = header->version_minor;
    struct xfa_process process = {
        .pid = header->pid,
        .ppid = header->ppid,
        .exe = meta_clean(trace, "exe"),
        .exit = meta_clean(trace, "exit"),
        .closed = header->state == XFT_STATE_CLOSED,
        .timing = meta_clean(trace, "timing"),
        .timing_why = meta_clean(trace, "timing.why"),
        .start_real_ns = header->start_real_ns,
        .transfers = totals->kinds[XFT_EVENT_TRANSFER],
        .loss = trace->loss,
        .events_lost = header->events_lost,
        .stacks_lost = header->stacks_lost,
        .device_lost = header->device_lost,
        .losses = xfa_trace_loss_line(trace),
    };
    const char *file = base_name(trace->name);
    process.file = xfa_kept(file, strlen(file));
    if (ns && header->start_real_ns)
        process.end_real_ns = xfa_add(header->start_real_ns, ns);
    bool first = true;
    for (size_t i = 0; i < run->process_count; i++)
        first = first && process.start_real_ns < run->processes[i].start_real_ns;
    if (first)
        take_program(run, trace);
    run->processes = xfa_room(run->processes, &run->process_capacity, run->process_count + 1,
                              sizeof *run->processes);
    run->processes[run->process_count++] = process;
}

/* Transfers without a hash, for whatever reason (docs/trace-format.md). */
static uint64_t content_skipped(const struct xfa_trace *trace)
{
    static const char *const reasons[] = {"budget",     "memory",    "shape",
                                          "unreadable", "unsettled", "full"};
    uint64_t skipped = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        char key[48];
        snprintf(key, sizeof key, "content.skipped.%s", reasons[i]);
        const char *value = xfa_trace_meta(trace, key);
        skipped = xfa_add(skipped, value ? strtoull(value, NULL, 10) : 0);
    }
    return skipped;
}

static void take_content(struct xfa_run *run, const struct xfa_trace *trace,
                         const struct xfa_contents *contents)
{
    struct xfa_run_content *content = &run->content;
    const char *mode = xfa_trace_meta(trace, "content");
    content->whole = content->whole || (mode && strcmp(mode, "whole") == 0);
    content->sampled = content->sampled || (mode && strcmp(mode, "sampled") == 0);
    content->hashes += contents->hashes;
    content->by_sample += contents->sampled;
    content->ns += contents->hash_ns;
    content->not_compared += contents->not_compared;
    content->skipped = xfa_add(content->skipped, content_skipped(trace));
    bool on = mode && strcmp(mode, "off") != 0;
    content->skipped_unknown =
        content->skipped_unknown || (on && !xfa_trace_meta(trace, "content.ns"));
    if (!content->why)
        content->why = meta_clean(trace, "content.why");
}

static void take_totals(struct xfa_run *run, const struct xfa_totals *totals)
{
    for (size_t i = 0; i < XFA_EVENT_KINDS; i++)
        run->kinds[i] += totals->kinds[i];
    run->failed += totals->failed;
    run->captured += totals->captured;
    run->empty += totals->empty;
    run->device_only += totals->device_only;
    run->device_only_bytes = xfa_add(run->device_only_bytes, totals->device_only_bytes);
}

/* ---- rows ----------------------------------------------------------------------------- */

struct site_of_stack {
    uint32_t stack; /* key */
    const struct xfa_site *site;
    const char *runtime_function; /* of this very stack: others have the site as well */
};

/* The site of a stack, one object for all stacks and processes with the same site. */
static struct site_of_stack *look_up(struct xfa_report *report, struct xfa_table *known,
                                     const struct xfa_trace *trace, uint32_t stack)
{
    struct site_of_stack *entry = xfa_table_put(known, &stack);
    if (entry->site)
        return entry;
    struct xfa_site *site = xfa_site_new(&report->shelf, trace, stack);
    struct report_site *kept = xfa_table_put(&report->sites, &site->identity);
    entry->runtime_function = site->runtime_function;
    if (kept->site) {
        report->shelf.frames -= site->frame_count;
        xfa_site_free(site);
    } else
        kept->site = site;
    entry->site = kept->site;
    return entry;
}

static const struct xfa_site *site_of(struct xfa_report *report, struct xfa_table *known,
                                      const struct xfa_trace *trace, uint32_t stack)
{
    return look_up(report, known, trace, stack)->site;
}

const struct xfa_site *xfa_report_site(struct xfa_report *report, struct xfa_table *known,
                                       const struct xfa_trace *trace, uint32_t stack)
{
    return site_of(report, known, trace, stack);
}

static struct xfa_row *take_class(struct xfa_report *report, struct xfa_table *known,
                                  const struct xfa_trace *trace, const struct xfa_class *class)
{
    const struct xfa_call *call = xfa_trace_call(trace, class->key.call);
    const char *name = call ? call->name : "(unknown function)";
    const struct site_of_stack *stack = look_up(report, known, trace, class->key.stack);
    const struct xfa_site *site = stack->site;
    bool driver = call && call->level == XFT_LEVEL_DRIVER;
    const char *runtime_function = driver ? stack->runtime_function : NULL;
    struct xfa_row_key key;
    memset(&key, 0, sizeof key);
    key.site = report->rows.count < XFA_MAX_ROWS_KEPT ? site->identity : 0;
    key.call = XXH3_64bits(name, strlen(name));
    if (runtime_function)
        key.call = XXH3_64bits_withSeed(runtime_function, strlen(runtime_function), key.call);
    key.direction = class->key.direction;
    key.src_mem = class->key.src_mem;
    key.dst_mem = class->key.dst_mem;
    key.async = class->key.async;
    key.src_device = class->key.src_device;
    key.dst_device = class->key.dst_device;
    struct xfa_row *row = xfa_table_put(&report->rows, &key);
    if (!row->site) {
        row->site = key.site == site->identity ? site : site_of(report, known, trace, 0);
        row->call = xfa_text(name);
        row->level = xft_level_word(call ? call->level : 0);
        row->runtime_function = runtime_function;
    }
    xfa_figures_merge(&row->figures, &class->figures);
    return row;
}

static void take_earlier(struct xfa_report *report, struct xfa_table *known,
                         const struct xfa_trace *trace, const struct xfa_totals *totals,
                         const struct xfa_class *class, struct xfa_row *row)
{
    for (size_t i = 0; i < XFA_SAMES; i++) {
        if (class->earlier[i] == 0 || row->earlier[i])
            continue;
        const struct xfa_class *first = xfa_table_at(&totals->classes, class->earlier[i] - 1);
        row->earlier[i] = site_of(report, known, trace, first->key.stack);
    }
}

static void take_match(struct xfa_report *report, struct xfa_yardstick *yardstick)
{
    if (yardstick->match == XFA_MATCH_NO || report->match == XFA_MATCH_UNKNOWN)
        report->match = yardstick->match;
    if (!report->mismatch && yardstick->mismatch) {
        report->mismatch = yardstick->mismatch;
        yardstick->mismatch = NULL;
    }
}

void xfa_report_add(struct xfa_report *report, struct xfa_trace *trace)
{
    struct xfa_yardstick yardstick;
    struct xfa_totals totals;
    struct xfa_table known;
    xfa_yardstick_init(&yardstick, report->profile, trace);
    xfa_aggregate(&totals, trace, &yardstick);
    take_process(report, trace, &totals);
    take_totals(&report->run, &totals);
    take_content(&report->run, trace, &totals.contents);
    xfa_report_phases_add(&report->phases, trace, &totals.phases);
    take_match(report, &yardstick);
    const char *simulated = xfa_trace_meta(trace, "gpu.simulated");
    report->run.simulated = report->run.simulated || (simulated && strcmp(simulated, "1") == 0);
    xfa_table_init(&known, sizeof(uint32_t), sizeof(struct site_of_stack));
    for (size_t i = 0; i < totals.classes.count; i++) {
        const struct xfa_class *class = xfa_table_at(&totals.classes, i);
        take_earlier(report, &known, trace, &totals, class,
                     take_class(report, &known, trace, class));
    }
    xfa_report_managed_add(report, &known, trace, &totals);
    xfa_table_free(&known);
    xfa_totals_free(&totals);
    xfa_yardstick_free(&yardstick);
}

void xfa_report_unreadable(struct xfa_report *report, const char *line)
{
    struct xfa_run *run = &report->run;
    run->unreadable = xfa_room(run->unreadable, &run->unreadable_capacity,
                               run->unreadable_count + 1, sizeof *run->unreadable);
    run->unreadable[run->unreadable_count++] = xfa_kept(line, strlen(line));
}

/* ---- order ---------------------------------------------------------------------------- */

static int descending(double a, double b)
{
    a = isnan(a) ? -1 : a;
    b = isnan(b) ? -1 : b;
    return (a < b) - (a > b);
}

static int settle(const struct xfa_row *a, const struct xfa_row *b)
{
    int order = descending((double)a->figures.bytes, (double)b->figures.bytes);
    order = order ? order : strcmp(a->site->text, b->site->text);
    order = order ? order : strcmp(a->call, b->call);
    return order ? order : memcmp(&a->key, &b->key, sizeof a->key);
}

static int by_lost(const void *a, const void *b)
{
    const struct xfa_row *x = *(struct xfa_row *const *)a, *y = *(struct xfa_row *const *)b;
    int order = descending(xfa_lost_ns(&x->figures), xfa_lost_ns(&y->figures));
    return order ? order : settle(x, y);
}

static int by_bytes(const void *a, const void *b)
{
    return settle(*(struct xfa_row *const *)a, *(struct xfa_row *const *)b);
}

static int by_count(const void *a, const void *b)
{
    const struct xfa_row *x = *(struct xfa_row *const *)a, *y = *(struct xfa_row *const *)b;
    int order = descending((double)x->figures.transfers, (double)y->figures.transfers);
    return order ? order : settle(x, y);
}

void xfa_report_finish(struct xfa_report *report, enum xfa_sort sort)
{
    static int (*const orders[])(const void *, const void *) = {
        [XFA_SORT_LOST] = by_lost, [XFA_SORT_BYTES] = by_bytes, [XFA_SORT_COUNT] = by_count};
    report->order = xfa_alloc((report->rows.count + 1) * sizeof *report->order);
    for (size_t i = 0; i < report->rows.count; i++)
        report->order[i] = xfa_table_at(&report->rows, i);
    if (report->rows.count)
        qsort(report->order, report->rows.count, sizeof *report->order, orders[sort]);
    xfa_report_phases_finish(&report->phases);
    xfa_report_managed_finish(&report->managed);
    xfa_findings(report);
}

/* ---- questions ------------------------------------------------------------------------ */

const char *xfa_row_function(const struct xfa_row *row)
{
    return row->runtime_function ? row->runtime_function : row->call;
}

struct xfa_sum xfa_report_level(const struct xfa_report *report, const char *level)
{
    struct xfa_sum sum = {0};
    for (size_t i = 0; i < report->rows.count; i++) {
        const struct xfa_row *row = report->order[i];
        if (strcmp(row->level, level) != 0)
            continue;
        sum.transfers += row->figures.transfers;
        sum.bytes = xfa_add(sum.bytes, row->figures.bytes);
    }
    return sum;
}

double xfa_report_wall_ns(const struct xfa_report *report)
{
    uint64_t first = 0, last = 0;
    for (size_t i = 0; i < report->run.process_count; i++) {
        const struct xfa_process *process = &report->run.processes[i];
        if (process->start_real_ns && (first == 0 || process->start_real_ns < first))
            first = process->start_real_ns;
        if (process->end_real_ns > last)
            last = process->end_real_ns;
    }
    return first && last > first ? (double)(last - first) : 0;
}

bool xfa_report_simulated(const struct xfa_report *report)
{
    return report->run.simulated || (report->profile && report->profile->machine.simulated);
}

bool xfa_report_lossy(const struct xfa_report *report)
{
    bool lossy = report->run.unreadable_count > 0 || report->profile_problem;
    for (size_t i = 0; i < report->run.process_count; i++)
        lossy = lossy || report->run.processes[i].losses;
    return lossy;
}

static void free_run(struct xfa_run *run)
{
    forget_program(run);
    for (size_t i = 0; i < run->process_count; i++) {
        free(run->processes[i].file);
        free(run->processes[i].exe);
        free(run->processes[i].exit);
        free(run->processes[i].timing);
        free(run->processes[i].timing_why);
        free(run->processes[i].losses);
    }
    for (size_t i = 0; i < run->unreadable_count; i++)
        free(run->unreadable[i]);
    free(run->processes);
    free(run->unreadable);
    free(run->content.why);
    free(run->path);
}

void xfa_report_free(struct xfa_report *report)
{
    if (!report)
        return;
    free_run(&report->run);
    for (size_t i = 0; i < report->rows.count; i++)
        free(((struct xfa_row *)xfa_table_at(&report->rows, i))->call);
    for (size_t i = 0; i < report->sites.count; i++)
        xfa_site_free(((struct report_site *)xfa_table_at(&report->sites, i))->site);
    for (size_t i = 0; i < report->finding_count; i++)
        xfa_finding_free(&report->findings[i]);
    xfa_report_phases_free(&report->phases);
    xfa_report_managed_free(&report->managed);
    xfa_shelf_free(&report->shelf);
    xfa_table_free(&report->rows);
    xfa_table_free(&report->sites);
    free(report->findings);
    free(report->order);
    free(report->mismatch);
    free(report->profile_path);
    free(report->profile_problem);
    free(report);
}
