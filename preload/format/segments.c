#define XXH_INLINE_ALL
#include "preload/format/segments.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define LANES_ALIGN 4096

/* Readers reject longer segments, so their checksum is not computed. */
#define MOST_STORED XFT_SEGMENT_MOST
#define MOST_CHUNK XFT_CHUNK_MOST

#define HOLE_STEP 65536 /* bytes of zeros after which holes are looked for */

static uint64_t header_sum(const struct xft_segment *segment)
{
    return XXH3_64bits(segment, offsetof(struct xft_segment, header_sum));
}

void xft_header_seal(struct xft_file_header *header)
{
    memcpy(header->magic, XFT_MAGIC, sizeof header->magic);
    header->byte_order = XFT_BYTE_ORDER;
    header->version_major = XFT_VERSION_MAJOR;
    header->version_minor = XFT_VERSION_MINOR;
    header->header_bytes = XFT_HEADER_BYTES;
    header->event_bytes = sizeof(struct xft_event);
    header->checksum = XXH3_64bits(header, offsetof(struct xft_file_header, checksum));
}

const char *xft_header_check(const void *file, size_t size)
{
    struct xft_file_header header;
    if (size < sizeof header)
        return size == 0 ? "the file is empty" : "the file ends within its header";
    memcpy(&header, file, sizeof header);
    if (memcmp(header.magic, XFT_MAGIC, sizeof header.magic) != 0)
        return "not a trace file";
    if (header.byte_order != XFT_BYTE_ORDER)
        return "written on a machine of the other byte order";
    if (header.version_major > XFT_VERSION_MAJOR)
        return "written by a newer version";
    if (header.checksum != XXH3_64bits(&header, offsetof(struct xft_file_header, checksum)))
        return "the file header is damaged";
    if (header.header_bytes < sizeof header || header.header_bytes > size)
        return "the file ends within its header";
    if (header.event_bytes != sizeof(struct xft_event))
        return "its events are of another size";
    return NULL;
}

struct xft_segment xft_segment_make(enum xft_segment_type type, unsigned flags, const void *payload,
                                    uint64_t stored_bytes, uint64_t raw_bytes)
{
    struct xft_segment segment = {
        .magic = XFT_SEGMENT_MAGIC,
        .type = (uint16_t)type,
        .flags = (uint16_t)flags,
        .stored_bytes = stored_bytes,
        .raw_bytes = raw_bytes,
        .payload_sum = payload ? XXH3_64bits(payload, stored_bytes) : 0,
    };
    segment.header_sum = header_sum(&segment);
    return segment;
}

uint64_t xft_segment_span(uint64_t stored_bytes)
{
    return XFT_ALIGN(sizeof(struct xft_segment) + stored_bytes, 8);
}

static bool header_ok(const struct xft_segment *head)
{
    return head->magic == XFT_SEGMENT_MAGIC && head->header_sum == header_sum(head);
}

static bool has_sum(const struct xft_segment *head)
{
    return head->type != XFT_SEG_LANES && head->type != XFT_SEG_PAD && head->type != XFT_SEG_ROOM;
}

void xft_damage_add(struct xft_damage *damage, uint64_t places, uint64_t bytes)
{
    damage->places += places;
    damage->bytes += bytes;
}

struct xft_walk xft_walk_begin(const void *file, size_t size, const struct xft_file_header *header,
                               uint32_t wanted)
{
    bool closed = header->state == XFT_STATE_CLOSED;
    return (struct xft_walk){.file = file,
                             .size = size,
                             .at = XFT_ALIGN(header->header_bytes, 8),
                             .wanted = wanted,
                             .closed = closed,
                             .stated_bytes = closed ? 0 : header->file_bytes};
}

/* Zeros or a part of a segment at the end: beyond `stated_bytes` it was still being written. */
static void note_end(struct xft_walk *walk, size_t from, uint64_t bytes)
{
    if (walk->stated_bytes == 0 || from < walk->stated_bytes)
        xft_damage_add(&walk->damage, 1, bytes);
}

