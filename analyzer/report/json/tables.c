/* The report's keys `transfers`, `phases`, `managed`, `waits` and `ranks`. */
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/json/json.h"

/* ---- transfers ------------------------------------------------------------------------------- */

static json_t *sizes_json(const struct xfa_figures *figures)
{
    json_t *json = json_object(), *classes = json_array();
    for (size_t i = 0; i < XFA_SIZE_CLASSES; i++)
        if (figures->sizes[i])
            json_array_append_new(classes,
                                  json_pack("{s:o,s:o}", "from_bytes",
                                            xfa_json_count(i ? (uint64_t)1 << (i - 1) : 0),
                                            "transfers", xfa_json_count(figures->sizes[i])));
    json_object_set_new(json, "least", xfa_json_count(figures->smallest));
    json_object_set_new(json, "most", xfa_json_count(figures->largest));
    json_object_set_new(json, "typical", xfa_json_count(xfa_typical_size(figures)));
    json_object_set_new(json, "classes", classes);
    return json;
}

static const char *row_note(const struct xfa_figures *figures)
{
    if (figures->host.transfers)
        return "host time of a blocking call includes waiting for earlier work: achieved bandwidth "
               "is a lower bound, lost time an upper bound";
    if (figures->device.transfers == 0)
        return "the time of these transfers was not recorded";
    return NULL;
}

static json_t *time_json(const struct xfa_sum *sum)
{
    return sum->transfers ? xfa_json_seconds(sum->ns) : json_null();
}

static json_t *timed_json(const struct xfa_figures *figures)
{
    json_t *json = json_object();
    const struct xfa_sum *sampled = &figures->sampled;
    uint64_t known = figures->device.transfers + figures->host.transfers + sampled->transfers;
    double ns = figures->device.ns + figures->host.ns + sampled->ns;
    json_object_set_new(json, "device", xfa_json_count(figures->device.transfers));
    json_object_set_new(json, "host", xfa_json_count(figures->host.transfers));
    if (sampled->transfers) {
        json_object_set_new(json, "sampled", xfa_json_count(sampled->transfers));
        json_object_set_new(json, "sampled_error",
                            xfa_json_number(figures->sampled_error_ns / sampled->ns));
    }
    json_object_set_new(json, "unknown", xfa_json_count(figures->transfers - known));
    json_object_set_new(json, "achieved_s", known ? xfa_json_seconds(ns) : json_null());
    json_object_set_new(json, "achievable_s", time_json(&figures->achievable));
    json_object_set_new(json, "blocked_s", time_json(&figures->blocked));
    return json;
}

void xfa_set_row_json(json_t *json, const struct xfa_row *row, bool with_stack)
{
    const struct xfa_row_key *key = &row->key;
    const struct xfa_function *runtime = row->runtime_function;
    json_object_set_new(json, "site", xfa_site_json(row->site, with_stack));
    json_object_set_new(json, "function", xfa_json_text(row->function->name));
    json_object_set_new(json, "runtime_function", xfa_json_text(runtime ? runtime->name : NULL));
    json_object_set_new(json, "level", xfa_json_text(xft_level_word(row->function->level)));
    json_object_set_new(json, "direction", xfa_json_text(xft_direction_word(key->direction)));
    json_object_set_new(json, "src_memory", xfa_json_text(xft_memory_word(key->src_mem)));
    json_object_set_new(json, "dst_memory", xfa_json_text(xft_memory_word(key->dst_mem)));
    json_object_set_new(json, "src_device", xfa_json_gpu(key->src_gpu));
    json_object_set_new(json, "dst_device", xfa_json_gpu(key->dst_gpu));
    json_object_set_new(json, "async", json_boolean(key->async));
}

static json_t *row_figures_json(const struct xfa_analysis *analysis, const struct xfa_view *view,
                                uint32_t number)
{
    const struct xfa_figures *figures = xfa_view_figures(analysis, view, number);
    struct xfa_bases bases = {xfa_achieved_basis(figures), xfa_achievable_basis(figures),
                              xfa_achievable_error(figures), row_note(figures)};
    json_t *json = json_object();
    xfa_set_row_json(json, xfa_analysis_row(analysis, number), true);
    json_object_set_new(json, "transfers", xfa_json_count(figures->transfers));
    json_object_set_new(json, "copies", xfa_json_count(figures->copies));
    json_object_set_new(json, "strided", xfa_json_count(figures->strided));
    json_object_set_new(json, "bytes", xfa_json_count(figures->bytes));
    json_object_set_new(json, "sizes", sizes_json(figures));
    json_object_set_new(json, "timed", timed_json(figures));
    json_object_set_new(json, "achieved_gbps", xfa_json_number(xfa_achieved_gbps(figures)));
    json_object_set_new(json, "achievable_gbps", xfa_json_number(xfa_achievable_gbps(figures)));
    json_object_set_new(json, "lost_s", xfa_json_seconds(xfa_lost_ns(figures)));
    json_object_set_new(json, "basis", xfa_bases_json(analysis, &bases));
    return json;
}

