/* The raw contents, one JSON object per line. */
#include "analyzer/dump/dump.h"

#include <stdlib.h>

#include "analyzer/base/line.h"
#include "analyzer/run/site.h"
#include "xferscope/message.h"

static void object(struct xfa_line *line, const char *type, FILE *out)
{
    xfa_line_begin(line, out);
    xfa_line_text(line, "{\"type\":");
    xfa_line_json(line, type);
}

static void end_object(struct xfa_line *line)
{
    xfa_line_text(line, "}\n");
    xfa_line_end(line);
}

static void set_key(struct xfa_line *line, const char *key)
{
    xfa_line_add(line, ",\"", 2);
    xfa_line_text(line, key);
    xfa_line_add(line, "\":", 2);
}

static void set_text(struct xfa_line *line, const char *key, const char *value)
{
    set_key(line, key);
    xfa_line_json(line, value);
}

static void set_truth(struct xfa_line *line, const char *key, bool value)
{
    set_key(line, key);
    xfa_line_text(line, value ? "true" : "false");
}

/* Counts and times fit; addresses are written in hexadecimal, as text. */
static void set_number(struct xfa_line *line, const char *key, uint64_t value)
{
    set_key(line, key);
    xfa_line_unsigned(line, value > INT64_MAX ? INT64_MAX : value);
}

static void set_signed(struct xfa_line *line, const char *key, int64_t value)
{
    set_key(line, key);
    xfa_line_signed(line, value);
}

static void put_address(struct xfa_line *line, uint64_t value)
{
    xfa_line_add(line, "\"", 1);
    xfa_line_hex(line, value);
    xfa_line_add(line, "\"", 1);
}

static void set_address(struct xfa_line *line, const char *key, uint64_t value)
{
    set_key(line, key);
    put_address(line, value);
}

static void header(const struct xfa_trace *trace, FILE *out)
{
    const struct xft_file_header *h = &trace->header;
    struct xfa_line line;
    object(&line, "file", out);
    set_text(&line, "path", trace->name);
    set_number(&line, "bytes", trace->source.bytes);
    set_number(&line, "version_major", h->version_major);
    set_number(&line, "version_minor", h->version_minor);
    set_text(&line, "state", h->state == XFT_STATE_CLOSED ? "closed" : "recording");
    set_signed(&line, "pid", h->pid);
    set_signed(&line, "ppid", h->ppid);
    set_number(&line, "start_mono_ns", h->start_mono_ns);
    set_number(&line, "start_real_ns", h->start_real_ns);
    set_number(&line, "end_mono_ns", h->end_mono_ns);
    set_number(&line, "event_bytes", h->event_bytes);
    end_object(&line);
}

static void meta(const struct xfa_trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->names.pairs.count; i++) {
        const struct xfa_pair *pair = xfa_table_at(&trace->names.pairs, i);
        char *value = xfa_dump_value(pair->value);
        struct xfa_line line;
        object(&line, "meta", out);
        set_text(&line, "key", pair->key);
        set_text(&line, "value", value);
        end_object(&line);
        free(value);
    }
}

static void segment(const struct xfa_trace *trace, const struct xfa_segment *s, FILE *out)
{
    struct xfa_line line;
    object(&line, "segment", out);
    set_text(&line, "segment", xfa_segment_word(s->type));
    set_number(&line, "number", s->type);
    set_number(&line, "at", s->at);
    set_number(&line, "stored_bytes", s->stored);
    set_number(&line, "raw_bytes", s->raw);
    set_truth(&line, "zstd", s->flags & XFT_SEG_ZSTD);
    end_object(&line);
}

static void index_entry(const struct xfa_trace *trace, const struct xft_index_entry *e, FILE *out)
{
    struct xfa_line line;
    object(&line, "index", out);
    set_number(&line, "at", e->offset);
    set_number(&line, "lane", e->lane);
    set_number(&line, "first_seq", e->first_seq);
    set_number(&line, "rows", e->rows);
    set_number(&line, "first_ns", e->first_ns);
    set_number(&line, "last_ns", e->last_ns);
    end_object(&line);
}

static void set_flags(struct xfa_line *line, unsigned set)
{
    const char *before = "";
    set_key(line, "flags");
    xfa_line_add(line, "[", 1);
    for (size_t i = 0; i < sizeof xfa_flag_words / sizeof *xfa_flag_words; i++) {
        if (!(set & 1u << i))
            continue;
        xfa_line_text(line, before);
        xfa_line_json(line, xfa_flag_words[i]);
        before = ",";
    }
    xfa_line_add(line, "]", 1);
}

/* Takes the value; the key is there when the kind can have it. */
static void set_own_text(struct xfa_line *line, const char *key, char *value)
{
    set_text(line, key, value);
    free(value);
}

static void set_names(struct xfa_line *line, const struct xfa_trace *trace,
                      const struct xft_event *e)
{
    bool range = e->kind == XFT_EVENT_RANGE_BEGIN || e->kind == XFT_EVENT_RANGE_END;
    if (range)
        set_own_text(line, "domain", xfa_event_domain(trace, e));
    if (e->kind == XFT_EVENT_RANGE_BEGIN || e->kind == XFT_EVENT_KERNEL ||
        e->kind == XFT_EVENT_LAUNCH || e->kind == XFT_EVENT_COMMUNICATOR)
        set_own_text(line, "name", xfa_event_name(trace, e));
}

