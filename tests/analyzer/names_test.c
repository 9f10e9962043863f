/*
 * Looking up names for a trace: what its modules are opened for, how often, and what is not opened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/read/read.h"
#include "symbols/debug_files.h"
#include "tests/analyzer/traces/scenario.h"
#include "tests/record/finish.h"
#include "symbols/symbols.h"

static char place[] = "/tmp/xferscope-names-XXXXXX";
static char trace_path[64], module_path[64], debug_path[64];

/* Ends a test that waits for something that never comes. */
enum { PATIENCE_S = 100 };

static const unsigned char *inside(void)
{
    return (const unsigned char *)(uintptr_t)&scenario_profile + 8;
}

static void save(struct trace_builder *b)
{
    build_close(b, XFT_STATE_RECORDING, 0);
    build_save(b, trace_path);
    build_free(b);
}

/* NULL: nothing was seen before. */
static void complete(struct xfs_known *known)
{
    char error[256] = "";
    alarm(PATIENCE_S);
    int status = known ? xfs_finish_file(trace_path, known, error, sizeof error)
                       : finish_file(trace_path, true, error, sizeof error);
    alarm(0);
    if (status != 0)
        fail_msg("%s", error);
}

/* "function file:line" of an address, as the trace now has it; "-" where nothing is known. */
static const char *name_of(uint64_t address)
{
    static char text[512];
    char error[256] = "";
    size_t count;
    struct xfa_trace *trace = xfa_trace_open(trace_path, error, sizeof error);
    if (!trace)
        fail_msg("%s", error);
    const struct xfa_symbol *symbol = xfa_trace_symbols(trace, address, &count);
    assert_non_null(symbol);
    const char *slash = memrchr(symbol->file, '/', symbol->file_bytes);
    const char *file = slash ? slash + 1 : symbol->file;
    int file_bytes = (int)(symbol->file + symbol->file_bytes - file);
    if (symbol->function_bytes == 0)
        snprintf(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, "%.*s %.*s", (int)symbol->function_bytes, symbol->function,
                 file_bytes, file);
    xfa_trace_close(trace);
    return text;
}

/* ---- what is no file -------------------------------------------------------------------- */

static void test_no_plain_files(void **state)
{
    (void)state;
    char pipe[64], link[64], packed[64];
    struct stat info;
    snprintf(pipe, sizeof pipe, "%s/pipe", place);
    snprintf(link, sizeof link, "%s/link", place);
    snprintf(packed, sizeof packed, "%s/packed", place);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(symlink(pipe, link), 0);
    FILE *file = fopen(packed, "wb"); /* libdw would unpack it into memory */
    assert_true(file && fwrite("\x1f\x8b\x08", 1, 3, file) == 3);
    assert_int_equal(ftruncate(fileno(file), 4096), 0);
    fclose(file);
    const char *const paths[] = {pipe,
                                 link,
                                 packed,
                                 place,
                                 "/dev/zero",
                                 "/dev/tty",
                                 "/dev/stdin",
                                 "/proc/kmsg",
                                 "/proc/kcore",
                                 "/proc/self/maps",
                                 "/proc/self/mem",
                                 "relative",
                                 "/nonexistent",
                                 ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct trace_builder b;
        alarm(PATIENCE_S);
        assert_int_equal(xfs_elf_open(paths[i], &info), -1);
        alarm(0);
        build_start(&b, 4711);
        build_module(&b, 0x400000, 0x500000, paths[i]);
        build_stack(&b, 1, (uint64_t[]){0x400100}, 1);
        save(&b);
        struct xfs_known *known = xfs_known_new();
        complete(known);
        assert_int_equal(xfs_known_counts(known).opened, paths[i] == packed);
        xfs_known_free(known);
        assert_string_equal(name_of(0x400100), "-");
    }
    unlink(link);
    unlink(pipe);
    unlink(packed);
}

/* ---- debug files ------------------------------------------------------------------------ */

static void run(const char *form, ...)
{
    char command[512];
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(command, sizeof command, form, arguments);
    va_end(arguments);
    if (system(command) != 0)
        fail_msg("%s", command);
}

static void build_with(const char *path, bool has_build_id)
{
    struct trace_builder b;
    build_start(&b, 4711);
    build_own_module_at(&b, inside(), path, has_build_id);
    build_stack(&b, 1, (uint64_t[]){(uint64_t)(uintptr_t)inside()}, 1);
    save(&b);
}

static const char *name_inside(void)
{
    return name_of((uint64_t)(uintptr_t)inside());
}

/* This program without its debug information, which lies beside it. */
static void make_stripped(const char *more)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char here[512];
    ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
    assert_true(n > 0);
    here[n] = '\0';
    run("rm -f %s %s && objcopy --only-keep-debug %s '%s' %s", module_path, debug_path, more, here,
        debug_path);
    run("objcopy --strip-debug %s --add-gnu-debuglink=%s '%s' %s", more, debug_path, here,
        module_path);
    assert_int_equal(utimensat(AT_FDCWD, module_path, long_ago, 0), 0);
}

static void test_debug_file(void **state)
{
    (void)state;
    make_stripped("");
    build_with(module_path, true);
    complete(NULL);
    assert_string_equal(name_inside(), "scenario_profile scenario.c");
}

/* Known by its sum, where there is no build id; by one that is wrong it is not taken. */
static void test_debug_file_by_sum(void **state)
{
    (void)state;
    for (int right = 1; right >= 0; right--) {
        make_stripped("--remove-section=.note.gnu.build-id");
        if (!right)
            run("printf x >> %s", debug_path);
        build_with(module_path, false);
        complete(NULL);
        assert_string_equal(name_inside(),
                            right ? "scenario_profile scenario.c" : "scenario_profile ");
    }
}

