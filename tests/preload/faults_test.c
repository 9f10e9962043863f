/* Page faults of large copies of pageable memory: which calls are counted, and what is said. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "preload/base/sandbox.h"
#include "preload/intercept/faults.h"

atomic_bool xfs_sandbox_seen;

enum { PAGE = 4096, PAGES = 512 };
static const size_t bytes = (size_t)PAGES * PAGE;

/* New memory, of ordinary pages. */
static unsigned char *new_memory(void)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

static void touch(unsigned char *memory)
{
    for (size_t i = 0; i < bytes; i += PAGE)
        *(volatile unsigned char *)&memory[i] = 1;
}

/* A copy that touches this memory; NULL: none. */
static uint64_t copied(unsigned char *memory, uint64_t size, enum xft_memory kind)
{
    struct xft_event copy = {
        .direction = XFT_DIR_D2H, .dst_mem = (uint8_t)kind, .bytes = size, .width = size};
    errno = 77;
    xfs_faults_before_copy(size);
    if (memory)
        touch(memory);
    xfs_faults_behind(&copy);
    assert_int_equal(errno, 77);
    return copy.aux;
}

static uint64_t fetched(unsigned char *memory)
{
    return copied(memory, bytes, XFT_MEM_PAGEABLE);
}

static void start(void)
{
    xfs_faults = (struct xfs_faults){0};
}

/* In the call, and before it; of the first nothing is known. */
static void test_counts(void **state)
{
    unsigned char *first = new_memory(), *second = new_memory(), *third = new_memory();
    (void)state;
    start();
    assert_int_equal(fetched(first), 0);
    uint64_t of = fetched(second);
    assert_in_range(xft_faults_within(of), PAGES, PAGES + PAGES / 4);
    assert_in_range(xft_faults_before(of), 0, PAGES / 4);
    touch(third);
    of = fetched(third);
    assert_in_range(xft_faults_within(of), 0, PAGES / 4);
    assert_in_range(xft_faults_before(of), PAGES, PAGES + PAGES / 4);
    munmap(first, bytes), munmap(second, bytes), munmap(third, bytes);
}

/* Small copies, and those of other memory, have none; they are no end of what came before. */
static void test_others(void **state)
{
    unsigned char *memory = new_memory(), *other = new_memory();
    (void)state;
    start();
    assert_int_equal(copied(NULL, 4096, XFT_MEM_PAGEABLE), 0);
    assert_int_equal(xfs_faults.looks, 0);
    assert_int_equal(copied(NULL, bytes, XFT_MEM_PINNED), 0);
    assert_int_equal(xfs_faults.looks, 0);
    fetched(NULL);
    touch(other);
    assert_int_equal(copied(NULL, 4096, XFT_MEM_PAGEABLE), 0);
    assert_int_equal(copied(NULL, bytes, XFT_MEM_PINNED), 0);
    uint64_t of = fetched(memory);
    assert_in_range(xft_faults_within(of), PAGES, PAGES + PAGES / 4);
    assert_in_range(xft_faults_before(of), PAGES, PAGES + PAGES / 4);
    munmap(memory, bytes), munmap(other, bytes);
}

/* Behind so many others as large it is not known what was before the call: nothing is said. */
static void test_too_many(void **state)
{
    unsigned char *memory = new_memory();
    (void)state;
    start();
    fetched(NULL);
    for (unsigned i = 0; i < XFS_FAULTS_LOOKS; i++)
        copied(NULL, bytes, XFT_MEM_PINNED);
    assert_int_equal(fetched(memory), 0);
    assert_int_equal(xfs_faults.looks, 2 * XFS_FAULTS_LOOKS + 1);
    munmap(memory, bytes);
}

/* Of smaller copies, or rows, many more may lie between: what they are going to copy is known. */
static void test_small_between(void **state)
{
    unsigned char *memory = new_memory(), *other = new_memory();
    (void)state;
    start();
    fetched(NULL);
    for (unsigned i = 1; i < XFS_FAULTS_MOST_OTHERS; i++)
        copied(NULL, i % 2 ? 4096 : 0, XFT_MEM_PAGEABLE);
    assert_in_range(xft_faults_within(fetched(memory)), PAGES, PAGES + PAGES / 4);
    assert_int_equal(xfs_faults.looks, XFS_FAULTS_LOOKS + 1);
    assert_true(xfs_faults_wanted());
    for (unsigned i = 0; i < XFS_FAULTS_MOST_OTHERS; i++)
        copied(NULL, 4096, XFT_MEM_PAGEABLE);
    assert_false(xfs_faults_wanted());
    assert_int_equal(fetched(other), 0);
    assert_true(xfs_faults_wanted());
    munmap(memory, bytes), munmap(other, bytes);
}

