/* The raw contents, one JSON object per line. */
#include "analyzer/dump/dump.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/json.h"
#include "analyzer/run/site.h"

static void line(json_t *json, FILE *out)
{
    xfa_json_write(json, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
    fputc('\n', out);
    json_decref(json);
}

static json_t *object(const char *type)
{
    json_t *json = json_object();
    json_object_set_new(json, "type", json_string(type));
    return json;
}

static void set_text(json_t *json, const char *key, const char *value)
{
    json_object_set_new(json, key, xfa_json_text(value));
}

/* Counts and times fit; addresses are written in hexadecimal, as text. */
static void set_number(json_t *json, const char *key, uint64_t value)
{
    json_object_set_new(json, key, xfa_json_count(value));
}

static void set_signed(json_t *json, const char *key, int64_t value)
{
    json_object_set_new(json, key, json_integer(value));
}

static void set_address(json_t *json, const char *key, uint64_t value)
{
    char buffer[32];
    snprintf(buffer, sizeof buffer, "0x%" PRIx64, value);
    set_text(json, key, buffer);
}

static void header(const struct xfa_trace *trace, FILE *out)
{
    const struct xft_file_header *h = &trace->header;
    json_t *json = object("file");
    set_text(json, "path", trace->name);
    set_number(json, "bytes", trace->source.bytes);
    set_number(json, "version_major", h->version_major);
    set_number(json, "version_minor", h->version_minor);
    set_text(json, "state", h->state == XFT_STATE_CLOSED ? "closed" : "recording");
    set_signed(json, "pid", h->pid);
    set_signed(json, "ppid", h->ppid);
    set_number(json, "start_mono_ns", h->start_mono_ns);
    set_number(json, "start_real_ns", h->start_real_ns);
    set_number(json, "end_mono_ns", h->end_mono_ns);
    set_number(json, "event_bytes", h->event_bytes);
    line(json, out);
}

static void meta(const struct xfa_trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->names.pairs.count; i++) {
        const struct xfa_pair *pair = xfa_table_at(&trace->names.pairs, i);
        char *value = xfa_dump_value(pair->value);
        json_t *json = object("meta");
        set_text(json, "key", pair->key);
        set_text(json, "value", value);
        line(json, out);
        free(value);
    }
}

static void segment(const struct xfa_trace *trace, const struct xfa_segment *s, FILE *out)
{
    json_t *json = object("segment");
    set_text(json, "segment", xfa_segment_word(s->type));
    set_number(json, "number", s->type);
    set_number(json, "at", s->at);
    set_number(json, "stored_bytes", s->stored);
    set_number(json, "raw_bytes", s->raw);
    json_object_set_new(json, "zstd", json_boolean(s->flags & XFT_SEG_ZSTD));
    line(json, out);
}

static void index_entry(const struct xfa_trace *trace, const struct xft_index_entry *e, FILE *out)
{
    (void)trace;
    json_t *json = object("index");
    set_number(json, "at", e->offset);
    set_number(json, "lane", e->lane);
    set_number(json, "first_seq", e->first_seq);
    set_number(json, "rows", e->rows);
    set_number(json, "first_ns", e->first_ns);
    set_number(json, "last_ns", e->last_ns);
    line(json, out);
}

static void set_flags(json_t *json, unsigned set)
{
    json_t *words = json_array();
    for (size_t i = 0; i < sizeof xfa_flag_words / sizeof *xfa_flag_words; i++)
        if (set & 1u << i)
            json_array_append_new(words, json_string(xfa_flag_words[i]));
    json_object_set_new(json, "flags", words);
}

/* Takes the value; the key is there when the kind can have it. */
static void set_own_text(json_t *json, const char *key, char *value)
{
    set_text(json, key, value);
    free(value);
}

