#include "analyzer/export/slices.h"

#include <stdio.h>

#include "analyzer/base/alloc.h"

#define SEEN 65536 /* correlations that are looked up, by their lower bits */

/* What the notes of one slice are put together in. */
struct notes {
    struct xfa_note items[XFA_NOTES];
    size_t count;
};

/* Names of one process by sorts: their numbers differ in the last two bits. */
enum { NAME_FUNCTION = 1, NAME_TEXT = 2, NAME_COPY = 3, NAME_WORD = 4 };
enum { TEXT_SITE = 1, TEXT_MEMORY = 2, TEXT_OTHER = 3 };

static uint64_t number_of(uint64_t number, unsigned sort)
{
    return number * 4 + sort;
}

static void note(struct notes *notes, const char *key, struct xfa_value value, uint64_t number)
{
    if (value.kind != XFA_VALUE_NONE && notes->count < XFA_NOTES)
        notes->items[notes->count++] = (struct xfa_note){key, value, number};
}

static void note_memory(struct notes *notes, const char *key, unsigned memory)
{
    note(notes, key, xfa_value_memory(memory), number_of(memory, TEXT_MEMORY));
}

static void note_site(struct xfa_export *export, struct notes *notes, const struct xfa_site *site)
{
    if (site)
        note(notes, "site", xfa_value_text(xfa_words_site(&export->words, site, XFA_WORDS_SITE)),
             number_of(site->number, TEXT_SITE));
}

/* ---- slices ---------------------------------------------------------------------------------- */

static struct xfa_export_slice slice_of(const struct xfa_process *process,
                                        const struct xfa_event *event)
{
    bool lasts = event->end_ns > event->start_ns;
    uint64_t start_ns = xfa_process_wall_ns(process, event->start_ns);
    return (struct xfa_export_slice){
        .start_ns = start_ns,
        .end_ns = lasts ? xfa_process_wall_ns(process, event->end_ns) : start_ns,
        .instant = !event->end_ns || event->end_ns < event->start_ns,
    };
}

/* A wait by queries is drawn whole, from the first one on. */
static void begin_polled(const struct xfa_event *event, struct xfa_export_slice *slice,
                         struct notes *notes)
{
    const struct xfa_wait_call *wait = &event->wait;
    if (event->kind != XFT_EVENT_QUERY || wait->queries == 0)
        return;
    note(notes, "queries", xfa_value_count((uint64_t)wait->queries + 1), 0);
    if (!xfa_polled_is_wait(wait) || slice->start_ns == 0)
        return;
    slice->category = "polled-wait";
    slice->start_ns = xfa_process_wall_ns(event->process, event->start_ns - wait->polled_ns);
}

static uint64_t flow_of(const struct xfa_process *process, const struct xfa_event *event)
{
    return event->correlation ? (uint64_t)(process->number + 1) << 32 | event->correlation : 0;
}

static void give(struct xfa_export *export, const struct xfa_process *process,
                 struct xfa_export_track_key key, struct xfa_export_slice *slice,
                 struct notes *notes)
{
    struct xfa_slices *slices = export->self;
    if (slice->start_ns == 0 || !slice->name.text)
        return;
    bool instant = slice->instant;
    xfa_slices_place(export, process, key, slice);
    if (slice->instant && !instant)
        note(notes, "ns", xfa_value_count(slice->end_ns - slice->start_ns), 0);
    slice->notes = notes->items;
    slice->note_count = notes->count;
    slices->sink->slice(export, slice);
}

static struct xfa_name function_name(struct xfa_export *export, const struct xfa_function *function)
{
    return (struct xfa_name){number_of(function->number, NAME_FUNCTION),
                             xfa_words_function(&export->words, function)};
}

/* One of ours, in the form of the words. */
static struct xfa_name word_name(const struct xfa_export *export, const char *shown,
                                 const char *json, unsigned number)
{
    return (struct xfa_name){number_of(number, NAME_WORD),
                             export->words.form == XFA_WORDS_JSON ? json : shown};
}

static struct xfa_name text_name(struct xfa_export *export, const struct xfa_process *process,
                                 uint64_t id)
{
    struct xfa_name name = {number_of(id, NAME_TEXT), xfa_words_name(&export->words, process, id)};
    return name.text ? name : word_name(export, "(no name)", "\"(no name)\"", 0);
}

