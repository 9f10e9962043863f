/* The report's key `transfers`. */
#include <stdlib.h>

#include "analyzer/report/json/json.h"

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
    uint64_t known = figures->device.transfers + figures->host.transfers;
    double ns = figures->device.ns + figures->host.ns;
    json_object_set_new(json, "device", xfa_json_count(figures->device.transfers));
    json_object_set_new(json, "host", xfa_json_count(figures->host.transfers));
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

static json_t *row_json(const struct xfa_analysis *analysis, const struct xfa_view *view,
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
        json_array_append_new(json, row_json(analysis, view, rows[i]));
    free(rows);
    return json;
}
