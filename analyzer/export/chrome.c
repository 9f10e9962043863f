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

/* An event begins: its phase and where it is. */
static void begin_event(struct xfa_line *line, struct xfa_export *export, const char *phase,
                        int pid, int64_t tid)
{
    xfa_line_begin(line, export->out);
    xfa_line_text(line, ",\n{\"ph\":\"");
    xfa_line_text(line, phase);
    xfa_line_text(line, "\",\"pid\":");
    xfa_line_signed(line, pid);
    xfa_line_text(line, ",\"tid\":");
    xfa_line_signed(line, tid);
}

static void write_moment(struct xfa_line *line, const struct chrome *chrome, uint64_t ns)
{
    xfa_line_text(line, ",\"ts\":");
    xfa_line_us(line, ns > chrome->base_ns ? ns - chrome->base_ns : 0);
}

static void end_event(struct xfa_line *line)
{
    xfa_line_add(line, "}", 1);
    xfa_line_end(line);
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

/* Of a strip the thread's number is made up; thread_name says what it is. */
static void track(struct xfa_export *export, const struct xfa_export_track *track)
{
    bool group = track->kind == XFA_TRACK_PROCESS || track->kind == XFA_TRACK_GPU;
    int64_t tid = track->kind == XFA_TRACK_THREAD  ? track->tid
                  : track->kind == XFA_TRACK_PLAIN ? XFA_STRIP_TID + (int64_t)track->number
                                                   : 0;
    if (track->kind == XFA_TRACK_COUNTER || track->kind == XFA_TRACK_GROUP)
        return;
    struct xfa_line line;
    begin_event(&line, export, "M", track->pid, tid);
    xfa_line_text(&line, group ? ",\"name\":\"process_name\",\"args\":{\"name\":"
                               : ",\"name\":\"thread_name\",\"args\":{\"name\":");
    xfa_line_text(&line, track->name);
    xfa_line_add(&line, "}", 1);
    end_event(&line);
}

static void write_notes(struct xfa_line *line, const struct xfa_export_slice *slice)
{
    xfa_line_text(line, ",\"args\":{");
    for (size_t i = 0; i < slice->note_count; i++) {
        const struct xfa_note *note = &slice->notes[i];
        bool quoted = note->value.kind == XFA_VALUE_WORD;
        xfa_line_text(line, i ? ",\"" : "\"");
        xfa_line_text(line, note->key);
        xfa_line_text(line, quoted ? "\":\"" : "\":");
        xfa_value_write(&note->value, line);
        if (quoted)
            xfa_line_add(line, "\"", 1);
    }
    xfa_line_add(line, "}", 1);
}

static void write_flow(struct xfa_export *export, const struct xfa_export_slice *slice)
{
    struct xfa_line line;
    begin_event(&line, export, slice->arrives ? "f" : "s", slice->pid, slice->tid);
    write_moment(&line, export->self, slice->start_ns);
    xfa_line_text(&line, ",\"id\":\"");
    xfa_line_hex(&line, slice->flow);
    xfa_line_text(&line, "\",\"name\":\"work\",\"cat\":\"flow\"");
    if (slice->arrives)
        xfa_line_text(&line, ",\"bp\":\"e\"");
    end_event(&line);
}

static void slice(struct xfa_export *export, const struct xfa_export_slice *slice)
{
    struct xfa_line line;
    begin_event(&line, export, slice->instant ? "i" : "X", slice->pid, slice->tid);
    write_moment(&line, export->self, slice->start_ns);
    if (!slice->instant) {
        xfa_line_text(&line, ",\"dur\":");
        xfa_line_us(&line, slice->end_ns - slice->start_ns);
    }
    xfa_line_text(&line, slice->instant ? ",\"s\":\"t\",\"cat\":\"" : ",\"cat\":\"");
    xfa_line_text(&line, slice->category);
    xfa_line_text(&line, "\",\"name\":");
    xfa_line_text(&line, slice->name.text);
    write_notes(&line, slice);
    end_event(&line);
    if (slice->flow)
        write_flow(export, slice);
}

static void counter(struct xfa_export *export, const struct xfa_export_track *track, uint64_t at_ns,
                    double value)
{
    struct xfa_line line;
    begin_event(&line, export, "C", track->pid, 0);
    write_moment(&line, export->self, at_ns);
    xfa_line_text(&line, ",\"name\":");
    xfa_line_text(&line, track->name);
    xfa_line_text(&line, ",\"args\":{\"GB/s\":");
    xfa_line_real(&line, value, 9);
    xfa_line_add(&line, "}", 1);
    end_event(&line);
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
    .kinds = XFA_ALL_KINDS,
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
