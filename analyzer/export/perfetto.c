/*
 * Perfetto's own format: a Trace is packets one after the other, each written as soon as it is
 * known (perfetto.proto).
 *
 * Each process of the run is a sequence of its own, whose first packet says that nothing is
 * interned yet; names lie in the packet that needs them first. Times are of CLOCK_REALTIME, and a
 * snapshot makes that the clock of the trace.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/export/slices.h"
#include <perfetto.pb-c.h>

enum { CLEARED = 1, NEEDED = 2 };                         /* sequence_flags */
enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };    /* TrackEvent.type */
enum { CLOCK_OF_DAY = 1, CLOCK_OF_HOST = 3 };             /* of those that every trace knows */
enum { OF_CATEGORY, OF_NAME, OF_KEY, OF_TEXT, INTERNED }; /* lists of InternedData */

#define WORDS 256 /* there are some 50: kinds of events, keys of notes */

typedef PerfettoTrace__TracePacket packet_t;
typedef PerfettoTrace__InternedName interned_t;

/* What a packet has in addition to its event. */
struct brought {
    PerfettoTrace__InternedData data;
    interned_t items[INTERNED][XFA_NOTES + 1];
    interned_t *lists[INTERNED][XFA_NOTES + 1];
    size_t counts[INTERNED];
};

struct perfetto {
    struct xfa_slices slices;
    struct xfa_table interned; /* of the process: list and number */
    uint32_t sequence;
    bool clear;
    const char *words[WORDS];
    size_t word_count;
    uint8_t *packed; /* one packet */
    size_t capacity;
};

/* ---- packets --------------------------------------------------------------------------------- */

static void write_packet(struct xfa_export *export, packet_t *packet)
{
    struct perfetto *perfetto = export->self;
    PerfettoTrace__TracePacketDefaults defaults = PERFETTO_TRACE__TRACE_PACKET_DEFAULTS__INIT;
    PerfettoTrace__Trace trace = PERFETTO_TRACE__TRACE__INIT;
    defaults.has_timestamp_clock_id = true;
    defaults.timestamp_clock_id = CLOCK_OF_DAY;
    packet->has_trusted_packet_sequence_id = packet->has_sequence_flags = true;
    packet->trusted_packet_sequence_id = perfetto->sequence;
    packet->sequence_flags = NEEDED;
    if (perfetto->clear) {
        packet->sequence_flags = CLEARED;
        packet->trace_packet_defaults = &defaults;
        perfetto->clear = false;
    }
    trace.n_packet = 1;
    trace.packet = &packet;
    size_t bytes = perfetto_trace__trace__get_packed_size(&trace);
    perfetto->packed = xfa_room(perfetto->packed, &perfetto->capacity, bytes, 1);
    perfetto_trace__trace__pack(&trace, perfetto->packed);
    fwrite_unlocked(perfetto->packed, 1, bytes, export->out);
    packet->trace_packet_defaults = NULL; /* they end here, the packet does not */
}

/* ---- interning ------------------------------------------------------------------------------- */

struct interned_key {
    uint64_t list, number;
};

/* The number, once it is known what it stands for. */
static uint64_t intern(struct perfetto *perfetto, struct brought *brought, unsigned list,
                       uint64_t number, const char *text)
{
    struct interned_key key = {list, number};
    size_t before = perfetto->interned.count;
    xfa_table_put(&perfetto->interned, &key);
    if (perfetto->interned.count == before)
        return number;
    size_t at = brought->counts[list]++;
    interned_t *item = &brought->items[list][at];
    perfetto_trace__interned_name__init(item);
    item->has_iid = true;
    item->iid = number;
    item->text = (char *)text;
    brought->lists[list][at] = item;
    return number;
}

/* Of ours, which are few, and constants: by their place in a list. */
static uint64_t word_number(struct perfetto *perfetto, const char *word)
{
    size_t i = 0;
    while (i < perfetto->word_count && perfetto->words[i] != word)
        i++;
    if (i == perfetto->word_count && i < WORDS)
        perfetto->words[perfetto->word_count++] = word;
    return i + 1;
}

