/* The report's key `findings`. */
#include "analyzer/report/json/json.h"
#include "analyzer/report/savings.h"

static json_t *site_json(const struct xfa_finding *finding, const struct xfa_finding_site *site)
{
    const struct xfa_row *row = site->row;
    const struct xfa_function *runtime = row ? row->runtime_function : NULL;
    const struct xfa_function *called = row ? row->function : site->function;
    const char *direction = row ? xft_direction_word(row->key.direction) : NULL;
    json_t *json = xfa_site_json(site->site, false);
    json_object_set_new(json, "called", xfa_json_text(called ? called->name : NULL));
    json_object_set_new(json, "runtime_function", xfa_json_text(runtime ? runtime->name : NULL));
    json_object_set_new(json, "direction", xfa_json_text(direction));
    json_object_set_new(json, "src_device", xfa_json_gpu(row ? row->key.src_gpu : -1));
    json_object_set_new(json, "dst_device", xfa_json_gpu(row ? row->key.dst_gpu : -1));
    json_object_set_new(json, "transfers", xfa_json_count(site->transfers));
    json_object_set_new(json, "bytes", xfa_json_count(site->bytes));
    json_object_set_new(json, "lost_s", xfa_json_seconds(site->lost_ns));
    json_object_set_new(json, "earlier", xfa_json_text(site->earlier ? site->earlier->text : NULL));
    json_object_set_new(json, "in_set",
                        finding->order ? xfa_json_count(site->transfers - site->left)
                                       : json_null());
    return json;
}

/* What the remedy names besides its word. */
static json_t *parameters_json(const struct xfa_remedy *remedy)
{
    json_t *json = json_object();
    if (remedy->node >= 0)
        json_object_set_new(json, "node", json_integer(remedy->node));
    if (remedy->threads > 0)
        json_object_set_new(json, "threads", json_integer(remedy->threads));
    if (remedy->streams > 0)
        json_object_set_new(json, "streams", json_integer(remedy->streams));
    if (remedy->buffers > 0) {
        json_object_set_new(json, "buffers", json_integer(remedy->buffers));
        json_object_set_new(json, "buffer_kib", json_integer(remedy->buffer_kib));
    }
    return json;
}

static json_t *finding_json(const struct xfa_report *report, const struct xfa_finding *finding)
{
    const struct xfa_analysis *analysis = report->analysis;
    struct xfa_bases bases = {finding->achieved_basis, finding->achievable_basis, finding->error,
                              xfa_reckoning_text(finding->reckoning, finding->probably)};
    double bytes = (double)finding->bytes;
    char fix[XFA_REMEDY_CHARS];
    json_t *json = json_object(), *sites = json_array();
    for (size_t i = 0; i < finding->site_count; i++)
        json_array_append_new(sites, site_json(finding, &finding->sites[i]));
    json_object_set_new(json, "kind", xfa_json_text(xfa_finding_word(finding->id)));
    json_object_set_new(json, "sites", sites);
    json_object_set_new(json, "transfers", xfa_json_count(finding->transfers));
    json_object_set_new(json, "bytes", xfa_json_count(finding->bytes));
    json_object_set_new(json, "achieved_gbps", xfa_json_number(bytes / finding->achieved_ns));
    json_object_set_new(json, "achievable_gbps", xfa_json_number(bytes / finding->achievable_ns));
    json_object_set_new(json, "lost_s", xfa_json_seconds(finding->lost_ns));
    json_object_set_new(
        json, "run_saving_s",
        xfa_json_seconds(xfa_saving_shown(report->findings, &finding->saving).likely));
    json_object_set_new(json, "saving_s", xfa_saving_json(report->findings, finding));
    json_object_set_new(json, "remedy", json_string(xfa_remedy_word(finding->remedy.kind)));
    json_object_set_new(json, "parameters", parameters_json(&finding->remedy));
    json_object_set_new(json, "fix", xfa_json_text(xfa_remedy_text(&finding->remedy, fix)));
    json_object_set_new(json, "basis", xfa_bases_json(analysis, &bases));
    return json;
}

json_t *xfa_filter_json(const struct xfa_report *report, const struct xfa_view *view)
{
    const struct xfa_filter *filter = view->filter;
    json_t *json = json_object();
    json_object_set_new(json, "site", xfa_json_text(filter->site));
    json_object_set_new(json, "kind", xfa_json_text(filter->kind));
    json_object_set_new(json, "ranks", xfa_json_text(filter->ranks));
    json_object_set_new(json, "phase", xfa_json_text(filter->phase));
    json_object_set_new(json, "transfers", xfa_json_count(filter->rows_shown));
    json_object_set_new(json, "of_transfers", xfa_json_count(report->analysis->row_count));
    json_object_set_new(json, "findings", xfa_json_count(filter->findings_shown));
    json_object_set_new(json, "of_findings", xfa_json_count(xfa_findings_count(report->findings)));
    json_object_set_new(json, "nothing", xfa_json_text(filter->nothing));
    return json;
}

json_t *xfa_findings_json(const struct xfa_report *report, const struct xfa_view *view)
{
    json_t *json = json_array();
    for (size_t i = 0; i < report->findings->count; i++)
        if (xfa_view_finding(view, i))
            json_array_append_new(json, finding_json(report, &report->findings->items[i]));
    return json;
}
