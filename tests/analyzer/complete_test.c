/*
 * What completing a trace leaves of its damage: the reader finds the same before and after, and
 * after a second time.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "analyzer/read/index.h"
#include "analyzer/read/read.h"
#include "tests/analyzer/attacks.h"
#include "tests/analyzer/ill_rooms.h"
#include "tests/analyzer/memory.h"
#include "preload/format/rewrite.h"
#include "tests/analyzer/scenario.h"
#include "preload/format/finish_file.h"

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

static void add_batch(void *context, const struct xfa_batch *batch)
{
    struct found *found = context;
    for (size_t i = 0; i < batch->rows; i++)
        found->bytes += batch->events[i].bytes;
    found->events += batch->rows;
}

static void find_names(struct found *found, const struct xfa_trace *trace)
{
    static const char *const keys[] = {"a", "b", "c", "last"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (xfa_trace_meta(trace, keys[i]))
            found->names[n++] = *keys[i];
}

static struct found read_file(void)
{
    char error[512] = "";
    struct found found = {.events = 0};
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    if (!trace)
        fail_msg("%s", error);
    xfa_trace_events(trace, add_batch, &found);
    find_names(&found, trace);
    found.loss = trace->loss;
    found.lossy = xfa_trace_lossy(trace);
    found.closed = trace->header.state == XFT_STATE_CLOSED;
    xfa_trace_close(trace);
    return found;
}

static void complete(void)
{
    char error[256] = "";
    if (xfs_finish_file(path, true, error, sizeof error) != 0)
        fail_msg("%s", error);
}

static void *more; /* symbols that are added */
static size_t more_bytes;

/* As completing does when a closed file lacks its names. */
static void rewrite_again(void)
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

