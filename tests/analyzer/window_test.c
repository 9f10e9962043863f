/*
 * A chunk's rows by time: those that can be read at all, each once, decoded as they are needed or
 * sorted or in parts; and what is wrong with the chunk is counted once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/read/window.h"
#include "preload/format/encode.h"
#include "preload/format/index.h"
#include "tests/analyzer/traces/build_trace.h"

enum { ROWS = 1000, BAD_ROW = 600, WHOLE = 1 << 20 };

/* Start times of row i: a thread's; the device's, of three streams; all the same. */
static uint64_t time_of(int how, uint32_t i)
{
    static const uint64_t late[] = {0, 700, 90};
    return TEST_START_NS + (how == 2 ? 0 : 10 * (uint64_t)i + (how ? late[i % 3] : 0));
}

static void fill(struct xft_event *events, int how)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        events[i] = test_transfer(1, XFT_DIR_H2D, XFT_MEM_PINNED, 64 + i, time_of(how, i), 5);
        events[i].stack = i % 7 + 1;
    }
}

/* An entry number that the dictionary of `stack` does not have, in BAD_ROW. */
static void spoil_row(unsigned char *payload)
{
    struct xft_chunk chunk;
    struct xft_column column;
    memcpy(&chunk, payload, sizeof chunk);
    unsigned char *entry = payload + sizeof chunk;
    unsigned char *data = entry + chunk.columns * sizeof column;
    for (uint32_t i = 0; i < chunk.columns; i++, entry += sizeof column, data += column.bytes) {
        memcpy(&column, entry, sizeof column);
        if (column.encoding != XFT_ENC_DICT)
            continue;
        data[column.bytes - ROWS + BAD_ROW] = 0xff;
        return;
    }
    fail();
}

/* One chunk; `skip`: an earlier one has its first rows. */
static void build(struct trace_builder *b, int how, bool spoiled, uint32_t skip)
{
    static struct xft_event events[ROWS];
    static unsigned char payload[1 << 20];
    struct xft_chunk chunk = {.lane = 3, .tid = 103, .rows = ROWS};
    struct xft_cuts cuts;
    fill(events, how);
    build_start(b, 1);
    if (skip)
        build_events(b, 3, 0, events, skip);
    size_t bytes =
        xft_encode_events(b->packer.encoder, &chunk, events, payload, sizeof payload, &cuts);
    assert_true(bytes > 0);
    if (spoiled)
        spoil_row(payload);
    struct xft_index_entry entry = xft_index_of(&chunk, events);
    entry.offset = b->size;
    b->entries[b->entry_count++] = entry; /* else the rows would be read, and counted, before */
    build_plain_segment(b, XFT_SEG_EVENTS, 0, payload, bytes, bytes);
    build_index(b);
    build_close(b, XFT_STATE_CLOSED, 0);
}

struct seen {
    uint64_t ns, seq, bytes;
};

static int by_time(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? 1 : -1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* What there is to be seen, and in which order. */
static size_t expect(struct xfa_index *index, const struct xfa_chunk *chunk, struct seen *seen)
{
    static struct xft_event events[ROWS];
    uint32_t rows = xfa_index_read(index, chunk, events);
    for (uint32_t i = 0; i < rows; i++)
        seen[i] = (struct seen){events[i].start_ns, chunk->first_seq + i, events[i].bytes};
    qsort(seen, rows, sizeof *seen, by_time);
    return rows;
}

static size_t walk(struct xfa_windows *windows, const struct xfa_chunk *chunk, struct seen *seen)
{
    struct xfa_window window;
    size_t count = 0;
    for (bool more = xfa_window_open(windows, &window, chunk); more;
         more = xfa_window_more(windows, &window))
        for (; window.next < window.count; window.next++) {
            const struct xft_event *event = &window.events[window.order[window.next]];
            assert_true(count < ROWS);
            assert_int_equal(window.times[window.next], event->start_ns);
            seen[count++] = (struct seen){
                event->start_ns, window.first_seq + window.rows[window.next], event->bytes};
        }
    return count;
}

static void check(int how, bool spoiled, uint32_t skip, size_t kept)
{
    static struct seen expected[ROWS], seen[ROWS];
    struct trace_builder b;
    char error[512];
    build(&b, how, spoiled, skip);
    struct xfa_trace *trace = xfa_trace_open_bytes(b.bytes, b.size, error, sizeof error);
    assert_non_null(trace);
    struct xfa_index *index = xfa_index_new(trace);
    struct xfa_windows *windows = xfa_windows_new(index, kept);
    size_t rows = 0;
    for (size_t i = 0; i < index->count; i++) {
        struct xfa_loss before = trace->loss;
        size_t count = expect(index, &index->chunks[i], expected);
        uint64_t lost = trace->loss.bad_rows - before.bad_rows;
        trace->loss = before;
        assert_int_equal(walk(windows, &index->chunks[i], seen), count);
        assert_memory_equal(seen, expected, count * sizeof *seen);
        assert_int_equal(trace->loss.bad_rows - before.bad_rows, lost);
        assert_int_equal(trace->loss.bad_entries, before.bad_entries);
        assert_true(index->chunks[i].indexed);
        rows += count;
    }
    assert_int_equal(rows, spoiled ? 512 : ROWS); /* in whole blocks */
    xfa_windows_free(windows);
    xfa_index_free(index);
    xfa_trace_close(trace);
    build_free(&b);
}

static void test_windows(void **state)
{
    (void)state;
    static const uint32_t skips[] = {0, 100, 256, 300};
    for (int how = 0; how < 3; how++)
        for (int spoiled = 0; spoiled < 2; spoiled++)
            for (size_t i = 0; i < sizeof skips / sizeof *skips; i++) {
                check(how, spoiled, skips[i], WHOLE);
                check(how, spoiled, skips[i], 100); /* in parts */
            }
}

/* Of the same time they stay as they were. */
static void test_time_order(void **state)
{
    (void)state;
    static struct xfa_time_key keys[1000], spare[1000];
    uint64_t number = 12345;
    for (size_t count = 0; count < 1000; count += count < 60 ? 1 : 97) {
        for (uint32_t i = 0; i < count; i++) {
            number = number * 6364136223846793005u + 1442695040888963407u;
            keys[i] = (struct xfa_time_key){(number >> 40) % 200 + (count % 2 ? i : 0), i};
        }
        xfa_time_order(keys, count, spare);
        for (size_t i = 1; i < count; i++)
            assert_true(keys[i - 1].ns < keys[i].ns ||
                        (keys[i - 1].ns == keys[i].ns && keys[i - 1].row < keys[i].row));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_time_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
