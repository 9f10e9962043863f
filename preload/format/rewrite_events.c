#include <errno.h>
#include <string.h>

#include "common/search.h"
#include "preload/format/index.h"
#include "preload/format/rewrite_job.h"

/* The recorder writes no larger chunk: a slab's events in the widest columns take under 1 MiB. */
#define MOST_CHUNK_BYTES XFT_CHUNK_MOST

struct xft_slab_place {
    const struct xft_slab *slab; /* NULL: an EVENTS segment has its rows already */
    uint64_t first_seq;
    uint32_t lane, rows;
};

static struct xft_chunk chunk_of(const struct xft_slab_place *place)
{
    return (struct xft_chunk){.lane = place->lane,
                              .tid = place->slab->tid,
                              .first_seq = place->first_seq,
                              .rows = place->rows};
}

/* ---- finding slabs ---------------------------------------------------------------------- */

/* Copied: its rows may be growing, since other threads of the process go on. */
static struct xft_slab head_of(const struct xft_slab *slab)
{
    struct xft_slab head;
    uint32_t state = __atomic_load_n(&slab->state, __ATOMIC_ACQUIRE);
    uint32_t rows = __atomic_load_n(&slab->committed, __ATOMIC_ACQUIRE);
    memcpy(&head, slab, sizeof head);
    head.state = state;
    head.committed = rows;
    return head;
}

static void take_slab(struct xft_job *job, const struct xft_slab *slab, size_t bytes)
{
    struct xft_damage *damage = &job->want->damage;
    struct xft_slab head = head_of(slab);
    enum xft_slab_worth worth = xft_slab_worth(&head);
    if (worth == XFT_SLAB_BROKEN)
        xft_damage_add(damage, 1, bytes);
    if (worth != XFT_SLAB_SOUND)
        return;
    size_t there = (bytes - sizeof head) / sizeof(struct xft_event);
    uint32_t rows = head.committed < there ? head.committed : (uint32_t)there;
    damage->events += head.committed - rows; /* the file ends before them */
    if (rows > 0 && job->slab_count < job->slab_room)
        job->slabs[job->slab_count++] =
            (struct xft_slab_place){slab, head.first_seq, head.lane, rows};
}

static bool is_before(const void *place, const void *other)
{
    const struct xft_slab_place *a = place, *b = other;
    return a->lane != b->lane ? a->lane < b->lane : a->first_seq < b->first_seq;
}

static void sink(struct xft_slab_place *slabs, size_t at, size_t count)
{
    struct xft_slab_place moved = slabs[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(&slabs[child], &slabs[child + 1]))
            child++;
        if (!is_before(&moved, &slabs[child]))
            break;
        slabs[at] = slabs[child];
    }
    slabs[at] = moved;
}

/* A heap: qsort() may allocate. */
static void sort(struct xft_slab_place *slabs, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(slabs, i, count);
    for (size_t end = count; end-- > 1;) {
        struct xft_slab_place last = slabs[0];
        slabs[0] = slabs[end];
        slabs[end] = last;
        sink(slabs, 0, end);
    }
}

/* How many slabs, from this one on, lie in a hole of the file. */
static size_t hole_before(const struct xft_job *job, const struct xft_slab *slab)
{
    size_t at = (size_t)((const unsigned char *)slab - job->want->file);
    return (xft_data_from(job->want->holes, at, job->want->size) - at) / XFT_SLAB_BYTES;
}

void xft_job_find_slabs(struct xft_job *job)
{
    struct xft_walk walk = xft_job_walk(job, xft_wants(XFT_SEG_LANES));
    struct xft_view view;
    const struct xft_slab *slab;
    size_t bytes;
    job->slabs = xft_job_map(job, job->slab_room * sizeof *job->slabs);
    while (!job->failed && xft_walk_next(&walk, &view)) {
        for (size_t i = 0; (slab = xft_lanes_slab(&view, job->want->file, i, &bytes)); i++) {
            size_t hole = hole_before(job, slab);
            if (hole > 0)
                i += hole - 1;
            else
                take_slab(job, slab, bytes);
        }
    }
    if (!job->failed)
        sort(job->slabs, job->slab_count);
}

void xft_job_forget_slabs(struct xft_job *job)
{
    xft_job_unmap(job->slabs, job->slab_room * sizeof *job->slabs);
}

/* ---- what EVENTS segments have already -------------------------------------------------- */

/* The payload as it was before compression, where that is known; NULL else. The segment is
 * sound, but this reader of its own writing is still careful: it was on a disk. */