static void assert_same(const struct found *a, const struct found *b)
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
static void assert_indexed(void)
{
    static struct xft_event rows[XFT_SLAB_EVENTS];
    struct xfa_trace *trace = xfa_trace_open(path, NULL, 0);
    struct xfa_index *index = xfa_index_new(trace);
    for (size_t i = 0; i < index->count; i++) {
        const struct xfa_chunk *chunk = &index->chunks[i];
        uint64_t first_ns = UINT64_MAX, last_ns = 0;
        assert_true(chunk->told && chunk->rows <= XFT_SLAB_EVENTS);
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
static struct found check(struct trace_builder *b)
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
static void build_killed(struct trace_builder *b)
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

static struct xft_slab *slab(struct trace_builder *b, size_t i)
{
    size_t first = XFT_ALIGN(lanes_at + sizeof(struct xft_segment), 4096);
    return (struct xft_slab *)(b->bytes + first + i * XFT_SLAB_BYTES);
}

static void test_sound(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    struct found found = check(&b);
    assert_int_equal(found.events, 4 * ROWS);
    assert_false(found.lossy);
}

/* The last segment of its lane: no hole in the numbers tells of it. */
static void test_broken_events(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    b.bytes[lanes_at - 16] ^= 1;
    struct found found = check(&b);
    assert_int_equal(found.events, 3 * ROWS);
    assert_int_equal(found.loss.missing_events, 0);
    assert_int_equal(found.loss.damaged_segments, 1);
    assert_true(found.lossy);
}

static void test_broken_segment_header(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    size_t at = b.size;
    build_meta(&b, "late", "1");
    b.bytes[at + 8] ^= 1;
    struct found found = check(&b);
    assert_int_equal(found.events, 4 * ROWS);
    assert_int_equal(found.loss.damaged_segments, 1);
    assert_int_equal(found.loss.damaged_bytes, 48); /* the segment, padded */
}

/* Segments lie at multiples of 8, whatever the header's length says. */
static void test_odd_header(void **state)
{
    (void)state;
    for (unsigned less = 1; less < 8; less++) {
        struct trace_builder b;
        build_killed(&b);
        build_header_bytes(&b, XFT_HEADER_BYTES - less);
        struct found found = check(&b);
        assert_int_equal(found.events, 4 * ROWS);
        assert_false(found.lossy);
    }
}

static void break_magic(struct xft_slab *at)
{
    at->magic ^= 0x100;
}

static void erase_magic(struct xft_slab *at)
{
    at->magic = 0;
}

static void break_state(struct xft_slab *at)
{
    at->state = 3;
}

static void break_committed(struct xft_slab *at)
{
    at->committed = XFT_SLAB_EVENTS + 1;
}

static void break_sequence(struct xft_slab *at)
{
    at->first_seq = UINT64_MAX - 5;
}

static void test_broken_slabs(void **state)
{
    (void)state;
    static void (*const ways[])(struct xft_slab *) = {break_magic, erase_magic, break_state,
                                                      break_committed, break_sequence};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct trace_builder b;
        build_killed(&b);
        ways[i](slab(&b, 1));
        struct found found = check(&b);
        assert_int_equal(found.events, 3 * ROWS);
        assert_int_equal(found.loss.damaged_segments, 1);
        assert_int_equal(found.loss.damaged_bytes, XFT_SLAB_BYTES);
        assert_true(found.lossy);
    }
}

/* ---- files that end too early ----------------------------------------------------------- */

/* Cut inside a slab: its first rows are good, and how many others there were is known. */
static void test_cut_in_slab(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    b.size = (size_t)((unsigned char *)(slab(&b, 2) + 1) - b.bytes) + 40 * sizeof(struct xft_event);
    struct found found = check(&b);
    assert_int_equal(found.events, 3 * ROWS + 40);
    assert_int_equal(found.loss.bad_rows, 60);
    assert_true(found.loss.truncated);
}

/* At a segment's end, where nothing but the told length shows it; down to the header alone. */
static void test_cut_between_segments(void **state)
{
    (void)state;
    for (int to_nothing = 0; to_nothing < 2; to_nothing++) {
        struct trace_builder b;
        build_killed(&b);
        struct xft_file_header *header = (struct xft_file_header *)b.bytes;
        header->file_bytes = b.size;
        b.size = to_nothing ? XFT_HEADER_BYTES : lanes_at;
        struct found found = check(&b);
        assert_int_equal(found.events, to_nothing ? 0 : ROWS);
        assert_true(found.loss.cut_short);
        assert_true(found.lossy);
    }
}

/* What a killed process was writing is behind the told length, and no loss. */
static void test_torn_end(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    ((struct xft_file_header *)b.bytes)->file_bytes = b.size;
    build_events(&b, 1, 0, events, ROWS);
    b.size -= 24;
    struct found found = check(&b);
    assert_int_equal(found.events, 4 * ROWS);
    assert_false(found.lossy);
}

/* ---- rooms ------------------------------------------------------------------------------ */

static void test_ill_rooms(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ILL_ROOMS; i++) {
        const struct ill_room *expected = &ill_rooms[i];
        struct trace_builder b;
        build_ill_room(&b, i);
        build_save(&b, path);
        struct found before = read_file();
        if (strcmp(before.names, expected->names) != 0 ||
            before.loss.damaged_segments != expected->damaged)
            print_message("a room: %s\n", expected->what);
        assert_string_equal(before.names, expected->names);
        assert_int_equal(before.events, ILL_ROOM_EVENTS);
        assert_int_equal(before.loss.damaged_segments, expected->damaged);
        assert_int_equal(before.loss.truncated, expected->truncated);
        assert_int_equal(before.lossy, expected->damaged || expected->truncated);
        check(&b);
    }
}

/* ---- lists ------------------------------------------------------------------------------ */

