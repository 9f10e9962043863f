/*
 * The Trace Event Format of Chrome, as JSON: complete events (X), marks (i), flows (s, f), counters
 * (C) and names of tracks (M).
 *
 * Its times are microseconds in floating point: they count from the midnight, UTC, before the run
 * (a day earlier still, for processes whose clock is behind), so that a nanosecond is not lost.
 */
#include <inttypes.h>

#include "analyzer/export/slices.h"

#define DAY_NS UINT64_C(86400000000000)

struct chrome {
    struct xfa_slices slices;
    uint64_t base_ns;
    bool begun;
};

static void write_moment(const struct chrome *chrome, const char *key, uint64_t ns, FILE *out)
{
    uint64_t since = ns > chrome->base_ns ? ns - chrome->base_ns : 0;
    fprintf(out, ",\"%s\":%" PRIu64 ".%03u", key, since / 1000, (unsigned)(since % 1000));
}

/* An event begins: its phase and where it is. */
static void begin_event(struct xfa_export *export, const char *phase, int pid, int64_t tid)
{
    fprintf(export->out, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%" PRId64, phase, pid, tid);
}

static void process(struct xfa_export *export, const struct xfa_process *process)
{
    struct chrome *chrome = export->self;
    if (chrome->begun)
        return;
    chrome->begun = true;
    uint64_t start_ns = xfa_process_wall_ns(process, process->start_mono_ns);
    chrome->base_ns = start_ns > 2 * DAY_NS ? start_ns - start_ns % DAY_NS - DAY_NS : 0;
    fprintf(export->out,
            "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"producer\":\"xferscope\","
            "\"zero_ns_since_1970\":\"%" PRIu64 "\"},\n\"traceEvents\":[\n"
            "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":"
            "\"xferscope\"}}",
            chrome->base_ns);
}

/* Of a lane the thread's number is made up; thread_name says what it is. */
static void track(struct xfa_export *export, const struct xfa_export_track *track)
{
    bool group = track->kind == XFA_TRACK_PROCESS || track->kind == XFA_TRACK_GPU;
    int64_t tid = track->kind == XFA_TRACK_THREAD  ? track->tid
                  : track->kind == XFA_TRACK_PLAIN ? XFA_LANE_TID + (int64_t)track->number
                                                   : 0;
    if (track->kind == XFA_TRACK_COUNTER || track->kind == XFA_TRACK_GROUP)
        return;
    begin_event(export, "M", track->pid, tid);
    fprintf(export->out, ",\"name\":\"%s\",\"args\":{\"name\":%s}}",
            group ? "process_name" : "thread_name", track->name);
}

static void write_notes(const struct xfa_export_slice *slice, FILE *out)
{
    fputs_unlocked(",\"args\":{", out);
    for (size_t i = 0; i < slice->note_count; i++) {
        const struct xfa_note *note = &slice->notes[i];
        bool quoted = note->value.kind == XFA_VALUE_WORD;
        fprintf(out, quoted ? "%s\"%s\":\"" : "%s\"%s\":", i ? "," : "", note->key);
        xfa_value_write(&note->value, out);
        if (quoted)
            putc_unlocked('"', out);
    }
    putc_unlocked('}', out);
}

static void write_flow(struct xfa_export *export, const struct xfa_export_slice *slice)
{
    begin_event(export, slice->arrives ? "f" : "s", slice->pid, slice->tid);
    write_moment(export->self, "ts", slice->start_ns, export->out);
    fprintf(export->out, ",\"id\":\"0x%" PRIx64 "\",\"name\":\"work\",\"cat\":\"flow\"%s}",
            slice->flow, slice->arrives ? ",\"bp\":\"e\"" : "");
}

static void slice(struct xfa_export *export, const struct xfa_export_slice *slice)
{
    begin_event(export, slice->instant ? "i" : "X", slice->pid, slice->tid);
    write_moment(export->self, "ts", slice->start_ns, export->out);
    if (!slice->instant)
        fprintf(export->out, ",\"dur\":%" PRIu64 ".%03u", (slice->end_ns - slice->start_ns) / 1000,
                (unsigned)((slice->end_ns - slice->start_ns) % 1000));
    fprintf(export->out, "%s,\"cat\":\"%s\",\"name\":", slice->instant ? ",\"s\":\"t\"" : "",
            slice->category);
    fputs_unlocked(slice->name.text, export->out);
    write_notes(slice, export->out);
    putc_unlocked('}', export->out);
    if (slice->flow)
        write_flow(export, slice);
}

static void counter(struct xfa_export *export, const struct xfa_export_track *track, uint64_t at_ns,
                    double value)
{
    begin_event(export, "C", track->pid, 0);
    write_moment(export->self, "ts", at_ns, export->out);
    fprintf(export->out, ",\"name\":%s,\"args\":{\"GB/s\":%.9g}}", track->name, value);
}

static void begin(struct xfa_export *export)
{
    static const struct xfa_slices_sink sink = {process, track, slice, counter};
    xfa_slices_begin(export, &sink);
}

static void finish(struct xfa_export *export)
{
    fputs("\n]}\n", export->out);
}

const struct xfa_export_format xfa_export_chrome = {
    .name = "chrome",
    .what = "Chrome's trace events, in JSON: chrome://tracing, Perfetto, Speedscope",
    .text = true,
    .words = XFA_WORDS_JSON,
    .kinds = UINT32_MAX,
    .self_bytes = sizeof(struct chrome),
    .begin = begin,
    .process = xfa_slices_process,
    .event = xfa_slices_event,
    .transfer = xfa_slices_transfer,
    .copy = xfa_slices_copy,
    .unended = xfa_slices_unended,
    .end = xfa_slices_end,
    .finish = finish,
    .free = xfa_slices_free,
};
