/*
 * A killed process's file made by hand, what the reader finds in it, and its completion. For the
 * test programs alone, each of which includes it once.
 */
#ifndef COMPLETED_H
#define COMPLETED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "analyzer/read/index.h"
#include "analyzer/read/read.h"
#include "preload/format/rewrite.h"
#include "tests/analyzer/lab/lossy.h"
#include "tests/analyzer/traces/scenario.h"
#include "tests/record/finish.h"

static char place[] = "/tmp/xferscope-complete-XXXXXX";
static char path[64];

enum { ROWS = 100 };

/* ---- reading and completing ------------------------------------------------------------- */

struct found {
    struct xfa_loss loss;
    uint64_t events,
        bytes;     /* bytes: a sum over the events, which tells others from the right ones */
    char names[8]; /* initials of the META pairs that ill rooms have */
    bool lossy, closed;
};

static inline void add_batch(void *context, const struct xfa_batch *batch)
{
    struct found *found = context;
    for (size_t i = 0; i < batch->rows; i++)
        found->bytes += batch->events[i].bytes;
    found->events += batch->rows;
}

static inline void find_names(struct found *found, const struct xfa_trace *trace)
{
    static const char *const keys[] = {"a", "b", "c", "last"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (xfa_trace_meta(trace, keys[i]))
            found->names[n++] = *keys[i];
}

static inline struct found read_file(void)
{
    char error[512] = "";
    struct found found = {.events = 0};
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    if (!trace)
        fail_msg("%s", error);
    xfa_trace_events(trace, add_batch, &found);
    find_names(&found, trace);
    found.loss = trace->loss;
    found.lossy = is_lossy(trace);
    found.closed = trace->header.state == XFT_STATE_CLOSED;
    xfa_trace_close(trace);
    return found;
}

static inline void complete(void)
{
    char error[256] = "";
    if (finish_file(path, true, error, sizeof error) != 0)
        fail_msg("%s", error);
}

static void *more; /* symbols that are added */
static size_t more_bytes;

/* As completing does when a closed file lacks its names. */
static inline void rewrite_again(void)
{
    struct xft_packer packer;
    struct stat info;
    FILE *file = fopen(path, "rb");
    assert_true(file && fstat(fileno(file), &info) == 0);
    size_t size = (size_t)info.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    assert_true(bytes != MAP_FAILED);
    assert_true(xft_packer_init(&packer, &xft_linked_zstd));
    struct xft_rewrite job = {
        .file = bytes, .size = size, .packer = &packer, .decompress = ZSTD_decompress};
    job.symbols = more;
    job.symbols_bytes = more_bytes;
    assert_true(xft_rewrite(&job, path));
    close(job.fd);
    xft_packer_free(&packer);
    munmap(bytes, size);
    fclose(file);
}

static inline void assert_same(const struct found *a, const struct found *b)
{
    assert_int_equal(a->events, b->events);
    assert_int_equal(a->bytes, b->bytes);
    assert_string_equal(a->names, b->names);
    assert_int_equal(a->lossy, b->lossy);
    assert_int_equal(a->loss.damaged_segments, b->loss.damaged_segments);
    assert_int_equal(a->loss.damaged_bytes, b->loss.damaged_bytes);
    assert_int_equal(a->loss.bad_rows, b->loss.bad_rows);
    assert_int_equal(a->loss.bad_entries, b->loss.bad_entries);
    assert_int_equal(a->loss.limited_segments, b->loss.limited_segments);
    assert_int_equal(a->loss.missing_events, b->loss.missing_events);
}

/* Whatever lies in a completed file its INDEX tells, and tells the times exactly. */
static inline void assert_indexed(void)
{
    static struct xft_event rows[XFT_SLAB_EVENTS];
    struct xfa_trace *trace = xfa_trace_open(path, NULL, 0);
    struct xfa_index *index = xfa_index_new(trace);
    for (size_t i = 0; i < index->count; i++) {
        const struct xfa_chunk *chunk = &index->chunks[i];
        uint64_t first_ns = UINT64_MAX, last_ns = 0;
        assert_true(chunk->indexed && chunk->rows <= XFT_SLAB_EVENTS);
        assert_int_equal(xfa_index_read(index, chunk, rows), chunk->rows);
        for (uint32_t row = 0; row < chunk->rows; row++) {
            first_ns = rows[row].start_ns < first_ns ? rows[row].start_ns : first_ns;
            last_ns = rows[row].start_ns > last_ns ? rows[row].start_ns : last_ns;
        }
        assert_int_equal(chunk->first_ns, first_ns);
        assert_int_equal(chunk->last_ns, last_ns);
    }
    xfa_index_free(index);
    xfa_trace_close(trace);
}

/* Saves what was built, reads it, completes it twice, and returns what the reader found at first. A
 * file that ends too early is a damaged place once it is complete. */
static inline struct found check(struct trace_builder *b)
{
    build_save(b, path);
    build_free(b);
    struct found before = read_file(), expected = before;
    assert_false(before.closed);
    complete();
    struct found after = read_file();
    assert_true(after.closed);
    assert_indexed();
    expected.loss.damaged_segments += before.loss.truncated || before.loss.cut_short;
    assert_same(&expected, &after);
    rewrite_again();
    struct found twice = read_file();
    assert_same(&after, &twice);
    assert_indexed();
    return before;
}

/* ---- a killed process's file ------------------------------------------------------------ */

static struct xft_event events[ROWS];

static size_t lanes_at; /* where its LANES segment starts */

/* 100 rows in columns, lane 0, and 100 in each of three slabs of the lanes 1 to 3. */
static inline void build_killed(struct trace_builder *b)
{
    build_start(b, 4711);
    build_meta(b, "exe", "/opt/sample/train");
    build_events(b, 0, 0, events, ROWS);
    lanes_at = b->size;
    build_lanes(b, 4);
    for (unsigned i = 0; i < 3; i++)
        build_slab(b, i, i ? XFT_SLAB_FULL : XFT_SLAB_ACTIVE, i + 1, 0, events, ROWS);
    build_close(b, XFT_STATE_RECORDING, 0);
}

static inline struct xft_slab *slab(struct trace_builder *b, size_t i)
{
    size_t first = XFT_ALIGN(lanes_at + sizeof(struct xft_segment), 4096);
    return (struct xft_slab *)(b->bytes + first + i * XFT_SLAB_BYTES);
}

/* ---- the file's place -------------------------------------------------------------------- */

static inline int make_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        events[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 1000 + i,
                                  TEST_START_NS + i * 1000, 900);
    if (!mkdtemp(place))
        return -1;
    snprintf(path, sizeof path, "%s/1-1.trace", place);
    return 0;
}

static inline int remove_place(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(place);
}

#endif