/* A malformed list must not take others with it when they are joined, nor vanish. */
static void test_malformed_list(void **state)
{
    (void)state;
    char error[256];
    struct trace_builder b;
    build_killed(&b);
    build_plain_segment(&b, XFT_SEG_META, 0, "a\0first", 8, 8);
    build_plain_segment(&b, XFT_SEG_META, 0, "no end", 6, 6);
    build_plain_segment(&b, XFT_SEG_META, 0, "a\0second\0b\0third", 17, 17);
    build_plain_segment(&b, XFT_SEG_CALLS, 0, "too short", 9, 10); /* raw and stored differ */
    build_plain_segment(&b, XFT_SEG_NAMES, 2, "of a newer form", 15, 15);
    struct found found = check(&b);
    assert_int_equal(found.loss.bad_entries, 1);
    assert_int_equal(found.loss.limited_segments, 2);
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    assert_non_null(trace);
    assert_string_equal(xfa_trace_meta(trace, "a"), "second");
    assert_string_equal(xfa_trace_meta(trace, "b"), "third");
    xfa_trace_close(trace);
}

/* ---- order and duplicates --------------------------------------------------------------- */

struct order {
    uint64_t next;
    size_t wrong;
};

static void follow(void *context, const struct xfa_batch *batch)
{
    struct order *order = context;
    order->wrong += batch->first_seq != order->next;
    order->next = batch->first_seq + batch->rows;
}

/* Slabs are used again in any order; within a lane the events stay in theirs. Those that EVENTS
 * hold already are not written twice. */
static void test_order_of_slabs(void **state)
{
    (void)state;
    char error[256];
    struct trace_builder b;
    struct order order = {0};
    build_start(&b, 4712);
    build_meta(&b, "exe", "x");
    build_events(&b, 0, 0, events, ROWS);
    build_lanes(&b, 4);
    build_slab(&b, 0, XFT_SLAB_ACTIVE, 0, 3 * ROWS, events, ROWS);
    build_slab(&b, 1, XFT_SLAB_FULL, 0, 2 * ROWS, events, ROWS);
    build_slab(&b, 2, XFT_SLAB_FULL, 0, 0, events, ROWS); /* written, not yet free */
    build_slab(&b, 3, XFT_SLAB_FULL, 0, ROWS, events, ROWS);
    build_close(&b, XFT_STATE_RECORDING, 0);
    check(&b);
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    xfa_trace_events(trace, follow, &order);
    assert_int_equal(order.next, 4 * ROWS);
    assert_int_equal(order.wrong, 0);
    assert_int_equal(trace->duplicate_events, 0);
    xfa_trace_close(trace);
}

/* A segment with the numbers of a slab's rows, and columns that no reader takes; or with more bytes
 * told than it has. */
static void build_unreadable(struct trace_builder *b, bool columns)
{
    static unsigned char raw[1 << 20];
    struct xft_packer packer;
    struct xft_cuts cuts;
    struct xft_chunk chunk = {.lane = 1, .tid = 101, .rows = ROWS};
    assert_true(xft_packer_init(&packer, NULL));
    size_t bytes = xft_encode_events(packer.encoder, &chunk, events, raw, sizeof raw, &cuts);
    xft_packer_free(&packer);
    assert_true(bytes > sizeof chunk + sizeof(struct xft_column));
    if (columns) /* the last one: the times before it can be read */
        memset(raw + bytes - 8, 0xff, 8);
    build_plain_segment(b, XFT_SEG_EVENTS, 0, raw, bytes, bytes + (columns ? 0 : 8));
}

/* What the slab has is kept, whatever the head of a segment says of the same rows. */
static void test_unreadable_copy(void **state)
{
    (void)state;
    for (int columns = 0; columns < 2; columns++) {
        struct trace_builder b;
        build_start(&b, 4713);
        build_unreadable(&b, columns);
        build_lanes(&b, 1);
        build_slab(&b, 0, XFT_SLAB_FULL, 1, 0, events, ROWS);
        build_close(&b, XFT_STATE_RECORDING, 0);
        build_save(&b, path);
        build_free(&b);
        struct found before = read_file();
        assert_int_equal(before.events, ROWS);
        complete();
        struct found after = read_file();
        assert_int_equal(after.events, ROWS);
        assert_int_equal(after.bytes, before.bytes);
    }
}

/* ---- memory ----------------------------------------------------------------------------- */

