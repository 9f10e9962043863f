/* A comparison for programs: docs/report-format.md, docs/comparison.schema.json. */
#include <math.h>

#include "analyzer/compare/match.h"
#include "analyzer/report/compared.h"
#include "analyzer/report/json/json.h"

static void set(json_t *json, const char *key, json_t *value)
{
    json_object_set_new(json, key, value);
}

static json_t *change_json(const struct xfa_change *change)
{
    static const char *const words[] = {[XFA_UNSURE] = NULL,
                                        [XFA_ALIKE] = "within-noise",
                                        [XFA_LESS] = "faster",
                                        [XFA_MORE] = "slower"};
    json_t *json = json_object();
    set(json, "before_s", xfa_json_seconds(change->before));
    set(json, "after_s", xfa_json_seconds(change->after));
    set(json, "shift_s", xfa_json_seconds(change->shift));
    set(json, "low_s", xfa_json_seconds(change->low));
    set(json, "high_s", xfa_json_seconds(change->high));
    set(json, "confidence", xfa_json_number(change->confidence));
    set(json, "part", xfa_json_number(xfa_change_part(change)));
    set(json, "verdict", xfa_json_text(words[change->verdict]));
    return json;
}

/* ---- what was compared ----------------------------------------------------------------------- */

static json_t *run_json(const struct xfa_snapshot *run)
{
    json_t *json = json_object();
    set(json, "trace", xfa_json_text(run->path));
    set(json, "program", xfa_json_text(run->program));
    set(json, "hosts", xfa_json_text(run->hosts));
    set(json, "gpus", xfa_json_text(run->gpus));
    set(json, "simulated", json_boolean(run->simulated));
    set(json, "lossy", json_boolean(run->lossy));
    set(json, "processes", xfa_json_count(run->processes));
    set(json, "transfers", xfa_json_count(run->transfers));
    set(json, "bytes", xfa_json_count(run->bytes));
    set(json, "span_s", xfa_json_seconds(run->measures[XFA_MEASURE_SPAN].value));
    set(json, "recording_s",
        run->recording_known ? xfa_json_seconds(run->recording_ns) : json_null());
    set(json, "wall_s", xfa_json_seconds(run->measures[XFA_MEASURE_WALL].value));
    set(json, "transfers_s", xfa_json_seconds(run->measures[XFA_MEASURE_TRANSFERS].value));
    return json;
}

static json_t *side_json(const struct xfa_side *side)
{
    json_t *json = json_object(), *runs = json_array();
    for (size_t i = 0; i < side->count; i++)
        json_array_append_new(runs, run_json(side->runs[i]));
    set(json, "runs", runs);
    set(json, "middle", xfa_json_count(side->middle));
    return json;
}

static json_t *noise_json(const struct xfa_comparison *c)
{
    json_t *json = json_object();
    set(json, "known", json_boolean(c->repeated));
    set(json, "least_change", xfa_json_number(XFA_LEAST_CHANGE));
    set(json, "one_run_host", xfa_json_number(XFA_ONE_RUN_HOST));
    set(json, "one_run_device", xfa_json_number(XFA_ONE_RUN_DEVICE));
    return json;
}

/* ---- the run --------------------------------------------------------------------------------- */

static json_t *measures_json(const struct xfa_comparison *c)
{
    static const char *const keys[] = {[XFA_MEASURE_SPAN] = "span",
                                       [XFA_MEASURE_WALL] = "wall",
                                       [XFA_MEASURE_TRANSFERS] = "transfers",
                                       [XFA_MEASURE_KERNELS] = "kernels",
                                       [XFA_MEASURE_WAITS] = "waits"};
    json_t *json = json_object();
    for (unsigned i = 0; i < XFA_MEASURES; i++)
        set(json, keys[i], change_json(&c->measures[i]));
    set(json, "without_recording", json_boolean(c->without_recording));
    return json;
}

static json_t *phases_json(const struct xfa_comparison *c)
{
    json_t *json = json_array();
    for (size_t i = 0; i < c->phase_count; i++) {
        json_t *phase = json_object();
        set(phase, "name", xfa_json_text(c->phases[i].name));
        set(phase, "time", change_json(&c->phases[i].time));
        json_array_append_new(json, phase);
    }
    return json;
}