json_t *xfa_transfers_json(const struct xfa_analysis *analysis, const struct xfa_view *view)
{
    size_t count;
    uint32_t *rows = xfa_view_rows(analysis, view, &count);
    size_t shown = xfa_view_shown(view, count);
    json_t *json = json_array();
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(json, row_figures_json(analysis, view, rows[i]));
    free(rows);
    return json;
}

void xfa_write_transfers_json(const struct xfa_analysis *analysis, const struct xfa_view *view,
                              FILE *out, size_t flags, size_t deeper)
{
    size_t count;
    uint32_t *rows = xfa_view_rows(analysis, view, &count);
    size_t shown = xfa_view_shown(view, count);
    const int in = (int)deeper;
    fputc('[', out);
    for (size_t i = 0; i < shown && !ferror(out); i++) {
        json_t *row = row_figures_json(analysis, view, rows[i]);
        fprintf(out, "%s\n%*s", i > 0 ? "," : "", in + 2, "");
        xfa_json_write_in(row, out, flags, deeper + 2);
        json_decref(row);
    }
    if (shown > 0)
        fprintf(out, "\n%*s", in, "");
    fputc(']', out);
    free(rows);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static json_t *seconds_json(double ns, bool known)
{
    return known ? xfa_json_seconds(ns) : json_null();
}

static json_t *path_json(const struct xfa_phases *phases, const struct xfa_phase *phase)
{
    const struct xfa_phase *path[XFA_MAX_NESTING];
    size_t depth = xfa_phase_path(phases, phase, path);
    json_t *json = json_array();
    for (size_t i = 0; i < depth; i++)
        json_array_append_new(json, json_pack("{s:o,s:o}", "domain", xfa_json_text(path[i]->domain),
                                              "name", xfa_json_text(path[i]->name)));
    return json;
}

static json_t *phase_json(const struct xfa_phases *phases, const struct xfa_phase *phase)
{
    const struct xfa_phase_figures *figures = &phase->figures;
    bool outside = phase == xfa_table_at(&phases->all, 0);
    json_t *json = json_object();
    json_object_set_new(json, "path", path_json(phases, phase));
    json_object_set_new(json, "of", json_string(phase->process ? "process" : "thread"));
    json_object_set_new(json, "times", xfa_json_count(figures->times));
    json_object_set_new(json, "time_s", seconds_json(figures->ns, !outside));
    json_object_set_new(json, "transfers", xfa_json_count(figures->transfers));
    json_object_set_new(json, "directions", xfa_directions_json(figures->by_direction));
    json_object_set_new(json, "timed", xfa_json_count(figures->timed));
    json_object_set_new(json, "transfer_s", seconds_json(figures->transfer_ns, figures->timed));
    json_object_set_new(json, "priced", xfa_json_count(figures->priced));
    json_object_set_new(json, "lost_s", seconds_json(figures->lost_ns, figures->priced));
    return json;
}

json_t *xfa_phases_json(const struct xfa_analysis *analysis)
{
    const struct xfa_phases *phases = &analysis->phases;
    const struct xfa_phase **order = xfa_phases_order(phases);
    json_t *json = json_object(), *rows = json_array();
    for (size_t i = 0; i < phases->all.count; i++)
        json_array_append_new(rows, phase_json(phases, order[i]));
    free(order);
    json_object_set_new(json, "ranges", rows);
    const struct xfa_range_counts *counts = &analysis->counts.ranges;
    json_object_set_new(json, "ends_without_begin", xfa_json_count(counts->stray_ends));
    json_object_set_new(json, "begins_without_end", xfa_json_count(counts->unended));
    json_object_set_new(json, "beyond_limits",
                        xfa_json_count(xfa_add(phases->beyond, counts->beyond)));
    return json;
}

/* ---- managed memory -------------------------------------------------------------------------- */

/* The sums of managed memory, sorted. */
struct managed {
    const struct xfa_managed *sums;
    const struct xfa_run *run;
    const struct xfa_managed_kernel **kernels;
    const struct xfa_managed_line **lines;
};

static json_t *moved_json(const struct xfa_managed_figures *f)
{
    json_t *json = json_object();
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++)
        if (f->bytes[d])
            json_object_set_new(json, xft_direction_word(d), xfa_json_count(f->bytes[d]));
    return json;
}

