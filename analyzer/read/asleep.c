#include "analyzer/read/asleep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/alloc.h"

bool xfa_trace_may_sleep(const struct xfa_trace *trace)
{
    return trace->header.state == XFT_STATE_CLOSED && !trace->heads;
}

/* ---- to sleep -------------------------------------------------------------------------------- */

static size_t table_bytes(const struct xfa_table *table)
{
    return table->capacity * table->item_bytes + table->slot_count * sizeof *table->slots;
}

size_t xfa_trace_bytes(const struct xfa_trace *trace)
{
    const struct xfa_names *names = &trace->names;
    size_t bytes = sizeof *trace + trace->segment_count * sizeof *trace->segments + names->bytes +
                   names->block_capacity * sizeof(void *) +
                   names->module_capacity * sizeof *names->modules +
                   names->symbol_capacity * sizeof *names->symbols +
                   names->lines_capacity * sizeof *names->lines;
    const struct xfa_table *const tables[] = {&names->pairs,  &names->calls, &names->named,
                                              &names->stacks, &names->texts, &names->arguments};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        bytes += table_bytes(tables[i]);
    return bytes;
}

static void forget_names(struct xfa_trace *trace)
{
    xfa_names_free(&trace->names);
    xfa_names_init(&trace->names);
    trace->names_gone = true;
}

static void forget_events(struct xfa_trace *trace)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->segment_count; i++)
        if (xfa_holds_names(trace->segments[i].type))
            trace->segments[kept++] = trace->segments[i];
    trace->segment_count = kept;
    trace->events_gone = true;
}

static void shrink_segments(struct xfa_trace *trace)
{
    size_t bytes = trace->segment_count * sizeof *trace->segments;
    struct xfa_segment *segments = xfa_alloc_unset(bytes + 1);
    if (bytes)
        memcpy(segments, trace->segments, bytes);
    free(trace->segments);
    trace->segments = segments;
    trace->segment_capacity = trace->segment_count;
}

void xfa_trace_sleep(struct xfa_trace *trace, bool names)
{
    xfa_trace_rest(trace);
    if (trace->source.fd >= 0)
        close(trace->source.fd);
    trace->source.fd = -1;
    if (!names) {
        forget_events(trace);
        forget_names(trace);
    }
    if (trace->segment_capacity > trace->segment_count)
        shrink_segments(trace);
}

/* ---- and up again ---------------------------------------------------------------------------- */

static bool same_file(const struct xfa_file_identity *a, const struct xfa_file_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->changed_s == b->changed_s && a->changed_ns == b->changed_ns;
}

static bool open_again(struct xfa_trace *trace)
{
    struct xfa_file_identity file;
    if (trace->source.data)
        return true;
    trace->source.fd = xfa_source_open(trace->name, &file);
    return trace->source.fd >= 0 && same_file(&file, &trace->file);
}

/* All that was sound is: what was malformed in it was counted the first time. */
static bool read_names(struct xfa_trace *trace)
{
    struct xfa_loss loss = trace->loss;
    uint64_t bad = trace->names_bad_entries;
    bool done = true;
    for (size_t i = 0; i < trace->segment_count && done; i++) {
        const struct xfa_segment *segment = &trace->segments[i];
        unsigned char *raw = xfa_segment_load(trace, segment);
        done = raw != NULL;
        if (raw)
            xfa_names_take(trace, segment->type, raw, segment->raw);
    }
    xfa_trace_rest(trace);
    xfa_names_finish(&trace->names);
    trace->loss = loss;
    trace->names_bad_entries = bad;
    return done;
}

bool xfa_trace_wake(struct xfa_trace *trace, bool events)
{
    if ((events && trace->events_gone) || !open_again(trace) ||
        (trace->names_gone && !read_names(trace)))
        return false;
    trace->names_gone = false;
    return true;
}