/* 4 GB of stacks and of events in a file of some 200 KB. */
static void test_bombs_stay_small(void **state)
{
    (void)state;
    enum { RAW = 40 << 20, TIMES = 50 };
    struct trace_builder b;
    char error[256] = "";
    unsigned char *raw = calloc(1, RAW);
    size_t bound = ZSTD_compressBound(RAW);
    unsigned char *packed = malloc(bound);
    size_t stored = ZSTD_compress(packed, bound, raw, RAW, 1);
    free(raw);
    build_killed(&b);
    for (int i = 0; i < TIMES; i++) {
        build_plain_segment(&b, XFT_SEG_STACKS, XFT_SEG_ZSTD, packed, stored, RAW);
        build_plain_segment(&b, XFT_SEG_EVENTS, XFT_SEG_ZSTD, packed, stored, RAW);
        build_plain_segment(&b, XFT_SEG_SYMBOLS, XFT_SEG_ZSTD, packed, stored, UINT64_MAX);
    }
    build_save(&b, path);
    build_free(&b);
    free(packed);
    long before = peak_kib();
    assert_int_equal(xfs_finish_file(path, true, error, sizeof error), 0);
    assert_true(peak_kib() - before < MOST_KIB);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size < (off_t)(3 * TIMES * (stored + 64) + 100000));
}

static int make_place(void **state)
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

static int remove_place(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(place);
}

/* ---- files that are not what they seem -------------------------------------------------- */

