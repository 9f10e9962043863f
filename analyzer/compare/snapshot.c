#include "analyzer/compare/snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"

static char *kept(const char *text)
{
    return text ? xfa_text(text) : NULL;
}

struct xfa_sample xfa_sample_between(double value, double low, double high, double off)
{
    double part = sqrt(1 + off);
    return (struct xfa_sample){value, low / part, high * part};
}

/* ---- places and rows ------------------------------------------------------------------------- */

static struct xfa_call_place place_of(const struct xfa_site *site)
{
    static const struct xfa_frame none;
    const struct xfa_frame *frame = site && site->chosen >= 0 ? &site->frames[site->chosen] : &none;
    const char *file = frame->file ? frame->file : frame->module;
    return (struct xfa_call_place){
        .text = xfa_text(site ? site->text : "-"),
        .function = kept(frame->function),
        .file = file ? xfa_text(xfa_base_name(file)) : NULL,
        .line = frame->file ? frame->line : frame->offset,
    };
}

static bool is_locked(unsigned memory) /* true of device memory too */
{
    return memory != XFT_MEM_PAGEABLE && memory != XFT_MEM_MANAGED && memory != XFT_MEM_UNKNOWN;
}

/* Does its time depend on the host? */
static bool is_hosts(const struct xfa_row_key *key, const struct xfa_figures *figures)
{
    return figures->host.transfers > 0 || !is_locked(key->src_mem) || !is_locked(key->dst_mem);
}

static struct xfa_sample row_time(const struct xfa_row_key *key, const struct xfa_figures *figures,
                                  const struct xfa_bounds *bounds)
{
    double off = is_hosts(key, figures) ? XFA_ONE_RUN_HOST : XFA_ONE_RUN_DEVICE;
    uint64_t timed = figures->device.transfers + figures->host.transfers;
    if (timed == 0)
        return (struct xfa_sample){NAN, NAN, NAN};
    double ns = figures->device.ns + figures->host.ns;
    if (timed < figures->transfers)
        return (struct xfa_sample){ns, NAN, NAN};
    return xfa_sample_between(ns, bounds->low, bounds->high, off);
}

struct xfa_snapshot_row xfa_snapshot_row_of(const struct xfa_row *row,
                                            const struct xfa_figures *figures)
{
    return (struct xfa_snapshot_row){
        .place = place_of(row->site),
        .called = xfa_text(xfa_row_called(row)->name),
        .key = row->key,
        .transfers = figures->transfers,
        .bytes = figures->bytes,
        .timed = figures->device.transfers + figures->host.transfers,
        .time = {NAN, NAN, NAN},
        .gbps = xfa_achieved_gbps(figures),
        .lost_ns = xfa_lost_ns(figures),
    };
}

static void take_row(struct xfa_snapshot *taken, const struct xfa_analysis *analysis, size_t number,
                     const struct xfa_bounds *bounds)
{
    const struct xfa_row *row = xfa_analysis_row(analysis, number);
    const struct xfa_figures *figures = &analysis->rows[number];
    struct xfa_snapshot_row *kept_row = &taken->rows[taken->row_count++];
    *kept_row = xfa_snapshot_row_of(row, figures);
    kept_row->time = row_time(&row->key, figures, bounds);
    taken->transfers += figures->transfers;
    taken->bytes = xfa_add(taken->bytes, figures->bytes);
}

static void take_rows(struct xfa_snapshot *taken, const struct xfa_analysis *analysis,
                      const struct xfa_times *times)
{
    struct xfa_bounds *bounds = xfa_times_bounds(times, analysis->row_count);
    taken->rows = xfa_alloc((analysis->row_count + 1) * sizeof *taken->rows);
    for (size_t i = 0; i < analysis->row_count; i++)
        take_row(taken, analysis, i, &bounds[i]);
    free(bounds);
}

/* ---- measures -------------------------------------------------------------------------------- */