static const void *unpack(const struct xft_job *job, const struct xft_view *view, void *buffer,
                          size_t *bytes)
{
    const struct xft_segment *head = &view->head;
    *bytes = head->stored_bytes;
    if (!(head->flags & XFT_SEG_ZSTD))
        return head->raw_bytes == head->stored_bytes ? view->payload : NULL;
    if (job->want->decompress == NULL || head->raw_bytes > MOST_CHUNK_BYTES ||
        head->raw_bytes > xft_unfold_most(head->stored_bytes))
        return NULL;
    *bytes = job->want->decompress(buffer, head->raw_bytes, view->payload, head->stored_bytes);
    return *bytes == head->raw_bytes ? buffer : NULL;
}

/* Whether the chunk has these rows, byte for byte as they would be written. Its head alone is no
 * proof: if its columns were unreadable, the rows, which the slab still has, would be lost. */
static bool is_written(const struct xft_job *job, const struct xft_slab_place *place,
                       const void *raw, size_t bytes)
{
    struct xft_packer *packer = job->want->packer;
    struct xft_chunk chunk = chunk_of(place);
    struct xft_cuts cuts;
    size_t n = xft_encode_events(packer->encoder, &chunk, xft_slab_events(place->slab),
                                 packer->columns, packer->columns_bytes, &cuts);
    return n == bytes && memcmp(packer->columns, raw, n) == 0;
}

/* A slab is written whole, so that its rows are in one chunk or in none. Rows that are in the file
 * twice are read once. */
static void note_written(struct xft_job *job, const void *raw, size_t bytes)
{
    struct xft_chunk chunk;
    memcpy(&chunk, raw, sizeof chunk);
    struct xft_slab_place from = {.lane = chunk.lane, .first_seq = chunk.first_seq};
    size_t at = xfc_partition(job->slabs, job->slab_count, sizeof *job->slabs, is_before, &from);
    struct xft_slab_place *place = &job->slabs[at];
    if (at < job->slab_count && place->lane == chunk.lane && place->first_seq == chunk.first_seq &&
        place->rows == chunk.rows && place->slab && is_written(job, place, raw, bytes))
        place->slab = NULL;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* Notes the rows, which need not be written from slabs. Returns whether there is an index entry:
 * the file's, or one made here. */
static bool look_into(struct xft_job *job, const struct xft_view *view, void *buffer, bool indexed,
                      struct xft_index_entry *entry)
{
    size_t bytes;
    const void *raw = unpack(job, view, buffer, &bytes);
    if (raw == NULL || bytes < sizeof(struct xft_chunk))
        return indexed;
    note_written(job, raw, bytes);
    return indexed || xft_index_read(raw, bytes, entry);
}

static void copy_chunk(struct xft_job *job, const struct xft_view *view, void *buffer)
{
    struct xft_index_entry entry;
    bool indexed = xft_job_index_find(job, view->offset, &entry);
    if (buffer && (job->slab_count > 0 || !indexed))
        indexed = look_into(job, view, buffer, indexed, &entry);
    entry.offset = job->at;
    xft_job_copy(job, view);
    job->want->chunks++;
    if (indexed)
        xft_job_index_add(job, &entry);
}

static void copy_events(struct xft_job *job)
{
    void *buffer = job->want->decompress ? xft_job_map(job, MOST_CHUNK_BYTES) : NULL;
    struct xft_walk walk = xft_job_walk(job, xft_wants(XFT_SEG_EVENTS));
    struct xft_view view;
    while (!job->failed && xft_walk_next(&walk, &view))
        copy_chunk(job, &view, buffer);
    xft_job_unmap(buffer, MOST_CHUNK_BYTES);
}

static void write_slab(struct xft_job *job, const struct xft_slab_place *place, void *buffer,
                       size_t room)
{
    struct xft_chunk chunk = chunk_of(place);
    const struct xft_event *events = xft_slab_events(place->slab);
    struct xft_index_entry entry = xft_index_of(&chunk, events);
    size_t n = xft_pack_events(job->want->packer, &chunk, events, buffer, room);
    entry.offset = job->at;
    if (n == 0)
        xft_job_fail(job, EOVERFLOW);
    xft_job_put(job, buffer, n);
    job->want->slab_events += place->rows;
    job->want->chunks++;
    xft_job_index_add(job, &entry);
    for (uint32_t i = 0; i < place->rows; i++)
        if (events[i].end_ns > job->last_ns)
            job->last_ns = events[i].end_ns;
}

void xft_job_events(struct xft_job *job)
{
    size_t room = xft_pack_events_bound(job->want->packer);
    xft_job_index_begin(job);
    copy_events(job);
    void *buffer = xft_job_map(job, room);
    for (size_t i = 0; i < job->slab_count && !job->failed; i++)
        if (job->slabs[i].slab)
            write_slab(job, &job->slabs[i], buffer, room);
    xft_job_unmap(buffer, room);
    xft_job_index_end(job);
}
