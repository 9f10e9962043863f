/* Opening a trace: the header, the walk over the segments, damage and its account. */
#include "analyzer/read/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "xferscope/losses.h"

#define HEADER_CHECKED offsetof(struct xft_file_header, checksum)
#define SEGMENT_CHECKED offsetof(struct xft_segment, header_sum)

static uint64_t align8(uint64_t at)
{
    return (at + 7) & ~(uint64_t)7;
}

static bool segment_sound(const struct xft_segment *segment)
{
    return segment->magic == XFT_SEGMENT_MAGIC &&
           segment->header_sum == XXH3_64bits(segment, SEGMENT_CHECKED);
}

static bool segment_at(const struct xfa_trace *trace, uint64_t at, struct xft_segment *segment)
{
    return xfa_source_read(&trace->source, at, segment, sizeof *segment) == sizeof *segment &&
           segment_sound(segment);
}

static void segment_keep(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    trace->segments = xfa_room(trace->segments, &trace->segment_capacity, trace->segment_count + 1,
                               sizeof *trace->segments);
    trace->segments[trace->segment_count++] = *segment;
}

static void damage(struct xfa_trace *trace, uint64_t bytes)
{
    trace->loss.damaged_segments = xfa_add(trace->loss.damaged_segments, 1);
    trace->loss.damaged_bytes = xfa_add(trace->loss.damaged_bytes, bytes);
}

/* Bytes behind the length that the header states were being written when the process ended: their
 * events are still in their slab, and nothing refers to the rest. */
static bool was_on_its_way(const struct xfa_trace *trace, uint64_t at)
{
    const struct xft_file_header *header = &trace->header;
    return header->state != XFT_STATE_CLOSED && header->file_bytes && at >= header->file_bytes;
}

/* Slabs whose header makes no sense. Their events are counted with the others'. */
static void slabs_examine(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    struct xft_slab slab;
    uint64_t at = xfa_slabs_begin(segment), end = segment->at + segment->stored;
    for (; (at = xfa_slabs_next(trace, at, end)) + sizeof slab <= end; at += XFT_SLAB_BYTES) {
        if (xfa_source_read(&trace->source, at, &slab, sizeof slab) < sizeof slab)
            return;
        if (xfa_slab_worth(trace, &slab) == XFA_SLAB_BROKEN)
            damage(trace, end - at < XFT_SLAB_BYTES ? end - at : XFT_SLAB_BYTES);
    }
}

bool xfa_holds_names(uint16_t type)
{
    return type == XFT_SEG_META || type == XFT_SEG_CALLS || type == XFT_SEG_ARGUMENTS ||
           type == XFT_SEG_SOURCES || (type >= XFT_SEG_STACKS && type <= XFT_SEG_NAMES);
}

static struct xfa_segment segment_of(uint64_t at, const struct xft_segment *header)
{
    return (struct xfa_segment){
        .at = at + sizeof *header,
        .stored = header->stored_bytes,
        .raw = header->raw_bytes,
        .sum = header->payload_sum,
        .type = header->type,
        .flags = header->flags,
    };
}

/* What cannot be read counts as well: to find that out takes as long. */
static bool names_taken(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    unsigned char *raw = xfa_segment_load(trace, segment);
    if (raw)
        xfa_names_take(trace, segment->type, raw, segment->raw);
    else
        trace->names.bytes += segment->raw;
    return raw;
}

static bool within_limits(const struct xfa_trace *trace, const struct xfa_segment *segment)
{
    return xfa_segment_readable(segment) &&
           (!xfa_holds_names(segment->type) || segment->raw <= XFA_MAX_NAMES - trace->names.bytes);
}

static bool sound(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    return xfa_holds_names(segment->type) ? names_taken(trace, segment)
                                          : xfa_segment_sound(trace, segment);
}

/* Checks the payload now, so that what is lost is known before anything is reported. Nothing is to
 * be checked in what newer versions have: it is skipped, by design. */
