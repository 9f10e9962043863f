/* The report's keys `whatif`, `findings` and `filter`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/described.h"
#include "analyzer/report/json/json.h"

/* ---- what the run would save ----------------------------------------------------------------- */

static json_t *played_saving_json(const struct xfw_played *played)
{
    return xfw_saving_known(&played->saving) == XFW_UNKNOWN ? json_null()
                                                            : xfa_saving_json(&played->saving);
}

/* Null: without --replay=run. */
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
    json_t *json = xfa_saving_json(&set);
    json_object_set_new(json, "basis",
                        xfw_saving_known(&whatif->set) == XFW_UNKNOWN
                            ? json_null()
                            : json_string(whatif->set_played ? "played" : "modelled"));
    return json;
}

/* Which part of the calls was replayed, and the error of times and savings from that. */
static json_t *sampled_json(const struct xfw_whatif *whatif)
{
    json_t *json = json_object();
    json_object_set_new(json, "calls", json_integer((json_int_t)whatif->ops.came));
    json_object_set_new(json, "played",
                        xfa_json_number((double)whatif->ops.played / (double)whatif->ops.came));
    json_object_set_new(json, "error_s", xfa_json_seconds(whatif->sample_error_ns));
    if (whatif->stopped)
        json_object_set_new(json, "stopped", json_true());
    return json;
}

static json_t *together_json(const struct xfw_ranks *ranks)
{
    json_t *json = json_object();
    json_object_set_new(json, "processes", json_integer((json_int_t)ranks->processes));
    json_object_set_new(json, "messages", json_integer((json_int_t)ranks->messages));
    json_object_set_new(json, "apart", json_integer((json_int_t)ranks->apart));
    if (ranks->meetings + ranks->unmet == 0)
        return json;
    json_object_set_new(json, "nccl", json_integer((json_int_t)ranks->meetings));
    json_object_set_new(json, "nccl_not_matched", json_integer((json_int_t)ranks->unmet));
    return json;
}

static void set_times(json_t *json, const struct xfw_times *times)
{
    json_object_set_new(json, "recorded_s", xfa_json_seconds(times->recorded_ns));
    json_object_set_new(json, "replayed_s", xfa_json_seconds(times->replayed_ns));
    json_object_set_new(json, "alone_s", xfa_json_seconds(times->alone_ns));
    json_object_set_new(json, "with_set_s", xfa_json_seconds(times->set_ns));
}

static json_t *range_json(const struct xfw_range_times *phase)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", xfa_json_text(phase->name));
    set_times(json, &phase->times);
    return json;
}

static json_t *span_json(const struct xfw_whatif *whatif)
{
    json_t *json = json_object();
    set_times(json, &whatif->span);
    if (!(whatif->contexts_ns > 0)) /* as in most runs */
        return json;
    json_object_set_new(json, "contexts_s", xfa_json_seconds(whatif->contexts_ns));
    json_t *gpus = json_array();
    for (unsigned i = 0; i < 64; i++)
        if (whatif->contexts_gpus >> i & 1)
            json_array_append_new(gpus, json_integer(i));
    json_object_set_new(json, "contexts_gpus", gpus);
    return json;
}

static json_t *ranges_json(const struct xfw_whatif *whatif)
{
    json_t *json = json_array();
    for (size_t i = 0; i < whatif->range_count; i++)
        json_array_append_new(json, range_json(&whatif->ranges[i]));
    return json;
}

static json_t *sleeper_json(const struct xfa_process *process, const struct xfa_paced *thread)
{
    static const char *const words[] = {[XFW_PACED_AT_WORST] = "at_worst",
                                        [XFW_PACED_LIKELY] = "likely",
                                        [XFW_PACED_AT_BEST] = "always"};
    json_t *json = json_object();
    json_object_set_new(json, "pid", process->pid > 0 ? json_integer(process->pid) : json_null());
    json_object_set_new(json, "thread", json_integer(thread->tid));
    json_object_set_new(json, "slept_s", xfa_json_seconds(thread->slept_ns));
    json_object_set_new(json, "keeps_pace", json_string(words[thread->paced]));
    json_object_set_new(json, "others", xfa_json_number(thread->rate));
    json_object_set_new(json, "others_while_awake", xfa_json_number(thread->beside));
    return json;
}

