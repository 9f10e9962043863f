/* What a recorder leaves behind after every way a process can go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/record/lab.h"
#include "tests/record/finish.h"

/* ---- ordinary ends ---------------------------------------------------------------------- */

static void test_plain(void **state)
{
    (void)state;
    struct stat info;
    assert_int_equal(RUN("plain", "100"), 0);
    assert_int_equal(trace_count, 1);
    lab_check_closed(traces[0], 100);
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
    lab_check_closed(traces[0], 100000);
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
    lab_check_closed(traces[0], 17);
    assert_int_equal(lab_count_aux(traces[0], 5), 7);
}

static void test_end_at_once(void **state)
{
    (void)state;
    assert_int_equal(RUN("ends-at-once", "5000"), 3);
    assert_int_equal(traces[0]->header.state, XFT_STATE_RECORDING);
    assert_int_equal(traces[0]->count, 5000);
    lab_complete(0);
    lab_check_closed(traces[0], 5000);
    assert_true(traces[0]->header.end_mono_ns > 0);
}

/* ---- the clocks ------------------------------------------------------------------------- */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The same clock as that of every process of this boot and time namespace, and the two clocks of
 * the header lie as far apart as they do here. */
static void test_clocks(void **state)
{
    (void)state;
    char boot[64] = "", namespace[64] = "", expected[256];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%63s", boot), 1);
    fclose(file);
    ssize_t n = readlink("/proc/self/ns/time", namespace, sizeof namespace - 1);
    int bytes = n > 0 ? (int)n - (int)strlen("time:[]") : 0;
    snprintf(expected, sizeof expected, "\nboot_id=%s\nclock=%s%s%.*s\n", boot, boot,
             n > 0 ? "/" : "", bytes, namespace + strlen("time:["));
    assert_int_equal(RUN("plain", "1"), 0);
    assert_non_null(strstr(traces[0]->meta, expected));
    int64_t before = clock_ns(CLOCK_MONOTONIC), calendar = clock_ns(CLOCK_REALTIME),
            after = clock_ns(CLOCK_MONOTONIC), second = 1000000000,
            apart = (int64_t)(traces[0]->header.start_real_ns - traces[0]->header.start_mono_ns);
    assert_true(apart > calendar - after - second && apart < calendar - before + second);
}

/* ---- threads ---------------------------------------------------------------------------- */

static void check_threads(size_t count, size_t each)
{
    lab_check_closed(traces[0], count * each);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(lab_count_aux(traces[0], i), each);
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
    assert_int_equal(lab_count_aux(traces[0], 0), 20000);
    assert_true(decode_is_complete(traces[0]));
}

/* The leak check of sanitized builds crashes now and then over threads that were cancelled. */
static void test_cancelled_threads(void **state)
{
    (void)state;
    assert_int_equal(
        RUN("ASAN_OPTIONS=detect_leaks=0", "XFERSCOPE_STACKS=1", "XFERSCOPE_BUFFER=1K", "cancels"),
        0);
    assert_int_equal(lab_count_aux(traces[0], 0), 20 * 500);
    assert_int_equal(lab_count_aux(traces[0], 1) % 100, 0);
    lab_check_closed(traces[0], traces[0]->count);
}

/* ---- killed ----------------------------------------------------------------------------- */

