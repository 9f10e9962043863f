/* What the sections of the JSON report share. */
#include "analyzer/report/json/json.h"

static json_t *frame_json(const struct xfa_frame *frame)
{
    char offset[32];
    snprintf(offset, sizeof offset, "0x%llx", (unsigned long long)frame->offset);
    json_t *json = json_object();
    json_object_set_new(json, "function", xfa_json_text(frame->function));
    json_object_set_new(json, "file", xfa_json_text(frame->file));
    json_object_set_new(json, "line", frame->line ? json_integer(frame->line) : json_null());
    json_object_set_new(json, "module", xfa_json_text(frame->module));
    json_object_set_new(json, "offset", frame->module ? json_string(offset) : json_null());
    return json;
}

json_t *xfa_site_json(const struct xfa_site *site, bool with_stack)
{
    static const struct xfa_frame none;
    json_t *json = frame_json(site->chosen >= 0 ? &site->frames[site->chosen] : &none);
    json_object_set_new(json, "text", xfa_json_text(site->text));
    json_object_set_new(json, "thread", xfa_json_text(site->autograd ? "autograd" : NULL));
    if (!with_stack)
        return json;
    json_t *stack = json_array();
    for (size_t i = 0; i < site->frame_count; i++) {
        json_t *frame = frame_json(&site->frames[i]);
        json_object_set_new(frame, "of", xfa_json_text(xfa_frame_of(&site->frames[i])));
        json_array_append_new(stack, frame);
    }
    json_object_set_new(json, "stack", stack);
    return json;
}

json_t *xfa_bases_json(const struct xfa_analysis *analysis, const struct xfa_bases *bases)
{
    json_t *json = json_object();
    bool known = bases->achievable != XFA_BASIS_UNKNOWN;
    bool other = known && analysis->achievable.match == XFA_MATCH_NO;
    json_object_set_new(json, "achieved", xfa_json_text(xfa_basis_word(bases->achieved)));
    json_object_set_new(json, "achievable", xfa_json_text(xfa_basis_word(bases->achievable)));
    json_object_set_new(json, "achievable_error",
                        known ? xfa_json_number(bases->error) : json_null());
    json_object_set_new(json, "other_machine", json_boolean(other));
    json_object_set_new(json, "note", xfa_json_text(bases->note));
    return json;
}

json_t *xfa_traffic_json(const struct xfa_sum *sum)
{
    return json_pack("{s:o,s:o}", "transfers", xfa_json_count(sum->transfers), "bytes",
                     xfa_json_count(sum->bytes));
}

json_t *xfa_directions_json(const struct xfa_sum by_direction[XFT_DIRECTION_COUNT])
{
    json_t *json = json_object();
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++)
        if (by_direction[d].transfers)
            json_object_set_new(json, xft_direction_word(d), xfa_traffic_json(&by_direction[d]));
    return json;
}

json_t *xfa_saving_json(const struct xfw_saving *saving)
{
    json_t *json = json_object();
    json_object_set_new(json, "low", xfa_json_seconds(saving->low));
    json_object_set_new(json, "likely", xfa_json_seconds(saving->likely));
    json_object_set_new(json, "high", xfa_json_seconds(saving->high));
    return json;
}
