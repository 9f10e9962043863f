/* The report's key `phases`. */
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/json/json.h"

static json_t *seconds(double ns, bool known)
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
    json_object_set_new(json, "time_s", seconds(figures->ns, !outside));
    json_object_set_new(json, "transfers", xfa_json_count(figures->transfers));
    json_object_set_new(json, "directions", xfa_directions_json(figures->by_direction));
    json_object_set_new(json, "timed", xfa_json_count(figures->timed));
    json_object_set_new(json, "transfer_s", seconds(figures->transfer_ns, figures->timed));
    json_object_set_new(json, "priced", xfa_json_count(figures->priced));
    json_object_set_new(json, "lost_s", seconds(figures->lost_ns, figures->priced));
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
