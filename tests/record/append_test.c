/* Appending to the file when the disk is full in the midst of it: the file is then as before, and
 * the next segment comes where the last whole one ends. And in which order, should the process end
 * meanwhile. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/record/file.h"

static struct xfs_file file;
static char folder[64];
static size_t disk_left = SIZE_MAX;
static int heads_ahead =
    -1; /* of segments that were there before what is in front of them; -1: not looked for */

/* A process that ends at this write leaves these behind a gap, which looks like damage. */
static int count_ahead(uint64_t from)
{
    static uint32_t words[1 << 16];
    ssize_t bytes = pread(file.fd, words, sizeof words, (off_t)from);
    int found = 0;
    for (ssize_t i = 0; i < bytes / (ssize_t)sizeof *words; i++)
        found += words[i] == XFT_SEGMENT_MAGIC;
    return found;
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    if (heads_ahead >= 0)
        heads_ahead += count_ahead((uint64_t)at);
    if (disk_left == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (n > disk_left)
        n = disk_left;
    if (disk_left != SIZE_MAX)
        disk_left -= n;
    return __real_pwrite(fd, bytes, n, at);
}

static int make_file(void **state)
{
    static const unsigned char first[64];
    struct xft_file_header header = {.pid = getpid()};
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/xferscope-append-XXXXXX");
    bool made = mkdtemp(folder) && xfs_file_create(&file, folder, false, true, "", &header) &&
                xfs_file_append(&file, first, sizeof first);
    return made ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file.path) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* As long as the last whole segment says, on the disk and in the header. */
static void check_length(uint64_t bytes)
{
    struct stat now;
    assert_int_equal(stat(file.path, &now), 0);
    assert_int_equal(now.st_size, bytes);
    assert_int_equal(file.end, bytes);
    assert_int_equal(file.header->file_bytes, bytes);
}

static void test_list(void **state)
{
    static const unsigned char segment[256] = {1};
    uint64_t before = file.end;
    (void)state;
    disk_left = 100;
    assert_false(xfs_file_append(&file, segment, sizeof segment));
    assert_int_equal(errno, ENOSPC);
    check_length(before);
    disk_left = SIZE_MAX;
    assert_true(xfs_file_append(&file, segment, sizeof segment));
    check_length(before + sizeof segment);
}

/* The EVENTS are there, their INDEX is not: neither is. */
static void test_events(void **state)
{
    static const unsigned char segment[256] = {1};
    struct xft_index_entry entry = {0};
    uint64_t before = file.end;
    (void)state;
    disk_left = sizeof segment + 10;
    assert_false(xfs_file_append_events(&file, segment, sizeof segment, &entry));
    check_length(before);
    disk_left = SIZE_MAX;
    assert_true(xfs_file_append_events(&file, segment, sizeof segment, &entry));
    assert_int_equal(entry.offset, before);
    assert_true(file.end > before + sizeof segment);
    check_length(file.end);
}

/* Blocks for the slabs are there, but none for the head of their segment. */
static void test_lanes(void **state)
{
    uint64_t before = file.end;
    (void)state;
    disk_left = 0;
    assert_null(xfs_file_append_lanes(&file, 1));
    check_length(before);
    disk_left = SIZE_MAX;
    assert_non_null(xfs_file_append_lanes(&file, 1));
    assert_true(file.end >= before + XFT_SLAB_BYTES);
    check_length(file.end);
}

static void test_rooms(void **state)
{
    (void)state;
    heads_ahead = 0;
    assert_non_null(xfs_file_append_rooms(&file, 2));
    assert_int_equal(heads_ahead, 0);
    assert_int_equal(count_ahead(file.end - 2 * XFT_ROOM_BYTES), 2);
    heads_ahead = -1;
    check_length(file.end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_rooms),
    };
    return cmocka_run_group_tests_name("append", tests, make_file, remove_file);
}
