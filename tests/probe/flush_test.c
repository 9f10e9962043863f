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
#include "probe/probe.h"

enum { BYTES = 1024 };

static size_t calls, other_sizes;

void xfp_flush(const void *memory, size_t bytes)
{
    assert_non_null(memory);
    calls++;
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

    calls = other_sizes = 0;
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

static void nothing_is_flushed_when_told_so(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_host_copy_is_flushed_before),
        cmocka_unit_test(device_copies_have_nothing_to_flush),
        cmocka_unit_test(nothing_is_flushed_when_told_so),
        cmocka_unit_test(flushed_copies_are_measured_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
