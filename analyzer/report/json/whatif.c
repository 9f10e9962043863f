/* The report's key `whatif`, and what a finding saves. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/report/json/json.h"
#include "analyzer/report/savings.h"

static json_t *saving_json(const struct xfw_saving *saving)
{
    json_t *json = json_object();
    json_object_set_new(json, "low", xfa_json_seconds(saving->low));
    json_object_set_new(json, "likely", xfa_json_seconds(saving->likely));
    json_object_set_new(json, "high", xfa_json_seconds(saving->high));
    return json;
}

static json_t *played_saving_json(const struct xfw_played *played)
{
    return isnan(played->saving.likely) ? json_null() : saving_json(&played->saving);
}

/* Null: nobody asked for it. */
static json_t *played_json(const struct xfw_played *played)
{
    if (!played)
        return json_null();
    bool known = !played->why;
    json_t *json = json_object();
    json_object_set_new(json, "known", json_boolean(known));
    json_object_set_new(json, "why_not", xfa_json_text(played->why));
    json_object_set_new(json, "note", xfa_json_text(played->note));
    json_object_set_new(json, "times", json_integer(played->times));
    json_object_set_new(json, "recorded_s", xfa_json_seconds(known ? played->recorded_ns : NAN));
    json_object_set_new(json, "advised_s", xfa_json_seconds(known ? played->advised_ns : NAN));
    json_object_set_new(json, "alone_s", xfa_json_seconds(known ? played->alone_ns : NAN));
    json_object_set_new(json, "with_set_s", xfa_json_seconds(known ? played->set_ns : NAN));
    json_object_set_new(json, "error", known ? xfa_json_number(played->error) : json_null());
    json_object_set_new(json, "saving_s", played_saving_json(played));
    json_object_set_new(json, "whole", json_boolean(played->whole));
    json_object_set_new(json, "steps", json_integer((json_int_t)played->steps));
    json_object_set_new(json, "by_time", json_integer((json_int_t)played->by_time));
    json_object_set_new(json, "took_s", xfa_json_number(played->seconds));
    return json;
}

static json_t *set_json(const struct xfa_findings *findings)
{
    const struct xfw_whatif *whatif = findings->whatif;
    const struct xfw_saving set = xfa_saving_shown(findings, &whatif->set);
    json_t *json = saving_json(&set);
    json_object_set_new(json, "basis",
                        isnan(whatif->set.likely)
                            ? json_null()
                            : json_string(whatif->set_played ? "played" : "modelled"));
    return json;
}

/* Which part of its calls was played, and how sure that leaves a time or a saving. */
static json_t *sampled_json(const struct xfw_whatif *whatif)
{
    json_t *json = json_object();
    json_object_set_new(json, "calls", json_integer((json_int_t)whatif->ops.came));
    json_object_set_new(json, "played",
                        xfa_json_number((double)whatif->ops.played / (double)whatif->ops.came));
    json_object_set_new(json, "error_s", xfa_json_seconds(whatif->sample_error_ns));
    return json;
}

static void set_times(json_t *json, const struct xfw_times *times)
{
    json_object_set_new(json, "recorded_s", xfa_json_seconds(times->recorded_ns));
    json_object_set_new(json, "replayed_s", xfa_json_seconds(times->replayed_ns));
    json_object_set_new(json, "alone_s", xfa_json_seconds(times->alone_ns));
    json_object_set_new(json, "with_set_s", xfa_json_seconds(times->set_ns));
}

static json_t *phase_json(const struct xfw_range_times *phase)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", xfa_json_text(phase->name));
    set_times(json, &phase->times);
    return json;
}

static json_t *span_json(const struct xfw_times *span)
{
    json_t *json = json_object();
    set_times(json, span);
    return json;
}

static json_t *phases_json(const struct xfw_whatif *whatif)
{
    json_t *json = json_array();
    for (size_t i = 0; i < whatif->range_count; i++)
        json_array_append_new(json, phase_json(&whatif->ranges[i]));
    return json;
}

json_t *xfa_whatif_json(const struct xfa_report *report)
{
    const struct xfw_whatif *whatif = report->findings->whatif;
    if (!whatif)
        return json_null();
    bool replayed = whatif->replayed_ns > 0;
    json_t *json = json_object();
    json_object_set_new(json, "known", json_boolean(whatif->known));
    json_object_set_new(json, "why_not", xfa_json_text(whatif->why));
    json_object_set_new(json, "uncertain", json_boolean(whatif->marked));
    json_object_set_new(json, "recorded_s", xfa_json_seconds(whatif->recorded_ns));
    json_object_set_new(json, "replayed_s",
                        replayed ? xfa_json_seconds(whatif->replayed_ns) : json_null());
    json_object_set_new(json, "error", replayed ? xfa_json_number(whatif->error) : json_null());
    json_object_set_new(json, "alone_s",
                        replayed ? xfa_json_seconds(whatif->alone_ns) : json_null());
    json_object_set_new(json, "recording_known", json_boolean(whatif->recording_known));
    if (whatif->ops.came > 0) /* else all were */
        json_object_set_new(json, "sampled", sampled_json(whatif));
    json_object_set_new(json, "set_saving_s", set_json(report->findings));
    json_object_set_new(json, "played", played_json(whatif->played));
    json_object_set_new(json, "span", span_json(&whatif->span));
    json_object_set_new(json, "phases", phases_json(whatif));
    return json;
}

json_t *xfa_saving_json(const struct xfa_findings *findings, const struct xfa_finding *finding)
{
    const struct xfw_saving saving = xfa_saving_shown(findings, &finding->saving);
    json_t *json = saving_json(&saving);
    json_object_set_new(json, "added", xfa_json_seconds(finding->added_ns));
    json_object_set_new(json, "last", xfa_json_seconds(finding->last_ns));
    json_object_set_new(json, "order", finding->order ? json_integer(finding->order) : json_null());
    json_object_set_new(json, "idle", json_boolean(finding->idle));
    json_object_set_new(json, "basis", finding->change ? json_string("modelled") : json_null());
    char *assumed = xfa_finding_assumed(finding);
    json_object_set_new(json, "assumed", xfa_json_text(assumed));
    free(assumed);
    return json;
}