static void segment_examine(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    bool lanes = segment->type == XFT_SEG_LANES;
    bool checked = !lanes && segment->type != XFT_SEG_PAD && segment->type <= XFT_SEG_KNOWN;
    if (trace->heads && segment->type != XFT_SEG_META) {
        segment_keep(trace, segment);
        return;
    }
    if (checked && !within_limits(trace, segment)) {
        /* what an INDEX says is found without it, and a completed file has a new one */
        trace->loss.limited_segments += segment->type != XFT_SEG_INDEX;
    } else if (checked && !sound(trace, segment)) {
        damage(trace, segment->stored);
    } else {
        segment_keep(trace, segment);
        if (lanes)
            slabs_examine(trace, segment);
    }
}

static bool all_zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Where the next sound segment header at or after `at` starts, or `end`; whether nothing but zeros
 * lies before it. It may be near: little is read at first. */
static uint64_t next_sound(const struct xfa_trace *trace, uint64_t at, uint64_t end, bool *zero)
{
    unsigned char block[65536];
    *zero = true;
    for (size_t most = 512;; most = most < sizeof block ? 2 * most : most) {
        at = xfa_source_data(&trace->source, at, end) & ~(uint64_t)7;
        size_t wanted = end - at < most ? end - at : most, i = 0;
        size_t got = xfa_source_read(&trace->source, at, block, wanted);
        if (got < sizeof(struct xft_segment)) {
            *zero = *zero && all_zero(block, got);
            return end;
        }
        for (; i + sizeof(struct xft_segment) <= got; i += 8) {
            struct xft_segment segment;
            memcpy(&segment, block + i, sizeof segment);
            if (segment_sound(&segment))
                return at + i;
        }
        *zero = *zero && all_zero(block, i);
        at += i;
    }
}

/* Takes what lies at `at` in a room, of which the bytes up to `end` count; returns where the next
 * one starts. */
static uint64_t room_segment(struct xfa_trace *trace, uint64_t at, uint64_t end)
{
    struct xft_segment header;
    if (end - at < sizeof header || !segment_at(trace, at, &header)) {
        bool zero; /* does not matter: what counts was written whole */
        uint64_t next = next_sound(trace, at, end, &zero);
        damage(trace, next - at);
        return next;
    }
    struct xfa_segment segment = segment_of(at, &header);
    if (segment.stored > end - segment.at) {
        damage(trace, end - segment.at);
        return end;
    }
    if (segment.type == XFT_SEG_ROOM)
        damage(trace, segment.stored); /* there is no room in a room */
    else
        segment_examine(trace, &segment);
    return align8(segment.at + segment.stored);
}

/* The segments in a room, as far as they count and are there; `there`: bytes of the room in the
 * file. False when it is not known what counts. */
static bool room_take(struct xfa_trace *trace, const struct xfa_segment *room, uint64_t there)
{
    struct xft_room head;
    if (there < sizeof head ||
        xfa_source_read(&trace->source, room->at, &head, sizeof head) < sizeof head ||
        head.committed > room->stored - sizeof head)
        return false;
    there -= sizeof head;
    uint64_t at = room->at + sizeof head;
    uint64_t end = at + (head.committed < there ? head.committed : there);
    while (at < end)
        at = room_segment(trace, at, end);
    return true;
}

/* Of the segment that the file ends in: the slabs, and the segments in a room, that are there are
 * whole; nothing else is. */
static void cut_take(struct xfa_trace *trace, const struct xfa_segment *segment, uint64_t left)
{
    uint64_t lost = left;
    struct xfa_segment there = *segment;
    there.stored = left;
    if (segment->type == XFT_SEG_LANES) {
        segment_examine(trace, &there);
        lost = 0;
    } else if (segment->type == XFT_SEG_ROOM && room_take(trace, segment, left)) {
        lost = 0;
    }
    if (!was_on_its_way(trace, segment->at - sizeof(struct xft_segment))) {
        trace->loss.truncated = true;
        trace->loss.damaged_bytes = xfa_add(trace->loss.damaged_bytes, lost);
    }
}

