/* The page's block `timeline`: when what ran, and what the machine gives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/report/html/html.h"
#include "tests/analyzer/traces/scenario.h"

#define BYTES (1u << 20)

/* ---- runs ------------------------------------------------------------------------------------ */

struct shown {
    struct xfa_timeline timeline;
    struct xfa_analysis *analysis;
};

static void show(struct shown *shown, const struct xfp_profile *profile)
{
    xfa_timeline_init(&shown->timeline);
    struct xfa_observer observer = xfa_timeline_observer(&shown->timeline);
    const struct xfa_request request = {
        .path = "test", .profile = profile, .observers = &observer, .observer_count = 1};
    shown->timeline.analysis = shown->analysis = xfa_analysis_new(&request);
}

static void add(struct shown *shown, const struct trace_builder *b)
{
    char error[256];
    assert_true(xfa_analysis_add_bytes(shown->analysis, b->bytes, b->size, error, sizeof error));
}

/* The block, for the caller to free. */
static json_t *written(const struct shown *shown)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    xfa_timeline_write(&shown->timeline, NULL, out);
    fclose(out);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static json_t *block_of(struct shown *shown)
{
    xfa_analysis_finish(shown->analysis);
    xfa_timeline_finish(&shown->timeline);
    return written(shown);
}

static void forget(struct shown *shown, json_t *block)
{
    json_decref(block);
    xfa_timeline_free(&shown->timeline);
    xfa_analysis_free(shown->analysis);
}

/* What the device did to GPU 0, ns after the process's start. */
static struct xft_event did(enum xft_event_kind kind, uint64_t start, uint64_t end)
{
    struct xft_event event =
        test_transfer(0, XFT_DIR_H2D, XFT_MEM_PINNED, BYTES, TEST_START_NS + start, end - start);
    event.kind = (uint8_t)kind;
    return event;
}

/* A process that began so much later than the others. */
static void process(struct shown *shown, uint64_t late_ns, const struct xft_event *events,
                    size_t count, uint64_t end)
{
    struct trace_builder b;
    struct xft_event calls[8];
    assert_true(count <= 8);
    for (size_t i = 0; i < count; i++) {
        calls[i] = test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_H2D, XFT_MEM_PINNED, BYTES,
                                 events[i].start_ns - 500, 100);
        calls[i].flags = XFT_ASYNC;
        calls[i].correlation = events[i].correlation;
    }
    build_start(&b, 1 + (int)late_ns);
    b.header.start_real_ns += late_ns;
    scenario_names(&b);
    build_events(&b, 0, 0, calls, count);
    build_events(&b, 1, 0, events, count);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + end);
    add(shown, &b);
    build_free(&b);
}

/* ---- when what ran --------------------------------------------------------------------------- */

enum { RECORDED, ADVISED };

static const json_t *track_of(const json_t *block, size_t version, const char *kind, int number)
{
    const json_t *of = json_array_get(json_object_get(block, "versions"), version);
    const json_t *tracks = json_object_get(of, "tracks");
    for (size_t i = 0; i < json_array_size(tracks); i++) {
        const json_t *track = json_array_get(tracks, i);
        if (strcmp(json_string_value(json_object_get(track, "kind")), kind) == 0 &&
            json_integer_value(json_object_get(track, "process")) == number)
            return track;
    }
    fail_msg("no %s of process %d", kind, number);
    return NULL;
}

/* What is left of a track's slices, which are packed (timeline/pack.h), in base64. */
struct left {
    const char *text;
    unsigned bits, bit_count; /* of it, read already */
};

static bool take_byte(struct left *left, unsigned *byte)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    while (left->bit_count < 8) {
        const char *digit = *left->text ? strchr(digits, *left->text) : NULL;
        if (!digit)
            return false;
        left->bits = left->bits << 6 | (unsigned)(digit - digits);
        left->bit_count += 6;
        left->text++;
    }
    left->bit_count -= 8;
    *byte = left->bits >> left->bit_count & 0xff;
    return true;
}

static bool take_number(struct left *left, uint64_t *number)
{
    unsigned byte = 0x80;
    *number = 0;
    for (unsigned bits = 0; byte & 0x80; bits += 7) {
        if (!take_byte(left, &byte))
            return false;
        *number |= (uint64_t)(byte & 0x7f) << bits;
    }
    return true;
}

