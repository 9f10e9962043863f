/* Completing a file that is changed by others between two looks at it: they are distinguished by
 * what is done in the place of the question whether it is open for writing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/record/finish.h"
#include "tests/record/lab.h"

static void (*meanwhile)(void);
static unsigned char *bytes;
static size_t size;
static char beside[520];

bool __real_xfs_is_open_for_writing(int fd);
bool __wrap_xfs_is_open_for_writing(int fd);
bool __wrap_xfs_is_open_for_writing(int fd)
{
    void (*now)(void) = meanwhile;
    meanwhile = NULL;
    if (now)
        now();
    return __real_xfs_is_open_for_writing(fd);
}

static void write_there(const char *path, size_t from, size_t to)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(pwrite(fd, bytes + from, to - from, (off_t)from), (ssize_t)(to - from));
    close(fd);
}

static ino_t inode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_ino;
}

/* The file of a process that has gone without completing it. */
static void leave_trace(void)
{
    struct stat info;
    assert_int_equal(RUN("ends-at-once", "3000"), 3);
    int fd = open(paths[0], O_RDONLY);
    assert_int_equal(fstat(fd, &info), 0);
    size = (size_t)info.st_size;
    bytes = malloc(size);
    assert_int_equal(read(fd, bytes, size), (ssize_t)size);
    close(fd);
    snprintf(beside, sizeof beside, "%s/beside", place);
}

static void grow(void)
{
    write_there(paths[0], size / 2, size);
}

/* What its process wrote last, before it was killed, is in the new file. */
static void test_grown(void **state)
{
    (void)state;
    leave_trace();
    assert_int_equal(truncate(paths[0], (off_t)(size / 2)), 0);
    meanwhile = grow;
    lab_complete(0);
    lab_check_closed(traces[0], 3000);
    assert_int_equal(traces[0]->header.damaged_places, 0);
    free(bytes);
}

static void replace(void)
{
    assert_int_equal(rename(beside, paths[0]), 0);
}

/* Its process has completed it itself: that file stays. */
static void test_replaced(void **state)
{
    (void)state;
    char error[256] = "";
    leave_trace();
    write_there(beside, 0, size);
    assert_int_equal(finish_file(beside, false, error, sizeof error), 0);
    ino_t completed = inode_of(beside);
    meanwhile = replace;
    assert_int_equal(finish_file(paths[0], false, error, sizeof error), 0);
    assert_int_equal(inode_of(paths[0]), completed);
    lab_read_traces();
    lab_check_closed(traces[0], 3000);
    free(bytes);
}

/* Two at a time would rename each other's work. */
static void test_two_at_once(void **state)
{
    (void)state;
    char error[256] = "";
    leave_trace();
    ino_t before = inode_of(paths[0]);
    int other = open(paths[0], O_RDONLY);
    assert_int_equal(flock(other, LOCK_EX), 0);
    assert_int_equal(finish_file(paths[0], true, error, sizeof error), -1);
    assert_non_null(strstr(error, "another process is completing it"));
    assert_int_equal(inode_of(paths[0]), before);
    close(other);
    lab_complete(0);
    lab_check_closed(traces[0], 3000);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grown),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_two_at_once),
    };
    return cmocka_run_group_tests(tests, lab_make_place, lab_remove_place);
}
