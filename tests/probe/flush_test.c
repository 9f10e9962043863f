/*
 * What is flushed from the processor's caches, and when: the flushing itself is replaced by
 * counting, and the driver is the one whose clock is virtual (fake_cuda.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "probe/device/flush.h"
#include "probe/measure_transfers.h"
#include "probe/probe.h"

enum { BYTES = 1024 };

static size_t calls, rewritten, other_sizes;

void xfp_flush(const void *memory, size_t bytes)
{
    assert_non_null(memory);
    calls++;
    other_sizes += bytes != BYTES;
}

void xfp_rewrite(void *memory, size_t bytes)
{
    assert_non_null(memory);
    rewritten++;
    other_sizes += bytes != BYTES;
}

bool xfp_can_flush(void)
{
    return true;
}

/* Runs one benchmark at one size; returns samples of its first figure. */
static size_t run(const char *name, bool flush, bool flushed_said)
{
    struct xfp_probe_options options = {.filter = name,
                                        .min_bytes = BYTES,
                                        .max_bytes = BYTES,
                                        .device = -1,
                                        .quiet = true,
                                        .verify = true,
                                        .flush = flush};
    struct xfp_probe_outcome outcome;
    char error[256] = "";
    struct xfp_profile *profile;
    size_t samples;

    calls = rewritten = other_sizes = 0;
    profile = xfp_probe_run(&options, &outcome, error, sizeof(error));
    if (!profile)
        fail_msg("%s: %s", name, error);
    assert_int_equal(outcome.measured, 1);
    assert_int_equal(profile->rules.flushed, flushed_said);
    samples =
        profile->path_count ? profile->paths[0].points[0].n : profile->tables[0].rows[0].cost.n;
    xfp_free(profile);
    return samples;
}

/* The warm-up and every sample; as many or more of the blocking form. */
static void every_host_copy_is_flushed_before(void **state)
{
    static const char *const names[] = {
        "^copy/pinned/h2d/node0-gpu0$", "^copy/pageable/d2h/node1-gpu1$",
        "^copy/write-combined/h2d/gpu0$", "^copy/registered/d2h/node0-gpu1$"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t samples = run(names[i], true, true);

        assert_true(samples >= 6);
        assert_true(calls >= 2 * (samples + 1));
        assert_int_equal(other_sizes, 0);
    }
}

static void device_copies_have_nothing_to_flush(void **state)
{
    run("^copy/device/d2d/gpu0$", true, true);
    assert_int_equal(calls, 0);
    run("^copy/peer/p2p/gpu0-gpu1$", true, true);
    assert_int_equal(calls, 0);
}

static void nothing_is_flushed_when_switched_off(void **state)
{
    run("^copy/pinned/h2d/node0-gpu0$", false, false);
    assert_int_equal(calls, 0);
}

/* Without flushing several copies lie behind one gate: they are more than the fewest. */
static void flushed_copies_are_measured_one_by_one(void **state)
{
    size_t together = run("^copy/pinned/h2d/node0-gpu0$", false, false);
    size_t one_by_one = run("^copy/pinned/h2d/node0-gpu0$", true, true);

    assert_int_equal(together, 16);
    assert_int_equal(one_by_one, 6);
}

/* One transfer through the door, with the host's memory so. */
static size_t run_one(enum xft_memory memory, enum xfp_cache cache)
{
    struct xfp_transfers_settings settings = {.most_bytes = BYTES, .flush = true};
    struct xfp_transfer_spec spec = {.bytes = BYTES,
                                     .direction = XFT_DIR_H2D,
                                     .src = {memory, -1, -1},
                                     .dst = {XFT_MEM_DEVICE, 0, -1},
                                     .cache = cache,
                                     .slice_ns = 1000000};
    struct xfp_transfer_point point;
    char error[256] = "";
    struct xfp_transfers *session = xfp_transfers_open(&settings, error, sizeof(error));

    if (!session)
        fail_msg("%s", error);
    calls = rewritten = other_sizes = 0;
    assert_int_equal(xfp_measure_transfers(session, &spec, 1, &point), 1);
    assert_int_equal(other_sizes, 0);
    xfp_free(xfp_transfers_close(session));
    return point.point.n;
}

/* Instead of flushing, before the warm-up and every sample. */
static void warm_memory_is_written_before(void **state)
{
    size_t samples = run_one(XFT_MEM_PAGEABLE, XFP_WARM);

    assert_int_equal(calls, 0);
    assert_int_equal(rewritten, samples + 1);
    samples = run_one(XFT_MEM_PAGEABLE, XFP_COLD);
    assert_int_equal(calls, samples + 1);
    assert_int_equal(rewritten, 0);
    run_one(XFT_MEM_WRITE_COMBINED, XFP_WARM); /* no cache has it */
    assert_int_equal(rewritten, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_host_copy_is_flushed_before),
        cmocka_unit_test(device_copies_have_nothing_to_flush),
        cmocka_unit_test(nothing_is_flushed_when_switched_off),
        cmocka_unit_test(flushed_copies_are_measured_one_by_one),
        cmocka_unit_test(warm_memory_is_written_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