/* How far behind the one before, and how long. */
static bool take_slice(struct left *left, uint64_t *start, uint64_t *ns)
{
    uint64_t kind, other;
    if (!take_number(left, start) || !take_number(left, ns) || !take_number(left, &kind))
        return false;
    for (unsigned i = 0; i < (kind < 2 ? 3 : 0) + kind % 2; i++)
        assert_true(take_number(left, &other));
    return true;
}

static struct left slices_of(const json_t *track)
{
    struct left left = {.text = json_string_value(json_object_get(track, "slices"))};
    assert_non_null(left.text);
    return left;
}

/* "10000+20000 50000+20000": starts after the run's, and how long. */
static void assert_slices_of(const json_t *track, const char *wanted)
{
    struct left left = slices_of(track);
    char text[256] = "";
    uint64_t start = 0, more, ns;
    while (take_slice(&left, &more, &ns)) {
        size_t length = strlen(text);
        start += more;
        snprintf(text + length, sizeof text - length, "%s%llu+%llu", length ? " " : "",
                 (unsigned long long)start, (unsigned long long)ns);
    }
    assert_string_equal(text, wanted);
}

static void assert_slices(const json_t *block, const char *kind, int number, const char *wanted)
{
    assert_slices_of(track_of(block, RECORDED, kind, number), wanted);
}

/* Two processes, of which the second began 1 ms later and moved memory at the end. */
static void build_two(struct shown *shown)
{
    struct xft_event first[] = {did(XFT_EVENT_DEVICE_COPY, 10000, 30000),
                                did(XFT_EVENT_DEVICE_COPY, 50000, 70000),
                                did(XFT_EVENT_DEVICE_COPY, 75000, 90000)};
    struct xft_event second[] = {did(XFT_EVENT_DEVICE_COPY, 5000, 9000),
                                 did(XFT_EVENT_MIGRATION, 10000, 20000)};
    for (uint32_t i = 0; i < 3; i++)
        first[i].correlation = i + 1;
    second[0].correlation = 1;
    process(shown, 0, first, 3, 200000);
    process(shown, 1000000, second, 2, 100000);
}

static void test_moments(void **state)
{
    static const char *const shares[] = {"compute", "hidden", "exposed", "waits", "host"};
    struct shown shown;
    json_int_t sum = 0;
    (void)state;
    show(&shown, NULL);
    build_two(&shown);
    json_t *block = block_of(&shown);
    assert_slices(block, "copies", 0, "10000+20000 50000+20000 75000+15000");
    assert_slices(block, "copies", 1, "1005000+4000");
    assert_slices(block, "migrations", 1, "1010000+10000");
    for (unsigned i = 0; i < 5; i++)
        sum += json_integer_value(json_object_get(json_object_get(block, "shares"), shares[i]));
    assert_int_equal(sum, 1100000); /* from the first one's start to the last one's end */
    forget(&shown, block);
}

/* The part of the run that a GPU's time was, as the mean of both. */
static double share_of(const json_t *block, const char *word)
{
    return json_number_value(json_object_get(json_object_get(block, "shares"), word));
}

/* A copy to another GPU takes the time of both. */
static void test_both_ends_of_a_peer_copy(void **state)
{
    struct shown shown;
    struct trace_builder b;
    struct xft_event call = {.kind = XFT_EVENT_TRANSFER,
                             .direction = XFT_DIR_P2P,
                             .src_mem = XFT_MEM_DEVICE,
                             .dst_mem = XFT_MEM_DEVICE,
                             .dst_place = 1,
                             .bytes = BYTES,
                             .count = 1,
                             .flags = XFT_ASYNC,
                             .call = CALL_MEMCPY_ASYNC,
                             .correlation = 1,
                             .start_ns = TEST_START_NS + 9000,
                             .end_ns = TEST_START_NS + 9500};
    struct xft_event done[] = {call, did(XFT_EVENT_KERNEL, 50000, 60000)};
    (void)state;
    done[0].kind = XFT_EVENT_DEVICE_COPY;
    done[0].start_ns = TEST_START_NS + 10000;
    done[0].end_ns = TEST_START_NS + 40000;
    done[1].device = 1;
    show(&shown, NULL);
    build_start(&b, 1);
    scenario_names(&b);
    build_meta(&b, "gpu.1.name", "Test GPU");
    build_events(&b, 0, 0, &call, 1);
    build_events(&b, 1, 0, done, 2);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 100000);
    add(&shown, &b);
    build_free(&b);
    json_t *block = block_of(&shown);
    assert_slices(block, "copies", 0, "10000+30000"); /* drawn once */
    assert_int_equal(share_of(block, "exposed"), 30000);
    assert_int_equal(share_of(block, "compute"), 5000);
    forget(&shown, block);
}

