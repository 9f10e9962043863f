/* The recorder and its file: descriptors taken away, limits, full disks, links, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/record/lab.h"
#include "tests/record/finish.h"
#include "preload/format/trace_symbols.h"

/* ---- descriptors, disk ------------------------------------------------------------------ */

static void test_descriptors_closed(void **state)
{
    (void)state;
    char victim[128];
    snprintf(victim, sizeof victim, "%s/victim", place);
    assert_int_equal(RUN("XFERSCOPE_BUFFER=1M", "closes-all", victim, "30000"), 0);
    lab_check_closed(traces[0], 30100);
}

static void test_stderr_closed(void **state)
{
    (void)state;
    char other[128];
    struct stat info;
    snprintf(other, sizeof other, "%s/other", place);
    RUN("closes-stderr", other);
    assert_int_equal(stat(other, &info), 0);
    lab_check_closed(traces[0], 10);
}

/* The limit is met before the first event: no file, and the program never notices. */
static void test_limit_at_start(void **state)
{
    (void)state;
    assert_int_equal(RUN("under-limit", "1000"), 0);
    assert_int_equal(trace_count, 0);
    assert_non_null(strstr(said, "xferscope: cannot record in "));
}

/* 60,000 events need 22 slabs; the file may hold four and a little. What is not there is counted.
 */
static void test_limit_later(void **state)
{
    (void)state;
    assert_int_equal(RUN("under-limit", "1060000", "later"), 0);
    assert_int_equal(trace_count, 1);
    assert_int_equal(traces[0]->count + traces[0]->header.events_lost, 60010);
    assert_true(traces[0]->count >= 4 * XFT_SLAB_EVENTS);
    assert_true(traces[0]->header.events_lost > 0);
    assert_true(traces[0]->file_bytes <= 1060000);
    char *first = strstr(said, "cannot write");
    assert_non_null(first);
    assert_null(strstr(first + 1, "cannot write"));
}

/* A disk of 2 MiB with 1 MiB and a little free, in a mount namespace of this test's own. */
static bool mount_disk(const char *at)
{
    char fill[160];
    static char zeros[950 * 1024];
    if (mkdir(at, 0700) != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", at, "tmpfs", 0, "size=2m") != 0)
        return false;
    snprintf(fill, sizeof fill, "%s/fill", at);
    int fd = open(fill, O_WRONLY | O_CREAT, 0600);
    bool filled = write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros;
    close(fd);
    return filled;
}

static void test_disk_full(void **state)
{
    (void)state;
    char disk[128], usual[sizeof run_dir];
    lab_clean();
    snprintf(disk, sizeof disk, "%s/disk", place);
    if (!mount_disk(disk)) {
        print_message("not allowed to mount a small disk\n");
        skip();
    }
    memcpy(usual, run_dir, sizeof usual);
    snprintf(run_dir, sizeof run_dir, "%s/disk/run.xft", place);
    int status = lab_finish(lab_start((char *[]){(char *)"plain", (char *)"300000", NULL}));
    memcpy(run_dir, usual, sizeof usual);
    assert_int_equal(umount(disk), 0);
    assert_int_equal(status, 1); /* the subject's own account: not all were taken */
    assert_int_equal(trace_count, 1);
    assert_int_equal(traces[0]->count + traces[0]->header.events_lost, 300000);
    assert_non_null(strstr(said, "cannot write events: No space left on device"));
    assert_true(traces[0]->count >= 4 * XFT_SLAB_EVENTS && traces[0]->count < 300000);
    assert_true(decode_is_complete(traces[0]));
    assert_false(traces[0]->damaged);
}

static void test_no_directory(void **state)
{
    (void)state;
    char output[192], below[160];
    lab_clean();
    snprintf(below, sizeof below, "%s/file", place);
    close(open(below, O_CREAT | O_WRONLY, 0600));
    snprintf(output, sizeof output, "XFERSCOPE_OUTPUT=%s/file/run.xft", place);
    assert_int_equal(lab_finish(lab_start((char *[]){output, (char *)"plain", (char *)"10", NULL})),
                     1);
    assert_non_null(strstr(said, "Not a directory"));
}

/* A link where the run directory should be may lead anywhere. */
static void test_directory_is_link(void **state)
{
    (void)state;
    char target[128];
    lab_clean();
    snprintf(target, sizeof target, "%s/target", place);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, run_dir), 0);
    assert_int_equal(lab_finish(lab_start((char *[]){(char *)"plain", (char *)"10", NULL})), 1);
    assert_int_equal(trace_count, 0);
    assert_non_null(strstr(said, "cannot record"));
}

static void test_directory_deleted(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_BUFFER=1M", "loses-directory", run_dir), 0);
    assert_int_equal(trace_count, 0);
    assert_non_null(strstr(said, "cannot complete"));
    assert_non_null(strstr(said, "No such file"));
    assert_non_null(strstr(said, "it was deleted, and what was recorded with it"));
    assert_null(strstr(said, "readable"));
}

/* Somebody else's file stays what it is. */
static void test_file_replaced(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_BUFFER=1M", "loses-directory", run_dir, "replaced"), 0);
    assert_int_equal(trace_count, 1);
    assert_int_equal(traces[0]->header.state, XFT_STATE_RECORDING);
    assert_int_equal(traces[0]->count, 10);
    assert_non_null(strstr(said, "cannot complete"));
    assert_non_null(strstr(said, "Stale file handle"));
}

