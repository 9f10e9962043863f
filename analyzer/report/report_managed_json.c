/* The report's key `managed`. */
#include <math.h>

#include "analyzer/base/json_text.h"
#include "analyzer/report/report.h"
#include "analyzer/report/report_json.h"

static json_t *count(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *seconds(double ns)
{
    return isfinite(ns) ? json_real(ns / 1e9) : json_null();
}

static json_t *directions_json(const struct xfa_managed_figures *f)
{
    json_t *json = json_object();
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++)
        if (f->bytes[d])
            json_object_set_new(json, xft_direction_word(d), count(f->bytes[d]));
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
            json_object_set_new(json, words[i], count(f->by_cause[i]));
    return json;
}

static json_t *kernels_json(const struct xfa_report_managed *m, const struct xfa_managed_row *row)
{
    json_t *json = json_array();
    for (size_t i = 0; i < m->kernels.count; i++) {
        const struct xfa_managed_fault_kernel *kernel = m->kernel_order[i];
        if (kernel->key.site == row->identity)
            json_array_append_new(
                json, json_pack("{s:o,s:o,s:o,s:o}", "name", xfa_json_text(kernel->name),
                                "fault_groups", count(kernel->groups), "faults",
                                count(kernel->faults), "time_s", seconds(kernel->ns)));
    }
    return json;
}

static json_t *call_json(const struct xfa_managed_call *call)
{
    if (!call->function)
        return json_null();
    return json_pack("{s:o,s:o}", "function", xfa_json_text(call->function), "site",
                     xfa_site_json(call->site, false));
}

static json_t *lines_json(const struct xfa_report_managed *m, const struct xfa_managed_row *row)
{
    json_t *json = json_array();
    for (size_t i = 0; i < m->lines.count; i++) {
        const struct xfa_managed_fault_line *line = m->line_order[i];
        if (line->key.site != row->identity)
            continue;
        json_t *place = line->line->chosen >= 0 ? xfa_site_json(line->line, false) : json_null();
        json_t *thread = line->key.tid ? count(line->key.tid) : json_null();
        json_array_append_new(json,
                              json_pack("{s:o,s:o,s:o,s:o,s:o}", "at", place, "after",
                                        call_json(&line->before), "before", call_json(&line->after),
                                        "thread", thread, "faults", count(line->faults)));
    }
    return json;
}

static json_t *row_json(const struct xfa_report_managed *m, const struct xfa_managed_row *row)
{
    const struct xfa_managed_figures *f = &row->figures;
    json_t *json = json_object();
    json_object_set_new(json, "site",
                        f->allocations ? xfa_site_json(row->site, true) : json_null());
    json_object_set_new(json, "allocations", count(f->allocations));
    json_object_set_new(json, "allocated_bytes", count(f->allocated));
    json_object_set_new(json, "migrations", count(f->migrations));
    json_object_set_new(json, "moved_bytes", directions_json(f));
    json_object_set_new(json, "moved_why_bytes", causes_json(f));
    json_object_set_new(json, "migration_s", seconds(f->migration_ns));
    json_object_set_new(json, "host_faults", count(f->host_faults));
    json_object_set_new(json, "device_faults", count(f->faults));
    json_object_set_new(json, "device_fault_groups", count(f->fault_groups));
    json_object_set_new(json, "device_fault_s", seconds(f->fault_ns));
    json_object_set_new(json, "kernels", kernels_json(m, row));
    json_object_set_new(json, "lines", lines_json(m, row));
    return json;
}

json_t *xfa_managed_json(const struct xfa_report *report)
{
    const struct xfa_report_managed *m = &report->managed;
    const char *recorded = m->on && m->off ? "partly" : m->on ? "yes" : "no";
    json_t *json = json_object(), *rows = json_array();
    for (size_t i = 0; i < m->rows.count; i++)
        json_array_append_new(rows, row_json(m, m->order[i]));
    json_object_set_new(json, "recorded", json_string(recorded));
    json_object_set_new(json, "why_not", xfa_json_text(m->why));
    json_object_set_new(json, "sites", rows);
    json_object_set_new(json, "beyond_limits", count(m->beyond));
    return json;
}