static struct xft_event ranged(enum xft_event_kind kind, uint64_t ns, uint64_t id)
{
    return (struct xft_event){.kind = (uint8_t)kind,
                              .start_ns = TEST_START_NS + ns,
                              .end_ns = TEST_START_NS + ns,
                              .dst = id};
}

/* Nested ranges of a thread have a track for each of the first four levels, those of the process
 * one; what is open at the end lasts until the last call. */
static void test_ranges(void **state)
{
    struct shown shown;
    struct trace_builder b;
    struct xft_event events[16];
    size_t count = 0;
    (void)state;
    for (uint64_t level = 0; level < 5; level++)
        events[count++] = ranged(XFT_EVENT_RANGE_BEGIN, 1000 * (level + 1), 0);
    events[count++] = ranged(XFT_EVENT_RANGE_BEGIN, 6000, 7);
    for (uint64_t level = 4; level > 0; level--)
        events[count++] = ranged(XFT_EVENT_RANGE_END, 20000 - 1000 * level, 0);
    events[count++] = ranged(XFT_EVENT_RANGE_BEGIN, 30000, 0);
    events[count++] = ranged(XFT_EVENT_RANGE_END, 31000, 0);
    events[count++] = ranged(XFT_EVENT_RANGE_END, 32000, 7);
    events[count++] =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, BYTES, TEST_START_NS + 40000, 1000);
    show(&shown, NULL);
    build_start(&b, 1);
    scenario_names(&b);
    build_events(&b, 0, 0, events, count);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 100000);
    add(&shown, &b);
    build_free(&b);
    json_t *block = block_of(&shown);
    static const char *const wanted[][2] = {{"process NVTX", "6000+26000"},
                                            {"thread 100 NVTX", "1000+40000"},
                                            {"thread 100 NVTX, level 2", "2000+17000 30000+1000"},
                                            {"thread 100 NVTX, level 3", "3000+15000"},
                                            {"thread 100 NVTX, level 4", "4000+13000"}};
    const json_t *all =
        json_object_get(json_array_get(json_object_get(block, "versions"), 0), "tracks");
    for (size_t i = 0; i < 5; i++) {
        const json_t *track = json_array_get(all, i);
        assert_string_equal(json_string_value(json_object_get(track, "label")), wanted[i][0]);
        assert_slices_of(track, wanted[i][1]);
    }
    assert_string_equal(json_string_value(json_object_get(json_array_get(all, 5), "kind")),
                        "copies");
    forget(&shown, block);
}

/* ---- as advised ------------------------------------------------------------------------------ */

static void stay(const struct xfw_change *change, void *state, struct xfw_player *player,
                 struct xfw_op *op)
{
}

/* So many changes that change nothing, in the reverse order: the sets that are tried. */
static void try_sets(struct shown *shown, unsigned count)
{
    static const struct xfw_change_type type = {.name = "stay", .op = stay};
    struct xfw_change *changes[XFW_MOST_MEMBERS];
    unsigned order[XFW_MOST_MEMBERS];
    assert_in_range(count, 1, XFW_MOST_MEMBERS);
    for (unsigned i = 0; i < count; i++) {
        changes[i] = xfw_change_new(sizeof *changes[i], &type, shown->analysis, NULL);
        order[i] = count - i;
    }
    assert_null(xfa_timeline_advise(&shown->timeline, shown->analysis, changes, order, count));
    assert_null(xfa_timeline_try_sets(&shown->timeline, shown->analysis, changes, order, count));
    for (unsigned i = 0; i < count; i++)
        xfw_change_free(changes[i]);
}

static void build_copy_and_wait(struct shown *shown, char *path)
{
    int file = mkstemps(path, 6);
    struct trace_builder b;
    struct xft_event calls[] = {did(XFT_EVENT_TRANSFER, 9000, 9500),
                                did(XFT_EVENT_SYNC, 10000, 50000)};
    struct xft_event done = did(XFT_EVENT_DEVICE_COPY, 10000, 49000);
    assert_true(file >= 0);
    close(file);
    calls[0].flags = XFT_ASYNC;
    calls[0].call = CALL_MEMCPY_ASYNC;
    calls[0].correlation = done.correlation = 1;
    calls[1].aux = XFT_SYNC_CONTEXT;
    build_start(&b, 1);
    scenario_names(&b);
    build_events(&b, 0, 0, calls, 2);
    build_events(&b, 1, 0, &done, 1);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 100000);
    build_save(&b, path);
    build_free(&b);
    show(shown, NULL);
    xfa_analysis_add(shown->analysis, path, NULL);
    xfa_analysis_finish(shown->analysis);
    xfa_timeline_finish(&shown->timeline);
}