static json_t *causes_json(const struct xfa_managed_figures *f)
{
    static const char *const words[XFA_MIGRATION_CAUSES] = {
#define WORD(symbol, number, word, phrase) [symbol] = word,
        XFT_CAUSE_LIST(WORD)
#undef WORD
    };
    json_t *json = json_object();
    for (size_t i = 0; i < XFA_MIGRATION_CAUSES; i++)
        if (f->by_cause[i])
            json_object_set_new(json, words[i], xfa_json_count(f->by_cause[i]));
    return json;
}

static json_t *kernels_json(const struct managed *m, uint32_t site)
{
    json_t *json = json_array();
    for (size_t i = 0; i < m->sums->kernels.count; i++) {
        const struct xfa_managed_kernel *kernel = m->kernels[i];
        if (kernel->key.site == site)
            json_array_append_new(json, json_pack("{s:o,s:o,s:o,s:o}", "name",
                                                  xfa_json_text(kernel->name), "fault_groups",
                                                  xfa_json_count(kernel->groups), "faults",
                                                  xfa_json_count(kernel->faults), "time_s",
                                                  xfa_json_seconds(kernel->ns)));
    }
    return json;
}

/* A call of the host before or after a fault; function is a number + 1, 0 = there was none. */
static json_t *call_json(const struct xfa_run *run, uint32_t site, uint32_t function)
{
    if (!function)
        return json_null();
    return json_pack("{s:o,s:o}", "function",
                     xfa_json_text(xfa_run_function(run, function - 1)->name), "site",
                     xfa_site_json(xfa_run_site(run, site), false));
}

static json_t *line_json(const struct xfa_run *run, const struct xfa_managed_line *line)
{
    const struct xfa_managed_line_key *key = &line->key;
    const struct xfa_site *at = xfa_run_site(run, key->line);
    json_t *json = json_object();
    json_object_set_new(json, "at", at->chosen >= 0 ? xfa_site_json(at, false) : json_null());
    json_object_set_new(json, "after", call_json(run, key->before, key->before_function));
    json_object_set_new(json, "before", call_json(run, key->after, key->after_function));
    json_object_set_new(json, "thread", key->tid ? json_integer(key->tid) : json_null());
    json_object_set_new(json, "faults", xfa_json_count(line->faults));
    return json;
}

static json_t *lines_json(const struct managed *m, uint32_t site)
{
    json_t *json = json_array();
    for (size_t i = 0; i < m->sums->lines.count; i++)
        if (m->lines[i]->key.site == site)
            json_array_append_new(json, line_json(m->run, m->lines[i]));
    return json;
}

static json_t *managed_site_json(const struct managed *m, const struct xfa_managed_site *site)
{
    const struct xfa_managed_figures *f = &site->figures;
    json_t *json = json_object();
    json_object_set_new(json, "site",
                        f->allocations ? xfa_site_json(xfa_run_site(m->run, site->site), true)
                                       : json_null());
    json_object_set_new(json, "allocations", xfa_json_count(f->allocations));
    json_object_set_new(json, "allocated_bytes", xfa_json_count(f->allocated));
    json_object_set_new(json, "migrations", xfa_json_count(f->migrations));
    json_object_set_new(json, "moved_bytes", moved_json(f));
    json_object_set_new(json, "moved_why_bytes", causes_json(f));
    json_object_set_new(json, "migration_s", xfa_json_seconds(f->migration_ns));
    json_object_set_new(json, "host_faults", xfa_json_count(f->host_faults));
    json_object_set_new(json, "device_faults", xfa_json_count(f->faults));
    json_object_set_new(json, "device_fault_groups", xfa_json_count(f->fault_groups));
    json_object_set_new(json, "device_fault_s", xfa_json_seconds(f->fault_ns));
    json_object_set_new(json, "kernels", kernels_json(m, site->site));
    json_object_set_new(json, "lines", lines_json(m, site->site));
    return json;
}

static json_t *managed_sites_json(const struct xfa_analysis *analysis)
{
    const struct xfa_managed *sums = &analysis->managed;
    struct managed m = {sums, analysis->run, xfa_managed_kernels(sums), xfa_managed_lines(sums)};
    const struct xfa_managed_site **sites = xfa_managed_sites(sums);
    json_t *json = json_array();
    for (size_t i = 0; i < sums->sites.count; i++)
        json_array_append_new(json, managed_site_json(&m, sites[i]));
    free(sites);
    free(m.kernels);
    free(m.lines);
    return json;
}

