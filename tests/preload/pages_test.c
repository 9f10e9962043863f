/* What the kernel's page bits tell of memory that is read and written. Skipped where it does not.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/content/pages.h"

#define PIECE ((size_t)256 << 10)

static volatile unsigned sum;

static void look_through(const unsigned char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        sum += memory[i];
}

/* Three pieces side by side; the one in the middle is the test's. */
static unsigned char *some_memory(int flags)
{
    unsigned char *memory =
        mmap(NULL, 3 * PIECE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, 3 * PIECE);
    return memory + PIECE;
}

static void give_back(unsigned char *memory)
{
    munmap(memory - PIECE, 3 * PIECE);
}

static struct xfs_pages pages_of(const unsigned char *memory, int context)
{
    return (struct xfs_pages){
        .start = (uintptr_t)memory, .end = (uintptr_t)memory + PIECE, .context = context};
}

static struct xfs_pages_seen written(const struct xfs_pages *pages)
{
    struct xfs_pages_seen seen = {0};
    xfs_pages_written(pages, true, &seen);
    return seen;
}

static struct xfs_pages watched(const unsigned char *memory, int context)
{
    struct xfs_pages pages = pages_of(memory, context);
    assert_true(xfs_pages_watch(&pages));
    assert_true(written(&pages).writes_known);
    return pages;
}

static struct xfs_pages_seen reads(const struct xfs_pages *pages)
{
    struct xfs_pages_seen seen = {0};
    xfs_pages_read(pages, &seen);
    return seen;
}

static int start(void **state)
{
    (void)state;
    const char *why = xfs_pages_start();
    if (why)
        printf("skipped: %s\n", why);
    return why ? 77 : 0;
}

/* Memory was short meanwhile: then reads are not known. */
static bool reclaims(struct xfs_pages *pages)
{
    struct xfs_pages again = *pages;
    xfs_pages_unread(&again);
    return again.scanned != pages->scanned;
}

static void test_writes(void **state)
{
    (void)state;
    unsigned char *memory = some_memory(MAP_PRIVATE);
    struct xfs_pages pages = watched(memory, 0);
    struct xfs_pages_seen seen = written(&pages);
    assert_true(seen.writes_known && !seen.written);
    look_through(memory, PIECE);
    assert_false(written(&pages).written);
    memory[5 * XFS_PAGE] = memory[5 * XFS_PAGE + 1] = 3;
    memory[9 * XFS_PAGE] = 3;
    seen = written(&pages);
    assert_true(seen.written);
    assert_int_equal(seen.pages_written, 2);
    assert_false(written(&pages).written); /* since then */
    memory[PIECE] = memory[-1] = 3;        /* neighbours */
    assert_false(written(&pages).written);
    xfs_pages_leave(&pages);
    assert_false(written(&pages).writes_known);
    give_back(memory);
}

/* System calls write without the program's instructions, and are not refused. */
static void test_a_system_call_writes(void **state)
{
    (void)state;
    unsigned char *memory = some_memory(MAP_PRIVATE);
    struct xfs_pages pages = watched(memory, 0);
    int zeros = open("/dev/zero", O_RDONLY);
    assert_int_equal(read(zeros, memory + XFS_PAGE, XFS_PAGE), XFS_PAGE);
    close(zeros);
    assert_int_equal(memory[XFS_PAGE], 0);
    assert_int_equal(written(&pages).pages_written, 1);
    give_back(memory);
}

static void check_reads(int flags, bool of_driver)
{
    unsigned char *memory = some_memory(flags);
    struct xfs_pages pages = watched(memory, 0), other = watched(memory + PIECE, 1);
    pages.of_driver = other.of_driver = of_driver;
    assert_false(reads(&pages).reads_known); /* not asked for yet */
    xfs_pages_unread(&pages);
    xfs_pages_unread(&other);
    struct xfs_pages_seen seen = reads(&pages);
    if (reclaims(&other))
        return;
    assert_true(pages.reads_known && seen.reads_known && !seen.read);
    look_through(memory + PIECE, 1);
    assert_false(reads(&pages).read); /* the neighbour was */
    look_through(memory + PIECE - 1, 1);
    seen = reads(&pages);
    assert_true(seen.reads_known && seen.read);
    give_back(memory);
}