/* NULL: there are none. */
static json_t *sleepers_json(const struct xfa_run *run)
{
    json_t *json = json_array();
    for (size_t i = 0; i < run->process_count; i++)
        for (size_t k = 0; k < run->processes[i]->paced_count; k++)
            json_array_append_new(json,
                                  sleeper_json(run->processes[i], &run->processes[i]->paced[k]));
    if (json_array_size(json) > 0)
        return json;
    json_decref(json);
    return NULL;
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
    if (whatif->ranks.processes > 0) /* else each was replayed for itself */
        json_object_set_new(json, "together", together_json(&whatif->ranks));
    json_t *sleepers = sleepers_json(report->analysis->run);
    if (sleepers)
        json_object_set_new(json, "sleepers", sleepers);
    json_object_set_new(json, "set_saving_s", set_json(report->findings));
    if (xfa_findings_in_set(report->findings) == 0) {
        const struct xfw_saving best = xfa_best_alone(report->findings);
        json_object_set_new(json, "best_alone_s", xfa_saving_json(&best));
    }
    if (xfa_applied_may_save(report->findings)) {
        const struct xfw_saving applied = xfa_saving_shown(report->findings, &whatif->applied);
        json_object_set_new(json, "apply_saving_s", xfa_saving_json(&applied));
    }
    json_object_set_new(json, "set_only_together", json_integer(whatif->search.together));
    json_object_set_new(json, "set_not_all_tried", json_boolean(whatif->search.left_out));
    if (whatif->search.not_asked > 0)
        json_object_set_new(json, "questions_not_tried", json_integer(whatif->search.not_asked));
    json_object_set_new(json, "played", played_json(whatif->played));
    json_object_set_new(json, "span", span_json(whatif));
    json_object_set_new(json, "phases", ranges_json(whatif));
    return json;
}

static json_t *finding_saving_json(const struct xfa_described *described)
{
    const struct xfa_finding *finding = described->finding;
    json_t *json = xfa_saving_json(&described->saving);
    json_object_set_new(json, "share", xfa_json_number(described->share));
    json_object_set_new(json, "share_of", xfa_json_text(described->part_of));
    json_object_set_new(json, "added", xfa_json_seconds(finding->added_ns));
    json_object_set_new(json, "last", xfa_json_seconds(finding->last_ns));
    json_object_set_new(json, "order", finding->order ? json_integer(finding->order) : json_null());
    json_object_set_new(json, "instead_of",
                        finding->instead_of ? json_integer(finding->instead_of) : json_null());
    json_object_set_new(json, "idle", json_boolean(finding->idle));
    json_object_set_new(json, "basis", finding->change ? json_string("modelled") : json_null());
    json_object_set_new(json, "why_not", xfa_json_text(described->why_not));
    json_object_set_new(json, "assumed", xfa_json_text(described->assumed));
    json_object_set_new(json, "answered", json_boolean(finding->answer == XFA_ANSWER_YES));
    return json;
}