/* A terabyte of holes: read byte by byte it would take the processor minutes. */
static void test_holes_of_files(void **state)
{
    (void)state;
    char error[512] = "";
    for (unsigned how = 0; how < SPARSE_HOWS; how++) {
        struct rusage used;
        make_sparse(path, (enum sparse)how, UINT64_C(1) << 40);
        getrusage(RUSAGE_SELF, &used);
        rlim_t most = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 60;
        assert_int_equal(setrlimit(RLIMIT_CPU, &(struct rlimit){most, RLIM_INFINITY}), 0);
        assert_int_equal(xfs_finish_file(path, true, error, sizeof error), 0);
        struct found found = read_file();
        assert_true(found.closed);
        assert_int_equal(found.events, 0);
        assert_int_equal(found.lossy, how == SPARSE_PLAIN || how == SPARSE_ROOM);
        struct stat status;
        assert_int_equal(stat(path, &status), 0);
        assert_true(status.st_size < 1 << 20);
    }
    setrlimit(RLIMIT_CPU, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    unlink(path);
}

/* Asked when the file has been mapped; it is linked in the place of the real one. */
static bool cut_now;
bool __real_xfs_is_open_for_writing(int fd);
bool __wrap_xfs_is_open_for_writing(int fd);
bool __wrap_xfs_is_open_for_writing(int fd)
{
    bool open = __real_xfs_is_open_for_writing(fd);
    if (cut_now)
        assert_int_equal(truncate(path, XFT_HEADER_BYTES), 0);
    return open;
}

/* ---- long lists -------------------------------------------------------------------------- */

enum { STACKS = 150000, FRAMES = 44, LISTS = 10, SYMBOLS = 600000 };

/* Different in the first two frames of some thousand that all share. */
static void put_stacks(struct trace_builder *b, uint32_t from, uint32_t count)
{
    size_t bytes = sizeof(struct xft_stack) + FRAMES * sizeof(uint64_t);
    unsigned char *list = calloc(count, bytes), *at = list;
    for (uint32_t id = from; id < from + count; id++, at += bytes) {
        struct xft_stack stack = {id + 1, FRAMES};
        uint64_t frames[FRAMES];
        for (uint32_t i = 0; i < FRAMES; i++)
            frames[i] = 0x400000 + (i == 0 ? id % 1000 : i == 1 ? id / 1000 : i) * 16;
        memcpy(at, &stack, sizeof stack);
        memcpy(at + sizeof stack, frames, sizeof frames);
    }
    build_plain_segment(b, XFT_SEG_STACKS, 0, list, count * bytes, count * bytes);
    free(list);
}

/* What is found for addresses when a file is completed. */
static unsigned char *make_symbols(size_t *bytes)
{
    static const char text[80] =
        "a_function_with_a_long_name_of_some_library.c_a_module_of_the_program";
    struct xft_symbol symbol = {.function_bytes = 38, .file_bytes = 7, .module_bytes = 24};
    size_t one = sizeof symbol + 38 + 7 + 24;
    unsigned char *list = malloc(SYMBOLS * one), *at = list;
    for (uint32_t i = 0; i < SYMBOLS; i++, at += one) {
        symbol.address = 0x400000 + i * UINT64_C(16);
        memcpy(at, &symbol, sizeof symbol);
        memcpy(at + sizeof symbol, text, one - sizeof symbol);
    }
    *bytes = SYMBOLS * one;
    return list;
}

static void check_lists(size_t stacks, size_t symbols)
{
    char error[512] = "";
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    if (!trace)
        fail_msg("%s", error);
    assert_int_equal(trace->names.stacks.count, stacks);
    assert_int_equal(trace->names.symbol_count, symbols);
    for (size_t i = 0; i < trace->segment_count; i++)
        assert_true(trace->segments[i].raw <= XFT_SEGMENT_MOST);
    assert_false(xfa_trace_lossy(trace));
    xfa_trace_close(trace);
}

/* More than a segment may have, of stacks and of what is added: in several, and all of it is read.
 */
static void test_long_lists(void **state)
{
    (void)state;
    struct trace_builder b;
    build_start(&b, 0x7ffffff0);
    build_meta(&b, "a", "b");
    for (int i = 0; i < LISTS; i++)
        put_stacks(&b, (uint32_t)i * (STACKS / LISTS), STACKS / LISTS);
    build_close(&b, XFT_STATE_RECORDING, 0);
    build_save(&b, path);
    build_free(&b);
    check_lists(STACKS, 0);
    complete();
    check_lists(STACKS, 0);
    more = make_symbols(&more_bytes);
    assert_true(more_bytes > XFT_SEGMENT_MOST);
    rewrite_again();
    check_lists(STACKS, SYMBOLS);
    free(more);
    more = NULL;
    more_bytes = 0;
}

/* It stays as it is, one line says why, and nothing is left beside it or taken over for good. */
static void test_file_that_shrinks(void **state)
{
    (void)state;
    char error[512] = "", beside[80];
    struct trace_builder b;
    struct sigaction before, after;
    struct stat status;
    build_killed(&b);
    build_save(&b, path);
    sigaction(SIGBUS, NULL, &before);
    cut_now = true;
    assert_int_equal(xfs_finish_file(path, true, error, sizeof error), -1);
    cut_now = false;
    sigaction(SIGBUS, NULL, &after);
    assert_true(before.sa_handler == after.sa_handler);
    assert_non_null(strstr(error, "cut while"));
    assert_null(strchr(error, '\n'));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, XFT_HEADER_BYTES);
    snprintf(beside, sizeof beside, "%s.tmp", path);
    assert_int_not_equal(access(beside, F_OK), 0);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_broken_events),
        cmocka_unit_test(test_broken_segment_header),
        cmocka_unit_test(test_odd_header),
        cmocka_unit_test(test_broken_slabs),
        cmocka_unit_test(test_cut_in_slab),
        cmocka_unit_test(test_cut_between_segments),
        cmocka_unit_test(test_torn_end),
        cmocka_unit_test(test_ill_rooms),
        cmocka_unit_test(test_malformed_list),
        cmocka_unit_test(test_order_of_slabs),
        cmocka_unit_test(test_unreadable_copy),
        cmocka_unit_test(test_bombs_stay_small),
        cmocka_unit_test(test_holes_of_files),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_file_that_shrinks),
    };
    return cmocka_run_group_tests_name("analyzer-complete", tests, make_place, remove_place);
}