static void test_reads(void **state)
{
    (void)state;
    check_reads(MAP_PRIVATE, false);
    check_reads(MAP_SHARED, true);
}

/* The driver's pages are there without having been touched. */
static void test_page_locked_memory_that_nobody_touched(void **state)
{
    (void)state;
    unsigned char *memory =
        mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    struct xfs_pages pages = watched(memory, 0);
    pages.of_driver = true;
    xfs_pages_unread(&pages);
    struct xfs_pages_seen seen = reads(&pages);
    if (!reclaims(&pages))
        assert_true(pages.reads_known && seen.reads_known && !seen.read);
    look_through(memory + PIECE / 2, 1);
    assert_true(reads(&pages).read);
    munmap(memory, PIECE);
}

/* Another process may read it. */
static void test_shared_memory_is_not_known(void **state)
{
    (void)state;
    unsigned char *memory = some_memory(MAP_SHARED);
    struct xfs_pages pages = watched(memory, 0);
    xfs_pages_unread(&pages);
    assert_false(pages.reads_known || reads(&pages).reads_known);
    give_back(memory);
}

/* What is in the translation buffer was read a moment ago, and is read again without a walk. */
static void test_reads_again_at_once(void **state)
{
    (void)state;
    unsigned char *memory = some_memory(MAP_PRIVATE);
    struct xfs_pages pages = watched(memory, 0);
    for (int i = 0; i < 50; i++) {
        look_through(memory, XFS_PAGE);
        xfs_pages_unread(&pages);
        look_through(memory, XFS_PAGE);
        assert_true(!pages.reads_known || reads(&pages).read);
    }
    give_back(memory);
}

/* Nothing is said of memory that went, whatever lies there now. */
static void test_memory_that_went(void **state)
{
    (void)state;
    unsigned char *memory = some_memory(MAP_PRIVATE);
    struct xfs_pages pages = watched(memory, 0);
    xfs_pages_unread(&pages);
    assert_true(mmap(memory, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                     -1, 0) == memory);
    assert_false(written(&pages).writes_known);
    memset(memory, 1, PIECE);
    assert_false(reads(&pages).reads_known);
    give_back(memory);
    assert_false(written(&pages).writes_known || reads(&pages).reads_known);
}

static void test_memory_that_was_emptied(void **state)
{
    (void)state;
    unsigned char *memory = some_memory(MAP_PRIVATE);
    struct xfs_pages pages = watched(memory, 0);
    xfs_pages_unread(&pages);
    madvise(memory, PIECE, MADV_DONTNEED);
    assert_true(written(&pages).written || !written(&pages).writes_known);
    assert_false(reads(&pages).reads_known);
    give_back(memory);
}

/* A child has pages of its own, and takes no notice; the parent's stay watched. */
static void test_fork(void **state)
{
    (void)state;
    unsigned char *memory = some_memory(MAP_PRIVATE);
    struct xfs_pages pages = watched(memory, 0);
    int status;
    pid_t child = fork();
    if (child == 0) {
        memset(memory, 2, PIECE);
        _exit(memory[PIECE - 1] == 2 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(memory[0], 1);
    assert_false(written(&pages).written);
    memory[0] = 2;
    assert_int_equal(written(&pages).pages_written, 1);
    give_back(memory);
}

int main(void)
{
    if (start(NULL) != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_a_system_call_writes),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_page_locked_memory_that_nobody_touched),
        cmocka_unit_test(test_shared_memory_is_not_known),
        cmocka_unit_test(test_reads_again_at_once),
        cmocka_unit_test(test_memory_that_went),
        cmocka_unit_test(test_memory_that_was_emptied),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
