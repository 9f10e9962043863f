#include "rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segments.h"
#include "write.h"

/* No honest chunk is larger: a slab's worth of widest columns is under 1 MiB. */
#define MOST_CHUNK_BYTES (64u << 20)

/* Rows of a lane that EVENTS segments already hold. */
struct span {
    uint32_t lane;
    uint32_t rows;
    uint64_t first_seq;
};

struct job {
    struct xft_rewrite *want;
    uint64_t at; /* where the next segment goes */
    uint64_t last_ns;
    unsigned char *buffer; /* one segment being built */
    size_t buffer_bytes;
    struct span *spans;
    size_t span_count, span_room;
    bool failed;
};

static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void put(struct job *job, const void *bytes, size_t n)
{
    if (job->failed || !xft_write_at(job->want->fd, bytes, n, job->at))
        job->failed = true;
    job->at += n;
}

static struct xft_walk walk_of(const struct xft_rewrite *want)
{
    struct xft_file_header header;
    memcpy(&header, want->file, sizeof header);
    return (struct xft_walk){want->file, want->size, header.header_bytes, false};
}

/* ---- small segments --------------------------------------------------------------------- */

static void copy_segment(struct job *job, const struct xft_view *view)
{
    static const unsigned char zeros[8];
    size_t bytes = sizeof view->head + view->head.stored_bytes;
    put(job, job->want->file + view->offset, bytes);
    put(job, zeros, xft_segment_span(view->head.stored_bytes) - bytes);
}

/* What the caller adds to the lists of this type. */
static size_t addition(const struct xft_rewrite *want, unsigned type, const void **from, char *text,
                       size_t room)
{
    if (type == XFT_SEG_SYMBOLS) {
        *from = want->symbols;
        return want->symbols ? want->symbols_bytes : 0;
    }
    if (type != XFT_SEG_META || want->exit == NULL)
        return 0;
    int n = snprintf(text, room, "exit%c%s", '\0', want->exit);
    *from = text;
    return n > 0 && (size_t)n < room ? (size_t)n + 1 : 0;
}

/* Lists that are stored plainly are joined into one segment; packed ones go as they are. */
static void write_lists(struct job *job, unsigned type)
{
    struct xft_walk walk = walk_of(job->want);
    struct xft_view view;
    char text[128];
    const void *more = NULL;
    size_t more_bytes = addition(job->want, type, &more, text, sizeof text), total = more_bytes;
    while (xft_walk_next(&walk, &view)) {
        if (view.head.type == type && view.head.flags & XFT_SEG_ZSTD)
            copy_segment(job, &view);
        else if (view.head.type == type)
            total += view.head.stored_bytes;
    }
    if (total == 0)
        return;
    size_t room = xft_pack_bound(job->want->packer, total), n = 0;
    unsigned char *joined = map_memory(total), *packed = map_memory(room);
    walk = walk_of(job->want);
    while (joined && packed && xft_walk_next(&walk, &view)) {
        if (view.head.type != type || view.head.flags & XFT_SEG_ZSTD)
            continue;
        memcpy(joined + n, view.payload, view.head.stored_bytes);
        n += view.head.stored_bytes;
    }
    if (joined && packed) {
        memcpy(joined + n, more ? more : joined, more_bytes);
        put(job, packed, xft_pack(job->want->packer, type, joined, total, packed, room));
    }
    job->failed |= joined == NULL || packed == NULL;
    if (joined)
        munmap(joined, total);
    if (packed)
        munmap(packed, room);
}

/* ---- events ----------------------------------------------------------------------------- */

static bool add_span(struct job *job, const struct xft_chunk *chunk)
{
    if (job->span_count == job->span_room) {
        size_t room = job->span_room ? 2 * job->span_room : 4096;
        struct span *more = map_memory(room * sizeof *more);
        if (more == NULL)
            return false;
        if (job->spans) {
            memcpy(more, job->spans, job->span_count * sizeof *more);
            munmap(job->spans, job->span_room * sizeof *more);
        }
        job->spans = more;
        job->span_room = room;
    }
    job->spans[job->span_count++] = (struct span){chunk->lane, chunk->rows, chunk->first_seq};
    return true;
}

/* The segment is sound, but this reader of its own writing is still careful: it was on a disk. */
static bool note_span(struct job *job, const struct xft_view *view)
{
    struct xft_chunk chunk;
    const struct xft_segment *head = &view->head;
    if (!(head->flags & XFT_SEG_ZSTD)) {
        if (head->stored_bytes < sizeof chunk)
            return true;
        memcpy(&chunk, view->payload, sizeof chunk);
        return add_span(job, &chunk);
    }
    if (head->raw_bytes < sizeof chunk || head->raw_bytes > MOST_CHUNK_BYTES)
        return true;
    void *raw = map_memory(head->raw_bytes);
    if (raw == NULL)
        return false;
    size_t n = job->want->decompress(raw, head->raw_bytes, view->payload, head->stored_bytes);
    bool good = true;
    if (n == head->raw_bytes) {
        memcpy(&chunk, raw, sizeof chunk);
        good = add_span(job, &chunk);
    }
    munmap(raw, head->raw_bytes);
    return good;
}

