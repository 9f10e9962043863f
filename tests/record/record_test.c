/* What a recorder leaves behind after every way a process can go. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "decode.h"
#include "symbols.h"

#define MOST_FILES 8

static char place[64];    /* scratch directory of this run */
static char run_dir[128]; /* XFERSCOPE_OUTPUT */
static char said[8192];   /* stderr of the last subject */

/* One trace per process, in the order of their names. */
static struct decoded *traces[MOST_FILES];
static char paths[MOST_FILES][512];
static size_t trace_count;

/* ---- running ---------------------------------------------------------------------------- */

static void forget_traces(void)
{
    for (size_t i = 0; i < trace_count; i++)
        decode_free(traces[i]);
    trace_count = 0;
}

static int is_trace(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 6 && strcmp(entry->d_name + n - 6, ".trace") == 0;
}

static void read_traces(void)
{
    struct dirent **entries;
    forget_traces();
    int n = scandir(run_dir, &entries, is_trace, alphasort);
    for (int i = 0; i < n; i++) {
        assert_true(trace_count < MOST_FILES);
        snprintf(paths[trace_count], sizeof paths[0], "%s/%s", run_dir, entries[i]->d_name);
        traces[trace_count] = decode_file(paths[trace_count]);
        assert_non_null(traces[trace_count]);
        trace_count++;
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

static void clean(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s/*", place);
    assert_int_equal(system(command), 0);
}

/* NAME=VALUE settings come first, then the mode and its arguments. */
static pid_t start(char **words)
{
    char log[128];
    snprintf(log, sizeof log, "%s/said", place);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    setenv("XFERSCOPE_OUTPUT", run_dir, 1);
    setenv("XFERSCOPE_STACKS", "0", 1);
    for (; strchr(words[0], '='); words++)
        putenv(words[0]);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDERR_FILENO);
    char *arguments[16] = {(char *)"subject"};
    for (int i = 0; i < 14 && words[i]; i++)
        arguments[i + 1] = words[i];
    execv(SUBJECT, arguments);
    _exit(127);
}

static int finish(pid_t child)
{
    char log[128];
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    snprintf(log, sizeof log, "%s/said", place);
    FILE *file = fopen(log, "r");
    said[file ? fread(said, 1, sizeof said - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    read_traces();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#define RUN(...) (clean(), finish(start((char *[]){__VA_ARGS__, NULL})))

static size_t count_aux(const struct decoded *trace, uint64_t aux)
{
    size_t n = 0;
    for (size_t i = 0; i < trace->count; i++)
        n += trace->events[i].event.aux == aux;
    return n;
}

static void check_closed(const struct decoded *trace, size_t events)
{
    assert_int_equal(trace->header.state, XFT_STATE_CLOSED);
    assert_int_equal(trace->count, events);
    assert_int_equal(trace->header.events_lost, 0);
    assert_int_equal(trace->header.file_bytes, trace->file_bytes);
    assert_int_equal(trace->segments[XFT_SEG_LANES], 0);
    assert_false(trace->damaged);
    assert_true(decode_is_complete(trace));
}

static void complete(size_t i)
{
    char error[256] = "";
    if (xfs_finish_file(paths[i], true, error, sizeof error) != 0)
        fail_msg("%s", error);
    read_traces();
}

/* ---- ordinary ends ---------------------------------------------------------------------- */

static void test_plain(void **state)
{
    (void)state;
    struct stat info;
    assert_int_equal(RUN("plain", "100"), 0);
    assert_int_equal(trace_count, 1);
    check_closed(traces[0], 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(traces[0]->events[i].event.bytes, i);
    assert_true(traces[0]->header.end_mono_ns > traces[0]->header.start_mono_ns);
    assert_non_null(strstr(traces[0]->meta, "cmdline=subject\x1fplain\x1f"
                                            "100\n"));
    assert_non_null(strstr(traces[0]->meta, "exit=exit\n"));
    assert_string_equal(said, "");
    assert_int_equal(stat(paths[0], &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(stat(run_dir, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
}

static void test_many(void **state)
{
    (void)state;
    assert_int_equal(RUN("plain", "100000"), 0);
    check_closed(traces[0], 100000);
    assert_true(traces[0]->file_bytes < 100000 * 16);
}

static void test_nothing_without_a_call(void **state)
{
    (void)state;
    assert_int_equal(RUN("plain", "0"), 0);
    assert_int_equal(trace_count, 0);
    assert_int_not_equal(access(run_dir, F_OK), 0);
}

static void test_off(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_ENABLE=0", "is-switched-off"), 0);
    assert_int_equal(trace_count, 0);
}

static void test_exit_handler(void **state)
{
    (void)state;
    assert_int_equal(RUN("records-at-exit"), 0);
    check_closed(traces[0], 17);
    assert_int_equal(count_aux(traces[0], 5), 7);
}

static void test_end_at_once(void **state)
{
    (void)state;
    assert_int_equal(RUN("ends-at-once", "5000"), 3);
    assert_int_equal(traces[0]->header.state, XFT_STATE_RECORDING);
    assert_int_equal(traces[0]->count, 5000);
    complete(0);
    check_closed(traces[0], 5000);
    assert_true(traces[0]->header.end_mono_ns > 0);
}

/* ---- threads ---------------------------------------------------------------------------- */

static void check_threads(size_t count, size_t each)
{
    check_closed(traces[0], count * each);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(count_aux(traces[0], i), each);
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(RUN("threads", "16", "10000"), 0);
    check_threads(16, 10000);
}

/* One slab in all: every thread writes its own. */
static void test_threads_small_buffer(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_BUFFER=1K", "threads", "16", "10000"), 0);
    check_threads(16, 10000);
}

static void test_short_threads(void **state)
{
    (void)state;
    assert_int_equal(RUN("short-threads", "300"), 0);
    check_threads(300, 10);
}

static void test_exit_amid_threads(void **state)
{
    (void)state;
    assert_int_equal(RUN("exits-amid"), 0);
    assert_int_equal(traces[0]->header.state, XFT_STATE_CLOSED);
    assert_int_equal(count_aux(traces[0], 0), 20000);
    assert_true(decode_is_complete(traces[0]));
}

static void test_cancelled_threads(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_STACKS=1", "XFERSCOPE_BUFFER=1K", "cancels"), 0);
    assert_int_equal(count_aux(traces[0], 0), 20 * 500);
    assert_int_equal(count_aux(traces[0], 1) % 100, 0);
    check_closed(traces[0], traces[0]->count);
}

/* ---- killed ----------------------------------------------------------------------------- */

/* Dies at a moment of the clock's choosing; what is checked does not depend on which. */
static void kill_once(uint64_t *told, const char *buffer, const char *shared, long wait_us)
{
    clean();
    int fd = open(shared, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(ftruncate(fd, 4096), 0);
    told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    pid_t child = start((char *[]){(char *)buffer, (char *)"until-killed", (char *)shared, NULL});
    while (__atomic_load_n(told, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    usleep((useconds_t)wait_us);
    kill(child, SIGKILL);
    assert_int_equal(finish(child), -SIGKILL);
    uint64_t committed = *told;
    munmap(told, 4096);
    assert_int_equal(trace_count, 1);
    assert_true(traces[0]->count >= committed && traces[0]->count <= committed + 1);
    assert_true(decode_is_complete(traces[0]));
    for (size_t i = 0; i < traces[0]->count; i++)
        assert_int_equal(traces[0]->events[i].event.bytes, i);
    size_t before = traces[0]->count;
    complete(0);
    check_closed(traces[0], before);
    assert_int_equal(traces[0]->twice, 0);
}

static void test_killed(void **state)
{
    (void)state;
    char shared[128];
    uint64_t seed = 1;
    snprintf(shared, sizeof shared, "%s/shared", place);
    for (int i = 0; i < 50; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const char *buffer = i % 2 ? "XFERSCOPE_BUFFER=256K" : "XFERSCOPE_BUFFER=4M";
        kill_once(NULL, buffer, shared, (long)(seed >> 33) % 20000);
    }
}

static void test_alive_is_left_alone(void **state)
{
    (void)state;
    char shared[128], error[256];
    clean();
    snprintf(shared, sizeof shared, "%s/shared", place);
    int fd = open(shared, O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, 4096), 0);
    uint64_t *told = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    pid_t child = start((char *[]){(char *)"until-killed", shared, NULL});
    while (__atomic_load_n(told, __ATOMIC_ACQUIRE) < 1000)
        usleep(100);
    read_traces();
    assert_int_equal(trace_count, 1);
    int status = xfs_finish_file(paths[0], true, error, sizeof error);
    kill(child, SIGKILL);
    finish(child);
    munmap(told, 4096);
    assert_int_equal(status, -1);
    assert_non_null(strstr(error, "still recording"));
    assert_int_equal(traces[0]->header.state, XFT_STATE_RECORDING);
}

/* ---- fork, exec ------------------------------------------------------------------------- */

/* Which of two traces is the parent's. */
static size_t parent(void)
{
    return traces[0]->header.pid == traces[1]->header.ppid ? 0 : 1;
}

static void check_family(size_t of_parent, size_t of_child)
{
    assert_int_equal(trace_count, 2);
    size_t p = parent(), c = 1 - p;
    assert_int_equal(traces[p]->header.pid, traces[c]->header.ppid);
    check_closed(traces[p], of_parent);
    check_closed(traces[c], of_child);
    assert_int_equal(count_aux(traces[p], 2), 0);
    assert_int_equal(count_aux(traces[c], 2), of_child);
}

static void test_fork(void **state)
{
    (void)state;
    assert_int_equal(RUN("forks"), 0);
    check_family(200, 50);
}

static void test_fork_bare(void **state)
{
    (void)state;
    assert_int_equal(RUN("forks-bare"), 0);
    check_family(200, 50);
}

static void test_fork_between(void **state)
{
    (void)state;
    assert_int_equal(RUN("forks-between"), 0);
    check_family(21, 5);
}

static void test_fork_silent(void **state)
{
    (void)state;
    assert_int_equal(RUN("forks-silent"), 0);
    assert_int_equal(trace_count, 1);
    check_closed(traces[0], 100);
}

static void test_vfork(void **state)
{
    (void)state;
    assert_int_equal(RUN("vforks"), 0);
    assert_int_equal(trace_count, 1);
    assert_int_equal(traces[0]->count, 20);
    complete(0);
    check_closed(traces[0], 20);
}

static void test_exec(void **state)
{
    (void)state;
    assert_int_equal(RUN("becomes-another"), 0);
    assert_int_equal(trace_count, 2);
    size_t old = traces[0]->header.state == XFT_STATE_RECORDING ? 0 : 1;
    assert_int_equal(traces[0]->header.pid, traces[1]->header.pid);
    assert_int_equal(traces[old]->count, 100);
    check_closed(traces[1 - old], 30);
    complete(old);
    check_closed(traces[old], 100);
}

/* ---- descriptors, disk ------------------------------------------------------------------ */

static void test_descriptors_closed(void **state)
{
    (void)state;
    char victim[128];
    snprintf(victim, sizeof victim, "%s/victim", place);
    assert_int_equal(RUN("XFERSCOPE_BUFFER=1M", "closes-all", victim, "30000"), 0);
    check_closed(traces[0], 30100);
}

static void test_stderr_closed(void **state)
{
    (void)state;
    char other[128];
    struct stat info;
    snprintf(other, sizeof other, "%s/other", place);
    RUN("closes-stderr", other);
    assert_int_equal(stat(other, &info), 0);
    check_closed(traces[0], 10);
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
    clean();
    snprintf(disk, sizeof disk, "%s/disk", place);
    if (!mount_disk(disk)) {
        print_message("not allowed to mount a small disk\n");
        skip();
    }
    memcpy(usual, run_dir, sizeof usual);
    snprintf(run_dir, sizeof run_dir, "%s/disk/run.xft", place);
    int status = finish(start((char *[]){(char *)"plain", (char *)"300000", NULL}));
    memcpy(run_dir, usual, sizeof usual);
    assert_int_equal(umount(disk), 0);
    assert_int_equal(status, 1); /* the subject's own account: not all were taken */
    assert_int_equal(trace_count, 1);
    assert_int_equal(traces[0]->count + traces[0]->header.events_lost, 300000);
    assert_true(traces[0]->count >= 4 * XFT_SLAB_EVENTS && traces[0]->count < 300000);
    assert_true(decode_is_complete(traces[0]));
    assert_false(traces[0]->damaged);
}

static void test_no_directory(void **state)
{
    (void)state;
    char output[192], below[160];
    clean();
    snprintf(below, sizeof below, "%s/file", place);
    close(open(below, O_CREAT | O_WRONLY, 0600));
    snprintf(output, sizeof output, "XFERSCOPE_OUTPUT=%s/file/run.xft", place);
    assert_int_equal(finish(start((char *[]){output, (char *)"plain", (char *)"10", NULL})), 1);
    assert_non_null(strstr(said, "Not a directory"));
}

/* A link where the run directory should be may lead anywhere. */
static void test_directory_is_link(void **state)
{
    (void)state;
    char target[128];
    clean();
    snprintf(target, sizeof target, "%s/target", place);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, run_dir), 0);
    assert_int_equal(finish(start((char *[]){(char *)"plain", (char *)"10", NULL})), 1);
    assert_int_equal(trace_count, 0);
    assert_non_null(strstr(said, "cannot record"));
}

static void test_directory_deleted(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_BUFFER=1M", "loses-directory", run_dir), 0);
    assert_int_equal(trace_count, 0);
    assert_non_null(strstr(said, "cannot complete"));
}

static void test_bad_setting(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_BUFFER=many", "plain", "10"), 0);
    assert_string_equal(said,
                        "xferscope: XFERSCOPE_BUFFER=many makes no sense; using the default\n");
    check_closed(traces[0], 10);
}

/* ---- signals ---------------------------------------------------------------------------- */

static void test_interrupted(void **state)
{
    (void)state;
    assert_int_equal(RUN("is-interrupted"), 0);
    assert_int_equal(traces[0]->count, 25);
    assert_int_equal(count_aux(traces[0], 9), 0);
    assert_int_equal(traces[0]->header.events_lost, 5);
}

/* ---- stacks ----------------------------------------------------------------------------- */

static void check_stacks(void)
{
    assert_int_equal(traces[0]->header.stacks_lost, 0);
    assert_in_range(traces[0]->most_stack, 1, 3);
    for (size_t i = 0; i < traces[0]->count; i++)
        assert_in_range(traces[0]->events[i].event.stack, 1, traces[0]->most_stack);
    const char *inlined = strstr(traces[0]->symbols, "call_inlined ");
    assert_non_null(inlined);
    assert_non_null(strstr(inlined, "subject.c:"));
    const char *outer = strchr(inlined, '\n') + 1;
    assert_int_equal(strncmp(outer, "call_outer ", 11), 0);
    assert_null(strstr(traces[0]->symbols, "harness_call"));
}

static void test_stacks(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_STACKS=1", "has-stacks", "10000"), 0);
    check_closed(traces[0], 10000);
    check_stacks();
    assert_int_equal(traces[0]->segments[XFT_SEG_SYMBOLS], 1);
    assert_int_equal(traces[0]->segments[XFT_SEG_STACKS], 1);
}

static void test_symbols_later(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_STACKS=1", "XFERSCOPE_SYMBOLS=0", "has-stacks"), 0);
    check_closed(traces[0], 100);
    assert_int_equal(traces[0]->segments[XFT_SEG_SYMBOLS], 0);
    complete(0);
    check_closed(traces[0], 100);
    check_stacks();
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
        if (xfs_finish_file(path, true, error, sizeof error) != 0)
            assert_true(error[0] && strchr(error, '\n') == NULL);
    }
    for (size_t n = 0; n < 12000; n += 97) {
        bytes[n] ^= 0x41;
        write_file(path, bytes, size);
        xfs_finish_file(path, false, error, sizeof error);
        bytes[n] ^= 0x41;
    }
    free(bytes);
    assert_int_equal(xfs_finish_file("/nonexistent", true, error, sizeof error), -1);
    assert_non_null(strstr(error, "No such file"));
}

static int make_place(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/xferscope-record-XXXXXX");
    if (mkdtemp(place) == NULL)
        return -1;
    snprintf(run_dir, sizeof run_dir, "%s/run.xft", place);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    forget_traces();
    clean();
    return rmdir(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_nothing_without_a_call),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_exit_handler),
        cmocka_unit_test(test_end_at_once),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_threads_small_buffer),
        cmocka_unit_test(test_short_threads),
        cmocka_unit_test(test_exit_amid_threads),
        cmocka_unit_test(test_cancelled_threads),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_alive_is_left_alone),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_fork_bare),
        cmocka_unit_test(test_fork_between),
        cmocka_unit_test(test_fork_silent),
        cmocka_unit_test(test_vfork),
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_descriptors_closed),
        cmocka_unit_test(test_stderr_closed),
        cmocka_unit_test(test_limit_at_start),
        cmocka_unit_test(test_limit_later),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_no_directory),
        cmocka_unit_test(test_directory_is_link),
        cmocka_unit_test(test_directory_deleted),
        cmocka_unit_test(test_bad_setting),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_symbols_later),
        cmocka_unit_test(test_finish_damaged),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
