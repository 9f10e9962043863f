/* The report's key `messages`. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/json/json.h"

static json_t *rank_json(uint32_t rank)
{
    return rank < XFT_RANK_ANY ? json_integer(rank) : json_null();
}

static json_t *divided_json(const struct xfa_message_row *row, double ns)
{
    return xfa_json_seconds(row->divided ? ns : NAN);
}

static json_t *communicator_json(const struct xfa_message_row *row)
{
    char id[24];
    snprintf(id, sizeof id, "0x%llx", (unsigned long long)row->key.communicator);
    return row->key.communicator ? json_string(id) : json_null();
}

static json_t *row_json(const struct xfa_run *run, const struct xfa_message_row *row)
{
    const struct xfa_function *function = xfa_run_function(run, row->key.function);
    const char *word = xft_message_word(row->key.what);
    json_t *json = json_object();
    json_object_set_new(json, "site", xfa_site_json(xfa_run_site(run, row->key.site), false));
    json_object_set_new(json, "function", xfa_json_text(function->name));
    json_object_set_new(json, "operation", xfa_json_text(word));
    json_object_set_new(json, "communicator", communicator_json(row));
    json_object_set_new(json, "size", row->size ? json_integer(row->size) : json_null());
    json_object_set_new(json, "from", rank_json(row->key.from));
    json_object_set_new(json, "to", rank_json(row->key.to));
    json_object_set_new(json, "device_memory", json_boolean(row->key.gpu));
    json_object_set_new(json, "calls", xfa_json_count(row->calls));
    json_object_set_new(json, "failed", xfa_json_count(row->failed));
    json_object_set_new(json, "sent", xfa_json_count(row->sent));
    json_object_set_new(json, "arrived", xfa_json_count(row->arrived));
    json_object_set_new(json, "time_s", xfa_json_seconds(row->ns));
    json_object_set_new(json, "waits_s", xfa_json_seconds(row->wait_ns));
    json_object_set_new(json, "matched", xfa_json_count(row->matched));
    json_object_set_new(json, "told", xfa_json_count(row->divided));
    json_object_set_new(json, "before_others_s", divided_json(row, row->before_ns));
    json_object_set_new(json, "since_others_s", divided_json(row, row->since_ns));
    json_object_set_new(json, "timed", xfa_json_count(row->timed));
    json_object_set_new(json, "achieved_gbps", xfa_json_number(xfa_message_gbps(row)));
    json_object_set_new(json, "kernels_gbps", xfa_json_number(xfa_message_kernels_gbps(row)));
    json_object_set_new(json, "achievable_gbps", xfa_json_number(xfa_message_achievable_gbps(row)));
    json_object_set_new(json, "call_s", xfa_json_seconds(xfa_message_call_ns(row)));
    json_object_set_new(json, "achievable_call_s",
                        xfa_json_seconds(xfa_message_achievable_call_ns(row)));
    json_object_set_new(json, "unknown_because", xfa_json_text(xfa_unpriced_word(row->unpriced)));
    json_object_set_new(json, "priced", xfa_json_count(row->priced));
    json_object_set_new(
        json, "lost_s",
        xfa_json_seconds(row->priced ? fmax(0, row->priced_ns - row->achievable_ns) : NAN));
    return json;
}

static json_t *rows_json(const struct xfa_analysis *analysis)
{
    const struct xfa_message_row **order = xfa_messages_order(&analysis->messages);
    json_t *json = json_array();
    for (size_t i = 0; i < analysis->messages.rows.count; i++)
        json_array_append_new(json, row_json(analysis->run, order[i]));
    free(order);
    return json;
}

static json_t *process_json(const struct xfa_analysis *analysis, size_t i)
{
    const struct xfa_process *process = analysis->run->processes[i];
    const struct xfa_message_process_sum *sum = &analysis->matched.processes[i];
    json_t *json = json_object();
    json_object_set_new(json, "rank",
                        process->rank.known ? json_integer(process->rank.number) : json_null());
    json_object_set_new(json, "file", xfa_json_text(process->file));
    json_object_set_new(json, "collectives", xfa_json_count(sum->collectives));
    json_object_set_new(json, "last", xfa_json_count(sum->last));
    json_object_set_new(json, "others_waited_s",
                        xfa_json_seconds(sum->collectives ? sum->others_ns : NAN));
    json_object_set_new(json, "peers", xfa_json_count(sum->peers));
    json_object_set_new(json, "times_usual", xfa_json_number(sum->slower));
    json_object_set_new(json, "slow", json_boolean(sum->stands_out));
    return json;
}

static json_t *clock_json(const struct xfa_run *run, const struct xfa_host_clock *clock,
                          size_t host)
{
    static const char *const words[] = {
        [XFA_CLOCK_OWN] = "own",
        [XFA_CLOCK_FIRST] = "first",
        [XFA_CLOCK_MESSAGES] = "messages",
        [XFA_CLOCK_BOUND] = "one-direction",
        [XFA_CLOCK_CONTRADICTED] = "contradicted",
    };
    bool set = clock->basis == XFA_CLOCK_MESSAGES || clock->basis == XFA_CLOCK_BOUND;
    bool known = clock->basis == XFA_CLOCK_MESSAGES;
    json_t *json = json_object();
    json_object_set_new(json, "host", xfa_json_text(run->hosts[host].name));
    json_object_set_new(json, "basis", json_string(words[clock->basis]));
    json_object_set_new(json, "offset_s", xfa_json_seconds(set ? clock->offset_ns : NAN));
    json_object_set_new(json, "drift_ppm", xfa_json_number(known ? 1e6 * clock->drift : NAN));
    json_object_set_new(json, "error_s", xfa_json_seconds(clock->error_ns));
    return json;
}

static json_t *folded_json(const struct xfa_messages *messages)
{
    json_t *json = json_object();
    json_object_set_new(json, "without_ranks", xfa_json_count(messages->without_ranks));
    json_object_set_new(json, "without_site", xfa_json_count(messages->without_site));
    return json;
}

json_t *xfa_messages_json(const struct xfa_analysis *analysis)
{
    const struct xfa_messages *messages = &analysis->messages;
    const struct xfa_matched *matched = &analysis->matched;
    json_t *json = json_object(), *processes = json_array(), *clocks = json_array();
    for (size_t i = 0; i < matched->process_count; i++)
        json_array_append_new(processes, process_json(analysis, i));
    for (size_t i = 0; i < matched->clocks.count; i++)
        json_array_append_new(clocks, clock_json(analysis->run, &matched->clocks.all[i], i));
    json_object_set_new(json, "calls", xfa_json_count(messages->calls));
    json_object_set_new(json, "sent", xfa_json_count(messages->all_sent));
    json_object_set_new(json, "time_s", xfa_json_seconds(messages->ns));
    json_object_set_new(json, "matched", xfa_json_count(matched->messages));
    json_object_set_new(json, "not_matched",
                        xfa_json_count(xfa_add(matched->alone, messages->not_kept)));
    json_object_set_new(json, "one_in", xfa_json_count(messages->kept.mask + 1));
    if (messages->without_ranks || messages->without_site)
        json_object_set_new(json, "folded", folded_json(messages));
    json_object_set_new(json, "rows", rows_json(analysis));
    json_object_set_new(json, "processes", processes);
    json_object_set_new(json, "clocks", clocks);
    return json;
}
