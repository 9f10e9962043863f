/* The raw contents, a line each, for people. */
#include "analyzer/dump/dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/line.h"
#include "common/text.h"
#include "xferscope/message.h"
#include "analyzer/run/site.h"

const char *const xfa_flag_words[11] = {"async",     "captured",     "failed",    "per-thread",
                                        "guessed",   "stream-known", "graph",     "peer-access",
                                        "by-events", "own-counts",   "new-memory"};

/* Neither what devices did, nor what the program says about itself, nor what the recorder knows. */
#define NO_CALLS XFT_KINDS_OF(XFT_OF_DEVICE | XFT_OF_RANGE | XFT_OF_RECORDER | XFT_OF_PERIOD)

const char *xfa_event_function(const struct xfa_trace *trace, const struct xft_event *event)
{
    if (xft_is_one_of(event->kind, NO_CALLS))
        return NULL;
    const struct xfa_call *call = xfa_trace_call(trace, event->call);
    return call ? call->name : NULL;
}

static char *name_text(const struct xfa_trace *trace, uint64_t id)
{
    const struct xfa_text *found = xfa_trace_text(trace, id);
    return found ? xfa_kept(found->text, found->bytes) : NULL;
}

char *xfa_event_name(const struct xfa_trace *trace, const struct xft_event *event)
{
    if (event->kind == XFT_EVENT_KERNEL || event->kind == XFT_EVENT_LAUNCH)
        return name_text(trace, event->src);
    if (event->kind == XFT_EVENT_COMMUNICATOR)
        return name_text(trace, event->dst);
    return event->kind == XFT_EVENT_RANGE_BEGIN ? name_text(trace, event->aux) : NULL;
}

void xfa_dump_rank(uint32_t rank, char text[16])
{
    if (rank < XFT_RANK_ANY)
        snprintf(text, 16, "%u", rank);
    else
        snprintf(text, 16, "%s", rank == XFT_RANK_ANY ? "any" : "-");
}

char *xfa_event_domain(const struct xfa_trace *trace, const struct xft_event *event)
{
    bool range = event->kind == XFT_EVENT_RANGE_BEGIN || event->kind == XFT_EVENT_RANGE_END;
    return range ? name_text(trace, event->src) : NULL;
}

const char *xfa_segment_word(unsigned type)
{
    static const char *const words[] = {
        [XFT_SEG_PAD] = "pad",
        [XFT_SEG_META] = "meta",
        [XFT_SEG_CALLS] = "calls",
        [XFT_SEG_EVENTS] = "events",
        [XFT_SEG_LANES] = "lanes",
        [XFT_SEG_STACKS] = "stacks",
        [XFT_SEG_MODULES] = "modules",
        [XFT_SEG_SYMBOLS] = "symbols",
        [XFT_SEG_NAMES] = "names",
        [XFT_SEG_ROOM] = "room",
        [XFT_SEG_ARGUMENTS] = "arguments",
        [XFT_SEG_INDEX] = "index",
        [XFT_SEG_SOURCES] = "sources",
    };
    return type < sizeof words / sizeof *words ? words[type] : NULL;
}

char *xfa_dump_value(const char *value)
{
    char *spaced = xfa_text(value);
    for (char *at = spaced; *at; at++)
        if (*at == '\x1f')
            *at = ' ';
    return spaced;
}

static void header(const struct xfa_trace *trace, FILE *out)
{
    const struct xft_file_header *h = &trace->header;
    xfc_print(out,
              "file %s bytes=%" PRIu64
              " version=%u.%u state=%s pid=%d ppid=%d start_mono_ns=%" PRIu64
              " start_real_ns=%" PRIu64 " end_mono_ns=%" PRIu64 " event_bytes=%u\n",
              trace->name, trace->source.bytes, h->version_major, h->version_minor,
              h->state == XFT_STATE_CLOSED ? "closed" : "recording", h->pid, h->ppid,
              h->start_mono_ns, h->start_real_ns, h->end_mono_ns, h->event_bytes);
}

static void meta(const struct xfa_trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->names.pairs.count; i++) {
        const struct xfa_pair *pair = xfa_table_at(&trace->names.pairs, i);
        char *value = xfa_dump_value(pair->value);
        xfc_print(out, "meta %s=%s\n", pair->key, value);
        free(value);
    }
}

static void segment(const struct xfa_trace *trace, const struct xfa_segment *s, FILE *out)
{
    const char *word = xfa_segment_word(s->type);
    xfc_print(out, "segment %s type=%u at=%" PRIu64 " stored=%" PRIu64 " raw=%" PRIu64 "%s\n",
              word ? word : "unknown", s->type, s->at, s->stored, s->raw,
              s->flags & XFT_SEG_ZSTD ? " zstd" : "");
}