json_t *xfa_managed_json(const struct xfa_analysis *analysis)
{
    const struct xfa_managed *m = &analysis->managed;
    const char *recorded = m->on && m->off ? "partly" : m->on ? "yes" : "no";
    json_t *json = json_object();
    json_object_set_new(json, "recorded", json_string(recorded));
    json_object_set_new(json, "why_not", xfa_json_text(m->why));
    json_object_set_new(json, "sites", managed_sites_json(analysis));
    json_object_set_new(json, "beyond_limits", xfa_json_count(m->beyond));
    return json;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static json_t *wait_json(const struct xfa_run *run, const struct xfa_wait *wait)
{
    const struct xfa_function *function = xfa_run_function(run, wait->key.function);
    json_t *json = json_object();
    json_object_set_new(json, "site", xfa_site_json(xfa_run_site(run, wait->key.site), false));
    json_object_set_new(json, "function", xfa_json_text(function->name));
    json_object_set_new(json, "times", xfa_json_count(wait->times));
    json_object_set_new(json, "time_s", xfa_json_seconds(wait->ns));
    json_object_set_new(json, "longest_s", xfa_json_seconds(wait->most_ns));
    return json;
}

json_t *xfa_waits_json(const struct xfa_analysis *analysis)
{
    const struct xfa_wait **order = xfa_waits_order(&analysis->waits);
    json_t *json = json_array();
    for (size_t i = 0; i < analysis->waits.all.count; i++)
        json_array_append_new(json, wait_json(analysis->run, order[i]));
    free(order);
    return json;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static const char *const measure_words[XFA_RANK_MEASURES] = {
    [XFA_RANK_BYTES] = "bytes",
    [XFA_RANK_GBPS] = "achieved_gbps",
    [XFA_RANK_FAR] = "far",
};

static json_t *outliers_json(const struct xfa_outlier *outliers, size_t count, size_t rank)
{
    json_t *json = json_array();
    for (size_t i = 0; i < count; i++)
        if (outliers[i].rank == rank)
            json_array_append_new(json, json_string(measure_words[outliers[i].measure]));
    return json;
}

static json_t *rank_json(const struct xfa_run *run, const struct xfa_rank_sum *sum)
{
    const struct xfa_process *process = sum->process;
    const struct xfa_rank *rank = &process->rank;
    json_t *json = json_object();
    json_object_set_new(json, "rank", rank->known ? json_integer(rank->number) : json_null());
    json_object_set_new(json, "size", rank->size ? json_integer(rank->size) : json_null());
    json_object_set_new(json, "launcher", xfa_json_text(rank->launcher));
    json_object_set_new(json, "world", xfa_json_text(rank->world));
    json_object_set_new(json, "host", xfa_json_text(run->hosts[process->host].name));
    json_object_set_new(json, "file", xfa_json_text(process->file));
    json_object_set_new(json, "processes", xfa_json_count(sum->processes));
    json_object_set_new(json, "transfers", xfa_json_count(sum->transfers));
    json_object_set_new(json, "bytes", xfa_json_count(sum->bytes));
    json_object_set_new(json, "directions", xfa_directions_json(sum->by_direction));
    json_object_set_new(json, "achieved_gbps",
                        xfa_json_number(xfa_rank_figure(sum, XFA_RANK_GBPS)));
    json_object_set_new(json, "far", xfa_json_number(xfa_rank_figure(sum, XFA_RANK_FAR)));
    return json;
}

json_t *xfa_ranks_json(const struct xfa_analysis *analysis)
{
    const struct xfa_ranks *ranks = &analysis->ranks;
    json_t *json = json_object(), *all = json_array(), *medians = json_object();
    size_t count;
    struct xfa_outlier *outliers = xfa_ranks_outliers(ranks, &count);
    for (int measure = 0; measure < XFA_RANK_MEASURES; measure++)
        json_object_set_new(
            medians, measure_words[measure],
            xfa_json_number(xfa_ranks_median(ranks, (enum xfa_rank_measure)measure)));
    for (size_t i = 0; i < ranks->all.count; i++) {
        json_t *one = rank_json(analysis->run, xfa_table_at(&ranks->all, i));
        json_object_set_new(one, "stands_out", outliers_json(outliers, count, i));
        json_array_append_new(all, one);
    }
    json_object_set_new(json, "medians", medians);
    json_object_set_new(json, "all", all);
    free(outliers);
    return json;
}