/* The bounds of a row without bounds are 0 and twice its time. */
static struct xfa_sample transfer_time(const struct xfa_snapshot *taken)
{
    struct xfa_sample all = {0, 0, 0};
    bool any = false;
    for (size_t i = 0; i < taken->row_count; i++) {
        const struct xfa_sample *row = &taken->rows[i].time;
        if (isnan(row->value))
            continue;
        any = true;
        all.value += row->value;
        all.low += isnan(row->low) ? 0 : row->low;
        all.high += isnan(row->high) ? 2 * row->value : row->high;
    }
    return any || taken->row_count == 0 ? all : (struct xfa_sample){NAN, NAN, NAN};
}

static double waited(const struct xfa_waits *waits)
{
    double ns = 0;
    for (size_t i = 0; i < waits->all.count; i++)
        ns += ((const struct xfa_wait *)xfa_table_at(&waits->all, i))->ns;
    return ns;
}

static void take_measures(struct xfa_snapshot *taken, const struct xfa_analysis *analysis,
                          const struct xfa_times *times)
{
    struct xfa_sample *m = taken->measures;
    double wall = xfa_run_wall_ns(analysis->run);
    m[XFA_MEASURE_SPAN] =
        xfa_sample_of(times->span_ns > 0 ? times->span_ns : NAN, XFA_ONE_RUN_HOST);
    m[XFA_MEASURE_WALL] = xfa_sample_of(wall > 0 ? wall : NAN, XFA_ONE_RUN_HOST);
    m[XFA_MEASURE_TRANSFERS] = transfer_time(taken);
    m[XFA_MEASURE_KERNELS] =
        xfa_sample_of(times->kernels ? times->kernel_ns : NAN, XFA_ONE_RUN_DEVICE);
    m[XFA_MEASURE_WAITS] = xfa_sample_of(waited(&analysis->waits), XFA_ONE_RUN_HOST);
}

/* ---- findings, and what they would save ------------------------------------------------------ */

static struct xfa_snapshot_finding finding_of(const struct xfa_finding *finding)
{
    struct xfa_snapshot_finding taken = {
        .id = finding->id,
        .remedy = xfa_text(xfa_remedy_word(finding->remedy.kind)),
        .sites = xfa_alloc((finding->site_count + 1) * sizeof *taken.sites),
        .rows = xfa_alloc((finding->site_count + 1) * sizeof *taken.rows),
        .site_count = finding->site_count,
        .saving = finding->saving,
        .added_ns = finding->added_ns,
        .order = finding->order,
        .idle = finding->idle,
    };
    for (size_t i = 0; i < finding->site_count; i++) {
        const struct xfa_finding_site *site = &finding->sites[i];
        taken.sites[i] = place_of(site->site);
        taken.rows[i] = site->row ? (int64_t)site->row->number : -1;
    }
    return taken;
}

static void take_whatif(struct xfa_snapshot *taken, const struct xfw_whatif *whatif)
{
    taken->set = (struct xfw_saving){NAN, NAN, NAN};
    if (!whatif)
        return;
    taken->savings_known = whatif->known;
    taken->why_not = kept(whatif->why);
    taken->recording_known = whatif->replayed_ns > 0;
    taken->recording_ns = fmax(0, whatif->span.replayed_ns - whatif->span.alone_ns);
    if (whatif->known) {
        taken->set = whatif->set;
        taken->span = whatif->span;
        taken->alone_ns = whatif->alone_ns;
    }
    taken->phases = xfa_alloc((whatif->range_count + 1) * sizeof *taken->phases);
    for (size_t i = 0; i < whatif->range_count; i++)
        taken->phases[taken->phase_count++] = (struct xfa_snapshot_phase){
            .name = xfa_text(whatif->ranges[i].name), .times = whatif->ranges[i].times};
}

static void take_findings(struct xfa_snapshot *taken, const struct xfa_findings *findings)
{
    taken->findings = xfa_alloc((findings->count + 1) * sizeof *taken->findings);
    for (size_t i = 0; i < findings->count; i++)
        taken->findings[taken->finding_count++] = finding_of(&findings->items[i]);
    take_whatif(taken, findings->whatif);
}

