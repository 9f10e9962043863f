#include "preload/format/rewrite_job.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/format/write.h"

void xft_job_fail(struct xft_job *job, int error)
{
    if (!job->failed)
        job->error = error;
    job->failed = true;
}

void *xft_job_map(struct xft_job *job, size_t bytes)
{
    void *memory =
        mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    xft_job_fail(job, errno);
    return NULL;
}

void xft_job_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes ? bytes : 1);
}

void xft_job_put(struct xft_job *job, const void *bytes, size_t n)
{
    if (!job->failed && !xft_write_at(job->want->fd, bytes, n, job->at))
        xft_job_fail(job, errno);
    job->at += n;
}

void xft_job_copy(struct xft_job *job, const struct xft_view *view)
{
    static const unsigned char zeros[8];
    size_t bytes = sizeof view->head + view->head.stored_bytes;
    xft_job_put(job, job->want->file + view->offset, bytes);
    xft_job_put(job, zeros, xft_segment_span(view->head.stored_bytes) - bytes);
}

struct xft_walk xft_job_walk(const struct xft_job *job, uint32_t wanted)
{
    struct xft_walk walk = xft_walk_begin(job->want->file, job->want->size, &job->header, wanted);
    walk.holes = job->want->holes;
    return walk;
}

/* ---- INDEX ------------------------------------------------------------------------------ */

#define MOST_ENTRIES 4096 /* of one INDEX: memory stays bounded */

/* Old and new file are each passed once, from front to back, EVENTS and INDEX in parallel. */
struct xft_job_index {
    struct xft_walk walk; /* over the old file's INDEX segments */
    struct xft_view view; /* the one being read */
    size_t next;          /* its next entry */
    bool ended;
    size_t count;
    struct xft_index_entry entries[MOST_ENTRIES]; /* of the new file, not written yet */
};

void xft_job_index_begin(struct xft_job *job)
{
    job->index = xft_job_map(job, sizeof *job->index);
    if (job->index)
        job->index->walk = xft_job_walk(job, xft_wants(XFT_SEG_INDEX));
}

/* The next entry of the old file, without taking it; false at the end. INDEX is never compressed.
 */
static bool look(struct xft_job_index *index, struct xft_index_entry *entry)
{
    while (!index->ended) {
        size_t at = index->next * sizeof *entry;
        if (index->view.payload && index->view.head.flags == 0 &&
            at + sizeof *entry <= index->view.head.stored_bytes) {
            memcpy(entry, index->view.payload + at, sizeof *entry);
            return true;
        }
        index->next = 0;
        index->ended = !xft_walk_next(&index->walk, &index->view);
    }
    return false;
}

bool xft_job_index_find(struct xft_job *job, uint64_t offset, struct xft_index_entry *entry)
{
    struct xft_job_index *index = job->index;
    while (index && look(index, entry)) {
        if (entry->offset > offset)
            return false;
        index->next++;
        if (entry->offset == offset)
            return true;
    }
    return false;
}

static void flush(struct xft_job *job)
{
    struct xft_job_index *index = job->index;
    size_t bytes = index->count * sizeof *index->entries;
    struct xft_segment head = xft_segment_make(XFT_SEG_INDEX, 0, index->entries, bytes, bytes);
    if (bytes == 0)
        return;
    xft_job_put(job, &head, sizeof head);
    xft_job_put(job, index->entries, bytes);
    index->count = 0;
}

void xft_job_index_add(struct xft_job *job, const struct xft_index_entry *entry)
{
    struct xft_job_index *index = job->index;
    if (index == NULL)
        return;
    index->entries[index->count++] = *entry;
    if (index->count == MOST_ENTRIES)
        flush(job);
}

void xft_job_index_end(struct xft_job *job)
{
    if (job->index && !job->failed)
        flush(job);
    xft_job_unmap(job->index, sizeof *job->index);
    job->index = NULL;
}
