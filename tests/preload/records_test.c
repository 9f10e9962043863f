/* Buffers for CUPTI's records: none that was refused is missed later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "preload/timing/give_way.h"
#include "preload/timing/records.h"

/* Its account is tests/gpu/timing_budget_test.c's affair; here comes no record. */
void xfs_give_way_record(const struct xft_event *record)
{
    fail();
}

static bool memory_is_short;
static unsigned asked;

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    asked++;
    return memory_is_short ? MAP_FAILED : __real_mmap(at, bytes, protection, flags, fd, offset);
}

static uint8_t *request(void)
{
    uint8_t *buffer;
    size_t bytes, most;
    xfs_records_requested(&buffer, &bytes, &most);
    assert_int_equal(bytes, buffer ? XFS_RECORDS_BUFFER_BYTES : 0);
    return buffer;
}

static xcp_result no_record(uint8_t *buffer, size_t bytes, struct xcp_activity **record)
{
    return (xcp_result)-1;
}

static xcp_result none_dropped(void *context, uint32_t stream, size_t *dropped)
{
    *dropped = 0;
    return XCP_SUCCESS;
}

/* As often as there may be buffers, and again: by the one who asks, and by the one who makes them
 * ahead. */
static void test_memory_comes_back(void **state)
{
    static const struct xcp_library library = {.ActivityGetNextRecord = no_record,
                                               .ActivityGetNumDroppedRecords = none_dropped};
    const atomic_bool stop = false;
    memory_is_short = true;
    xfs_records_setup(&library, false);
    for (unsigned i = 0; i < 2 * XFS_RECORDS_BUFFERS; i++) {
        assert_null(request());
        xfs_records_drain(&stop);
    }
    assert_true(asked > 4 * XFS_RECORDS_BUFFERS);
    assert_int_equal(xfs_records_outstanding(), 0);
    memory_is_short = false;
    for (unsigned i = 0; i < XFS_RECORDS_BUFFERS; i++)
        assert_non_null(request());
    assert_null(request()); /* these are all */
    assert_int_equal(xfs_records_outstanding(), XFS_RECORDS_BUFFERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_comes_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
