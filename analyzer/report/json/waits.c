/* The report's key `waits`. */
#include <stdlib.h>

#include "analyzer/report/json/json.h"

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