/* Null: it is none. */
static json_t *question_json(const struct xfa_findings *findings,
                             const struct xfa_described *described)
{
    if (!described->question)
        return json_null();
    json_t *json = json_object();
    json_object_set_new(json, "likely_s", xfa_json_seconds(described->finding->answered.likely));
    json_object_set_new(json, "likely_span_s",
                        xfa_json_seconds(described->finding->up_to.likely_span_ns));
    json_object_set_new(json, "up_to_s", xfa_json_seconds(described->up_to_ns));
    json_object_set_new(json, "up_to_span_s", xfa_json_seconds(described->finding->up_to.span_ns));
    json_object_set_new(json, "if", xfa_json_text(described->condition));
    json_object_set_new(json, "text", xfa_json_text(described->question));
    json_object_set_new(json, "key", xfa_json_text(described->key));
    json_object_set_new(json, "first", json_boolean(xfa_questions_first(findings)));
    return json;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* Null: the trace does not have it. */
static json_t *source_json(const struct xfa_site *site)
{
    if (!site->source)
        return json_null();
    json_t *lines = json_array();
    for (const char *at = site->source, *stop; at; at = stop ? stop + 1 : NULL) {
        stop = strchr(at, '\n');
        char *line = xfa_kept(at, stop ? (size_t)(stop - at) : strlen(at));
        json_array_append_new(lines, xfa_json_text(line));
        free(line);
    }
    return json_pack("{s:i,s:o}", "line", (int)site->source_line, "lines", lines);
}

static json_t *site_json(const struct xfa_finding *finding, const struct xfa_finding_site *site)
{
    const struct xfa_row *row = site->row;
    const struct xfa_function *runtime = row ? row->runtime_function : NULL;
    const struct xfa_function *called = row ? row->function : site->function;
    const char *direction = row ? xft_direction_word(row->key.direction) : NULL;
    json_t *json = xfa_site_json(site->site, false);
    json_object_set_new(json, "source", source_json(site->site));
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

/* The numbers that the remedy names. */
static json_t *parameters_json(const struct xfa_remedy *remedy)
{
    struct xfa_remedy_number numbers[XFA_REMEDY_NUMBERS];
    json_t *json = json_object();
    size_t count = xfa_remedy_numbers(remedy, numbers);
    for (size_t i = 0; i < count; i++)
        json_object_set_new(json, numbers[i].word, json_integer(numbers[i].value));
    return json;
}

static json_t *finding_json(const struct xfa_report *report, const struct xfa_finding *finding)
{
    const struct xfa_analysis *analysis = report->analysis;
    struct xfa_bases bases = {finding->achieved_basis, finding->achievable_basis, finding->error,
                              xfa_reckoning_text(finding->reckoning, finding->probably)};
    double bytes = (double)finding->bytes;
    char fix[XFA_REMEDY_CHARS];
    struct xfa_described described = xfa_describe(analysis, report->findings, finding);
    json_t *json = json_object(), *sites = json_array();
    for (size_t i = 0; i < finding->site_count; i++)
        json_array_append_new(sites, site_json(finding, &finding->sites[i]));
    json_object_set_new(json, "kind", xfa_json_text(described.word));
    json_object_set_new(json, "sites", sites);
    json_object_set_new(json, "transfers", xfa_json_count(finding->transfers));
    json_object_set_new(json, "bytes", xfa_json_count(finding->bytes));
    json_object_set_new(json, "achieved_gbps", xfa_json_number(bytes / finding->achieved_ns));
    json_object_set_new(json, "achievable_gbps", xfa_json_number(bytes / finding->achievable_ns));
    json_object_set_new(json, "lost_s", xfa_json_seconds(finding->lost_ns));
    json_object_set_new(json, "run_saving_s", xfa_json_seconds(described.saving.likely));
    json_object_set_new(json, "saving_s", finding_saving_json(&described));
    json_object_set_new(json, "question", question_json(report->findings, &described));
    json_object_set_new(json, "remedy", json_string(xfa_remedy_word(finding->remedy.kind)));
    json_object_set_new(json, "parameters", parameters_json(&finding->remedy));
    json_object_set_new(json, "fix", xfa_json_text(xfa_remedy_text(&finding->remedy, fix)));
    json_object_set_new(json, "fix_note", xfa_json_text(described.note));
    json_object_set_new(json, "basis", xfa_bases_json(analysis, &bases));
    xfa_described_free(&described);
    return json;
}

json_t *xfa_answers_json(const struct xfa_answers *answers)
{
    json_t *json = json_array();
    for (size_t i = 0; i < answers->count; i++) {
        const struct xfa_answer_given *given = &answers->items[i];
        json_t *one = json_object();
        json_object_set_new(one, "kind", xfa_json_text(xfa_finding_word(given->id)));
        json_object_set_new(one, "site", xfa_json_text(given->site));
        json_object_set_new(one, "answer", json_string(given->yes ? "yes" : "no"));
        json_object_set_new(one, "met", json_boolean(given->met));
        json_array_append_new(json, one);
    }
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