/* ---- advice ---------------------------------------------------------------------------------- */

static json_t *payoff_json(const struct xfa_payoff *payoff)
{
    static const char *const words[] = {[XFA_PAID_UNKNOWN] = NULL,
                                        [XFA_PAID_WITHIN] = "within",
                                        [XFA_PAID_LESS] = "less",
                                        [XFA_PAID_MORE] = "more",
                                        [XFA_PAID_UNSURE] = "outside-within-noise"};
    json_t *json = json_object();
    set(json, "phase", xfa_json_text(payoff->phase));
    set(json, "predicted_s", xfa_saving_json(&payoff->predicted));
    set(json, "achieved_s", xfa_json_seconds(-payoff->time.shift));
    set(json, "achieved_low_s", xfa_json_seconds(-payoff->time.high));
    set(json, "achieved_high_s", xfa_json_seconds(-payoff->time.low));
    set(json, "paid", xfa_json_text(words[payoff->paid]));
    return json;
}

static json_t *advice_json(const struct xfa_comparison *c)
{
    static const char *const words[] = {[XFA_PREDICTED_NOTHING] = "nothing",
                                        [XFA_PREDICTED_SET] = "set",
                                        [XFA_PREDICTED_ONE] = "one",
                                        [XFA_PREDICTED_PARTS] = "parts",
                                        [XFA_PREDICTED_UNKNOWN] = "unknown"};
    json_t *json = json_object(), *payoffs = json_array();
    for (size_t i = 0; i < c->payoff_count; i++)
        json_array_append_new(payoffs, payoff_json(&c->payoffs[i]));
    set(json, "predicted", json_string(words[c->predicted]));
    set(json, "payoffs", payoffs);
    return json;
}

static json_t *places_json(const struct xfa_snapshot_finding *finding)
{
    json_t *json = json_array();
    for (size_t i = 0; i < finding->site_count; i++)
        json_array_append_new(json, xfa_json_text(finding->sites[i].text));
    return json;
}

static json_t *finding_side_json(const struct xfa_snapshot_finding *finding)
{
    if (!finding)
        return json_null();
    json_t *json = json_object();
    set(json, "sites", places_json(finding));
    set(json, "remedy", xfa_json_text(finding->remedy));
    set(json, "saving_s", xfa_saving_json(&finding->saving));
    set(json, "order", finding->order ? json_integer(finding->order) : json_null());
    set(json, "idle", json_boolean(finding->idle));
    return json;
}