/* A rank is null where nothing goes, -1 where any may send. */
static void set_rank(struct xfa_line *line, const char *key, uint32_t rank)
{
    if (rank == XFT_RANK_NONE)
        set_text(line, key, NULL);
    else
        set_signed(line, key, rank == XFT_RANK_ANY ? -1 : (int64_t)rank);
}

static void set_message(struct xfa_line *line, const struct xft_event *e)
{
    set_text(line, "message", xft_message_word(xft_message_of(e->count)));
    set_rank(line, "to", xft_message_to(e->aux));
    set_rank(line, "from", xft_message_from(e->aux));
    set_number(line, "communicator", xft_message_communicator(e->count));
}

/* Its number in all processes has 64 bits, which not every reader's numbers have. */
static void set_communicator(struct xfa_line *line, const struct xft_event *e)
{
    set_number(line, "communicator", e->count);
    set_number(line, "rank", e->src);
    set_number(line, "size", e->width);
    set_address(line, "id", e->aux);
}

static void event(const struct xfa_trace *trace, const struct xfa_batch *batch, size_t row,
                  FILE *out)
{
    const struct xft_event *e = &batch->events[row];
    struct xfa_line line;
    object(&line, "event", out);
    set_number(&line, "lane", batch->lane);
    set_number(&line, "seq", batch->first_seq + row);
    set_signed(&line, "tid", batch->tid);
    set_text(&line, "kind", xft_event_word(e->kind));
    set_text(&line, "call", xfa_event_function(trace, e));
    set_number(&line, "start_ns", e->start_ns);
    set_number(&line, "end_ns", e->end_ns);
    set_number(&line, "bytes", e->bytes);
    set_text(&line, "direction", xft_direction_word(e->direction));
    set_address(&line, "src", e->src);
    set_text(&line, "src_memory", xft_memory_word(e->src_mem));
    set_signed(&line, "src_place", e->src_place);
    set_address(&line, "dst", e->dst);
    set_text(&line, "dst_memory", xft_memory_word(e->dst_mem));
    set_signed(&line, "dst_place", e->dst_place);
    set_signed(&line, "device", e->device);
    set_address(&line, "stream", e->stream);
    set_number(&line, "width", e->width);
    set_number(&line, "count", e->count);
    set_number(&line, "stack", e->stack);
    set_number(&line, "correlation", e->correlation);
    set_signed(&line, "status", e->status);
    set_number(&line, "aux", e->aux);
    set_flags(&line, e->flags);
    set_names(&line, trace, e);
    if (e->kind == XFT_EVENT_MESSAGE)
        set_message(&line, e);
    if (e->kind == XFT_EVENT_COMMUNICATOR)
        set_communicator(&line, e);
    if (e->kind == XFT_EVENT_STREAM)
        set_signed(&line, "priority", (int64_t)e->width);
    if (e->kind == XFT_EVENT_CONTENT) /* of 64 bits, which not every reader's numbers have */
        set_address(&line, "hash", e->aux);
    set_truth(&line, "slab", batch->from_slab);
    end_object(&line);
}

static void stack(const struct xfa_trace *trace, const struct xfa_stack *s, FILE *out)
{
    struct xfa_shelf shelf;
    xfa_shelf_init(&shelf);
    struct xfa_site *site = xfa_site_new(&shelf, trace, s->id);
    struct xfa_line line;
    object(&line, "stack", out);
    set_number(&line, "id", s->id);
    set_key(&line, "frames");
    for (size_t i = 0; i < site->frame_count; i++) {
        const struct xfa_frame *frame = &site->frames[i];
        xfa_line_text(&line, i ? ",{\"address\":" : "[{\"address\":");
        put_address(&line, frame->address);
        set_text(&line, "function", frame->function);
        set_text(&line, "file", frame->file);
        set_number(&line, "line", frame->line);
        set_text(&line, "module", frame->module);
        xfa_line_add(&line, "}", 1);
    }
    xfa_line_text(&line, site->frame_count ? "]" : "[]");
    set_signed(&line, "site", site->chosen);
    end_object(&line);
    xfa_site_free(site);
    xfa_shelf_free(&shelf);
}

static void arguments(const struct xfa_trace *trace, const struct xfa_arguments *a, FILE *out)
{
    struct xfa_line line;
    object(&line, "arguments", out);
    set_number(&line, "id", a->id);
    set_key(&line, "pointers");
    xfa_line_add(&line, "[", 1);
    for (uint32_t i = 0; i < a->count; i++) {
        xfa_line_add(&line, ",", i > 0);
        put_address(&line, xfa_arguments_pointer(a, i));
    }
    xfa_line_add(&line, "]", 1);
    end_object(&line);
}

static void losses(const struct xfa_trace *trace, const char *text, FILE *out)
{
    struct xfa_line line;
    object(&line, "lost", out);
    set_text(&line, "line", text);
    end_object(&line);
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