/* A slab is written whole, so that its rows are in one chunk or in none. */
static bool is_written(const struct job *job, const struct xft_chunk *chunk)
{
    for (size_t i = 0; i < job->span_count; i++) {
        const struct span *span = &job->spans[i];
        if (span->lane == chunk->lane && span->first_seq <= chunk->first_seq &&
            chunk->first_seq + chunk->rows <= span->first_seq + span->rows)
            return true;
    }
    return false;
}

static void write_slab(struct job *job, const struct xft_slab *slab)
{
    uint32_t state = __atomic_load_n(&slab->state, __ATOMIC_ACQUIRE);
    uint32_t rows = __atomic_load_n(&slab->committed, __ATOMIC_ACQUIRE);
    if (slab->magic != XFT_SLAB_MAGIC || rows == 0 || rows > XFT_SLAB_EVENTS ||
        (state != XFT_SLAB_ACTIVE && state != XFT_SLAB_FULL))
        return;
    struct xft_chunk chunk = {
        .lane = slab->lane, .tid = slab->tid, .first_seq = slab->first_seq, .rows = rows};
    if (is_written(job, &chunk))
        return;
    const struct xft_event *events = xft_slab_events(slab);
    size_t n = xft_pack_events(job->want->packer, &chunk, events, job->buffer, job->buffer_bytes);
    put(job, job->buffer, n);
    job->failed |= n == 0;
    job->want->slab_events += rows;
    job->want->chunks++;
    for (uint32_t i = 0; i < rows; i++)
        if (events[i].end_ns > job->last_ns)
            job->last_ns = events[i].end_ns;
}

static void write_events(struct job *job)
{
    struct xft_walk walk = walk_of(job->want);
    struct xft_view view;
    while (xft_walk_next(&walk, &view)) {
        if (view.head.type != XFT_SEG_EVENTS)
            continue;
        copy_segment(job, &view);
        job->want->chunks++;
        if (job->want->decompress && !note_span(job, &view))
            job->failed = true;
    }
    job->want->damaged = walk.damaged;
    walk = walk_of(job->want);
    while (xft_walk_next(&walk, &view)) {
        if (view.head.type != XFT_SEG_LANES)
            continue;
        const struct xft_slab *first;
        size_t slabs = xft_lanes(&view, job->want->file, &first);
        for (size_t i = 0; i < slabs; i++)
            write_slab(job, xft_slab_at(first, i));
    }
}

/* Types this version does not know are somebody's data all the same. */
static void write_unknown(struct job *job)
{
    struct xft_walk walk = walk_of(job->want);
    struct xft_view view;
    while (xft_walk_next(&walk, &view))
        if (view.head.type > XFT_SEG_NAMES)
            copy_segment(job, &view);
}

/* ---- the file --------------------------------------------------------------------------- */

static void write_header(struct job *job)
{
    unsigned char block[XFT_HEADER_BYTES] = {0};
    struct xft_file_header header;
    memcpy(&header, job->want->file, sizeof header);
    header.header_bytes = XFT_HEADER_BYTES;
    xft_header_seal(&header);
    header.state = XFT_STATE_CLOSED;
    if (job->want->end_mono_ns)
        header.end_mono_ns = job->want->end_mono_ns;
    else if (header.end_mono_ns < job->last_ns)
        header.end_mono_ns = job->last_ns;
    header.file_bytes = job->at;
    memcpy(block, &header, sizeof header);
    if (!xft_write_at(job->want->fd, block, sizeof block, 0))
        job->failed = true;
}

static void write_all(struct job *job)
{
    static const enum xft_segment_type lists[] = {XFT_SEG_META,   XFT_SEG_CALLS,   XFT_SEG_MODULES,
                                                  XFT_SEG_STACKS, XFT_SEG_SYMBOLS, XFT_SEG_NAMES};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        write_lists(job, lists[i]);
    write_events(job);
    write_unknown(job);
    write_header(job);
}

static int open_beside(const char *path, char *name, size_t room)
{
    int n = snprintf(name, room, "%s.tmp", path);
    if (n < 0 || (size_t)n >= room) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(name, flags, 0600);
    if (fd < 0 && errno == EEXIST && unlink(name) == 0) /* left by one that was killed here */
        fd = open(name, flags, 0600);
    return fd;
}

bool xft_rewrite(struct xft_rewrite *rewrite, const char *path)
{
    char name[PATH_MAX + 8];
    struct job job = {.want = rewrite, .at = XFT_HEADER_BYTES};
    rewrite->slab_events = rewrite->chunks = 0;
    job.buffer_bytes = xft_pack_events_bound(rewrite->packer);
    rewrite->fd = open_beside(path, name, sizeof name);
    if (rewrite->fd < 0)
        return false;
    job.buffer = map_memory(job.buffer_bytes);
    job.failed = job.buffer == NULL;
    if (!job.failed)
        write_all(&job);
    if (job.buffer)
        munmap(job.buffer, job.buffer_bytes);
    if (job.spans)
        munmap(job.spans, job.span_room * sizeof *job.spans);
    if (!job.failed && rename(name, path) == 0)
        return true;
    int error = errno;
    close(rewrite->fd);
    rewrite->fd = -1;
    unlink(name);
    errno = error;
    return false;
}