/* Played again with no change at all: it copies, and waits for that, as long as it did. */
static void test_as_advised(void **state)
{
    char path[] = "/tmp/xferscope-test-XXXXXX.trace";
    struct shown shown;
    (void)state;
    build_copy_and_wait(&shown, path);
    assert_null(xfa_timeline_advise(&shown.timeline, shown.analysis, NULL, NULL, 0));
    unlink(path);
    json_t *block = written(&shown);
    static const char *const kinds[] = {"copies", "waits"};
    for (unsigned i = 0; i < 2; i++) {
        struct left left = slices_of(track_of(block, ADVISED, kinds[i], 0));
        uint64_t start, ns = 0;
        assert_true(take_slice(&left, &start, &ns));
        assert_in_range(ns, 38500, 40500);
    }
    forget(&shown, block);
}

/* Of two and five members every part, of six the first ones, of one none; each as long as it was.
 */
static void test_sets(void **state)
{
    static const unsigned members[] = {1, 2, 5, 6}, sets[] = {0, 2, 30, 5};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        char path[] = "/tmp/xferscope-test-XXXXXX.trace";
        struct shown shown;
        uint64_t seen = 0;
        build_copy_and_wait(&shown, path);
        try_sets(&shown, members[i]);
        unlink(path);
        shown.timeline.alone_ns = shown.timeline.advised.wall_ns;
        json_t *block = written(&shown), *all = json_object_get(block, "sets");
        assert_int_equal(json_array_size(all), sets[i]);
        for (size_t k = 0; k < sets[i]; k++) {
            const json_t *set = json_array_get(all, k), *own = json_object_get(set, "members");
            uint32_t bits = 0;
            for (size_t m = 0; m < json_array_size(own); m++)
                bits |= 1u << (json_integer_value(json_array_get(own, m)) - 1);
            assert_true(bits > 0 && bits < (1u << members[i]) - 1 && !(seen >> bits & 1));
            assert_true(members[i] < 6 || (bits & (bits + 1)) == 0);
            seen |= UINT64_C(1) << bits;
            assert_true(fabs(json_number_value(json_object_get(set, "saved_s"))) < 1e-12);
            assert_int_equal(
                json_array_size(json_object_get(json_object_get(set, "version"), "tracks")),
                shown.timeline.advised.tracks.table.count);
        }
        forget(&shown, block);
    }
}

/* In bins of the run's time: each the part that was moved in it, all of it in all. */
static void test_migrations(void **state)
{
    struct shown shown;
    json_int_t sum = 0;
    (void)state;
    show(&shown, NULL);
    build_two(&shown);
    json_t *block = block_of(&shown), *migrations = json_object_get(block, "migrations");
    const json_t *series = json_array_get(json_object_get(migrations, "series"), 0);
    const json_t *bytes = json_object_get(series, "bytes");
    double bin_ns = json_real_value(json_object_get(migrations, "bin_ns"));
    assert_int_equal(json_array_size(bytes), XFA_MIGRATION_BINS);
    assert_true(bin_ns >= 1100000.0 / XFA_MIGRATION_BINS && bin_ns < 4300);
    for (size_t i = 0; i < XFA_MIGRATION_BINS; i++) {
        double from = fmax(1010000, bin_ns * (double)i);
        double to = fmin(1020000, bin_ns * (double)(i + 1));
        json_int_t found = json_integer_value(json_array_get(bytes, i));
        double wanted = to > from ? BYTES * (to - from) / 10000 : 0;
        assert_true(fabs((double)found - wanted) <= (to > from ? 3 : 0));
        sum += found;
    }
    assert_int_equal(sum, BYTES);
    forget(&shown, block);
}

/* ---- what the machine gives ------------------------------------------------------------------ */

/* The page has nine digits. */
static void assert_figure(const json_t *json, double wanted)
{
    double found = json_number_value(json);
    if (!(fabs(found - wanted) <= 1e-8 * wanted))
        fail_msg("%.12g, expected %.12g", found, wanted);
}

