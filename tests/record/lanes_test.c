/* Slabs: their supply, for which threads that find none need not wait while pages are made; why
 * there are none; and that those that were written out serve again, as if nothing had been in them.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/base/settings.h"
#include "preload/record/lanes.h"
#include "preload/record/recorder.h"

static struct xfs_recorder recorder;
static unsigned populated, locked; /* slabs; those during which the lock was held */

int __wrap_madvise(void *memory, size_t bytes, int advice);
int __real_madvise(void *memory, size_t bytes, int advice);
int __wrap_madvise(void *memory, size_t bytes, int advice)
{
    if (advice == MADV_POPULATE_WRITE) {
        populated++;
        if (pthread_mutex_trylock(&recorder.lanes.lock) == 0)
            pthread_mutex_unlock(&recorder.lanes.lock);
        else
            locked++;
    }
    return __real_madvise(memory, bytes, advice);
}

/* Folder and file of a recorder that has just begun. */
static char folder[64];

static void begin(struct xfs_settings *settings)
{
    struct xft_file_header header = {.pid = getpid()};
    snprintf(folder, sizeof folder, "/tmp/xferscope-lanes-XXXXXX");
    recorder = (struct xfs_recorder){.settings = settings};
    assert_non_null(mkdtemp(folder));
    assert_true(xfs_file_create(&recorder.file, folder, false, true, "", &header));
    assert_true(xft_packer_init(&recorder.packer, NULL));
    recorder.packed_bytes = xft_pack_events_bound(&recorder.packer);
    recorder.packed = malloc(recorder.packed_bytes);
    assert_non_null(recorder.packed);
    pthread_mutex_init(&recorder.pack_lock, NULL);
    assert_true(xfs_lanes_init(&recorder));
}

static void end(void)
{
    xft_packer_free(&recorder.packer);
    free(recorder.packed);
    assert_int_equal(unlink(recorder.file.path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_pages_are_made_without_the_lock(void **state)
{
    static struct xfs_settings settings = {.buffer_bytes = 64 << 20};
    (void)state;
    begin(&settings);
    assert_int_equal(populated, 0);
    unsigned taken = 0;
    while (xfs_pool_take(&recorder.lanes.free))
        taken++;
    assert_true(taken > 0);
    assert_true(xfs_lanes_supply(&recorder));
    assert_true(populated >= taken);
    assert_int_equal(locked, 0);
    end();
}

/* The file may not grow, and a thread waits: the reason is reported, also when it was found out
 * before. */
static void test_why_there_is_no_slab(void **state)
{
    static struct xfs_settings settings = {.buffer_bytes = 64 << 20};
    struct rlimit before;
    (void)state;
    begin(&settings);
    while (xfs_pool_take(&recorder.lanes.free))
        continue;
    atomic_store(&recorder.lanes.waiting, 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit now = {.rlim_cur = recorder.file.end, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
    for (int i = 0; i < 2; i++) {
        errno = ETIMEDOUT; /* of something else */
        bool good = xfs_lanes_supply(&recorder);
        int error = errno;
        assert_false(good);
        assert_int_equal(error, EFBIG);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    end();
}

enum { LANES = 3, ROWS = 7 };

/* A lane of a thread that wrote a few events and has ended. */
static void write_some(void)
{
    struct xfs_lane *lane = xfs_lane_open(&recorder);
    assert_non_null(lane);
    assert_true(xfs_lane_refill(lane));
    for (uint32_t i = 0; i < ROWS; i++) {
        lane->rows[i] = (struct xft_event){.kind = XFT_EVENT_TRANSFER, .bytes = i};
        *lane->committed = lane->next = i + 1;
    }
    xfs_lane_close(lane);
}

static void test_all_that_is_full_is_written(void **state)
{
    static struct xfs_settings settings = {.buffer_bytes = 64 << 20};
    (void)state;
    begin(&settings);
    int free_before = atomic_load(&recorder.lanes.free.count);
    bool wrote;
    for (int i = 0; i < LANES; i++)
        write_some();
    assert_int_equal(xfs_lanes_count(&recorder.lanes), LANES * ROWS);
    assert_true(xfs_lanes_write_full(&recorder, &wrote));
    assert_true(wrote);
    assert_int_equal(xfs_lanes_count(&recorder.lanes), 0);
    assert_int_equal(atomic_load(&recorder.lanes.free.count), free_before);
    assert_true(xfs_lanes_write_full(&recorder, &wrote));
    assert_false(wrote);
    end();
}

/* A process that dies before its first event leaves none in the slab. */
static void test_a_slab_that_serves_again_is_empty(void **state)
{
    static struct xfs_settings settings = {.buffer_bytes = 64 << 20};
    (void)state;
    begin(&settings);
    bool wrote;
    write_some();
    assert_true(xfs_lanes_write_full(&recorder, &wrote));
    for (int slabs = atomic_load(&recorder.lanes.free.count); slabs > 0; slabs--) {
        struct xfs_lane *lane = xfs_lane_open(&recorder);
        assert_true(xfs_lane_refill(lane));
        assert_int_equal(*lane->committed, 0);
    }
    assert_int_equal(xfs_lanes_count(&recorder.lanes), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pages_are_made_without_the_lock),
                                       cmocka_unit_test(test_why_there_is_no_slab),
                                       cmocka_unit_test(test_all_that_is_full_is_written),
                                       cmocka_unit_test(test_a_slab_that_serves_again_is_empty)};
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