static json_t *findings_json(const struct xfa_comparison *c)
{
    static const char *const words[] = {
        [XFA_GONE] = "gone", [XFA_STAYS] = "stays", [XFA_IDLE_NOW] = "idle", [XFA_NEW] = "new"};
    json_t *json = json_array();
    for (size_t i = 0; i < c->finding_count; i++) {
        const struct xfa_compared_finding *finding = &c->findings[i];
        json_t *one = json_object();
        enum xfa_finding_id id = finding->before ? finding->before->id : finding->after->id;
        set(one, "kind", xfa_json_text(xfa_finding_word(id)));
        set(one, "stands", json_string(words[finding->stands]));
        set(one, "followed", json_boolean(finding->followed));
        set(one, "before", finding_side_json(finding->before));
        set(one, "after", finding_side_json(finding->after));
        json_array_append_new(json, one);
    }
    return json;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static json_t *row_side_json(const struct xfa_side_row *side)
{
    if (!side)
        return json_null();
    const struct xfa_snapshot_row *row = side->row;
    json_t *json = json_object();
    set(json, "site", xfa_json_text(row->place.text));
    set(json, "function", xfa_json_text(row->called));
    set(json, "src_memory", xfa_json_text(xft_memory_word(row->key.src_mem)));
    set(json, "dst_memory", xfa_json_text(xft_memory_word(row->key.dst_mem)));
    set(json, "async", json_boolean(row->key.async));
    set(json, "runs", xfa_json_count(side->runs));
    set(json, "transfers", xfa_json_number(side->transfers));
    set(json, "bytes", xfa_json_number(side->bytes));
    set(json, "achieved_gbps", xfa_json_number(row->gbps));
    set(json, "lost_s", xfa_json_seconds(row->lost_ns));
    return json;
}

static json_t *moved_json(unsigned moved)
{
    static const char *const words[] = {"line", "function", "memory", "file"};
    json_t *json = json_array();
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (moved >> i & 1)
            json_array_append_new(json, json_string(words[i]));
    return json;
}

static json_t *row_json(const struct xfa_compared_row *row)
{
    const struct xfa_row_key *key = &xfa_compared_of(row)->key;
    json_t *json = json_object();
    set(json, "direction", xfa_json_text(xft_direction_word(key->direction)));
    set(json, "src_device", xfa_json_gpu(key->src_gpu));
    set(json, "dst_device", xfa_json_gpu(key->dst_gpu));
    set(json, "in", json_string(!row->after ? "before" : !row->before ? "after" : "both"));
    set(json, "differs", moved_json(row->moved));
    set(json, "time", change_json(&row->time));
    set(json, "before", row_side_json(row->before));
    set(json, "after", row_side_json(row->after));
    return json;
}

static json_t *rows_json(const struct xfa_comparison *c, const struct xfa_view *view)
{
    json_t *json = json_array();
    size_t shown = xfa_view_shown(view, c->row_count);
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(json, row_json(&c->rows[i]));
    return json;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static json_t *limit_json(const struct xfa_comparison *c)
{
    if (isnan(c->limit))
        return json_null();
    json_t *json = json_object();
    set(json, "limit", xfa_json_number(c->limit));
    set(json, "failed", json_boolean(c->failed));
    set(json, "by", c->failed ? json_string(xfa_measure_word(c->slowest)) : json_null());
    return json;
}

static json_t *step_json(const struct xfa_compared_step *step)
{
    json_t *json = json_object();
    set(json, "step", json_integer(step->number));
    set(json, "finding", xfa_json_text(step->finding));
    set(json, "site", xfa_json_text(step->site));
    set(json, "predicted_s", xfa_saving_json(&step->predicted));
    set(json, "asked", xfa_json_count(step->asked));
    set(json, "done", xfa_json_count(step->done));
    set(json, "different", xfa_json_count(step->different));
    set(json, "applied_s", step->done ? xfa_json_seconds(step->applied_ns) : json_null());
    set(json, "before_s", xfa_json_seconds(step->before_ns));
    set(json, "after_s", xfa_json_seconds(step->after_ns));
    return json;
}

static json_t *steps_json(const struct xfa_comparison *c)
{
    json_t *json = json_array();
    for (size_t i = 0; i < c->step_count; i++)
        json_array_append_new(json, step_json(&c->steps[i]));
    return json;
}

json_t *xfa_comparison_json(const struct xfa_comparison *comparison, const struct xfa_view *view)
{
    json_t *json = json_object(), *warnings = json_array();
    for (size_t i = 0; i < comparison->warning_count; i++)
        json_array_append_new(warnings, xfa_json_text(comparison->warnings[i]));
    set(json, "schema",
        json_pack("{s:s,s:i}", "name", XFA_COMPARISON_SCHEMA, "version", XFA_COMPARISON_VERSION));
    set(json, "before", side_json(&comparison->before));
    set(json, "after", side_json(&comparison->after));
    set(json, "noise", noise_json(comparison));
    set(json, "fail_on", limit_json(comparison));
    set(json, "warnings", warnings);
    set(json, "run", measures_json(comparison));
    set(json, "phases", phases_json(comparison));
    set(json, "advice", advice_json(comparison));
    if (comparison->planned)
        set(json, "plan", steps_json(comparison));
    set(json, "findings", findings_json(comparison));
    set(json, "transfers", rows_json(comparison, view));
    return json;
}

void xfa_json_comparison(const struct xfa_comparison *comparison, const struct xfa_view *view,
                         FILE *out)
{
    json_t *json = xfa_comparison_json(comparison, view);
    xfa_json_write(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(json);
}