/* Takes the segment whose sound header is at `at`; returns where the next one starts. */
static uint64_t segment_take(struct xfa_trace *trace, uint64_t at, const struct xft_segment *header)
{
    struct xfa_segment segment = segment_of(at, header);
    uint64_t left = trace->source.bytes - segment.at;
    if (segment.stored > left) {
        cut_take(trace, &segment, left);
        return trace->source.bytes;
    }
    if (segment.type != XFT_SEG_ROOM)
        segment_examine(trace, &segment);
    else if (!room_take(trace, &segment, segment.stored))
        damage(trace, segment.stored);
    return align8(segment.at + segment.stored);
}

/* Where the next sound segment header after `at` starts, or the end of the file. */
static uint64_t resync(struct xfa_trace *trace, uint64_t at)
{
    bool zero, end_known = trace->header.state == XFT_STATE_CLOSED || trace->header.file_bytes;
    uint64_t end = trace->source.bytes, next = next_sound(trace, at, end, &zero);
    /* A process that still runs, or was killed, leaves room it never used behind. */
    if (next < end || ((!zero || end_known) && !was_on_its_way(trace, at)))
        damage(trace, next - at);
    return next;
}

static void walk(struct xfa_trace *trace)
{
    uint64_t at = align8(trace->header.header_bytes);
    struct xft_segment segment;
    trace->loss.damaged_segments = trace->header.damaged_places;
    trace->loss.damaged_bytes = trace->header.damaged_bytes;
    trace->loss.bad_rows = trace->header.damaged_events;
    trace->loss.truncated = trace->header.header_bytes > trace->source.bytes;
    while (at < trace->source.bytes) {
        if (segment_at(trace, at, &segment))
            at = segment_take(trace, at, &segment);
        else
            at = resync(trace, at);
    }
}

/* A damaged header is replaced by what this version would have written. */
static void header_assume(struct xfa_trace *trace)
{
    struct xft_file_header *header = &trace->header;
    trace->loss.header_damaged = true;
    memset(header, 0, sizeof *header);
    header->version_major = XFT_VERSION_MAJOR;
    header->header_bytes = XFT_HEADER_BYTES;
    header->event_bytes = sizeof(struct xft_event);
    header->state = XFT_STATE_RECORDING;
}

/* NULL when the header can be used, else what is wrong with the file. */
static const char *header_check(struct xfa_trace *trace)
{
    struct xft_file_header *header = &trace->header;
    size_t got = xfa_source_read(&trace->source, 0, header, sizeof *header);
    struct xft_segment first;
    bool sound = got == sizeof *header && header->checksum == XXH3_64bits(header, HEADER_CHECKED);
    bool magic = got >= sizeof header->magic && memcmp(header->magic, XFT_MAGIC, 8) == 0;
    if (trace->source.bytes == 0)
        return "the file is empty";
    if (sound && magic) {
        if (header->byte_order != XFT_BYTE_ORDER)
            return "recorded on a machine of the other byte order";
        if (header->version_major > XFT_VERSION_MAJOR)
            return "newer";
        if (header->header_bytes >= sizeof *header && header->event_bytes > 0 &&
            header->event_bytes <= 4096)
            return NULL;
    } else if (!magic && !segment_at(trace, XFT_HEADER_BYTES, &first)) {
        return "not a trace of xferscope";
    } else if (trace->source.bytes < XFT_HEADER_BYTES) {
        return "truncated inside the file header: nothing can be read";
    }
    header_assume(trace);
    return NULL;
}

static struct xfa_trace *new_trace(const char *name, struct xfa_source source)
{
    struct xfa_trace *trace = xfa_alloc(sizeof *trace);
    trace->name = xfa_text(name);
    trace->source = source;
    return trace;
}

