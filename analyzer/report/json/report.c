/* The report for programs: docs/report-format.md, docs/report.schema.json. */
#include "analyzer/report/json/json.h"

#include <string.h>

#define FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(9))

/* transfers: taken over. */
static json_t *report_json(const struct xfa_report *report, const struct xfa_view *view,
                           json_t *transfers)
{
    const struct xfa_analysis *analysis = report->analysis;
    json_t *json = json_object();
    json_object_set_new(
        json, "schema",
        json_pack("{s:s,s:i}", "name", XFA_REPORT_SCHEMA, "version", XFA_REPORT_VERSION));
    json_object_set_new(json, "run", xfa_run_json(analysis));
    if (view->filter)
        json_object_set_new(json, "filter", xfa_filter_json(report, view));
    if (report->findings->answers)
        json_object_set_new(json, "assumed", xfa_answers_json(report->findings->answers));
    json_object_set_new(json, "machine", xfa_machine_json(analysis));
    if (report->replayed)
        json_object_set_new(json, "replay", xfa_replay_json(report->replayed));
    json_object_set_new(json, "transfers", transfers);
    json_object_set_new(json, "phases", xfa_phases_json(analysis));
    json_object_set_new(json, "managed", xfa_managed_json(analysis));
    json_object_set_new(json, "waits", xfa_waits_json(analysis));
    json_object_set_new(json, "ranks", xfa_ranks_json(analysis));
    if (analysis->matched.any)
        json_object_set_new(json, "messages", xfa_messages_json(analysis));
    json_object_set_new(json, "whatif", xfa_whatif_json(report));
    json_object_set_new(json, "findings", xfa_findings_json(report, view));
    return json;
}

json_t *xfa_report_json(const struct xfa_report *report, const struct xfa_view *view)
{
    return report_json(report, view, xfa_transfers_json(report->analysis, view));
}

/* As xfa_json_write() writes it, section by section. */
static void write_json(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    json_t *json = report_json(report, view, json_array()), *section;
    const char *name, *before = "{\n";
    json_object_foreach(json, name, section)
    {
        fprintf(out, "%s  \"%s\": ", before, name);
        before = ",\n";
        if (strcmp(name, "transfers") == 0)
            xfa_write_transfers_json(report->analysis, view, out, FLAGS, 2);
        else
            xfa_json_write_in(section, out, FLAGS | JSON_ENCODE_ANY, 2);
    }
    fputs("\n}\n", out);
    json_decref(json);
}

const struct xfa_format xfa_format_json = {.name = "json",
                                           .write = write_json,
                                           .per_transfer = &xfa_per_transfer_json,
                                           .compare = xfa_json_comparison};