/* Two GPUs at node 0, which reach each other; bounds of a tenth. */
static struct xfp_profile *two_gpus(void)
{
    static int first[] = {1}, second[] = {0};
    struct xfp_profile *profile = scenario_profile();
    struct xfp_gpu *gpus = calloc(2, sizeof *gpus);
    assert_non_null(gpus);
    gpus[0] = profile->machine.gpus[0];
    gpus[0].numa = 0;
    gpus[0].nvlinks = 18;
    gpus[0].pcie_max_gen = 5;
    gpus[0].pcie_max_width = 16;
    gpus[0].peers = first;
    gpus[0].peer_count = 1;
    gpus[1] = gpus[0];
    gpus[1].peers = second;
    gpus[1].name = strdup("Test GPU");
    gpus[1].pci = strdup("0000:02:00.0");
    gpus[1].uuid = strdup("GPU-11111111-1111-2222-3333-444444444444");
    free(profile->machine.gpus);
    profile->machine.gpus = gpus;
    profile->machine.gpu_count = 2;
    for (size_t i = 0; i < profile->paths[0].point_count; i++) {
        struct xfp_point *point = &profile->paths[0].points[i];
        point->ci_low_ns = 0.9 * point->median_ns;
        point->ci_high_ns = 1.1 * point->median_ns;
    }
    return profile;
}

static void free_two(struct xfp_profile *profile)
{
    for (size_t i = 0; i < 2; i++) {
        profile->machine.gpus[i].peers = NULL;
        profile->machine.gpus[i].peer_count = 0;
    }
    xfp_free(profile);
}

static void build_machine(struct shown *shown)
{
    struct trace_builder b;
    struct xft_event call =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, BYTES, TEST_START_NS + 1000, 30000);
    build_start(&b, 1);
    scenario_names(&b);
    build_meta(&b, "gpu.1.name", "Test GPU");
    build_meta(&b, "gpu.1.uuid", "GPU-11111111-1111-2222-3333-444444444444");
    build_events(&b, 0, 0, &call, 1);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 100000);
    add(shown, &b);
    build_free(&b);
}

static void assert_link(const json_t *links, size_t i, const char *a, const char *b,
                        const char *label)
{
    const json_t *link = json_array_get(links, i);
    assert_non_null(link);
    assert_string_equal(json_string_value(json_object_get(link, "a")), a);
    assert_string_equal(json_string_value(json_object_get(link, "b")), b);
    assert_string_equal(json_string_value(json_object_get(link, "label")), label);
}

/* Each link once, with what the longest copy from the one to the other had. */
static void test_links(void **state)
{
    struct shown shown;
    struct xfp_profile *profile = two_gpus();
    const uint64_t longest = (uint64_t)64 << 22;
    (void)state;
    show(&shown, profile);
    build_machine(&shown);
    json_t *block = block_of(&shown), *links = json_object_get(block, "links");
    assert_int_equal(json_array_size(links), 3);
    assert_link(links, 0, "host:0", "gpu:0", "PCIe gen 5 x16");
    assert_link(links, 1, "gpu:0", "gpu:1", "NVLink");
    assert_link(links, 2, "host:0", "gpu:1", "PCIe gen 5 x16");
    assert_figure(json_object_get(json_array_get(links, 0), "gb_s"),
                  (double)longest / link_ns(longest));
    assert_true(json_is_null(json_object_get(json_array_get(links, 1), "gb_s")));
    forget(&shown, block);
    free_two(profile);
}

/* Size, bandwidth, and its bounds: the longer time is the lower one. */
static void test_curves(void **state)
{
    struct shown shown;
    struct xfp_profile *profile = two_gpus();
    (void)state;
    show(&shown, profile);
    build_machine(&shown);
    json_t *block = block_of(&shown), *curves = json_object_get(block, "curves");
    assert_int_equal(json_array_size(curves), 1); /* GPU 1 moved nothing */
    const json_t *points = json_object_get(json_array_get(curves, 0), "points");
    assert_int_equal(json_array_size(points), 12);
    for (size_t i = 0; i < 12; i++) {
        const json_t *point = json_array_get(points, i);
        uint64_t bytes = (uint64_t)64 << (2 * i);
        double gbps = (double)bytes / link_ns(bytes);
        assert_int_equal(json_integer_value(json_array_get(point, 0)), bytes);
        assert_figure(json_array_get(point, 1), gbps);
        assert_figure(json_array_get(point, 2), gbps / 1.1);
        assert_figure(json_array_get(point, 3), gbps / 0.9);
    }
    forget(&shown, block);
    free_two(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),    cmocka_unit_test(test_both_ends_of_a_peer_copy),
        cmocka_unit_test(test_as_advised), cmocka_unit_test(test_sets),
        cmocka_unit_test(test_ranges),     cmocka_unit_test(test_migrations),
        cmocka_unit_test(test_links),      cmocka_unit_test(test_curves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