static void index_entry(const struct xfa_trace *trace, const struct xft_index_entry *e, FILE *out)
{
    xfc_print(out,
              "index at=%" PRIu64 " lane=%u first_seq=%" PRIu64 " rows=%u first_ns=%" PRIu64
              " last_ns=%" PRIu64 "\n",
              e->offset, e->lane, e->first_seq, e->rows, e->first_ns, e->last_ns);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void put_number(struct xfa_line *line, const char *key, uint64_t value)
{
    xfa_line_text(line, key);
    xfa_line_unsigned(line, value);
}

static void put_signed(struct xfa_line *line, const char *key, int64_t value)
{
    xfa_line_text(line, key);
    xfa_line_signed(line, value);
}

static void put_address(struct xfa_line *line, const char *key, uint64_t value)
{
    xfa_line_text(line, key);
    xfa_line_hex(line, value);
}

static void put_word(struct xfa_line *line, const char *before, const char *word)
{
    xfa_line_text(line, before);
    xfa_line_shown(line, word);
}

static void put_memory(struct xfa_line *line, unsigned memory, int place)
{
    put_word(line, " (", xft_memory_word(memory));
    put_signed(line, " ", place);
    xfa_line_add(line, ")", 1);
}

static void put_flags(struct xfa_line *line, unsigned set)
{
    const char *before = " flags=";
    for (size_t i = 0; i < sizeof xfa_flag_words / sizeof *xfa_flag_words; i++) {
        if (!(set & 1u << i))
            continue;
        put_word(line, before, xfa_flag_words[i]);
        before = ",";
    }
}

/* Takes the value. Last in its line, since it may hold anything printable. */
static void put_text(struct xfa_line *line, const char *key, char *value)
{
    if (value) {
        put_word(line, key, value);
        xfa_line_add(line, "\"", 1);
    }
    free(value);
}

/* What moved, and between which places. */
static void put_places(struct xfa_line *line, const struct xft_event *e)
{
    put_number(line, " bytes=", e->bytes);
    put_word(line, " ", xft_direction_word(e->direction));
    put_address(line, " src=", e->src);
    put_memory(line, e->src_mem, e->src_place);
    put_address(line, " dst=", e->dst);
    put_memory(line, e->dst_mem, e->dst_place);
    put_signed(line, " device=", e->device);
    put_address(line, " stream=", e->stream);
    put_number(line, " width=", e->width);
}

/* What a message does, between which ranks, and in which communicator (0: not known). */
static void put_message(struct xfa_line *line, const struct xft_event *e)
{
    const char *word = xft_message_word(xft_message_of(e->count));
    char to[16], from[16];
    xfa_dump_rank(xft_message_to(e->aux), to);
    xfa_dump_rank(xft_message_from(e->aux), from);
    put_word(line, " message=", word ? word : "unknown");
    put_word(line, " to=", to);
    put_word(line, " from=", from);
    put_number(line, " communicator=", xft_message_communicator(e->count));
}

static void event(const struct xfa_trace *trace, const struct xfa_batch *batch, size_t row,
                  FILE *out)
{
    const struct xft_event *e = &batch->events[row];
    const char *function = xfa_event_function(trace, e);
    const char *word = xft_event_word(e->kind);
    struct xfa_line line;
    xfa_line_begin(&line, out);
    put_number(&line, "event ", batch->lane);
    put_number(&line, ":", batch->first_seq + row);
    put_signed(&line, " tid=", batch->tid);
    put_word(&line, " ", word ? word : "unknown");
    put_word(&line, " ", function ? function : "-");
    put_number(&line, " start=", e->start_ns);
    put_number(&line, " end=", e->end_ns);
    put_places(&line, e);
    put_number(&line, " count=", e->count);
    put_number(&line, " stack=", e->stack);
    put_number(&line, " correlation=", e->correlation);
    put_signed(&line, " status=", e->status);
    put_number(&line, " aux=", e->aux);
    put_flags(&line, e->flags);
    if (e->kind == XFT_EVENT_MESSAGE)
        put_message(&line, e);
    put_text(&line, " domain=\"", xfa_event_domain(trace, e));
    put_text(&line, " name=\"", xfa_event_name(trace, e));
    xfa_line_text(&line, batch->from_slab ? " slab\n" : "\n");
    xfa_line_end(&line);
}

static void stack(const struct xfa_trace *trace, const struct xfa_stack *s, FILE *out)
{
    struct xfa_shelf shelf;
    xfa_shelf_init(&shelf);
    struct xfa_site *site = xfa_site_new(&shelf, trace, s->id);
    xfc_print(out, "stack %u depth=%u\n", s->id, s->depth);
    for (size_t i = 0; i < site->frame_count; i++) {
        char *line = xfa_frame_text(&site->frames[i]);
        xfc_print(out, "  %s0x%" PRIx64 " %s\n", (int)i == site->chosen ? "* " : "  ",
                  site->frames[i].address, line);
        free(line);
    }
    xfa_site_free(site);
    xfa_shelf_free(&shelf);
}

static void arguments(const struct xfa_trace *trace, const struct xfa_arguments *a, FILE *out)
{
    xfc_print(out, "arguments %u count=%u", a->id, a->count);
    for (uint32_t i = 0; i < a->count; i++)
        xfc_print(out, " 0x%" PRIx64, xfa_arguments_pointer(a, i));
    fputc('\n', out);
}

static void losses(const struct xfa_trace *trace, const char *line, FILE *out)
{
    xfc_print(out, "lost %s\n", line ? line : "nothing");
}

const struct xfa_dump_format xfa_dump_text = {
    .name = "text",
    .header = header,
    .meta = meta,
    .segment = segment,
    .index = index_entry,
    .event = event,
    .stack = stack,
    .arguments = arguments,
    .losses = losses,
};
