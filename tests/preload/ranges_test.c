/* The set of address ranges: look-ups, overlaps, gaps, growth, and readers beside a writer. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "preload/intercept/ranges.h"

static void add(uint64_t start, uint64_t bytes, int place, uint8_t memory)
{
    struct xfs_range range = {start, start + bytes, (int16_t)place, memory};
    xfs_ranges_add(&range);
}

static int setup(void **state)
{
    (void)state;
    xfs_ranges_clear();
    return 0;
}

static void finds_what_was_added(void **state)
{
    (void)state;
    struct xfs_range found;
    add(0x1000, 0x100, 1, XFT_MEM_DEVICE);
    add(0x3000, 0x1000, -1, XFT_MEM_PINNED);
    assert_true(xfs_ranges_find(0x10ff, &found));
    assert_int_equal(found.memory, XFT_MEM_DEVICE);
    assert_int_equal(found.place, 1);
    assert_true(xfs_ranges_find(0x3000, &found));
    assert_int_equal(found.memory, XFT_MEM_PINNED);
    assert_false(xfs_ranges_find(0x1100, &found));
    assert_int_equal(found.start, 0x1100);
    assert_int_equal(found.end, 0x3000);
    assert_false(xfs_ranges_find(0x4000, &found));
    assert_int_equal(found.start, 0x4000);
    assert_true(found.end == UINT64_MAX);
}

static void removal_is_by_start(void **state)
{
    (void)state;
    struct xfs_range removed, found;
    add(0x1000, 0x1000, 0, XFT_MEM_DEVICE);
    assert_false(xfs_ranges_remove(0x1800, &removed));
    assert_true(xfs_ranges_remove(0x1000, &removed));
    assert_int_equal(removed.end, 0x2000);
    assert_false(xfs_ranges_find(0x1800, &found));
    assert_false(xfs_ranges_remove(0x1000, &removed));
}

static void newer_ranges_replace_what_they_overlap(void **state)
{
    (void)state;
    struct xfs_range found;
    for (uint64_t i = 0; i < 10; i++)
        add(0x10000 + i * 0x1000, 0x1000, 0, XFT_MEM_DEVICE);
    add(0x12800, 0x2000, -1, XFT_MEM_MANAGED); /* overlaps three */
    assert_true(xfs_ranges_find(0x13000, &found));
    assert_int_equal(found.memory, XFT_MEM_MANAGED);
    assert_false(xfs_ranges_find(0x12000, &found));
    assert_false(xfs_ranges_find(0x14fff, &found));
    assert_true(xfs_ranges_find(0x11fff, &found));
    assert_true(xfs_ranges_find(0x15000, &found));
}

static void empty_ranges_are_ignored_and_every_change_has_an_epoch(void **state)
{
    (void)state;
    struct xfs_range found;
    uint32_t before = xfs_ranges_epoch();
    add(0x5000, 0, 0, XFT_MEM_DEVICE);
    assert_int_equal(xfs_ranges_epoch(), before);
    add(0x5000, 1, 0, XFT_MEM_DEVICE);
    assert_true(xfs_ranges_epoch() != before);
    assert_true(xfs_ranges_find(0x5000, &found));
    assert_false(xfs_ranges_find(0x5001, &found));
}

static void grows_and_stays_sorted(void **state)
{
    (void)state;
    struct xfs_range found;
    const uint64_t n = 20000, step = 7919; /* a prime: every residue once, in no order */
    for (uint64_t i = 0; i < n; i++)
        add(0x100000 + (i * step % n) * 0x100, 0x80, (int)(i * step % n) & 0x7f, XFT_MEM_DEVICE);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(xfs_ranges_find(0x100000 + i * 0x100 + 0x7f, &found));
        assert_int_equal(found.place, i & 0x7f);
        assert_false(xfs_ranges_find(0x100000 + i * 0x100 + 0x80, &found));
    }
}

/* A stable range lies among ranges that come and go; readers must never miss it. */
static atomic_int stop;

struct reader {
    pthread_t thread;
    atomic_long looks; /* while the writer writes */
    long misses;
};

enum { READERS = 3, ROUNDS = 30000, LOOKS = 1000 };

static void *read_on(void *argument)
{
    struct reader *reader = argument;
    struct xfs_range found;
    for (; !atomic_load(&stop); atomic_fetch_add(&reader->looks, 1))
        if (!xfs_ranges_find(0x800010, &found) || found.memory != XFT_MEM_REGISTERED ||
            found.start != 0x800000)
            reader->misses++;
    return NULL;
}

static bool all_looked(struct reader *readers, long times)
{
    for (int i = 0; i < READERS; i++)
        if (atomic_load(&readers[i].looks) < times)
            return false;
    return true;
}

/* The writer goes on until every reader has looked often enough, however they are scheduled. */
static void readers_never_miss_beside_a_writer(void **state)
{
    (void)state;
    static struct reader readers[READERS];
    struct xfs_range removed;
    atomic_store(&stop, 0);
    add(0x800000, 0x100, -1, XFT_MEM_REGISTERED);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    for (uint64_t i = 0; i < ROUNDS || !all_looked(readers, LOOKS); i++) {
        add(0x100000 + (i % 5000) * 0x100, 0x100, 0, XFT_MEM_DEVICE);
        add(0x900000 + (i % 5000) * 0x100, 0x100, 0, XFT_MEM_DEVICE);
        xfs_ranges_remove(0x100000 + (i * 7 % 5000) * 0x100, &removed);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        assert_true(atomic_load(&readers[i].looks) >= LOOKS);
        assert_int_equal(readers[i].misses, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_what_was_added, setup),
        cmocka_unit_test_setup(removal_is_by_start, setup),
        cmocka_unit_test_setup(newer_ranges_replace_what_they_overlap, setup),
        cmocka_unit_test_setup(empty_ranges_are_ignored_and_every_change_has_an_epoch, setup),
        cmocka_unit_test_setup(grows_and_stays_sorted, setup),
        cmocka_unit_test_setup(readers_never_miss_beside_a_writer, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
