/*
 * Events in the order of their times: the same as lane by lane, none missing and none twice,
 * whatever INDEX says; in memory that does not grow with the run.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/read/merge.h"
#include "tests/analyzer/lab/one_by_one.h"
#include "tests/analyzer/traces/build_trace.h"

/* ---- counted memory (the linker puts these between) -------------------------------------- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_reallocarray(void *memory, size_t n, size_t bytes);
void __wrap_free(void *memory);

static size_t live, peak;

static void *counted(void *memory)
{
    live += memory ? malloc_usable_size(memory) : 0;
    peak = live > peak ? live : peak;
    return memory;
}

void *__wrap_malloc(size_t bytes)
{
    return counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return counted(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    live -= memory ? malloc_usable_size(memory) : 0;
    return counted(__real_realloc(memory, bytes));
}

void *__wrap_reallocarray(void *memory, size_t n, size_t bytes)
{
    return __wrap_realloc(memory, n * bytes);
}

void __wrap_free(void *memory)
{
    live -= memory ? malloc_usable_size(memory) : 0;
    __real_free(memory);
}

/* ---- both ways to read ------------------------------------------------------------------ */

struct seen {
    uint64_t ns, lane, seq, bytes;
    int64_t tid; /* no padding: compared byte by byte */
};

struct list {
    struct seen *items;
    size_t count, room;
};

static void add(struct list *list, struct seen seen)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 1024;
        list->items = realloc(list->items, list->room * sizeof *list->items);
    }
    list->items[list->count++] = seen;
}

static void take_batch(void *context, const struct xfa_batch *batch)
{
    for (size_t i = 0; i < batch->rows; i++) {
        const struct xft_event *e = &batch->events[i];
        add(context,
            (struct seen){e->start_ns, batch->lane, batch->first_seq + i, e->bytes, batch->tid});
    }
}

static int by_time(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? 1 : -1;
    if (x->lane != y->lane)
        return x->lane > y->lane ? 1 : -1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static struct list in_order(struct xfa_trace *trace)
{
    struct list list = {0};
    xfa_trace_events(trace, take_batch, &list);
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_time);
    return list;
}

static struct list merged(struct xfa_trace *trace, size_t rows)
{
    struct list list = {0};
    struct xfa_merged m;
    struct xfa_merge *merge = xfa_merge_within(trace, rows);
    struct one_by_one events = {.merge = merge};
    while (one_next(&events, &m))
        add(&list, (struct seen){m.event->start_ns, m.lane, m.seq, m.event->bytes, m.tid});
    xfa_merge_free(merge);
    return list;
}

/* The same, as many at once as there are. */
static struct list in_batches(struct xfa_trace *trace, size_t rows)
{
    struct list list = {0};
    const struct xfa_merged *m;
    struct xfa_merge *merge = xfa_merge_within(trace, rows);
    for (size_t count; (count = xfa_merge_next_batch(merge, &m)) > 0;)
        for (size_t i = 0; i < count; i++)
            add(&list, (struct seen){m[i].event->start_ns, m[i].lane, m[i].seq, m[i].event->bytes,
                                     m[i].tid});
    xfa_merge_free(merge);
    return list;
}

static struct xfa_trace *open_built(const struct trace_builder *b)
{
    char error[512] = "";
    struct xfa_trace *trace = xfa_trace_open_bytes(b->bytes, b->size, error, sizeof error);
    assert_non_null(trace);
    return trace;
}

static void assert_same_list(const struct list *a, const struct list *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_memory_equal(&a->items[i], &b->items[i], sizeof *a->items);
}

