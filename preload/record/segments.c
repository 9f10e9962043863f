#define XXH_INLINE_ALL
#include "segments.h"

#include <string.h>
#include <xxhash.h>

#define LANES_ALIGN 4096

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
    return head->type != XFT_SEG_LANES && head->type != XFT_SEG_PAD;
}

bool xft_walk_next(struct xft_walk *walk, struct xft_view *view)
{
    for (; walk->at + sizeof view->head <= walk->size; walk->at += 8) {
        memcpy(&view->head, walk->file + walk->at, sizeof view->head);
        if (!header_ok(&view->head)) {
            walk->damaged = true;
            continue;
        }
        size_t left = walk->size - walk->at - sizeof view->head;
        view->offset = walk->at;
        view->payload = walk->file + walk->at + sizeof view->head;
        bool cut = view->head.stored_bytes > left;
        if (cut && has_sum(&view->head)) {
            walk->damaged = true;
            continue;
        }
        if (cut) /* the slabs that are there are good */
            view->head.stored_bytes = left;
        if (has_sum(&view->head) &&
            XXH3_64bits(view->payload, view->head.stored_bytes) != view->head.payload_sum) {
            walk->damaged = true;
            continue;
        }
        walk->at += xft_segment_span(view->head.stored_bytes);
        return true;
    }
    return false;
}

size_t xft_lanes(const struct xft_view *view, const unsigned char *file,
                 const struct xft_slab **first)
{
    size_t payload = (size_t)(view->payload - file);
    size_t end = payload + view->head.stored_bytes;
    size_t start = XFT_ALIGN(payload, LANES_ALIGN);
    *first = (const struct xft_slab *)(file + start);
    return end > start ? (end - start) / XFT_SLAB_BYTES : 0;
}