/* NULL, and the trace is closed, when nothing of it can be read. */
static struct xfa_trace *read_trace(struct xfa_trace *trace, char *error, size_t error_bytes)
{
    const char *name = trace->name;
    xfa_names_init(&trace->names);
    const char *wrong = header_check(trace);
    if (wrong) {
        if (strcmp(wrong, "newer") == 0)
            snprintf(error, error_bytes,
                     "%s: trace format version %u; this xferscope reads up to %u: use a newer one",
                     name, trace->header.version_major, XFT_VERSION_MAJOR);
        else
            snprintf(error, error_bytes, "%s: %s", name, wrong);
        xfa_trace_close(trace);
        return NULL;
    }
    walk(trace);
    xfa_trace_rest(trace);
    xfa_names_finish(&trace->names);
    trace->names_bad_entries += trace->names.beyond;
    trace->loss.bad_entries += trace->names.beyond;
    bool closed = trace->header.state == XFT_STATE_CLOSED;
    trace->loss.cut_short =
        (closed && trace->names.pairs.count == 0) || trace->header.file_bytes > trace->source.bytes;
    return trace;
}

static struct xfa_trace *open_file(const char *path, bool heads, char *error, size_t error_bytes)
{
    struct xfa_file_identity file;
    errno = 0;
    int fd = xfa_source_open(path, &file);
    if (fd < 0) {
        snprintf(error, error_bytes, "%s: %s", path,
                 errno ? strerror(errno) : "not a regular file");
        return NULL;
    }
    struct xfa_trace *trace = new_trace(path, (struct xfa_source){.fd = fd, .bytes = file.bytes});
    trace->file = file;
    trace->heads = heads;
    return read_trace(trace, error, error_bytes);
}

struct xfa_trace *xfa_trace_open(const char *path, char *error, size_t error_bytes)
{
    return open_file(path, false, error, error_bytes);
}

struct xfa_trace *xfa_trace_open_heads(const char *path, char *error, size_t error_bytes)
{
    return open_file(path, true, error, error_bytes);
}

struct xfa_trace *xfa_trace_open_bytes(const void *data, size_t bytes, char *error,
                                       size_t error_bytes)
{
    struct xfa_source source = {.fd = -1, .data = data, .bytes = bytes};
    return read_trace(new_trace("(memory)", source), error, error_bytes);
}

void xfa_trace_close(struct xfa_trace *trace)
{
    if (!trace)
        return;
    if (trace->source.fd >= 0)
        close(trace->source.fd);
    xfa_names_free(&trace->names);
    free(trace->segments);
    xfa_trace_rest(trace);
    free(trace->name);
    free(trace);
}

/* ---- what was lost, in one line -------------------------------------------------------------- */

static void part(char **line, uint64_t count, const char *what, const char *one)
{
    if (count == 0)
        return;
    char *longer =
        xfa_print("%s%s%" PRIu64 " %s", *line, **line ? ", " : "", count, count == 1 ? one : what);
    free(*line);
    *line = longer;
}

static void say(char **line, bool holds, const char *what)
{
    if (!holds)
        return;
    char *longer = xfa_print("%s%s%s", *line, **line ? ", " : "", what);
    free(*line);
    *line = longer;
}

char *xfa_trace_loss_line(const struct xfa_trace *trace)
{
    const struct xfa_loss *loss = &trace->loss;
    const struct xft_file_header *header = &trace->header;
    char *line = xfa_text("");
    say(&line, loss->header_damaged, "the file header is damaged");
    say(&line, loss->truncated, "the file ends inside a segment");
    say(&line, loss->cut_short, "the end of the file is missing");
    part(&line, loss->damaged_segments, "damaged places skipped", "damaged place skipped");
    part(&line, loss->damaged_bytes, "bytes unreadable", "byte unreadable");
    part(&line, loss->limited_segments, "segments too large or too new to read",
         "segment too large or too new to read");
    part(&line, loss->bad_entries, "malformed entries", "malformed entry");
    part(&line, loss->bad_rows, "malformed events", "malformed event");
    part(&line, loss->missing_events, "events missing from the file",
         "event missing from the file");
#define XFT_LOSS(name, field, json, metric, what, one)                                             \
    part(&line, xft_loss_of(header, XFT_LOSS_##name), what, one);
#include "xferscope/losses.def"
#undef XFT_LOSS
    if (*line)
        return line;
    free(line);
    return NULL;
}
