#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "preload/format/lists.h"
#include "preload/format/rewrite_job.h"

/* Of one joined segment: memory that a process can spare at its end. */
#define MOST_JOINED_BYTES (32u << 20)
_Static_assert(MOST_JOINED_BYTES <= XFT_SEGMENT_MOST, "a reader takes it");

struct joined {
    unsigned type;
    unsigned char *bytes, *packed;
    size_t count, room, packed_room;
};

bool xft_job_can_join(const struct xft_view *view)
{
    const struct xft_segment *head = &view->head;
    return head->flags == 0 && head->raw_bytes == head->stored_bytes &&
           head->stored_bytes <= MOST_JOINED_BYTES &&
           xft_list_ok(head->type, view->payload, head->stored_bytes);
}

static void flush(struct xft_job *job, struct joined *joined)
{
    if (joined->count == 0 || job->failed)
        return;
    size_t n = xft_pack(job->want->packer, (enum xft_segment_type)joined->type, joined->bytes,
                        joined->count, joined->packed, joined->packed_room);
    if (n == 0)
        xft_job_fail(job, EOVERFLOW);
    xft_job_put(job, joined->packed, n);
    joined->count = 0;
}

static bool join(struct xft_job *job, struct joined *joined, const void *bytes, size_t n)
{
    if (n > joined->room)
        return false;
    if (n > joined->room - joined->count)
        flush(job, joined);
    if (n > 0 && !job->failed)
        memcpy(joined->bytes + joined->count, bytes, n);
    joined->count += n;
    return true;
}

/* What the caller wants added to the lists of this type. */
static size_t addition(const struct xft_rewrite *want, unsigned type, const void **from, char *text,
                       size_t room)
{
    *from = text;
    if (type == XFT_SEG_SYMBOLS) {
        *from = want->symbols;
        return want->symbols ? want->symbols_bytes : 0;
    }
    if (type == XFT_SEG_SOURCES) {
        *from = want->sources;
        return want->sources ? want->sources_bytes : 0;
    }
    if (type != XFT_SEG_META || want->exit == NULL)
        return 0;
    int n = snprintf(text, room, "exit%c%s", '\0', want->exit);
    return n > 0 && (size_t)n < room ? (size_t)n + 1 : 0;
}

/* Adds entry by entry, and begins another segment when one is full. Entries beyond the limit of all
 * lists together are left out. */
static void join_entries(struct xft_job *job, struct joined *joined, const unsigned char *at,
                         size_t bytes)
{
    size_t entry;
    for (; bytes > 0 && !job->failed; at += entry, bytes -= entry) {
        entry = xft_list_entry(joined->type, at, bytes);
        if (entry == 0 || !join(job, joined, at, entry))
            xft_job_fail(job, EOVERFLOW);
    }
}

/* Bytes of the whole entries that a reader still has room for. */
static size_t fitting(const struct xft_job *job, unsigned type, const unsigned char *at,
                      size_t bytes)
{
    uint64_t others = job->all_list_bytes;
    size_t taken = 0, entry;
    if (others + bytes <= XFT_LISTS_MOST)
        return bytes;
    while (taken < bytes && (entry = xft_list_entry(type, at + taken, bytes - taken)) > 0 &&
           others + taken + entry <= XFT_LISTS_MOST)
        taken += entry;
    return taken;
}

void xft_job_lists(struct xft_job *job, unsigned type)
{
    char text[128];
    const void *more;
    size_t more_bytes = addition(job->want, type, &more, text, sizeof text);
    more_bytes = fitting(job, type, more, more_bytes);
    uint64_t total = job->list_bytes[type] + more_bytes;
    size_t room = total < MOST_JOINED_BYTES ? (size_t)total : MOST_JOINED_BYTES;
    struct joined joined = {.type = type, .room = room};
    if (joined.room > 0) {
        joined.packed_room = xft_pack_bound(job->want->packer, joined.room);
        joined.bytes = xft_job_map(job, joined.room);
        joined.packed = xft_job_map(job, joined.packed_room);
    }
    struct xft_walk walk = xft_job_walk(job, xft_wants(type));
    struct xft_view view;
    while (!job->failed && xft_walk_next(&walk, &view)) {
        if (xft_job_can_join(&view) && join(job, &joined, view.payload, view.head.stored_bytes))
            continue;
        flush(job, &joined); /* later META pairs replace earlier ones: the order stays */
        xft_job_copy(job, &view);
    }
    join_entries(job, &joined, more, more_bytes);
    flush(job, &joined);
    xft_job_unmap(joined.bytes, joined.room);
    xft_job_unmap(joined.packed, joined.packed_room);
}
