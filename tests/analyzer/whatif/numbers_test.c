/* From a trace to ops: what kind of stream a call was given, and ranges of threads that have ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"

enum { MADE = 0x1000, MADE_APART = 0x2000, LEGACY_HANDLE = 1, PER_THREAD_HANDLE = 2, MOST = 16 };

/* A change that changes nothing: it sees the ops. */
struct seen {
    struct xfw_change change;
    struct xfw_op launches[MOST];
    size_t count;
};

static void see(const struct xfw_change *change, void *state, struct xfw_player *player,
                struct xfw_op *op)
{
    struct seen *seen = (struct seen *)change;
    (void)state;
    if (xfw_player_certainty(player) == XFW_LIKELY && op->kind == XFT_EVENT_LAUNCH &&
        seen->count < MOST)
        seen->launches[seen->count++] = *op;
}

static const struct xfw_change_type type = {.name = "seen", .op = see};

static struct xfw_whatif *weigh(const struct trace_builder *b, struct seen *seen)
{
    struct analyzed a = analyzed_trace(b, NULL);
    seen->change.type = &type;
    seen->change.analysis = a.analysis;
    struct xfw_change *changes[] = {&seen->change};
    struct xfw_whatif *whatif = xfw_whatif_of(a.analysis, changes, 1, NULL, NULL, NULL);
    assert_true(whatif->known);
    analyzed_free(&a);
    return whatif;
}

static void launch(struct play *play, uint64_t stream, uint32_t flags)
{
    struct xft_event event = {.kind = XFT_EVENT_LAUNCH, .stream = stream, .device = 0};
    event.flags = (uint16_t)flags;
    play_event(play, event, 1000);
}

static void make(struct play *play, uint64_t stream, uint64_t flags)
{
    play_event(play, (struct xft_event){.kind = XFT_EVENT_STREAM, .stream = stream, .aux = flags},
               500);
}

/* The legacy default stream, by whatever name, and streams that do not wait for it. */
static void test_kinds_of_streams(void **state)
{
    static const struct {
        uint64_t stream;
        uint32_t flags;
        enum xfw_stream_kind kind;
    } calls[] = {
        {0, 0, XFW_LEGACY},
        {0, XFT_STREAM_KNOWN, XFW_LEGACY},
        {LEGACY_HANDLE, XFT_STREAM_KNOWN, XFW_LEGACY},
        {LEGACY_HANDLE, XFT_STREAM_KNOWN | XFT_PER_THREAD, XFW_LEGACY},
        {0, XFT_STREAM_KNOWN | XFT_PER_THREAD, XFW_BLOCKING},
        {PER_THREAD_HANDLE, XFT_STREAM_KNOWN, XFW_BLOCKING},
        {MADE, XFT_STREAM_KNOWN, XFW_BLOCKING},
        {MADE_APART, XFT_STREAM_KNOWN, XFW_NONBLOCKING},
    };
    enum { CALLS = sizeof calls / sizeof *calls };
    struct trace_builder b;
    struct play play;
    struct seen seen = {.count = 0};
    (void)state;
    play_start(&play, &b, 1);
    make(&play, MADE, 0);
    make(&play, MADE_APART, XFT_STREAM_NONBLOCKING);
    for (size_t i = 0; i < CALLS; i++)
        launch(&play, calls[i].stream, calls[i].flags);
    play_end(&play, XFT_STATE_CLOSED);
    xfw_whatif_free(weigh(&b, &seen));
    assert_true(seen.count >= CALLS);
    for (size_t i = 0; i < CALLS; i++)
        if (seen.launches[i].stream_kind != calls[i].kind)
            fail_msg("call %zu: kind %d", i, seen.launches[i].stream_kind);
    assert_int_equal(seen.launches[0].stream, seen.launches[2].stream);
    assert_int_equal(seen.launches[4].stream, seen.launches[5].stream);
    assert_int_not_equal(seen.launches[0].stream, seen.launches[4].stream);
    build_free(&b);
}

/* Another thread goes on with the lane: a range that the first one left open ended with it, in
 * what-if as in phases. */
static void test_a_thread_that_ended(void **state)
{
    enum { FIRST = 1, SECOND };
    const uint64_t t = TEST_START_NS;
    struct xft_event first[] = {
        {.kind = XFT_EVENT_RANGE_BEGIN, .aux = FIRST, .start_ns = t + 1000, .end_ns = t + 1000},
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 64, t + 1500, 1000),
    };
    struct xft_event second[] = {
        {.kind = XFT_EVENT_RANGE_BEGIN, .aux = SECOND, .start_ns = t + 50000, .end_ns = t + 50000},
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 64, t + 60000, 1000),
        {.kind = XFT_EVENT_RANGE_END, .start_ns = t + 65000, .end_ns = t + 65000},
        {.kind = XFT_EVENT_ALLOC, .start_ns = t + 90000, .end_ns = t + 91000},
    };
    struct trace_builder b;
    struct seen seen = {.count = 0};
    (void)state;
    build_start(&b, 1);
    scenario_names(&b);
    build_text(&b, FIRST, "first");
    build_text(&b, SECOND, "second");
    b.tid = 11;
    build_events(&b, 0, 0, first, 2);
    b.tid = 12;
    build_events(&b, 0, 2, second, 4);
    build_close(&b, XFT_STATE_CLOSED, t + 92000);
    struct xfw_whatif *whatif = weigh(&b, &seen);
    assert_int_equal(whatif->range_count, 2);
    assert_string_equal(whatif->ranges[0].name, "first");
    assert_true(whatif->ranges[0].times.recorded_ns == 1500);
    assert_true(whatif->ranges[0].times.replayed_ns == 1500);
    assert_true(whatif->ranges[1].times.recorded_ns == 15000);
    xfw_whatif_free(whatif);
    struct analyzed a = analyzed_trace(&b, NULL);
    for (size_t i = 0; i < a.analysis->phases.all.count; i++) {
        const struct xfa_phase *phase = xfa_table_at(&a.analysis->phases.all, i);
        if (phase->name)
            assert_true(phase->figures.ns == (strcmp(phase->name, "first") ? 15000 : 1500));
    }
    assert_int_equal(a.analysis->counts.ranges.unended, 1);
    analyzed_free(&a);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_of_streams),
        cmocka_unit_test(test_a_thread_that_ended),
    };
    return cmocka_run_group_tests_name("what-if: numbers", tests, NULL, NULL);
}