/* Each lane's last row is known as such, and no other; of the recorder's own none. */
static void check_ends(struct xfa_trace *trace, size_t rows)
{
    enum { LANES = 64 };
    uint64_t ended[LANES] = {0}; /* seq + 1 */
    struct xfa_merged m;
    struct xfa_merge *merge = xfa_merge_within(trace, rows);
    struct one_by_one events = {.merge = merge};
    while (one_next(&events, &m)) {
        assert_in_range(m.lane, 0, LANES - 1);
        assert_false(m.last && ended[m.lane]);
        ended[m.lane] = m.last ? m.seq + 1 : ended[m.lane];
    }
    xfa_merge_free(merge);
    merge = xfa_merge_within(trace, rows);
    events = (struct one_by_one){.merge = merge};
    while (one_next(&events, &m))
        if (m.event->kind != XFT_EVENT_OVERHEAD && m.event->kind != XFT_EVENT_PROCESSOR)
            assert_in_range(m.seq, 0, ended[m.lane] - 1);
    xfa_merge_free(merge);
}

/* As many events as expected, in order, both ways; returns what was lost. */
static struct xfa_loss check(const struct trace_builder *b, size_t events, size_t rows)
{
    struct xfa_trace *trace = open_built(b);
    struct list expected = in_order(trace);
    struct xfa_loss streamed = trace->loss;
    uint64_t twice = trace->duplicate_events;
    struct list list = merged(trace, rows), at_once = in_batches(trace, rows);
    struct xfa_loss loss = trace->loss;
    if (streamed.missing_events + streamed.bad_rows + loss.bad_entries == 0)
        check_ends(trace, rows);
    assert_int_equal(expected.count, events);
    assert_same_list(&expected, &list);
    assert_same_list(&expected, &at_once);
    assert_int_equal(loss.missing_events, streamed.missing_events);
    assert_int_equal(loss.bad_rows, streamed.bad_rows);
    assert_int_equal(trace->duplicate_events, twice);
    loss.bad_entries -= streamed.bad_entries; /* what only the INDEX has to do with */
    free(expected.items);
    free(list.items);
    free(at_once.items);
    xfa_trace_close(trace);
    return loss;
}

/* Behind a thread's last call the recorder was at work: that call is its last all the same, also
 * where what it wrote began before. */
static void test_recorder_at_the_end(void **state)
{
    static const struct {
        unsigned own; /* rows of the recorder's own at the end */
        uint64_t starts[4];
        unsigned last;
    } lanes[] = {{0, {100, 200, 300, 400}, 3}, {1, {100, 200, 300, 400}, 2},
                 {2, {100, 200, 300, 400}, 1}, {4, {100, 200, 300, 400}, 0},
                 {1, {100, 400, 300, 350}, 2}, {1, {100, 200, 300, 250}, 2},
                 {2, {100, 200, 50, 250}, 1},  {2, {100, 200, 50, 150}, 1}};
    enum { LANES = sizeof lanes / sizeof *lanes, ROWS = 4 };
    struct trace_builder b;
    build_start(&b, 4711);
    for (unsigned lane = 0; lane < LANES; lane++) {
        struct xft_event rows[ROWS];
        for (unsigned i = 0; i < ROWS; i++) {
            rows[i] = test_transfer(1, XFT_DIR_H2D, XFT_MEM_PINNED, 1, lanes[lane].starts[i], 5);
            if (i >= ROWS - lanes[lane].own)
                rows[i].kind = i % 2 ? XFT_EVENT_OVERHEAD : XFT_EVENT_PROCESSOR;
        }
        build_events(&b, lane, 0, rows, ROWS);
    }
    build_close(&b, XFT_STATE_CLOSED, 0);
    struct xfa_trace *trace = open_built(&b);
    for (int all = 0; all < 2; all++) { /* a part of the rows kept; their columns */
        struct xfa_merge *merge = xfa_merge_within(trace, all ? XFA_MERGE_ROWS : 1000);
        struct one_by_one events = {.merge = merge};
        struct xfa_merged m;
        unsigned met = 0;
        while (one_next(&events, &m)) {
            assert_int_equal(m.last, lanes[m.lane].own < ROWS && m.seq == lanes[m.lane].last);
            met += m.last;
        }
        assert_int_equal(met, LANES - 1); /* the recorder alone was at work in one */
        xfa_merge_free(merge);
    }
    xfa_trace_close(trace);
    build_free(&b);
}