/* What a large copy behind `others` as large, twice, says of its own page faults. */
static void fetch_behind(unsigned others, uint64_t of[2])
{
    for (unsigned turn = 0; turn < 2; turn++) {
        unsigned char *memory = new_memory();
        for (unsigned i = 0; i < others; i++)
            copied(NULL, bytes, XFT_MEM_PINNED);
        of[turn] = xft_faults_within(fetched(memory));
        munmap(memory, bytes);
    }
}

/* A few more than it looks at are looked at the next time; of many more it is given up. */
static void test_reaches_further(void **state)
{
    uint64_t of[2];
    (void)state;
    start();
    fetched(NULL);
    fetch_behind(XFS_FAULTS_LOOKS + 2, of);
    assert_int_equal(of[0], 0);
    assert_in_range(of[1], PAGES, PAGES + PAGES / 4);
    assert_int_equal(xfs_faults.looks, 2 * XFS_FAULTS_LOOKS + 1); /* and no more than needed */
    start();
    fetched(NULL);
    for (unsigned i = 0; i < 3; i++)
        fetch_behind(XFS_FAULTS_MOST_LOOKS, of);
    assert_int_equal(of[1], 0);
    assert_int_equal(xfs_faults.looks, XFS_FAULTS_LOOKS + 1);
}

/* Whether a copy to this memory is said to be of new memory. */
static bool is_new(unsigned char *memory)
{
    struct xft_event copy = {.direction = XFT_DIR_D2H,
                             .dst_mem = XFT_MEM_PAGEABLE,
                             .dst = (uint64_t)(uintptr_t)memory,
                             .bytes = bytes,
                             .width = bytes};
    errno = 77;
    xfs_faults_before_copy(bytes);
    touch(memory);
    xfs_faults_behind(&copy);
    assert_int_equal(errno, 77);
    return (copy.flags & XFT_NEW_MEMORY) != 0;
}

static void map_again(unsigned char *memory)
{
    assert_ptr_equal(mmap(memory, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                     memory);
}

/* Memory of the last copy that a launch, or the begin of another copy, found unmapped. */
static void test_new_memory(void **state)
{
    unsigned char *memory = new_memory(), *other = new_memory();
    (void)state;
    for (unsigned by = 0; by < 4; by++) {
        start();
        assert_false(is_new(memory));
        xfs_faults_launched();
        assert_false(is_new(memory)); /* it was there */
        munmap(memory, bytes);
        if (by == 1)
            xfs_faults_launched();
        if (by == 2)
            copied(NULL, 4096, XFT_MEM_PAGEABLE);
        if (by == 3) { /* behind more launches than it looks at */
            map_again(memory);
            for (unsigned i = 0; i < XFS_FAULTS_LAUNCHES; i++)
                xfs_faults_launched();
            munmap(memory, bytes);
            xfs_faults_launched();
        }
        map_again(memory);
        assert_int_equal(is_new(memory), by == 1 || by == 2);
    }
    munmap(memory, bytes);
    xfs_faults_launched();
    assert_false(is_new(other)); /* which is elsewhere */
    munmap(other, bytes);
}

/* A program that restricts its system calls makes none for us. */
static void test_sandbox(void **state)
{
    unsigned char *memory = new_memory();
    (void)state;
    start();
    fetched(NULL);
    atomic_store(&xfs_sandbox_seen, true);
    assert_int_equal(fetched(memory), 0);
    xfs_faults_launched();
    assert_false(xfs_faults.gone);
    assert_int_equal(xfs_faults.behind, 0);
    atomic_store(&xfs_sandbox_seen, false);
    munmap(memory, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),        cmocka_unit_test(test_others),
        cmocka_unit_test(test_too_many),      cmocka_unit_test(test_reaches_further),
        cmocka_unit_test(test_small_between), cmocka_unit_test(test_new_memory),
        cmocka_unit_test(test_sandbox),
    };
    return cmocka_run_group_tests_name("recorder: page faults", tests, NULL, NULL);
}