/* "H2D, pinned to device" */
static struct xfa_name copy_name(const struct xfa_export *export, const struct xfa_event *event,
                                 char text[64])
{
    const char *quote = export->words.form == XFA_WORDS_JSON ? "\"" : "";
    unsigned number = event->direction << 16 | event->src_mem << 8 | event->dst_mem;
    snprintf(text, 64, "%s%s, %s to %s%s", quote, xft_direction_word(event->direction),
             xft_memory_word(event->src_mem), xft_memory_word(event->dst_mem), quote);
    return (struct xfa_name){number_of(number, NAME_COPY), text};
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void remember(struct xfa_slices *slices, const struct xfa_event *event)
{
    if (event->correlation)
        slices->launched[event->correlation % SEEN] = event->correlation;
}

static void note_transfer(struct xfa_export *export, struct notes *notes,
                          const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_row *row = xfa_analysis_row(export->analysis, transfer->class->row);
    bool priced = transfer->achievable.basis != XFP_UNKNOWN;
    note(notes, "bytes", xfa_value_count(event->bytes), 0);
    note(notes, "direction", xfa_value_word(xft_direction_word(row->key.direction)),
         number_of(row->key.direction, TEXT_OTHER));
    note_memory(notes, "src_memory", row->key.src_mem);
    note_memory(notes, "dst_memory", row->key.dst_mem);
    note(notes, "achieved_ns", xfa_value_real(transfer->achieved_ns), 0);
    if (transfer->achieved_ns > 0)
        note(notes, "achieved_gb_s", xfa_value_real((double)event->bytes / transfer->achieved_ns),
             0);
    if (priced)
        note(notes, "achievable_ns", xfa_value_real(transfer->achievable.ns), 0);
    note(notes, "lost_ns", xfa_value_real(transfer->lost_ns), 0);
    note_site(export, notes, row->site);
}

/* A graph's copies have the times of its launch, and are marks in it. */
void xfa_slices_transfer(struct xfa_export *export, const struct xfa_event *event)
{
    const struct xfa_row *row = xfa_analysis_row(export->analysis, event->transfer.class->row);
    struct notes notes = {.count = 0};
    struct xfa_export_slice slice = slice_of(event->process, event);
    slice.category = "transfer";
    slice.flow = flow_of(event->process, event);
    slice.name = function_name(export, xfa_row_called(row));
    if (event->flags & XFT_GRAPH)
        slice.instant = true;
    note_transfer(export, &notes, event);
    give(export, event->process,
         (struct xfa_export_track_key){.sort = XFA_OF_THREAD, .tid = event->tid}, &slice, &notes);
}

/* Ranks of the communicator. */
static void note_message(struct notes *notes, const struct xfa_event *event)
{
    const struct xfa_message *message = &event->message;
    if (message->to < XFT_RANK_ANY)
        note(notes, "to_rank", xfa_value_count(message->to), 0);
    if (message->from < XFT_RANK_ANY)
        note(notes, "from_rank", xfa_value_count(message->from), 0);
    if (message->arrives)
        note(notes, "arrives", xfa_value_count(message->arrives), 0);
}

static void call(struct xfa_export *export, const struct xfa_event *event)
{
    struct notes notes = {.count = 0};
    struct xfa_export_slice slice = slice_of(event->process, event);
    slice.category = xfa_words_event(event->kind);
    slice.name = function_name(export, xfa_function_of(event));
    slice.flow = flow_of(event->process, event);
    begin_polled(event, &slice, &notes);
    remember(export->self, event);
    if (event->bytes)
        note(&notes, "bytes", xfa_value_count(event->bytes), 0);
    if (event->flags & XFT_FAILED)
        note(&notes, "failed", xfa_value_truth(true), 0);
    if (event->flags & XFT_CAPTURED)
        note(&notes, "captured", xfa_value_truth(true), 0);
    if (event->kind == XFT_EVENT_MESSAGE)
        note_message(&notes, event);
    if (event->stack)
        note_site(export, &notes, xfa_site_of(event));
    give(export, event->process,
         (struct xfa_export_track_key){.sort = XFA_OF_THREAD, .tid = event->tid}, &slice, &notes);
}

/* ---- what devices did ------------------------------------------------------------------------ */

static struct xfa_export_track_key engine(const struct xfa_event *event, unsigned engine,
                                          uint64_t stream)
{
    return (struct xfa_export_track_key){.sort = XFA_OF_STREAM,
                                         .engine = (uint8_t)engine,
                                         .gpu = (int16_t)(event->gpu >= 0 ? event->gpu : -1),
                                         .id = stream};
}

static void copied(struct xfa_export *export, const struct xfa_event *event, const char *category,
                   struct xfa_export_track_key key, uint64_t flow)
{
    char text[64];
    struct notes notes = {.count = 0};
    struct xfa_export_slice slice = slice_of(event->process, event);
    slice.category = category;
    slice.name = copy_name(export, event, text);
    slice.flow = flow;
    slice.arrives = true;
    note(&notes, "bytes", xfa_value_count(event->bytes), 0);
    if (event->end_ns > event->start_ns)
        note(&notes, "gb_s",
             xfa_value_real((double)event->bytes / (double)(event->end_ns - event->start_ns)), 0);
    xfa_slices_rate(export, event->process, key.gpu, event->direction, slice.start_ns, slice.end_ns,
                    event->bytes);
    give(export, event->process, key, &slice, &notes);
}

static unsigned known_direction(const struct xfa_event *event)
{
    return event->direction < XFT_DIRECTION_COUNT ? event->direction : XFT_DIR_UNKNOWN;
}

void xfa_slices_copy(struct xfa_export *export, const struct xfa_event *event)
{
    copied(export, event, "copy",
           engine(event, XFA_ENGINE_COPIES + known_direction(event), event->work.stream),
           flow_of(event->process, event));
}

static void worked(struct xfa_export *export, const struct xfa_event *event, bool kernel)
{
    const struct xfa_slices *slices = export->self;
    struct notes notes = {.count = 0};
    struct xfa_export_slice slice = slice_of(event->process, event);
    slice.category = kernel ? "kernel" : "memset";
    slice.arrives = true;
    if (event->correlation && slices->launched[event->correlation % SEEN] == event->correlation)
        slice.flow = flow_of(event->process, event);
    slice.name = kernel ? text_name(export, event->process, event->work.name)
                        : word_name(export, "memset", "\"memset\"", 1);
    if (kernel && event->work.threads)
        note(&notes, "threads", xfa_value_count(event->work.threads), 0);
    if (!kernel)
        note(&notes, "bytes", xfa_value_count(event->bytes), 0);
    give(export, event->process,
         engine(event, kernel ? XFA_ENGINE_KERNELS : XFA_ENGINE_MEMSETS, event->work.stream),
         &slice, &notes);
}

/* A CPU's fault is of its thread; a GPU's of that GPU. */
static void faulted(struct xfa_export *export, const struct xfa_event *event)
{
    struct notes notes = {.count = 0};
    struct xfa_export_slice slice = slice_of(event->process, event);
    struct xfa_export_track_key key = {.sort = XFA_OF_THREAD, .tid = event->tid};
    slice.category = "fault";
    slice.name = word_name(export, "page faults", "\"page faults\"", 2);
    note(&notes, "count", xfa_value_count(event->managed.count), 0);
    if (event->stack)
        note_site(export, &notes, xfa_site_of(event));
    if (event->gpu >= 0)
        key = engine(event, XFA_ENGINE_FAULTS, 0);
    else
        slice.instant = true; /* it may lie across calls */
    give(export, event->process, key, &slice, &notes);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Those of the process: the lowest level that no open one of them is on. */
static uint8_t free_level(const struct xfa_slices *slices)
{
    uint8_t level = 0;
    while (level < XFA_NESTING && slices->levels[level] > 0)
        level++;
    return level;
}

static uint8_t *level_of(struct xfa_slices *slices, const struct xfa_range *range)
{
    slices->range_levels = xfa_grown(slices->range_levels, &slices->level_capacity,
                                     &slices->level_count, range->slot, 1);
    return &slices->range_levels[range->slot];
}

static void begin_range(struct xfa_slices *slices, const struct xfa_range *range)
{
    uint8_t level = free_level(slices);
    if (range->id == 0)
        return;
    *level_of(slices, range) = level;
    slices->levels[level]++;
}

static void end_range(struct xfa_export *export, const struct xfa_range *range, uint64_t end_ns)
{
    struct xfa_slices *slices = export->self;
    const struct xfa_process *process = slices->process;
    struct notes notes = {.count = 0};
    struct xfa_export_track_key key = {.sort = XFA_OF_PROCESS_RANGES};
    if (range->id) {
        key.id = *level_of(slices, range);
        slices->levels[key.id]--;
    } else {
        key.sort = XFA_OF_RANGES;
        key.tid = range->tid;
        key.id = range->depth < XFA_NESTING ? range->depth : XFA_NESTING;
    }
    const struct xfa_event lasts = {.start_ns = range->start_ns,
                                    .end_ns = end_ns > range->start_ns ? end_ns : range->start_ns};
    struct xfa_export_slice slice = slice_of(process, &lasts);
    slice.category = "range";
    slice.name = text_name(export, process, range->name);
    if (range->domain)
        note(&notes, "domain",
             xfa_value_text(xfa_words_name(&export->words, process, range->domain)),
             number_of(range->domain, NAME_WORD));
    give(export, process, key, &slice, &notes);
}

void xfa_slices_unended(struct xfa_export *export, const struct xfa_range *range, uint64_t end_ns)
{
    end_range(export, range, end_ns);
}

static void ranged(struct xfa_export *export, const struct xfa_event *event)
{
    if (!event->range)
        return;
    if (event->kind == XFT_EVENT_RANGE_BEGIN)
        begin_range(export->self, event->range);
    else
        end_range(export, event->range, event->start_ns);
}

/* ---- events ---------------------------------------------------------------------------------- */

void xfa_slices_event(struct xfa_export *export, const struct xfa_event *event)
{
    switch (event->kind) {
    case XFT_EVENT_KERNEL:
    case XFT_EVENT_MEMSET:
        worked(export, event, event->kind == XFT_EVENT_KERNEL);
        break;
    case XFT_EVENT_MIGRATION:
        copied(export, event, "migration", engine(event, XFA_ENGINE_MIGRATIONS, 0), 0);
        break;
    case XFT_EVENT_FAULT:
        faulted(export, event);
        break;
    case XFT_EVENT_RANGE_BEGIN:
    case XFT_EVENT_RANGE_END:
        ranged(export, event);
        break;
    default:
        if (xft_is_one_of(event->kind, XFA_EXPORTED_CALLS))
            call(export, event);
    }
}

void xfa_slices_end(struct xfa_export *export, struct xfa_process *process)
{
    xfa_slices_rates_end(export);
}