static void test_debug_file_is_pipe(void **state)
{
    (void)state;
    make_stripped("");
    run("rm %s && mkfifo %s", debug_path, debug_path);
    build_with(module_path, true);
    complete(NULL);
    assert_string_equal(name_inside(), "scenario_profile "); /* from the symbol table */
}

/* ---- many files of one run -------------------------------------------------------------- */

static void test_opened_once(void **state)
{
    (void)state;
    enum { FILES = 50 };
    char first[512] = "";
    struct xfs_known *known = xfs_known_new();
    make_stripped("");
    for (int i = 0; i < FILES; i++) {
        build_with(module_path, true);
        complete(known);
        if (i == 0)
            snprintf(first, sizeof first, "%s", name_inside());
        assert_string_equal(name_inside(), first);
        assert_int_equal(xfs_known_counts(known).opened, 1);
        assert_int_equal(xfs_known_counts(known).looked_up, 1);
    }
    assert_string_equal(first, "scenario_profile scenario.c");
    run("touch %s", module_path); /* another file, as far as anybody can tell */
    build_with(module_path, true);
    complete(known);
    assert_int_equal(xfs_known_counts(known).opened, 2);
    build_with("/nonexistent", true); /* and another path is another module */
    complete(known);
    assert_string_equal(name_inside(), "-");
    assert_int_equal(xfs_known_counts(known).opened, 2);
    xfs_known_free(known);
}

/* Loaded elsewhere in each process: the place in the file is what counts. */
static void test_other_bias(void **state)
{
    (void)state;
    struct xfs_known *known = xfs_known_new();
    build_with(module_path, true);
    complete(known);
    for (uint64_t shift = 0x1000000; shift < 0x5000000; shift += 0x1000000) {
        struct trace_builder b;
        build_start(&b, 4711);
        build_own_module_shifted(&b, inside(), module_path, shift);
        uint64_t address = (uint64_t)(uintptr_t)inside() + shift;
        build_stack(&b, 1, &address, 1);
        save(&b);
        complete(known);
        assert_string_equal(name_of(address), "scenario_profile scenario.c");
    }
    assert_int_equal(xfs_known_counts(known).opened, 1);
    assert_int_equal(xfs_known_counts(known).looked_up, 1);
    xfs_known_free(known);
}

static void build_rebuilt(void)
{
    struct trace_builder b;
    build_start(&b, 4711);
    build_own_module_rebuilt(&b, inside(), module_path);
    build_stack(&b, 1, (uint64_t[]){(uint64_t)(uintptr_t)inside()}, 1);
    save(&b);
}

/* A module was built again between two processes: of the first one's there are no names any more,
 * whichever is looked at first. */
static void test_other_build(void **state)
{
    (void)state;
    make_stripped("");
    for (int first = 0; first < 2; first++) {
        struct xfs_known *known = xfs_known_new();
        for (int i = 0; i < 3; i++) {
            bool rebuilt = (i + first) % 2;
            rebuilt ? build_rebuilt() : build_with(module_path, true);
            complete(known);
            assert_string_equal(name_inside(), rebuilt ? "-" : "scenario_profile scenario.c");
        }
        xfs_known_free(known);
    }
}

/* The last module that was mapped at a place is the one meant. */
static void test_mapped_again(void **state)
{
    (void)state;
    static const char *const paths[] = {"/first", "/second", "/third"};
    static const uint64_t ranges[][2] = {{0x1000, 0x9000}, {0x2000, 0x4000}, {0x3000, 0x8000}};
    static const uint64_t addresses[] = {0x1001, 0x2000, 0x2001, 0x3001, 0x8000, 0x8001, 0x9000};
    static const char *const expected[] = {"/first", "/first", "/second", "/third",
                                           "/third", "/first", "/first"};
    struct trace_builder b;
    char error[256];
    build_start(&b, 4711);
    for (size_t i = 0; i < 3; i++)
        build_module(&b, ranges[i][0], ranges[i][1], paths[i]);
    build_stack(&b, 1, addresses, 7);
    build_stack(&b, 2, (uint64_t[]){0x9001, 0, UINT64_MAX >> 1, 0x1000}, 4); /* in none */
    save(&b);
    struct xfs_known *known = xfs_known_new();
    complete(known);
    xfs_known_free(known);
    struct xfa_trace *trace = xfa_trace_open(trace_path, error, sizeof error);
    assert_int_equal(trace->names.symbol_count, 7);
    for (size_t i = 0; i < 7; i++) {
        size_t count;
        const struct xfa_symbol *symbol = xfa_trace_symbols(trace, addresses[i], &count);
        assert_int_equal(count, 1);
        assert_int_equal(symbol->module_bytes, strlen(expected[i]));
        assert_memory_equal(symbol->module, expected[i], symbol->module_bytes);
    }
    xfa_trace_close(trace);
}

static int make_place(void **state)
{
    (void)state;
    if (!mkdtemp(place))
        return -1;
    snprintf(trace_path, sizeof trace_path, "%s/1-1.trace", place);
    snprintf(module_path, sizeof module_path, "%s/module", place);
    snprintf(debug_path, sizeof debug_path, "%s/module.debug", place);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    unlink(trace_path);
    unlink(module_path);
    unlink(debug_path);
    return rmdir(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_plain_files),    cmocka_unit_test(test_debug_file),
        cmocka_unit_test(test_debug_file_by_sum), cmocka_unit_test(test_debug_file_is_pipe),
        cmocka_unit_test(test_opened_once),       cmocka_unit_test(test_other_bias),
        cmocka_unit_test(test_other_build),       cmocka_unit_test(test_mapped_again),
    };
    return cmocka_run_group_tests_name("analyzer-names", tests, make_place, remove_place);
}
