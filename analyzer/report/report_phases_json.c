/* The report's key `phases`. */
#include "analyzer/report/report_json.h"

#include <math.h>

#include "analyzer/base/json_text.h"
#include "analyzer/report/report.h"

static json_t *count(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *seconds(double ns, uint64_t known)
{
    return known && isfinite(ns) ? json_real(ns / 1e9) : json_null();
}

static json_t *path_json(const struct xfa_report_phases *phases, const struct xfa_phase *phase)
{
    const struct xfa_phase *path[XFA_MAX_NESTING];
    size_t depth = xfa_phase_path(phases, phase, path);
    json_t *json = json_array();
    for (size_t i = 0; i < depth; i++)
        json_array_append_new(json, json_pack("{s:o,s:o}", "domain", xfa_json_text(path[i]->domain),
                                              "name", xfa_json_text(path[i]->name)));
    return json;
}

static json_t *directions_json(const struct xfa_phase_figures *figures)
{
    json_t *json = json_object();
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++) {
        const struct xfa_sum *sum = &figures->by_direction[d];
        if (sum->transfers)
            json_object_set_new(json, xft_direction_word(d),
                                json_pack("{s:o,s:o}", "transfers", count(sum->transfers), "bytes",
                                          count(sum->bytes)));
    }
    return json;
}

static json_t *phase_json(const struct xfa_report_phases *phases, const struct xfa_phase *phase)
{
    const struct xfa_phase_figures *figures = &phase->figures;
    bool outside = phase == xfa_table_at(&phases->all, 0);
    json_t *json = json_object();
    json_object_set_new(json, "path", path_json(phases, phase));
    json_object_set_new(json, "of", json_string(phase->process ? "process" : "thread"));
    json_object_set_new(json, "times", count(figures->times));
    json_object_set_new(json, "time_s", seconds(figures->ns, !outside));
    json_object_set_new(json, "transfers", count(figures->transfers));
    json_object_set_new(json, "directions", directions_json(figures));
    json_object_set_new(json, "timed", count(figures->timed));
    json_object_set_new(json, "transfer_s", seconds(figures->transfer_ns, figures->timed));
    json_object_set_new(json, "priced", count(figures->priced));
    json_object_set_new(json, "lost_s", seconds(figures->lost_ns, figures->priced));
    return json;
}

json_t *xfa_phases_json(const struct xfa_report *report)
{
    const struct xfa_report_phases *phases = &report->phases;
    json_t *json = json_object(), *rows = json_array();
    for (size_t i = 0; i < phases->all.count; i++)
        json_array_append_new(rows, phase_json(phases, phases->order[i]));
    json_object_set_new(json, "ranges", rows);
    json_object_set_new(json, "ends_without_begin", count(phases->stray_ends));
    json_object_set_new(json, "beyond_limits", count(phases->beyond));
    return json;
}