/* ---- what it was recorded with --------------------------------------------------------------- */

/* Adds a text to a list "A, B", unless it is there. NULL: the list is empty. */
static void add_text(char **list, const char *text)
{
    if (!text)
        return;
    for (const char *at = *list; at && (at = strstr(at, text)); at++)
        if ((at == *list || at[-1] == ' ') && strchr(",", at[strlen(text)]))
            return;
    *list = *list ? xfa_append(*list, ", %s", text) : xfa_text(text);
}

#define MOST_NAMED 64 /* hosts, GPUs: further ones are not compared */

static void take_machine(struct xfa_snapshot *taken, const struct xfa_analysis *analysis)
{
    const struct xfa_run *run = analysis->run;
    taken->path = kept(run->path);
    taken->program = run->program ? xfa_text(xfa_base_name(run->program)) : NULL;
    taken->driver = run->driver_version;
    taken->processes = run->process_count;
    taken->simulated = run->simulated;
    taken->lossy = analysis->lossy;
    taken->mixed = kept(analysis->mixed);
    taken->mismatch = kept(analysis->achievable.mismatch);
    for (size_t i = 0; i < run->host_count && i < MOST_NAMED; i++)
        add_text(&taken->hosts, run->hosts[i].name);
    for (size_t i = 0; i < run->gpu_count && i < MOST_NAMED; i++)
        add_text(&taken->gpus, run->gpus[i].name);
    for (size_t i = 0; i < run->process_count && i < MOST_NAMED; i++) {
        add_text(&taken->machine, run->processes[i]->machine_id);
        add_text(&taken->timing, run->processes[i]->timing);
    }
    for (size_t i = 1; i < run->argument_count && i < MOST_NAMED; i++) {
        taken->arguments = taken->arguments ? xfa_append(taken->arguments, " %s", run->arguments[i])
                                            : xfa_text(run->arguments[i]);
    }
}

static void take_applied(struct xfa_snapshot *taken, const struct xfa_run *run)
{
    size_t capacity = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct xfa_process *process = run->processes[i];
        taken->applied =
            xfa_room(taken->applied, &capacity, taken->applied_count + process->applied_count + 1,
                     sizeof *taken->applied);
        for (size_t k = 0; k < process->applied_count; k++)
            taken->applied[taken->applied_count++] = process->applied[k];
    }
}

struct xfa_snapshot *xfa_snapshot_of(const struct xfa_analysis *analysis,
                                     const struct xfa_findings *findings,
                                     const struct xfa_times *times)
{
    struct xfa_snapshot *taken = xfa_alloc(sizeof *taken);
    take_machine(taken, analysis);
    take_rows(taken, analysis, times);
    take_findings(taken, findings);
    take_measures(taken, analysis, times);
    take_applied(taken, analysis->run);
    return taken;
}

static void free_place(struct xfa_call_place *place)
{
    free(place->text);
    free(place->function);
    free(place->file);
}

static void free_finding(struct xfa_snapshot_finding *finding)
{
    for (size_t i = 0; i < finding->site_count; i++)
        free_place(&finding->sites[i]);
    free(finding->sites);
    free(finding->rows);
    free(finding->remedy);
}

void xfa_snapshot_row_free(struct xfa_snapshot_row *row)
{
    free_place(&row->place);
    free(row->called);
}

void xfa_snapshot_free(struct xfa_snapshot *taken)
{
    if (!taken)
        return;
    for (size_t i = 0; i < taken->row_count; i++)
        xfa_snapshot_row_free(&taken->rows[i]);
    for (size_t i = 0; i < taken->finding_count; i++)
        free_finding(&taken->findings[i]);
    for (size_t i = 0; i < taken->phase_count; i++)
        free(taken->phases[i].name);
    char *texts[] = {taken->path,     taken->program, taken->hosts,     taken->machine,
                     taken->gpus,     taken->timing,  taken->arguments, taken->mixed,
                     taken->mismatch, taken->why_not};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    free(taken->rows);
    free(taken->findings);
    free(taken->phases);
    free(taken->applied);
    free(taken);
}