/* ---- traces ----------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

enum { MOST = 3000 };

/* As a thread writes them, or (jitter) as the device's records come. */
static const struct xft_event *rows_from(uint64_t start, uint64_t step, uint64_t jitter, size_t n)
{
    static struct xft_event events[MOST];
    for (size_t i = 0; i < n; i++) {
        uint64_t at = start + i * step + (jitter ? random_number() % jitter : 0);
        events[i] = test_transfer(1, XFT_DIR_H2D, XFT_MEM_PINNED, random_number() % 100000, at, 5);
    }
    return events;
}

struct shape {
    unsigned lanes, chunks;
    size_t rows;
    bool index, slabs;
};

/* Lane 0 is the device's: its chunks overlap each other. Times are those of few microseconds, so
 * that many are the same. */
static size_t build(struct trace_builder *b, const struct shape *shape)
{
    size_t events = 0;
    uint64_t length = shape->rows * 3;
    build_start(b, 4711);
    for (unsigned chunk = 0; chunk < shape->chunks; chunk++) {
        for (unsigned lane = 0; lane < shape->lanes; lane++) {
            uint64_t start = TEST_START_NS + chunk * length + random_number() % 100;
            const struct xft_event *rows = rows_from(start, 3, lane ? 0 : 2 * length, shape->rows);
            build_events(b, lane, chunk * shape->rows, rows, shape->rows);
            events += shape->rows;
        }
        if (shape->index && chunk % 2)
            build_index(b);
        b->entry_count = shape->index ? b->entry_count : 0;
    }
    if (shape->slabs) {
        build_lanes(b, shape->lanes);
        for (unsigned lane = 0; lane < shape->lanes; lane++) {
            const struct xft_event *rows = rows_from(TEST_START_NS + length, 2, 500, 150);
            /* the first 50 are in EVENTS already */
            build_slab(b, lane, XFT_SLAB_ACTIVE, lane, shape->chunks * shape->rows - 50, rows, 150);
            events += 100;
        }
    }
    build_close(b, shape->slabs ? XFT_STATE_RECORDING : XFT_STATE_CLOSED, 0);
    return events;
}

