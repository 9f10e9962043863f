/* Ops that are kept: they come back as they were, to the bit, from memory and from a file; the
 * run's files are checked and unpacked once; and where there is no room for them, and on one
 * processor, the run would save the same. */
#include <math.h>
#include <linux/magic.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <cmocka.h>

#include "analyzer/whatif/ops/op_store.h"
#include "analyzer/whatif/ops/ops.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/lab/one_processor.h"
#include "tests/analyzer/traces/scenario.h"
#include "tests/analyzer/traces/scenario_report.h"

enum { OPS = 30000, PROCESSES = 2 };

/* ---- as they were ---------------------------------------------------------------------------- */

static double some_double(uint64_t i)
{
    const double odd[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1e300, -1e-300, 0.1, 1e15, -3};
    return i % 7 == 0 ? odd[i / 7 % (sizeof odd / sizeof *odd)] : (double)i * (i % 3 ? 1 : 0.3);
}

static uint64_t some_number(uint64_t i)
{
    const uint64_t odd[] = {0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, 255, 256, 128};
    return i % 5 == 0 ? odd[i / 5 % (sizeof odd / sizeof *odd)] : i * i * 77;
}

static struct xfw_op op_number(uint64_t i)
{
    struct xfw_op op = xfw_op_none();
    op.number = i;
    op.what = (uint8_t)(i % (XFW_RANGE + 1));
    op.engine = (uint8_t)(i % XFW_ENGINES);
    op.thread = (uint32_t)(i % 11);
    op.exclusive = i % 2;
    op.gap_ns = some_double(i);
    op.own_ns = some_double(i * 3 + 1);
    op.start_ns = (double)(i * 1000);
    op.end_ns = (double)(i * 1000 + i % 300);
    op.bytes = some_number(i);
    op.src = some_number(i + 1);
    op.fetched.records_ns = some_double(i + 5);
    op.paced_ns = some_double(i + 2);
    return op;
}

static void fill(struct xfw_op_store *kept)
{
    uint64_t ranges[XFW_RANGES] = {0};
    for (uint64_t process = 0; process < PROCESSES; process++) {
        for (uint64_t i = 0; i < OPS; i++) {
            struct xfw_op op = op_number(i + process);
            xfw_op_store_add(kept, &op);
        }
        ranges[process] = 7 + process;
        xfw_op_store_end(kept, 0.5 + (double)process, ranges);
    }
}

static void expect_as_they_were(struct xfw_op_store *kept)
{
    assert_true(xfw_op_store_all(kept));
    for (int round = 0; round < 2; round++) {
        xfw_op_store_rewind(kept);
        for (uint64_t process = 0; process < PROCESSES; process++) {
            struct xfw_op op;
            double end_ns = 0;
            for (uint64_t i = 0; i < OPS; i++) {
                const struct xfw_op wanted = op_number(i + process);
                assert_true(xfw_op_store_next(kept, &op));
                assert_memory_equal(&op, &wanted, sizeof op);
            }
            assert_false(xfw_op_store_next(kept, &op));
            const uint64_t *ranges = xfw_op_store_over(kept, &end_ns);
            assert_true(end_ns == 0.5 + (double)process);
            assert_int_equal(ranges[process], 7 + process);
            assert_int_equal(ranges[process + 1], 0);
        }
    }
}

static void test_as_they_were(void **state)
{
    struct xfw_op_store *kept = xfw_op_store_new((size_t)64 << 20);
    (void)state;
    fill(kept);
    expect_as_they_were(kept);
    assert_false(xfw_op_store_has_spilled(kept));
    xfw_op_store_free(kept);
}

/* ---- in a file ------------------------------------------------------------------------------- */

static bool is_memory(const char *folder)
{
    struct statfs of;
    return statfs(folder, &of) == 0 && (of.f_type == TMPFS_MAGIC || of.f_type == RAMFS_MAGIC);
}

static struct xfw_op_store *spilled_into(const char *folder)
{
    struct xfw_op_store *kept = xfw_op_store_new((size_t)1 << 20);
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    xfw_op_store_spills(kept, true);
    fill(kept);
    unsetenv("TMPDIR");
    return kept;
}

static void expect_none(struct xfw_op_store *kept)
{
    assert_false(xfw_op_store_all(kept));
    assert_false(xfw_op_store_has_spilled(kept));
    xfw_op_store_free(kept);
}

