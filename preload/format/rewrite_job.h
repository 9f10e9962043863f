/*
 * The state of one rewriting, between the sources of rewrite.h only. Nothing here calls malloc: a
 * process that ends may have been interrupted anywhere, malloc included.
 */
#ifndef XFT_REWRITE_JOB_H
#define XFT_REWRITE_JOB_H

#include "preload/format/rewrite.h"

struct xft_slab_place;
struct xft_job_index;

struct xft_job {
    struct xft_rewrite *want;
    struct xft_file_header header;          /* of the old file */
    uint64_t at;                            /* where the next segment goes */
    uint64_t last_ns;                       /* end of the last event found in a slab */
    uint64_t list_bytes[XFT_SEG_KNOWN + 1]; /* of lists that can be joined, by type */
    uint64_t all_list_bytes;                /* of all lists, unpacked */
    struct xft_slab_place *slabs;           /* those with events, by lane and sequence */
    size_t slab_count, slab_room;
    struct xft_job_index *index;
    bool failed;
    int error; /* errno of the first failure */
};

/* Whole pages of zeros, at least one; NULL and job->failed on failure. */
void *xft_job_map(struct xft_job *job, size_t bytes);
void xft_job_unmap(void *memory, size_t bytes); /* NULL is allowed */

void xft_job_put(struct xft_job *job, const void *bytes, size_t n);

/* The first failure is the one that is reported. */
void xft_job_fail(struct xft_job *job, int error);

/* Copies a segment of the old file unchanged. */
void xft_job_copy(struct xft_job *job, const struct xft_view *view);

/* Over the segments of these types (segments.h). */
struct xft_walk xft_job_walk(const struct xft_job *job, uint32_t wanted);

/* ---- its INDEX ------------------------------------------------------------------------- */

void xft_job_index_begin(struct xft_job *job);

/* The old file's entry for the EVENTS segment at this offset; call in the order of the file. An
 * entry out of order is not found: readers do without it. */
bool xft_job_index_find(struct xft_job *job, uint64_t offset, struct xft_index_entry *entry);

/* Of the EVENTS segment that the new file has at entry->offset. */
void xft_job_index_add(struct xft_job *job, const struct xft_index_entry *entry);

void xft_job_index_end(struct xft_job *job);

/* ---- rewrite_lists.c -------------------------------------------------------------------- */

/* A list that may be joined with others of its type: stored plainly, and nothing but well-formed
 * entries. */
bool xft_job_can_join(const struct xft_view *view);

/* All lists of a type. Those that can be joined become one segment, or few; the others are copied
 * as they are, between them. */
void xft_job_lists(struct xft_job *job, unsigned type);

/* ---- rewrite_events.c ------------------------------------------------------------------- */

/* Finds the slabs with events, at most job->slab_room, and counts the broken ones. */
void xft_job_find_slabs(struct xft_job *job);
void xft_job_forget_slabs(struct xft_job *job);

/* EVENTS segments as they are, then what only slabs hold: within a lane in the order of its
 * sequence numbers. With their INDEX. */
void xft_job_events(struct xft_job *job);

#endif
