#include "preload/record/recorder.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/base/log.h"
#include "preload/format/index.h"
#include "preload/format/segments.h"
#include "preload/record/notes.h"

#define APART_BYTES 4096

static int said;

bool xfs_write_trouble_was_said(void)
{
    return __atomic_load_n(&said, __ATOMIC_RELAXED) != 0;
}

void xfs_write_trouble(const char *what)
{
    if (xfs_once(&said))
        xfs_log("%s: %s; going on, and counting what is lost", what, strerrordesc_np(errno));
}

static bool write_rows(struct xfs_recorder *recorder, const struct xft_slab *slab, uint32_t from,
                       uint32_t to)
{
    struct xft_chunk chunk = {.lane = slab->lane,
                              .tid = slab->tid,
                              .first_seq = slab->first_seq + from,
                              .rows = to - from};
    struct xft_index_entry entry = xft_index_of(&chunk, xft_slab_events(slab) + from);
    size_t n = xft_pack_events(&recorder->packer, &chunk, xft_slab_events(slab) + from,
                               recorder->packed, recorder->packed_bytes);
    bool good = n > 0 && xfs_file_append_events(&recorder->file, recorder->packed, n, &entry);
    if (!good)
        xfs_write_trouble("cannot write events");
    else
        xfs_size_wrote(recorder->settings->most_bytes,
                       __atomic_load_n(&recorder->file.end, __ATOMIC_RELAXED));
    return good;
}

/* Rows of zeros lay in a part of the file that was cut. */
static bool write_cut(struct xfs_recorder *recorder, const struct xft_slab *slab, uint32_t rows)
{
    const struct xft_event *events = xft_slab_events(slab);
    bool good = true;
    for (uint32_t i = 0, from; good && i < rows; i++) {
        for (from = i; i < rows && events[i].kind != XFT_EVENT_NONE;)
            i++;
        good = i == from || write_rows(recorder, slab, from, i);
    }
    return good;
}

bool xfs_write_slab(struct xfs_recorder *recorder, const struct xft_slab *slab)
{
    uint32_t rows = slab->committed, magic = __atomic_load_n(&slab->magic, __ATOMIC_RELAXED);
    if (rows == 0 || magic != XFT_SLAB_MAGIC) /* magic is gone: the file was cut before this slab */
        return true;
    return write_cut(recorder, slab, rows);
}

void xfs_write_apart(struct xfs_recorder *recorder, const struct xft_event *event)
{
    struct xft_slab *slab = recorder->apart;
    if (slab == NULL) {
        void *page =
            mmap(NULL, APART_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) {
            xfs_count_lost(recorder, XFT_LOSS_EVENTS, 1);
            return;
        }
        slab = recorder->apart = page;
        slab->magic = XFT_SLAB_MAGIC;
        slab->lane =
            1 + atomic_fetch_add_explicit(&recorder->lanes.lane_count, 1, memory_order_relaxed);
        slab->committed = 1;
    }
    *xft_slab_events(slab) = *event;
    pthread_mutex_lock(&recorder->pack_lock);
    if (xfs_write_slab(recorder, slab))
        slab->first_seq++;
    else
        xfs_count_lost(recorder, XFT_LOSS_EVENTS, 1);
    pthread_mutex_unlock(&recorder->pack_lock);
}

struct appending {
    struct xfs_file *file;
    const void *segments;
    size_t bytes;
    bool good;
};

static void append(void *argument)
{
    struct appending *a = argument;
    a->good = xfs_file_append(a->file, a->segments, a->bytes);
}

bool xfs_write_list(struct xfs_recorder *recorder, enum xft_segment_type type, const void *payload,
                    size_t bytes)
{
    size_t span = xft_segment_span(bytes);
    unsigned char *out =
        mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED)
        return false;
    struct xft_segment head = xft_segment_make(type, 0, payload, bytes, bytes);
    memcpy(out, &head, sizeof head);
    memcpy(out + sizeof head, payload, bytes);
    struct appending appending = {&recorder->file, out, span, false};
    bool done = xfs_writer_do(recorder, append, &appending), good = done && appending.good;
    munmap(out, span);
    if (done && !good)
        xfs_write_trouble("cannot write to the trace");
    return good;
}