/* ---- damage done to the file while it is recorded --------------------------------------- */

/* The file, which is still a trace, says itself what is gone. */
static void test_trace_emptied(void **state)
{
    (void)state;
    assert_int_equal(RUN("empties-trace", run_dir), 0);
    assert_int_equal(trace_count, 1);
    assert_int_equal(traces[0]->header.state, XFT_STATE_CLOSED);
    assert_int_not_equal(traces[0]->header.pid, 0);
    assert_int_equal(traces[0]->count, 0);
    assert_true(traces[0]->header.damaged_places > 0);
    assert_true(traces[0]->header.damaged_bytes >= XFT_SLAB_BYTES);
    assert_non_null(strstr(said, "was damaged while it was recorded"));
}

/* In the first segment behind the header: exactly that is gone. */
static void test_trace_damaged(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_BUFFER=1M", "damages-trace", run_dir, "4100"), 0);
    assert_int_equal(trace_count, 1);
    assert_int_equal(traces[0]->header.state, XFT_STATE_CLOSED);
    assert_int_equal(traces[0]->count, 20000);
    assert_int_equal(traces[0]->header.damaged_places, 1);
    assert_in_range(traces[0]->header.damaged_bytes, 40, 200);
    assert_false(traces[0]->damaged); /* what was damaged is not in the new file */
}

static void test_bad_setting(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_BUFFER=many", "plain", "10"), 0);
    assert_string_equal(said,
                        "xferscope: XFERSCOPE_BUFFER=many makes no sense; using the default\n");
    lab_check_closed(traces[0], 10);
}

/* A file of the place, where the loader looks first, as it is set. */
static void put_there(const char *name, const char *link_to)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", place, name);
    if (link_to)
        assert_int_equal(symlink(link_to, path), 0);
    else
        close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* Files that are no libraries stand before the real ones. The recorder is loaded from there as
 * well: beside itself it would find those that a carried build folder has in lib/deps. */
static void test_without_libraries(void **state)
{
    (void)state;
    char setting[128], symbols[512];
    const char *slash = strrchr(HARNESS, '/');
    lab_clean();
    snprintf(setting, sizeof setting, "LD_LIBRARY_PATH=%s", place);
    snprintf(symbols, sizeof symbols, "%.*s" XFS_SYMBOLS_MODULE, (int)(slash - HARNESS) + 1,
             HARNESS);
    put_there("libzstd.so.1", NULL);
    put_there(slash + 1, HARNESS);
    put_there(XFS_SYMBOLS_MODULE, symbols);
    char *words[] = {setting, (char *)"XFERSCOPE_STACKS=1", (char *)"has-stacks", (char *)"10000",
                     NULL};
    assert_int_equal(lab_finish(lab_start(words)), 0);
    lab_check_closed(traces[0], 10000);
    assert_non_null(strstr(said, "libzstd.so.1 not found"));
    assert_int_equal(traces[0]->header.stacks_lost, 0);
    assert_in_range(traces[0]->most_stack, 1, 3);
    assert_int_equal(traces[0]->packed, 0);
    assert_non_null(strstr(traces[0]->symbols, "call_outer "));
}

/* ---- finishing ill files ---------------------------------------------------------------- */

static void write_file(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    close(fd);
}

/* The file of a killed process, cut at every 1009th byte and with bytes flipped: never a crash, and
 * what is said is one line. */
static void test_finish_damaged(void **state)
{
    (void)state;
    char path[160], error[256];
    assert_int_equal(RUN("XFERSCOPE_STACKS=1", "ends-at-once", "3000"), 3);
    struct stat info;
    int fd = open(paths[0], O_RDONLY);
    assert_int_equal(fstat(fd, &info), 0);
    size_t size = (size_t)info.st_size;
    unsigned char *bytes = malloc(size);
    assert_int_equal(read(fd, bytes, size), (ssize_t)size);
    close(fd);
    snprintf(path, sizeof path, "%s/1-1.trace", place);
    for (size_t n = 0; n < 20000; n += 1009) {
        write_file(path, bytes, n);
        error[0] = '\0';
        if (finish_file(path, true, error, sizeof error) != 0)
            assert_true(error[0] && strchr(error, '\n') == NULL);
    }
    for (size_t n = 0; n < 12000; n += 97) {
        bytes[n] ^= 0x41;
        write_file(path, bytes, size);
        finish_file(path, false, error, sizeof error);
        bytes[n] ^= 0x41;
    }
    free(bytes);
    assert_int_equal(finish_file("/nonexistent", true, error, sizeof error), -1);
    assert_non_null(strstr(error, "No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors_closed), cmocka_unit_test(test_stderr_closed),
        cmocka_unit_test(test_limit_at_start),     cmocka_unit_test(test_limit_later),
        cmocka_unit_test(test_disk_full),          cmocka_unit_test(test_no_directory),
        cmocka_unit_test(test_directory_is_link),  cmocka_unit_test(test_directory_deleted),
        cmocka_unit_test(test_file_replaced),      cmocka_unit_test(test_bad_setting),
        cmocka_unit_test(test_without_libraries),  cmocka_unit_test(test_finish_damaged),
        cmocka_unit_test(test_trace_emptied),      cmocka_unit_test(test_trace_damaged),
    };
    return cmocka_run_group_tests(tests, lab_make_place, lab_remove_place);
}
