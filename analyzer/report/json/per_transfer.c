/*
 * One transfer per line, each an object (JSON Lines). Keys that all transfers of a process or of a
 * class share are made once (xfa_listed).
 */
#include "analyzer/report/per_transfer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/line.h"
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

static void write_key(struct xfa_line *line, const char *key)
{
    xfa_line_add(line, ",\"", 2);
    xfa_line_text(line, key);
    xfa_line_add(line, "\":", 2);
}

/* With so many digits that times of a long run differ by nanoseconds. */
static void write_real(struct xfa_line *line, const char *key, double value)
{
    write_key(line, key);
    if (isfinite(value))
        xfa_line_real(line, value, XFA_LINE_DIGITS);
    else
        xfa_line_text(line, "null");
}

static void write_integer(struct xfa_line *line, const char *key, bool known, uint64_t value)
{
    write_key(line, key);
    if (known)
        xfa_line_unsigned(line, value > INT64_MAX ? (uint64_t)INT64_MAX : value);
    else
        xfa_line_text(line, "null");
}

static void write_word(struct xfa_line *line, const char *key, const char *word)
{
    write_key(line, key);
    xfa_line_json(line, word);
}

static void write_figures(const struct xfa_listed *listed, struct xfa_line *line)
{
    const struct xfa_event *event = listed->event;
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfp_estimate *estimate = &transfer->achievable;
    bool known = estimate->basis != XFP_UNKNOWN;
    write_real(line, "achieved_s", transfer->achieved_ns / 1e9);
    write_real(line, "achieved_gbps", xfa_listed_achieved_gbps(listed));
    write_word(line, "achieved_basis", xfa_listed_achieved_basis(listed));
    if (transfer->timed == XFA_TIMED_SAMPLE)
        write_real(line, "achieved_error", transfer->sample_error);
    write_real(line, "achievable_s", known ? estimate->ns / 1e9 : NAN);
    write_real(line, "achievable_gbps", xfa_listed_achievable_gbps(listed));
    write_word(line, "achievable_basis", xfa_listed_achievable_basis(listed));
    write_real(line, "achievable_error", known ? estimate->error : NAN);
    write_key(line, "other_machine");
    xfa_line_text(line, listed->other_machine ? "true" : "false");
    write_real(line, "lost_s", transfer->lost_ns / 1e9);
}

static void write_line(const struct xfa_listed *listed, FILE *out)
{
    const struct xfa_event *event = listed->event;
    uint64_t wall = xfa_process_wall_ns(event->process, event->start_ns);
    char **process = &listed->of_process[0], **class = &listed->of_class[0];
    struct xfa_line line;
    if (!*process)
        *process = process_text(listed);
    if (!*class)
        *class = class_text(listed);
    xfa_line_begin(&line, out);
    xfa_line_add(&line, "{", 1);
    xfa_line_text(&line, *process ? *process : "");
    write_integer(&line, "thread", event->tid > 0, (uint64_t)event->tid);
    write_real(&line, "at_s", xfa_listed_at_ns(listed) / 1e9);
    write_integer(&line, "wall_ns", wall != 0, wall);
    write_integer(&line, "bytes", true, event->bytes);
    write_integer(&line, "copies", true, event->transfer.copies ? event->transfer.copies : 1);
    write_figures(listed, &line);
    xfa_line_add(&line, ",", 1);
    xfa_line_text(&line, *class ? *class : "");
    xfa_line_add(&line, "}\n", 2);
    xfa_line_end(&line);
}

const struct xfa_per_transfer_format xfa_per_transfer_json = {.line = write_line};