static void test_in_a_file(void **state)
{
    (void)state;
    if (is_memory("."))
        skip();
    struct xfw_op_store *kept = spilled_into(".");
    assert_true(xfw_op_store_has_spilled(kept));
    expect_as_they_were(kept);
    const uint64_t *ranges;
    struct xfw_op op;
    double end_ns;
    for (size_t process = PROCESSES; process-- > 0;) { /* beside each other */
        struct xfw_op_reader *reader = xfw_op_reader_new(kept, process);
        for (uint64_t i = 0; i < OPS; i++) {
            const struct xfw_op wanted = op_number(i + process);
            assert_true(xfw_op_reader_next(reader, &op));
            assert_memory_equal(&op, &wanted, sizeof op);
        }
        assert_false(xfw_op_reader_next(reader, &op));
        ranges = xfw_op_reader_over(reader, &end_ns);
        assert_int_equal(ranges[process], 7 + process);
        xfw_op_reader_free(reader);
    }
    xfw_op_store_free(kept);
}

/* A folder that is not there, or is memory itself, and a process whose files may not be as long. */
static void test_no_place_for_a_file(void **state)
{
    struct rlimit before, little;
    (void)state;
    expect_none(spilled_into("no-such-folder"));
    if (is_memory("/dev/shm"))
        expect_none(spilled_into("/dev/shm"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = (rlim_t)1 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    expect_none(spilled_into("."));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* What members of a team give each other: the same ops, in just the same room. */
static void test_given(void **state)
{
    struct xfw_op_store *kept = xfw_op_store_new((size_t)64 << 20);
    struct xfw_op_store *given = xfw_op_store_new((size_t)64 << 20);
    const uint64_t ranges[XFW_RANGES] = {0};
    (void)state;
    fill(kept);
    for (size_t process = 0; process < PROCESSES; process++) {
        struct xfa_parcel parcel = {0}, again = {0};
        xfw_op_store_give(kept, process, &parcel);
        assert_true(xfw_op_store_take(given, &parcel));
        xfw_op_store_end(given, 0, ranges);
        xfw_op_store_give(given, process, &again);
        assert_int_equal(parcel.count, again.count);
        assert_memory_equal(parcel.bytes, again.bytes, parcel.count);
        struct xfw_op_reader *reader = xfw_op_reader_new(given, process);
        struct xfw_op op;
        for (uint64_t i = 0; i < OPS; i++) {
            const struct xfw_op wanted = op_number(i + process);
            assert_true(xfw_op_reader_next(reader, &op));
            assert_memory_equal(&op, &wanted, sizeof op);
        }
        assert_false(xfw_op_reader_next(reader, &op));
        xfw_op_reader_free(reader);
        xfa_parcel_free(&parcel);
        xfa_parcel_free(&again);
    }
    xfw_op_store_free(given);
    xfw_op_store_free(kept);
}

/* A parcel that was cut, or holds something else, is none; one without ops has none. */
static void test_given_badly(void **state)
{
    struct xfw_op_store *kept = xfw_op_store_new((size_t)64 << 20);
    struct xfw_op_store *given = xfw_op_store_new((size_t)64 << 20);
    struct xfa_parcel parcel = {0}, none = {0};
    (void)state;
    fill(kept);
    xfw_op_store_give(kept, 0, &parcel);
    assert_true(xfw_op_store_take(given, &none));
    parcel.count--;
    assert_false(xfw_op_store_take(given, &parcel));
    parcel.bytes[0] = 0xff;
    assert_false(xfw_op_store_take(given, &parcel));
    xfa_parcel_free(&parcel);
    xfw_op_store_free(given);
    xfw_op_store_free(kept);
}

static void test_no_room(void **state)
{
    (void)state;
    for (size_t mib = 0; mib < 2; mib++) {
        struct xfw_op_store *kept = xfw_op_store_new(mib << 20);
        fill(kept);
        assert_false(xfw_op_store_all(kept));
        xfw_op_store_free(kept);
    }
}

/* ---- what the run would save ----------------------------------------------------------------- */

static size_t most = SIZE_MAX; /* that may be kept */
static unsigned walks;

size_t __real_xfw_op_store_room(void);
size_t __wrap_xfw_op_store_room(void);
struct xfw_ops *__real_xfw_ops_new(const struct xfw_sink *sink);
struct xfw_ops *__wrap_xfw_ops_new(const struct xfw_sink *sink);

size_t __wrap_xfw_op_store_room(void)
{
    size_t room = __real_xfw_op_store_room();
    return room < most ? room : most;
}

struct xfw_ops *__wrap_xfw_ops_new(const struct xfw_sink *sink)
{
    walks++;
    return __real_xfw_ops_new(sink);
}

static unsigned unpacked, checked; /* segments with events; checked: when a trace is opened */

bool __real_xfa_segment_unpack(struct xfa_trace *trace, const struct xfa_segment *segment,
                               unsigned char *raw);
bool __wrap_xfa_segment_unpack(struct xfa_trace *trace, const struct xfa_segment *segment,
                               unsigned char *raw);
bool __wrap_xfa_segment_unpack(struct xfa_trace *trace, const struct xfa_segment *segment,
                               unsigned char *raw)
{
    unpacked += segment->type == XFT_SEG_EVENTS;
    return __real_xfa_segment_unpack(trace, segment, raw);
}

bool __real_xfa_segment_sound(struct xfa_trace *trace, const struct xfa_segment *segment);
bool __wrap_xfa_segment_sound(struct xfa_trace *trace, const struct xfa_segment *segment);
bool __wrap_xfa_segment_sound(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    checked += segment->type == XFT_SEG_EVENTS;
    return __real_xfa_segment_sound(trace, segment);
}

static unsigned segments_of(const struct trace_builder *b)
{
    char error[256] = "";
    unsigned count = 0;
    struct xfa_trace *trace = xfa_trace_open_bytes(b->bytes, b->size, error, sizeof error);
    assert_non_null(trace);
    for (size_t i = 0; i < trace->segment_count; i++)
        count += trace->segments[i].type == XFT_SEG_EVENTS;
    xfa_trace_close(trace);
    return count;
}

/* A process with little memory is not to lose it all to this. */
static void test_little_memory(void **state)
{
    struct rlimit before, little;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    little = before;
    little.rlim_cur = (rlim_t)1 << 30;
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    size_t room = __real_xfw_op_store_room();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_in_range(room, 1, (size_t)1 << 28);
}

enum { MOST_FIGURES = 2 + XFW_MOST_CHANGES * 5 };

/* All that came of it: how many figures. */
static size_t weigh(double figures[MOST_FIGURES])
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    scenario_findings(&b, "");
    build_index(&b);
    unpacked = checked = 0;
    struct analyzed a = analyzed_weighed(&b, profile);
    unsigned opened = checked;
    const struct xfw_whatif *whatif = a.findings->whatif;
    size_t count = 0;
    assert_true(whatif->known && !isnan(whatif->set.likely));
    figures[count++] = whatif->replayed_ns;
    figures[count++] = whatif->set.low;
    for (size_t i = 0; i < whatif->count; i++) {
        figures[count++] = whatif->alone[i].low;
        figures[count++] = whatif->alone[i].likely;
        figures[count++] = whatif->alone[i].high;
        figures[count++] = whatif->last[i].likely;
        figures[count++] = whatif->order[i];
    }
    unsigned once = segments_of(&b);
    assert_true(once > 0 && (most > 0 ? unpacked == once : unpacked > 2 * once));
    assert_int_equal(opened, once);
    analyzed_free(&a);
    build_free(&b);
    xfp_free(profile);
    return count;
}

static void weigh_on_one_processor(double figures[MOST_FIGURES])
{
    cpu_set_t all;
    keep_to_one_processor(&all);
    weigh(figures);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void test_the_same(void **state)
{
    double kept[MOST_FIGURES], walked[MOST_FIGURES], alone[MOST_FIGURES];
    (void)state;
    walks = 0;
    size_t count = weigh(kept);
    assert_int_equal(walks, 1);
    most = 0;
    weigh(walked);
    assert_true(walks > 2);
    most = SIZE_MAX;
    weigh_on_one_processor(alone);
    assert_memory_equal(kept, walked, count * sizeof *kept);
    assert_memory_equal(kept, alone, count * sizeof *kept);
}

/* The same of more calls than have room in 1 MiB. Returns how often their segments were unpacked.
 */
static unsigned weigh_many(size_t room, double figures[2])
{
    enum { TRANSFERS = 50000 };
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    scenario_many(&b, TRANSFERS);
    build_index(&b);
    unpacked = 0;
    most = room;
    struct analyzed a = analyzed_weighed(&b, profile);
    most = SIZE_MAX;
    assert_true(a.findings->whatif->replayed_ns > 0);
    figures[0] = a.findings->whatif->replayed_ns;
    figures[1] = a.findings->whatif->alone_ns;
    unsigned times = 0, once = segments_of(&b);
    assert_true(once > 0);
    for (; unpacked >= once; unpacked -= once)
        times++;
    analyzed_free(&a);
    build_free(&b);
    xfp_free(profile);
    return times;
}

/* Calls in a file are not looked for in the run again. */
static void test_from_a_file(void **state)
{
    double kept[2], spilled[2], walked[2];
    (void)state;
    if (is_memory("."))
        skip();
    assert_int_equal(setenv("TMPDIR", ".", 1), 0);
    assert_int_equal(weigh_many(SIZE_MAX, kept), 1);
    assert_int_equal(weigh_many((size_t)1 << 20, spilled), 1);
    assert_true(weigh_many(0, walked) > 1);
    unsetenv("TMPDIR");
    assert_memory_equal(kept, spilled, sizeof kept);
    assert_memory_equal(kept, walked, sizeof kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_they_were),  cmocka_unit_test(test_given),
        cmocka_unit_test(test_given_badly),   cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_in_a_file),     cmocka_unit_test(test_no_place_for_a_file),
        cmocka_unit_test(test_little_memory), cmocka_unit_test(test_the_same),
        cmocka_unit_test(test_from_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