static void bring(packet_t *packet, struct brought *brought)
{
    PerfettoTrace__InternedData *data = &brought->data;
    perfetto_trace__interned_data__init(data);
    data->n_event_categories = brought->counts[OF_CATEGORY];
    data->event_categories = brought->lists[OF_CATEGORY];
    data->n_event_names = brought->counts[OF_NAME];
    data->event_names = brought->lists[OF_NAME];
    data->n_debug_annotation_names = brought->counts[OF_KEY];
    data->debug_annotation_names = brought->lists[OF_KEY];
    data->n_debug_annotation_string_values = brought->counts[OF_TEXT];
    data->debug_annotation_string_values = brought->lists[OF_TEXT];
    for (size_t list = 0; list < INTERNED; list++)
        if (brought->counts[list])
            packet->interned_data = data;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void annotate(struct perfetto *perfetto, struct brought *brought,
                     PerfettoTrace__DebugAnnotation *annotation, const struct xfa_note *note)
{
    perfetto_trace__debug_annotation__init(annotation);
    annotation->has_name_iid = true;
    annotation->name_iid =
        intern(perfetto, brought, OF_KEY, word_number(perfetto, note->key), note->key);
    switch (note->value.kind) {
    case XFA_VALUE_NONE:
        break;
    case XFA_VALUE_INTEGER:
    case XFA_VALUE_MOMENT:
        annotation->has_int_value = true;
        annotation->int_value = note->value.integer;
        break;
    case XFA_VALUE_REAL:
        annotation->has_double_value = true;
        annotation->double_value = note->value.real;
        break;
    case XFA_VALUE_TRUTH:
        annotation->has_bool_value = true;
        annotation->bool_value = note->value.integer != 0;
        break;
    case XFA_VALUE_WORD:
    case XFA_VALUE_TEXT:
        annotation->has_string_value_iid = true;
        annotation->string_value_iid =
            intern(perfetto, brought, OF_TEXT, note->number, note->value.text);
        break;
    }
}

static void write_event(struct xfa_export *export, PerfettoTrace__TrackEvent *event, unsigned type,
                        uint64_t track, uint64_t at_ns, struct brought *brought)
{
    packet_t packet = PERFETTO_TRACE__TRACE_PACKET__INIT;
    event->has_type = event->has_track_uuid = true;
    event->type = type;
    event->track_uuid = track;
    packet.has_timestamp = true;
    packet.timestamp = at_ns;
    packet.track_event = event;
    if (brought)
        bring(&packet, brought);
    write_packet(export, &packet);
}

static void slice(struct xfa_export *export, const struct xfa_export_slice *slice)
{
    struct perfetto *perfetto = export->self;
    PerfettoTrace__TrackEvent event = PERFETTO_TRACE__TRACK_EVENT__INIT;
    PerfettoTrace__DebugAnnotation annotations[XFA_NOTES], *pointers[XFA_NOTES];
    struct brought brought;
    uint64_t flow = slice->flow, category;
    memset(brought.counts, 0, sizeof brought.counts);
    category = intern(perfetto, &brought, OF_CATEGORY, word_number(perfetto, slice->category),
                      slice->category);
    event.has_name_iid = true;
    event.name_iid = intern(perfetto, &brought, OF_NAME, slice->name.number, slice->name.text);
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.n_flow_ids = flow != 0;
    event.flow_ids = &flow;
    for (size_t i = 0; i < slice->note_count; i++) {
        annotate(perfetto, &brought, &annotations[i], &slice->notes[i]);
        pointers[i] = &annotations[i];
    }
    event.n_debug_annotations = slice->note_count;
    event.debug_annotations = pointers;
    write_event(export, &event, slice->instant ? INSTANT : SLICE_BEGIN, slice->track,
                slice->start_ns, &brought);
    PerfettoTrace__TrackEvent end = PERFETTO_TRACE__TRACK_EVENT__INIT;
    if (!slice->instant)
        write_event(export, &end, SLICE_END, slice->track, slice->end_ns, NULL);
}

static void counter(struct xfa_export *export, const struct xfa_export_track *track, uint64_t at_ns,
                    double value)
{
    PerfettoTrace__TrackEvent event = PERFETTO_TRACE__TRACK_EVENT__INIT;
    event.has_double_counter_value = true;
    event.double_counter_value = value;
    write_event(export, &event, COUNTER, track->number, at_ns, NULL);
}

/* ---- tracks ---------------------------------------------------------------------------------- */

static void track(struct xfa_export *export, const struct xfa_export_track *track)
{
    static char unit[] = "GB/s";
    packet_t packet = PERFETTO_TRACE__TRACE_PACKET__INIT;
    PerfettoTrace__TrackDescriptor descriptor = PERFETTO_TRACE__TRACK_DESCRIPTOR__INIT;
    PerfettoTrace__ProcessDescriptor process = PERFETTO_TRACE__PROCESS_DESCRIPTOR__INIT;
    PerfettoTrace__ThreadDescriptor thread = PERFETTO_TRACE__THREAD_DESCRIPTOR__INIT;
    PerfettoTrace__CounterDescriptor gb_s = PERFETTO_TRACE__COUNTER_DESCRIPTOR__INIT;
    process.has_pid = thread.has_pid = thread.has_tid = true;
    process.pid = thread.pid = track->pid;
    thread.tid = track->tid;
    process.process_name = thread.thread_name = (char *)track->name;
    gb_s.unit_name = unit;
    descriptor.has_uuid = true;
    descriptor.uuid = track->number;
    descriptor.has_parent_uuid = track->parent != 0;
    descriptor.parent_uuid = track->parent;
    descriptor.process = track->kind == XFA_TRACK_PROCESS ? &process : NULL;
    descriptor.thread = track->kind == XFA_TRACK_THREAD ? &thread : NULL;
    descriptor.counter = track->kind == XFA_TRACK_COUNTER ? &gb_s : NULL;
    if (!descriptor.process && !descriptor.thread)
        descriptor.name = (char *)track->name;
    packet.track_descriptor = &descriptor;
    write_packet(export, &packet);
}

/* The clocks as they were when the process began; those of several hosts have the time of day
 * alone.
 */
static void tell_clocks(struct xfa_export *export, const struct xfa_process *process)
{
    packet_t packet = PERFETTO_TRACE__TRACE_PACKET__INIT;
    PerfettoTrace__ClockSnapshot snapshot = PERFETTO_TRACE__CLOCK_SNAPSHOT__INIT;
    PerfettoTrace__ClockSnapshot__Clock day = PERFETTO_TRACE__CLOCK_SNAPSHOT__CLOCK__INIT,
                                        host = PERFETTO_TRACE__CLOCK_SNAPSHOT__CLOCK__INIT;
    PerfettoTrace__ClockSnapshot__Clock *clocks[] = {&day, &host};
    day.has_clock_id = day.has_timestamp = host.has_clock_id = host.has_timestamp = true;
    day.clock_id = CLOCK_OF_DAY;
    day.timestamp = xfa_process_wall_ns(process, process->start_mono_ns);
    host.clock_id = CLOCK_OF_HOST;
    host.timestamp = process->start_mono_ns;
    snapshot.n_clocks = process->clock ? 2 : 1;
    snapshot.clocks = clocks;
    snapshot.has_primary_trace_clock = true;
    snapshot.primary_trace_clock = CLOCK_OF_DAY;
    packet.clock_snapshot = &snapshot;
    write_packet(export, &packet);
}

static void process(struct xfa_export *export, const struct xfa_process *process)
{
    struct perfetto *perfetto = export->self;
    xfa_table_free(&perfetto->interned);
    xfa_table_init(&perfetto->interned, sizeof(struct interned_key), sizeof(struct interned_key));
    perfetto->sequence = process->number + 1;
    perfetto->clear = true;
    if (process->number == 0)
        tell_clocks(export, process);
}

static void begin(struct xfa_export *export)
{
    static const struct xfa_slices_sink sink = {process, track, slice, counter};
    xfa_slices_begin(export, &sink);
}

static void free_self(struct xfa_export *export)
{
    struct perfetto *perfetto = export->self;
    xfa_table_free(&perfetto->interned);
    free(perfetto->packed);
    xfa_slices_free(export);
}

const struct xfa_export_format xfa_export_perfetto = {
    .name = "perfetto",
    .what = "Perfetto's protobuf: slices, flows and counters; ui.perfetto.dev",
    .words = XFA_WORDS_SHOWN,
    .kinds = XFA_ALL_KINDS,
    .self_bytes = sizeof(struct perfetto),
    .begin = begin,
    .process = xfa_slices_process,
    .event = xfa_slices_event,
    .transfer = xfa_slices_transfer,
    .copy = xfa_slices_copy,
    .unended = xfa_slices_unended,
    .end = xfa_slices_end,
    .free = free_self,
};