static void set_names(json_t *json, const struct xfa_trace *trace, const struct xft_event *e)
{
    bool range = e->kind == XFT_EVENT_RANGE_BEGIN || e->kind == XFT_EVENT_RANGE_END;
    if (range)
        set_own_text(json, "domain", xfa_event_domain(trace, e));
    if (e->kind == XFT_EVENT_RANGE_BEGIN || e->kind == XFT_EVENT_KERNEL ||
        e->kind == XFT_EVENT_LAUNCH)
        set_own_text(json, "name", xfa_event_name(trace, e));
}

static void event(const struct xfa_trace *trace, const struct xfa_batch *batch, size_t row,
                  FILE *out)
{
    const struct xft_event *e = &batch->events[row];
    json_t *json = object("event");
    set_number(json, "lane", batch->lane);
    set_number(json, "seq", batch->first_seq + row);
    set_signed(json, "tid", batch->tid);
    set_text(json, "kind", xft_event_word(e->kind));
    set_text(json, "call", xfa_event_function(trace, e));
    set_number(json, "start_ns", e->start_ns);
    set_number(json, "end_ns", e->end_ns);
    set_number(json, "bytes", e->bytes);
    set_text(json, "direction", xft_direction_word(e->direction));
    set_address(json, "src", e->src);
    set_text(json, "src_memory", xft_memory_word(e->src_mem));
    set_signed(json, "src_place", e->src_place);
    set_address(json, "dst", e->dst);
    set_text(json, "dst_memory", xft_memory_word(e->dst_mem));
    set_signed(json, "dst_place", e->dst_place);
    set_signed(json, "device", e->device);
    set_address(json, "stream", e->stream);
    set_number(json, "width", e->width);
    set_number(json, "count", e->count);
    set_number(json, "stack", e->stack);
    set_number(json, "correlation", e->correlation);
    set_signed(json, "status", e->status);
    set_number(json, "aux", e->aux);
    set_flags(json, e->flags);
    set_names(json, trace, e);
    if (e->kind == XFT_EVENT_STREAM)
        set_signed(json, "priority", (int64_t)e->width);
    if (e->kind == XFT_EVENT_CONTENT) /* of 64 bits, which not every reader's numbers have */
        set_address(json, "hash", e->aux);
    json_object_set_new(json, "slab", json_boolean(batch->from_slab));
    line(json, out);
}

static void stack(const struct xfa_trace *trace, const struct xfa_stack *s, FILE *out)
{
    struct xfa_shelf shelf;
    xfa_shelf_init(&shelf);
    struct xfa_site *site = xfa_site_new(&shelf, trace, s->id);
    json_t *json = object("stack"), *frames = json_array();
    set_number(json, "id", s->id);
    for (size_t i = 0; i < site->frame_count; i++) {
        const struct xfa_frame *frame = &site->frames[i];
        json_t *one = json_object();
        set_address(one, "address", frame->address);
        set_text(one, "function", frame->function);
        set_text(one, "file", frame->file);
        set_number(one, "line", frame->line);
        set_text(one, "module", frame->module);
        json_array_append_new(frames, one);
    }
    json_object_set_new(json, "frames", frames);
    set_signed(json, "site", site->chosen);
    line(json, out);
    xfa_site_free(site);
    xfa_shelf_free(&shelf);
}

static void arguments(const struct xfa_trace *trace, const struct xfa_arguments *a, FILE *out)
{
    (void)trace;
    json_t *json = object("arguments"), *pointers = json_array();
    set_number(json, "id", a->id);
    for (uint32_t i = 0; i < a->count; i++) {
        char text[32];
        snprintf(text, sizeof text, "0x%" PRIx64, xfa_arguments_pointer(a, i));
        json_array_append_new(pointers, json_string(text));
    }
    json_object_set_new(json, "pointers", pointers);
    line(json, out);
}

static void losses(const struct xfa_trace *trace, const char *text, FILE *out)
{
    json_t *json = object("lost");
    set_text(json, "line", text);
    line(json, out);
}

const struct xfa_dump_format xfa_dump_json = {
    .name = "json",
    .header = header,
    .meta = meta,
    .segment = segment,
    .index = index_entry,
    .event = event,
    .stack = stack,
    .arguments = arguments,
    .losses = losses,
};
