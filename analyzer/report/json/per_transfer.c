/*
 * One transfer per line, each an object (JSON Lines). Keys that all transfers of a process or of a
 * class share are made once (xfa_listed).
 */
#include "analyzer/report/per_transfer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/json/json.h"

static json_t *number_json(bool known, json_int_t number)
{
    return known ? json_integer(number) : json_null();
}

/* The keys and values of the object, without the braces; NULL: no memory. Takes the object. */
static char *inside(json_t *json)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out) {
        xfa_json_write(json, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
        fclose(out);
    }
    json_decref(json);
    if (!text || bytes < 2)
        return text;
    memmove(text, text + 1, bytes - 2);
    text[bytes - 2] = 0;
    return text;
}

static char *process_text(const struct xfa_listed *listed)
{
    const struct xfa_process *process = listed->event->process;
    const struct xfa_rank *rank = &process->rank;
    json_t *json = json_object();
    json_object_set_new(json, "file", xfa_json_text(process->file));
    json_object_set_new(json, "host", xfa_json_text(process->run->hosts[process->host].name));
    json_object_set_new(json, "pid", number_json(process->pid > 0, process->pid));
    json_object_set_new(json, "rank", number_json(rank->known, rank->number));
    json_object_set_new(json, "simulated", json_boolean(listed->simulated));
    return inside(json);
}

static char *class_text(const struct xfa_listed *listed)
{
    const struct xfa_class_key *key = &listed->event->transfer.class->key;
    json_t *json = json_object();
    xfa_set_row_json(json, listed->row, false);
    json_object_set_new(json, "src_node", number_json(key->src_node >= 0, key->src_node));
    json_object_set_new(json, "dst_node", number_json(key->dst_node >= 0, key->dst_node));
    json_object_set_new(json, "stream", xfa_json_text(xfa_listed_stream(listed)));
    json_object_set_new(json, "peer_access", xfa_json_text(xfa_listed_peer(listed)));
    json_object_set_new(json, "shape", xfa_json_text(xfa_listed_shape(listed)));
    return inside(json);
}

/* With so many digits that times of a long run differ by nanoseconds. */
static void write_real(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, ",\"%s\":%.15g", key, value);
    else
        fprintf(out, ",\"%s\":null", key);
}

static void write_integer(FILE *out, const char *key, bool known, uint64_t value)
{
    if (known)
        fprintf(out, ",\"%s\":%" PRIu64, key, value > INT64_MAX ? (uint64_t)INT64_MAX : value);
    else
        fprintf(out, ",\"%s\":null", key);
}

static void write_word(FILE *out, const char *key, const char *word)
{
    fprintf(out, word ? ",\"%s\":\"%s\"" : ",\"%s\":null", key, word);
}

static void write_figures(const struct xfa_listed *listed, FILE *out)
{
    const struct xfa_event *event = listed->event;
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfp_estimate *estimate = &transfer->achievable;
    bool known = estimate->basis != XFP_UNKNOWN;
    write_real(out, "achieved_s", transfer->achieved_ns / 1e9);
    write_real(out, "achieved_gbps", xfa_listed_achieved_gbps(listed));
    write_word(out, "achieved_basis", xfa_listed_achieved_basis(listed));
    write_real(out, "achievable_s", known ? estimate->ns / 1e9 : NAN);
    write_real(out, "achievable_gbps", xfa_listed_achievable_gbps(listed));
    write_word(out, "achievable_basis", xfa_listed_achievable_basis(listed));
    write_real(out, "achievable_error", known ? estimate->error : NAN);
    fprintf(out, ",\"other_machine\":%s", listed->other_machine ? "true" : "false");
    write_real(out, "lost_s", transfer->lost_ns / 1e9);
}

static void write_line(const struct xfa_listed *listed, FILE *out)
{
    const struct xfa_event *event = listed->event;
    uint64_t wall = xfa_process_wall_ns(event->process, event->start_ns);
    char **process = &listed->of_process[0], **class = &listed->of_class[0];
    if (!*process)
        *process = process_text(listed);
    if (!*class)
        *class = class_text(listed);
    fprintf(out, "{%s", *process ? *process : "");
    write_integer(out, "thread", event->tid > 0, (uint64_t)event->tid);
    write_real(out, "at_s", xfa_listed_at_ns(listed) / 1e9);
    write_integer(out, "wall_ns", wall != 0, wall);
    write_integer(out, "bytes", true, event->bytes);
    write_integer(out, "copies", true, event->transfer.copies ? event->transfer.copies : 1);
    write_figures(listed, out);
    fprintf(out, ",%s}\n", *class ? *class : "");
}

const struct xfa_per_transfer_format xfa_per_transfer_json = {.line = write_line};