/* Dies at a moment of the clock's choosing; what is checked does not depend on which. */
static void kill_once(uint64_t *progress, const char *buffer, const char *shared, long wait_us)
{
    lab_clean();
    int fd = open(shared, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(ftruncate(fd, 4096), 0);
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    pid_t child =
        lab_start((char *[]){(char *)buffer, (char *)"until-killed", (char *)shared, NULL});
    while (__atomic_load_n(progress, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    usleep((useconds_t)wait_us);
    kill(child, SIGKILL);
    assert_int_equal(lab_finish(child), -SIGKILL);
    uint64_t committed = *progress;
    munmap(progress, 4096);
    assert_int_equal(trace_count, 1);
    assert_true(traces[0]->count >= committed && traces[0]->count <= committed + 1);
    assert_true(decode_is_complete(traces[0]));
    for (size_t i = 0; i < traces[0]->count; i++)
        assert_int_equal(traces[0]->events[i].event.bytes, i);
    size_t before = traces[0]->count;
    lab_complete(0);
    lab_check_closed(traces[0], before);
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
    lab_clean();
    snprintf(shared, sizeof shared, "%s/shared", place);
    int fd = open(shared, O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, 4096), 0);
    uint64_t *progress = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    pid_t child = lab_start((char *[]){(char *)"until-killed", shared, NULL});
    while (__atomic_load_n(progress, __ATOMIC_ACQUIRE) < 1000)
        usleep(100);
    lab_read_traces();
    assert_int_equal(trace_count, 1);
    int status = finish_file(paths[0], true, error, sizeof error);
    kill(child, SIGKILL);
    lab_finish(child);
    munmap(progress, 4096);
    assert_int_equal(status, -1);
    assert_non_null(strstr(error, "still recording"));
    assert_int_equal(traces[0]->header.state, XFT_STATE_RECORDING);
}

/* ---- fork, exec ------------------------------------------------------------------------- */

/* gcc 12's sanitizer leaves its allocator locked in a child that was forked while another thread,
 * here the one that writes, was allocating. */
#ifdef __SANITIZE_ADDRESS__
#define NO_ADDRESS_SANITIZER() skip()
#else
#define NO_ADDRESS_SANITIZER() (void)0
#endif

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
    lab_check_closed(traces[p], of_parent);
    lab_check_closed(traces[c], of_child);
    assert_int_equal(lab_count_aux(traces[p], 2), 0);
    assert_int_equal(lab_count_aux(traces[c], 2), of_child);
}

static void test_fork(void **state)
{
    (void)state;
    NO_ADDRESS_SANITIZER();
    assert_int_equal(RUN("forks"), 0);
    check_family(200, 50);
}

static void test_fork_bare(void **state)
{
    (void)state;
    NO_ADDRESS_SANITIZER();
    assert_int_equal(RUN("forks-bare"), 0);
    check_family(200, 50);
}

static void test_fork_between(void **state)
{
    (void)state;
    NO_ADDRESS_SANITIZER();
    assert_int_equal(RUN("forks-between"), 0);
    check_family(21, 5);
}

static void test_fork_silent(void **state)
{
    (void)state;
    NO_ADDRESS_SANITIZER();
    assert_int_equal(RUN("forks-silent"), 0);
    assert_int_equal(trace_count, 1);
    lab_check_closed(traces[0], 100);
}

static void test_vfork(void **state)
{
    (void)state;
    assert_int_equal(RUN("vforks"), 0);
    assert_int_equal(trace_count, 1);
    assert_int_equal(traces[0]->count, 20);
    lab_complete(0);
    lab_check_closed(traces[0], 20);
}

static void test_exec(void **state)
{
    (void)state;
    assert_int_equal(RUN("becomes-another"), 0);
    assert_int_equal(trace_count, 2);
    size_t old = traces[0]->header.state == XFT_STATE_RECORDING ? 0 : 1;
    assert_int_equal(traces[0]->header.pid, traces[1]->header.pid);
    assert_int_equal(traces[old]->count, 100);
    lab_check_closed(traces[1 - old], 30);
    lab_complete(old);
    lab_check_closed(traces[old], 100);
}

/* ---- signals ---------------------------------------------------------------------------- */

static void test_interrupted(void **state)
{
    (void)state;
    assert_int_equal(RUN("is-interrupted"), 0);
    assert_int_equal(traces[0]->count, 25);
    assert_int_equal(lab_count_aux(traces[0], 9), 0);
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
    lab_check_closed(traces[0], 10000);
    check_stacks();
    assert_int_equal(traces[0]->segments[XFT_SEG_SYMBOLS], 1);
    assert_int_equal(traces[0]->segments[XFT_SEG_STACKS], 1);
}

static void test_symbols_later(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_STACKS=1", "XFERSCOPE_SYMBOLS=0", "has-stacks"), 0);
    lab_check_closed(traces[0], 100);
    assert_int_equal(traces[0]->segments[XFT_SEG_SYMBOLS], 0);
    lab_complete(0);
    lab_check_closed(traces[0], 100);
    check_stacks();
}

#define TEXT_BYTES (10 * 6 + 90 * 7 + 900 * 8 + XFT_NAME_MOST)

static void test_texts(void **state)
{
    (void)state;
    assert_int_equal(RUN("has-texts"), 0);
    assert_int_equal(traces[0]->texts, 1001);
    assert_int_equal(traces[0]->most_text, 1001);
    assert_int_equal(traces[0]->text_bytes, TEXT_BYTES);
    assert_int_equal(traces[0]->segments[XFT_SEG_NAMES], 1);
}

static void test_texts_killed(void **state)
{
    (void)state;
    assert_int_equal(RUN("has-texts", "dies"), -SIGKILL);
    assert_int_equal(traces[0]->texts, 1001);
    assert_int_equal(traces[0]->text_bytes, TEXT_BYTES);
    lab_complete(0);
    assert_int_equal(traces[0]->texts, 1001);
    assert_int_equal(traces[0]->segments[XFT_SEG_NAMES], 1);
}

/* What is more than a reader takes is not written: all lists together count. */
static void test_too_long_texts(void **state)
{
    (void)state;
    assert_int_equal(RUN("has-too-long-texts"), 0);
    lab_check_closed(traces[0], 1);
    assert_in_range(traces[0]->texts, 40000, XFT_LISTS_RECORDED_MOST / XFT_NAME_MOST);
    assert_in_range(traces[0]->header.arguments_lost, 500, 999);
    assert_true(traces[0]->segments[XFT_SEG_NAMES] > 1);
}

/* All are there, and what it took to write them is open in no table of the program's. */
static void test_metas(void **state)
{
    (void)state;
    assert_int_equal(RUN("has-metas"), 0);
    lab_check_closed(traces[0], 1);
    for (int i = 0; i < 20; i++) {
        char pair[32];
        snprintf(pair, sizeof pair, "test.%d=vvvv", i);
        assert_non_null(strstr(traces[0]->meta, pair));
    }
}

static void test_arguments(void **state)
{
    (void)state;
    assert_int_equal(RUN("is-given"), 0);
    assert_int_equal(traces[0]->header.arguments_lost, 1);
    assert_int_equal(traces[0]->segments[XFT_SEG_ARGUMENTS], 1);
}

/* No debug information: the symbol table's names, no lines. */
static void test_names_only(void **state)
{
    (void)state;
    const char *usual = subject;
    subject = SUBJECT_PLAIN;
    int status = RUN("XFERSCOPE_STACKS=1", "has-stacks");
    subject = usual;
    assert_int_equal(status, 0);
    lab_check_closed(traces[0], 100);
    assert_non_null(strstr(traces[0]->symbols, "call_outer :0\n"));
    assert_non_null(strstr(traces[0]->symbols, "has_stacks :0\n"));
    assert_null(strstr(traces[0]->symbols, "subject.c"));
}

/* ---- checks of the recorder's own code --------------------------------------------------- */

static void test_failed_check(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_CHECKS=say", "fails-a-check"), 0);
    lab_check_closed(traces[0], 10);
    assert_string_equal(said,
                        "xferscope: a mistake of the recorder: what was said not to hold does not; "
                        "figures may be wrong, please report it\n");
    assert_non_null(
        strstr(traces[0]->meta, "\nchecks.failed=3: what was said not to hold does not\n"));
    assert_int_equal(RUN("XFERSCOPE_CHECKS=say", "plain"), 0);
    assert_null(strstr(traces[0]->meta, "checks.failed"));
}

static void test_failed_check_ends_tests(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_CHECKS=abort", "fails-a-check"), -SIGABRT);
    assert_non_null(strstr(said, "what was said not to hold does not"));
    lab_complete(0);
    assert_int_equal(traces[0]->count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_clocks),
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
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_symbols_later),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_texts_killed),
        cmocka_unit_test(test_too_long_texts),
        cmocka_unit_test(test_metas),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_names_only),
        cmocka_unit_test(test_failed_check),
        cmocka_unit_test(test_failed_check_ends_tests),
    };
    return cmocka_run_group_tests(tests, lab_make_place, lab_remove_place);
}
