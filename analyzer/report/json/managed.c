/* The report's key `managed`. */
#include <stdlib.h>

#include "analyzer/report/json/json.h"

/* What is written, with its parts in their order. */
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

static json_t *site_json(const struct managed *m, const struct xfa_managed_site *site)
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

static json_t *sites_json(const struct xfa_analysis *analysis)
{
    const struct xfa_managed *sums = &analysis->managed;
    struct managed m = {sums, analysis->run, xfa_managed_kernels(sums), xfa_managed_lines(sums)};
    const struct xfa_managed_site **sites = xfa_managed_sites(sums);
    json_t *json = json_array();
    for (size_t i = 0; i < sums->sites.count; i++)
        json_array_append_new(json, site_json(&m, sites[i]));
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
    json_object_set_new(json, "sites", sites_json(analysis));
    json_object_set_new(json, "beyond_limits", xfa_json_count(m->beyond));
    return json;
}
