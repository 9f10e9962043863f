/* Completing a trace that asks for much more than it holds, has very much, or shrinks meanwhile. */
#include "tests/analyzer/lab/lossy.h"
#include "tests/analyzer/lab/completed.h"

#include <signal.h>
#include <sys/resource.h>

#include "tests/analyzer/traces/attacks.h"
#include "tests/analyzer/lab/memory.h"

/* ---- memory ----------------------------------------------------------------------------- */

/* 4 GB of stacks and of events in a file of some 200 KB. */
static void test_bombs_stay_small(void **state)
{
    (void)state;
    enum { RAW = 40 << 20, TIMES = 50 };
    struct trace_builder b;
    char error[256] = "";
    unsigned char *raw = calloc(1, RAW);
    size_t bound = ZSTD_compressBound(RAW);
    unsigned char *packed = malloc(bound);
    size_t stored = ZSTD_compress(packed, bound, raw, RAW, 1);
    free(raw);
    build_killed(&b);
    for (int i = 0; i < TIMES; i++) {
        build_plain_segment(&b, XFT_SEG_STACKS, XFT_SEG_ZSTD, packed, stored, RAW);
        build_plain_segment(&b, XFT_SEG_EVENTS, XFT_SEG_ZSTD, packed, stored, RAW);
        build_plain_segment(&b, XFT_SEG_SYMBOLS, XFT_SEG_ZSTD, packed, stored, UINT64_MAX);
    }
    build_save(&b, path);
    build_free(&b);
    free(packed);
    long before = peak_kib();
    assert_int_equal(finish_file(path, true, error, sizeof error), 0);
    assert_true(peak_kib() - before < MOST_KIB);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size < (off_t)(3 * TIMES * (stored + 64) + 100000));
}

/* ---- files that are not what they seem -------------------------------------------------- */

/* A terabyte of holes: read byte by byte it would take the processor minutes. */
static void test_holes_of_files(void **state)
{
    (void)state;
    char error[512] = "";
    for (unsigned how = 0; how < SPARSE_HOWS; how++) {
        struct rusage used;
        make_sparse(path, (enum sparse)how, UINT64_C(1) << 40);
        getrusage(RUSAGE_SELF, &used);
        rlim_t most = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 60;
        assert_int_equal(setrlimit(RLIMIT_CPU, &(struct rlimit){most, RLIM_INFINITY}), 0);
        assert_int_equal(finish_file(path, true, error, sizeof error), 0);
        struct found found = read_file();
        assert_true(found.closed);
        assert_int_equal(found.events, 0);
        assert_int_equal(found.lossy, how == SPARSE_PLAIN || how == SPARSE_ROOM);
        struct stat status;
        assert_int_equal(stat(path, &status), 0);
        assert_true(status.st_size < 1 << 20);
    }
    setrlimit(RLIMIT_CPU, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    unlink(path);
}

/* Asked when the file has been mapped; it is linked in the place of the real one. */
static bool cut_now;
bool __real_xfs_is_open_for_writing(int fd);
bool __wrap_xfs_is_open_for_writing(int fd);
bool __wrap_xfs_is_open_for_writing(int fd)
{
    bool open = __real_xfs_is_open_for_writing(fd);
    if (cut_now)
        assert_int_equal(truncate(path, XFT_HEADER_BYTES), 0);
    return open;
}

/* ---- long lists -------------------------------------------------------------------------- */

enum { STACKS = 150000, FRAMES = 44, LISTS = 10, SYMBOLS = 600000 };

/* Different in the first two frames of some thousand that all share. */
static void put_stacks(struct trace_builder *b, uint32_t from, uint32_t count)
{
    size_t bytes = sizeof(struct xft_stack) + FRAMES * sizeof(uint64_t);
    unsigned char *list = calloc(count, bytes), *at = list;
    for (uint32_t id = from; id < from + count; id++, at += bytes) {
        struct xft_stack stack = {id + 1, FRAMES};
        uint64_t frames[FRAMES];
        for (uint32_t i = 0; i < FRAMES; i++)
            frames[i] = 0x400000 + (i == 0 ? id % 1000 : i == 1 ? id / 1000 : i) * 16;
        memcpy(at, &stack, sizeof stack);
        memcpy(at + sizeof stack, frames, sizeof frames);
    }
    build_plain_segment(b, XFT_SEG_STACKS, 0, list, count * bytes, count * bytes);
    free(list);
}

/* What is found for addresses when a file is completed. */
static unsigned char *make_symbols(size_t *bytes)
{
    static const char text[80] =
        "a_function_with_a_long_name_of_some_library.c_a_module_of_the_program";
    struct xft_symbol symbol = {.function_bytes = 38, .file_bytes = 7, .module_bytes = 24};
    size_t one = sizeof symbol + 38 + 7 + 24;
    unsigned char *list = malloc(SYMBOLS * one), *at = list;
    for (uint32_t i = 0; i < SYMBOLS; i++, at += one) {
        symbol.address = 0x400000 + i * UINT64_C(16);
        memcpy(at, &symbol, sizeof symbol);
        memcpy(at + sizeof symbol, text, one - sizeof symbol);
    }
    *bytes = SYMBOLS * one;
    return list;
}

static void check_lists(size_t stacks, size_t symbols)
{
    char error[512] = "";
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    if (!trace)
        fail_msg("%s", error);
    assert_int_equal(trace->names.stacks.count, stacks);
    assert_int_equal(trace->names.symbol_count, symbols);
    for (size_t i = 0; i < trace->segment_count; i++)
        assert_true(trace->segments[i].raw <= XFT_SEGMENT_MOST);
    assert_false(is_lossy(trace));
    xfa_trace_close(trace);
}

/* More than a segment may have, of stacks and of what is added: in several, and all of it is read.
 */
static void test_long_lists(void **state)
{
    (void)state;
    struct trace_builder b;
    build_start(&b, 0x7ffffff0);
    build_meta(&b, "a", "b");
    for (int i = 0; i < LISTS; i++)
        put_stacks(&b, (uint32_t)i * (STACKS / LISTS), STACKS / LISTS);
    build_close(&b, XFT_STATE_RECORDING, 0);
    build_save(&b, path);
    build_free(&b);
    check_lists(STACKS, 0);
    complete();
    check_lists(STACKS, 0);
    more = make_symbols(&more_bytes);
    assert_true(more_bytes > XFT_SEGMENT_MOST);
    rewrite_again();
    check_lists(STACKS, SYMBOLS);
    free(more);
    more = NULL;
    more_bytes = 0;
}

/* It stays as it is, one line says why, and nothing is left beside it or taken over for good. */
static void test_file_that_shrinks(void **state)
{
    (void)state;
    char error[512] = "", beside[80];
    struct trace_builder b;
    struct sigaction before, after;
    struct stat status;
    build_killed(&b);
    build_save(&b, path);
    sigaction(SIGBUS, NULL, &before);
    cut_now = true;
    assert_int_equal(finish_file(path, true, error, sizeof error), -1);
    cut_now = false;
    sigaction(SIGBUS, NULL, &after);
    assert_true(before.sa_handler == after.sa_handler);
    assert_non_null(strstr(error, "cut while"));
    assert_null(strchr(error, '\n'));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, XFT_HEADER_BYTES);
    snprintf(beside, sizeof beside, "%s.tmp", path);
    assert_int_not_equal(access(beside, F_OK), 0);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bombs_stay_small),
        cmocka_unit_test(test_holes_of_files),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_file_that_shrinks),
    };
    return cmocka_run_group_tests_name("analyzer-complete_extremes", tests, make_place,
                                       remove_place);
}
