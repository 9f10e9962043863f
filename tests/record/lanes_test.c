/* The supply of slabs: threads that find none need not wait while the new ones' pages are made. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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

static void test_pages_are_made_without_the_lock(void **state)
{
    static struct xfs_settings settings = {.buffer_bytes = 64 << 20};
    char folder[] = "/tmp/xferscope-lanes-XXXXXX", path[PATH_MAX];
    struct xft_file_header header = {.pid = getpid()};
    (void)state;
    recorder.settings = &settings;
    assert_non_null(mkdtemp(folder));
    assert_true(xfs_file_create(&recorder.file, folder, false, "", &header));
    assert_true(xfs_lanes_init(&recorder));
    assert_int_equal(populated, 0);
    unsigned taken = 0;
    while (xfs_pool_take(&recorder.lanes.free))
        taken++;
    assert_true(taken > 0);
    assert_true(xfs_lanes_supply(&recorder));
    assert_true(populated >= taken);
    assert_int_equal(locked, 0);
    snprintf(path, sizeof path, "%s", recorder.file.path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pages_are_made_without_the_lock)};
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