size_t xft_data_from(const int *holes, size_t at, size_t end)
{
    if (holes == NULL || at >= end)
        return at < end ? at : end;
    off_t data = lseek(*holes, (off_t)at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? end : at;
    return (size_t)data < end ? (size_t)data : end;
}

/* To the next sound segment header, or the end of the file. */
static void resync(struct xft_walk *walk)
{
    struct xft_segment head;
    size_t from = walk->at;
    bool zero = true;
    for (; walk->at < walk->size; walk->at += 8) {
        if (walk->at % HOLE_STEP == 0)
            walk->at = xft_data_from(walk->holes, walk->at, walk->size) & ~(size_t)7;
        size_t left = walk->size - walk->at;
        if (left >= sizeof head) {
            memcpy(&head, walk->file + walk->at, sizeof head);
            if (header_ok(&head)) {
                xft_damage_add(&walk->damage, 1, walk->at - from);
                return;
            }
        }
        for (size_t i = 0; zero && i < 8 && i < left; i++)
            zero = walk->file[walk->at + i] == 0;
    }
    walk->at = walk->size;
    if (walk->outer_size) /* what counts in a room was written whole */
        xft_damage_add(&walk->damage, 1, walk->size - from);
    else if (!zero || walk->closed || walk->stated_bytes)
        note_end(walk, from, walk->size - from);
}

/* A segment that the end of the file cuts off: of LANES the slabs that are there are used. */
static bool take_cut(struct xft_walk *walk, struct xft_view *view, size_t left)
{
    bool lanes = view->head.type == XFT_SEG_LANES;
    walk->cut = true;
    walk->at = walk->size;
    view->head.stored_bytes = left;
    note_end(walk, view->offset, lanes ? 0 : left);
    return lanes;
}

/* Continues the walk inside the ROOM, up to its `committed` bytes as far as the file has them;
 * `left`: bytes of the file. */
static void enter_room(struct xft_walk *walk, const struct xft_view *view, size_t left)
{
    uint64_t stored = view->head.stored_bytes, committed = 0;
    bool cut = stored > left;
    size_t there = cut ? left : (size_t)stored, first = walk->at + sizeof view->head;
    if (there >= sizeof(struct xft_room))
        committed = __atomic_load_n((const uint64_t *)view->payload, __ATOMIC_ACQUIRE);
    bool sound = there >= sizeof(struct xft_room) && committed <= stored - sizeof(struct xft_room);
    if (cut)
        note_end(walk, walk->at, sound ? 0 : left);
    else if (!sound)
        xft_damage_add(&walk->damage, 1, stored);
    walk->cut |= cut;
    walk->outer_at = cut ? walk->size : walk->at + xft_segment_span(stored);
    walk->at = walk->outer_at;
    if (!sound)
        return;
    there -= sizeof(struct xft_room);
    walk->outer_size = walk->size;
    walk->at = first + sizeof(struct xft_room);
    walk->size = walk->at + (committed < there ? committed : there);
}

/* In a room: no ROOM, and nothing that reaches beyond what counts there. */
static bool step_over(struct xft_walk *walk, const struct xft_view *view, size_t left)
{
    bool fits = view->head.stored_bytes <= left;
    if (walk->outer_size == 0 || (fits && view->head.type != XFT_SEG_ROOM))
        return false;
    uint64_t bytes = fits ? view->head.stored_bytes : left;
    xft_damage_add(&walk->damage, 1, bytes);
    walk->at = fits ? walk->at + xft_segment_span(bytes) : walk->size;
    return true;
}

/* False at the end of the file. */
static bool go_on(struct xft_walk *walk)
{
    if (walk->at >= walk->size && walk->outer_size) {
        walk->at = walk->outer_at;
        walk->size = walk->outer_size;
        walk->outer_size = 0;
    }
    return walk->at < walk->size;
}

static bool is_whole(const struct xft_view *view)
{
    const struct xft_segment *head = &view->head;
    bool chunk = head->type == XFT_SEG_EVENTS || head->type == XFT_SEG_INDEX;
    if (!has_sum(head))
        return true;
    return head->stored_bytes <= (chunk ? MOST_CHUNK : MOST_STORED) &&
           XXH3_64bits(view->payload, head->stored_bytes) == head->payload_sum;
}

bool xft_walk_next(struct xft_walk *walk, struct xft_view *view)
{
    while (go_on(walk)) {
        size_t left = walk->size - walk->at;
        if (left >= sizeof view->head)
            memcpy(&view->head, walk->file + walk->at, sizeof view->head);
        if (left < sizeof view->head || !header_ok(&view->head)) {
            resync(walk);
            continue;
        }
        view->offset = walk->at;
        view->payload = walk->file + walk->at + sizeof view->head;
        left -= sizeof view->head;
        if (step_over(walk, view, left))
            continue;
        if (view->head.type == XFT_SEG_ROOM) {
            enter_room(walk, view, left);
            continue;
        }
        bool wanted = walk->wanted == 0 || walk->wanted & xft_wants(view->head.type);
        if (view->head.stored_bytes > left) {
            if (take_cut(walk, view, left) && wanted)
                return true;
            continue;
        }
        walk->at += xft_segment_span(view->head.stored_bytes);
        if (!wanted)
            continue;
        if (is_whole(view))
            return true;
        xft_damage_add(&walk->damage, 1, view->head.stored_bytes);
    }
    return false;
}

const struct xft_slab *xft_lanes_slab(const struct xft_view *view, const unsigned char *file,
                                      size_t i, size_t *bytes)
{
    size_t payload = (size_t)(view->payload - file);
    size_t end = payload + view->head.stored_bytes;
    size_t start = XFT_ALIGN(payload, LANES_ALIGN);
    if (start > end || i > (end - start) / XFT_SLAB_BYTES)
        return NULL;
    start += i * XFT_SLAB_BYTES;
    *bytes = end - start < XFT_SLAB_BYTES ? end - start : XFT_SLAB_BYTES;
    return *bytes < sizeof(struct xft_slab) ? NULL : (const struct xft_slab *)(file + start);
}

enum xft_slab_worth xft_slab_worth(const struct xft_slab *slab)
{
    static const struct xft_slab untouched;
    if (memcmp(slab, &untouched, sizeof untouched) == 0)
        return XFT_SLAB_EMPTY;
    if (slab->magic != XFT_SLAB_MAGIC || slab->state > XFT_SLAB_FULL)
        return XFT_SLAB_BROKEN;
    if (slab->state == XFT_SLAB_FREE)
        return XFT_SLAB_EMPTY;
    if (slab->committed > XFT_SLAB_EVENTS || slab->first_seq > UINT64_MAX - slab->committed)
        return XFT_SLAB_BROKEN;
    return slab->committed ? XFT_SLAB_SOUND : XFT_SLAB_EMPTY;
}
