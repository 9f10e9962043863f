/* What --replay measured. */
#include "analyzer/report/json/json.h"

#include <math.h>

static json_t *copies_json(const struct xfa_replayed *replayed)
{
    json_t *json = json_object();
    json_object_set_new(json, "measured", xfa_json_count(replayed->measured));
    json_object_set_new(json, "known", xfa_json_count(replayed->known));
    json_object_set_new(json, "failed", xfa_json_count(replayed->failed));
    json_object_set_new(json, "no_time", xfa_json_count(replayed->no_time));
    return json;
}

static double part(double of, double whole)
{
    return whole > 0 ? of / whole : NAN;
}

json_t *xfa_replay_json(const struct xfa_replayed *replayed)
{
    json_t *json = json_object();
    double covered = part(replayed->covered_ns, replayed->achieved_ns);
    json_object_set_new(json, "why_not", xfa_json_text(replayed->why));
    json_object_set_new(json, "note", xfa_json_text(replayed->note));
    json_object_set_new(json, "failure", xfa_json_text(replayed->failure));
    json_object_set_new(json, "not_kept", xfa_json_text(replayed->not_kept));
    json_object_set_new(json, "stopped", json_boolean(replayed->stopped));
    json_object_set_new(json, "distinct", xfa_json_count(replayed->distinct));
    json_object_set_new(json, "covered", xfa_json_count(replayed->covered));
    json_object_set_new(json, "impossible", xfa_json_count(replayed->impossible));
    json_object_set_new(json, "transfers", xfa_json_count(replayed->transfers));
    json_object_set_new(json, "covered_transfers", xfa_json_count(replayed->covered_transfers));
    json_object_set_new(json, "covered_time", xfa_json_number(covered));
    json_object_set_new(json, "merged", xfa_json_count(replayed->merged));
    json_object_set_new(json, "beyond_limits", xfa_json_count(replayed->beyond));
    json_object_set_new(json, "copies", copies_json(replayed));
    json_object_set_new(json, "took_s", xfa_json_number(replayed->seconds));
    json_object_set_new(json, "limit_s", xfa_json_number(replayed->limit_s));
    return json;
}