static void test_order(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {1, 1, 100, true, false}, {1, 4, 300, true, false},  {5, 6, 500, true, false},
        {5, 6, 500, false, true}, {4, 5, 2730, true, true},  {7, 3, 1, false, false},
        {3, 1, 256, false, true}, {30, 2, 257, true, false}, {1, 5, 60, true, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct trace_builder b;
        size_t events = build(&b, &shapes[i]);
        struct xfa_loss loss = check(&b, events, XFA_MERGE_ROWS);
        assert_int_equal(loss.bad_entries, 0);
        check(&b, events, 100); /* in parts */
        build_free(&b);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    struct trace_builder b;
    build_start(&b, 1);
    build_close(&b, XFT_STATE_CLOSED, 0);
    check(&b, 0, XFA_MERGE_ROWS);
    build_events(&b, 3, 0, NULL, 0);
    build_free(&b);
}

/* What INDEX has is not read to know its times; what it has not is. */
static void test_index_is_used(void **state)
{
    (void)state;
    for (int part = 0; part < 2; part++) {
        struct trace_builder b;
        build_start(&b, 1);
        build_events(&b, 0, 0, rows_from(5000, 3, 0, 100), 100);
        if (part)
            b.entry_count = 0;
        build_events(&b, 1, 0, rows_from(1000, 3, 0, 100), 100);
        build_index(&b);
        build_close(&b, XFT_STATE_CLOSED, 0);
        struct xfa_trace *trace = open_built(&b);
        struct xfa_index *index = xfa_index_new(trace);
        assert_int_equal(index->count, 2);
        assert_int_equal(index->chunks[0].lane, 1); /* by time */
        assert_int_equal(index->chunks[1].lane, 0);
        assert_true(index->chunks[0].indexed);
        assert_int_equal(index->chunks[1].indexed, !part);
        assert_int_equal(index->chunks[1].first_ns, 5000);
        assert_int_equal(index->chunks[1].last_ns, 5297);
        static struct xft_event events[100];
        assert_int_equal(xfa_index_read(index, &index->chunks[0], events), 100);
        assert_int_equal(events[99].start_ns, 1297);
        xfa_index_free(index);
        xfa_trace_close(trace);
        build_free(&b);
    }
}

/* ---- an INDEX that lies ----------------------------------------------------------------- */

typedef void spoil_fn(struct xft_index_entry *entries);

static void elsewhere(struct xft_index_entry *e)
{
    e[1].offset += 8;
}
static void nowhere(struct xft_index_entry *e)
{
    e[1].offset = UINT64_MAX;
}
static void twice(struct xft_index_entry *e)
{
    e[2] = e[1];
}
static void other_lane(struct xft_index_entry *e)
{
    e[1].lane ^= 1;
}
static void other_rows(struct xft_index_entry *e)
{
    e[1].rows = UINT32_MAX;
}
static void other_sequence(struct xft_index_entry *e)
{
    e[1].first_seq = UINT64_MAX;
}
static void backwards(struct xft_index_entry *e)
{
    e[1].first_ns = e[1].last_ns + 1;
}
static void swapped(struct xft_index_entry *e)
{
    uint64_t offset = e[1].offset;
    e[1].offset = e[2].offset;
    e[2].offset = offset;
}

static void build_spoiled(struct trace_builder *b, spoil_fn *spoil)
{
    build_start(b, 1);
    for (unsigned chunk = 0; chunk < 4; chunk++)
        build_events(b, chunk % 2, chunk / 2 * 100,
                     rows_from(TEST_START_NS + chunk * 200, 3, 0, 100), 100);
    spoil(b->entries);
    build_index(b);
    build_close(b, XFT_STATE_CLOSED, 0);
}

static void test_spoiled(void **state)
{
    (void)state;
    static const struct {
        spoil_fn *spoil;
        size_t damage;
    } cases[] = {{elsewhere, 1},  {nowhere, 1},        {twice, 1},     {other_lane, 1},
                 {other_rows, 1}, {other_sequence, 1}, {backwards, 1}, {swapped, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace_builder b;
        build_spoiled(&b, cases[i].spoil);
        struct xfa_loss loss = check(&b, 400, XFA_MERGE_ROWS);
        assert_int_equal(loss.bad_entries, cases[i].damage);
        build_free(&b);
    }
}

static void too_late(struct xft_index_entry *e)
{
    e[0].first_ns = e[0].last_ns;
}
static void too_early(struct xft_index_entry *e)
{
    e[3].last_ns = e[3].first_ns = 0;
}

/* Times that are wrong are found when the events come: all of them do. */
static void test_wrong_times(void **state)
{
    (void)state;
    static spoil_fn *const spoils[] = {too_late, too_early};
    for (size_t i = 0; i < 2; i++) {
        struct trace_builder b;
        build_spoiled(&b, spoils[i]);
        struct xfa_trace *trace = open_built(&b);
        struct list expected = in_order(trace), list = merged(trace, 20);
        assert_int_equal(trace->loss.bad_entries, 1);
        assert_int_equal(list.count, 400);
        qsort(list.items, list.count, sizeof *list.items, by_time);
        assert_same_list(&expected, &list);
        free(expected.items);
        free(list.items);
        xfa_trace_close(trace);
        build_free(&b);
    }
}

/* A damaged INDEX is one damaged place, and a torn entry one malformed entry; no event suffers. */
static void test_broken_index(void **state)
{
    (void)state;
    for (int torn = 0; torn < 2; torn++) {
        struct trace_builder b;
        build_start(&b, 1);
        build_events(&b, 0, 0, rows_from(TEST_START_NS, 3, 0, 100), 100);
        if (torn)
            build_plain_segment(&b, XFT_SEG_INDEX, 0, b.entries, 36, 36);
        else
            build_index(&b);
        build_close(&b, XFT_STATE_CLOSED, 0);
        b.bytes[b.size - 20] ^= torn ? 0 : 1;
        struct xfa_loss loss = check(&b, 100, XFA_MERGE_ROWS);
        assert_int_equal(loss.bad_entries, torn);
        assert_int_equal(loss.damaged_segments, !torn);
        build_free(&b);
    }
}

/* ---- memory ----------------------------------------------------------------------------- */

static size_t peak_of(unsigned lanes, unsigned chunks, size_t rows, size_t kept)
{
    struct trace_builder b;
    struct xfa_merged m;
    build(&b, &(struct shape){lanes, chunks, rows, true, false});
    struct xfa_trace *trace = open_built(&b);
    struct xfa_merge *merge = xfa_merge_within(trace, kept);
    struct one_by_one events = {.merge = merge};
    size_t before = live;
    peak = live;
    while (one_next(&events, &m))
        ;
    size_t most = peak - before;
    xfa_merge_free(merge);
    xfa_trace_close(trace);
    build_free(&b);
    return most;
}

static void test_memory(void **state)
{
    (void)state;
    const size_t slab = XFT_SLAB_EVENTS * 104;
    size_t few = peak_of(4, 8, XFT_SLAB_EVENTS, XFA_MERGE_ROWS);
    size_t many = peak_of(4, 32, XFT_SLAB_EVENTS, XFA_MERGE_ROWS);
    print_message("4 lanes of 8 chunks: %zu KiB, of 32: %zu KiB\n", few >> 10, many >> 10);
    /* of the device's up to 3 chunks meet, and one is being read */
    assert_in_range(few, slab, 6 * slab);
    assert_in_range(many, slab, 6 * slab);
    size_t lanes = peak_of(32, 2, XFT_SLAB_EVENTS, XFA_MERGE_ROWS);
    print_message("32 lanes of 2 chunks: %zu KiB\n", lanes >> 10);
    assert_in_range(lanes, slab, 14 * slab); /* a thread's are not decoded before they are due */
    size_t parts = peak_of(4, 8, XFT_SLAB_EVENTS, 400);
    print_message("in parts of 400 rows: %zu KiB\n", parts >> 10);
    assert_in_range(parts, 0, 3 * slab); /* one chunk being read */
}

/* Of many threads the first have taken what may be kept; the others are read again and again, but
 * not for every few rows. */
static void test_read_again(void **state)
{
    (void)state;
    struct trace_builder b;
    struct xfa_merged m;
    build(&b, &(struct shape){30, 2, XFT_SLAB_EVENTS, true, false});
    struct xfa_trace *trace = open_built(&b);
    struct xfa_merge *merge = xfa_merge_within(trace, 4 * XFT_SLAB_EVENTS);
    struct one_by_one events = {.merge = merge};
    while (one_next(&events, &m))
        ;
    double times = (double)xfa_merge_read(merge) / (double)xfa_merge_rows(merge);
    print_message("rows are read %.1f times\n", times);
    assert_true(times > 2 && times < 10);
    xfa_merge_free(merge);
    xfa_trace_close(trace);
    build_free(&b);
}

/* ---- recorded runs ---------------------------------------------------------------------- */

static int run_count;
static char **runs;

/* Of older formats too: the same events as lane by lane. */
static void test_recorded(void **state)
{
    (void)state;
    char error[512] = "";
    for (int i = 0; i < run_count; i++) {
        size_t count;
        char **files = xfa_run_files(runs[i], &count, error, sizeof error);
        assert_true(count > 0);
        for (size_t k = 0; k < count; k++) {
            struct xfa_trace *trace = xfa_trace_open(files[k], error, sizeof error);
            assert_non_null(trace);
            struct list expected = in_order(trace), list = merged(trace, XFA_MERGE_ROWS);
            assert_true(expected.count > 0);
            assert_same_list(&expected, &list);
            free(expected.items);
            free(list.items);
            xfa_trace_close(trace);
        }
        xfa_run_files_free(files, count);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorder_at_the_end),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_index_is_used),
        cmocka_unit_test(test_spoiled),
        cmocka_unit_test(test_wrong_times),
        cmocka_unit_test(test_broken_index),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_read_again),
        cmocka_unit_test(test_recorded),
    };
    run_count = argc - 1;
    runs = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
