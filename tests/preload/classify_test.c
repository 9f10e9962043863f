/* What kind of memory an address is, and for how long and how far an answer holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"
#include "preload/intercept/classify.h"
#include "preload/lookup/driver.h"
#include "preload/record/record.h"

/* ---- a driver that knows one page of host memory, pinned where nobody saw it ---------------- */

enum { PAGE = 4096 };
static uint64_t pinned_page;
static int asked;
atomic_bool xfs_sandbox_seen;

static xcu_result attributes(unsigned count, int *which, void **values, xcu_deviceptr address)
{
    asked++;
    assert_int_equal(count, 3);
    for (unsigned i = 0; i < count; i++)
        if (which[i] == XCU_PTR_MEMORY_TYPE)
            *(unsigned *)values[i] = address / PAGE == pinned_page / PAGE ? XCU_MEMORY_HOST : 0;
    return XCU_SUCCESS;
}

static int node_of(const void *address)
{
    return 1;
}

void *xfs_driver_handle(void)
{
    return &asked;
}

void *xfs_driver_symbol(const char *name)
{
    if (!strcmp(name, "cuPointerGetAttributes"))
        return (void *)attributes;
    return strcmp(name, "xferscope_simgpu_numa_of") ? NULL : (void *)node_of;
}

bool xfs_on_own_stack(void (*work)(void *), void *argument)
{
    work(argument);
    return true;
}

bool xfs_do_apart(void (*work)(void *), void *argument)
{
    work(argument);
    return true;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static const uint64_t start = 0x10000000;

/* Pages of which this thread remembers the answer at one place: the next one behind `page`. */
static uint64_t with_same_place(uint64_t page)
{
    const struct xfs_place_entry *entry = NULL;
    (void)xfs_classify(page);
    for (size_t i = 0; i < XFS_PLACE_ENTRIES; i++)
        if (xfs_places[i].low <= page && page < xfs_places[i].high)
            entry = &xfs_places[i];
    assert_non_null(entry);
    for (uint64_t other = page + PAGE;; other += PAGE) {
        memset(xfs_places, 0, sizeof xfs_places);
        (void)xfs_classify(other);
        if (entry->high > other)
            return other;
    }
}

/* What lies between two known ranges is not known: an answer holds for one page. */
static void a_page_answers_for_itself(void **state)
{
    const uint64_t first = start, second = with_same_place(start);
    memset(xfs_places, 0, sizeof xfs_places);
    pinned_page = second;
    assert_int_equal(xfs_classify(first).memory, XFT_MEM_PAGEABLE);
    assert_int_equal(xfs_classify(first + PAGE - 1).memory, XFT_MEM_PAGEABLE);
    assert_int_equal(xfs_classify(second).memory, XFT_MEM_PINNED);
    assert_int_equal(xfs_classify(second + PAGE - 1).place, 1);
    assert_int_equal(xfs_classify(first).memory, XFT_MEM_PAGEABLE);
    asked = 0;
    assert_int_equal(xfs_classify(first + 8).memory, XFT_MEM_PAGEABLE);
    assert_int_equal(asked, 0); /* and holds within it */
}

/* A range that begins or ends within a page ends the answer of what is around it. */
static void ranges_within_a_page(void **state)
{
    const struct xfs_range range = {start + 1024, start + 2048, 0, XFT_MEM_REGISTERED};
    struct xfs_range removed;
    xfs_ranges_add(&range);
    assert_int_equal(xfs_classify(start + 1023).memory, XFT_MEM_PAGEABLE);
    assert_int_equal(xfs_classify(start + 1024).memory, XFT_MEM_REGISTERED);
    assert_int_equal(xfs_classify(start + 2047).memory, XFT_MEM_REGISTERED);
    assert_int_equal(xfs_classify(start + 2048).memory, XFT_MEM_PAGEABLE);
    assert_int_equal(xfs_classify(start + 1023).memory, XFT_MEM_PAGEABLE);
    assert_true(xfs_ranges_remove(start + 1024, &removed));
    assert_int_equal(xfs_classify(start + 1024).memory, XFT_MEM_PAGEABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_answers_for_itself),
        cmocka_unit_test(ranges_within_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
