/* What launches are given: which words of which parameters, in which memory, asked about how often.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/base/own_stack.h"
#include "preload/base/settings.h"
#include "preload/content/verify.h"
#include "preload/intercept/arguments.h"
#include "preload/intercept/ranges.h"
#include "preload/lookup/driver.h"
#include "preload/record/hot.h"
#include "xferscope/cuda_abi.h"

/* ---- the driver ------------------------------------------------------------------------------ */

#define MOST_PARAMETERS 8

/* Handles are their addresses. */
struct kernel {
    bool is_kernel; /* a CUkernel: cuFuncGetParamInfo refuses it */
    int refused;    /* error of every question */
    struct {
        size_t offset, bytes;
    } parameters[MOST_PARAMETERS];
};

static unsigned questions;
static bool old_driver;

static int info(const struct kernel *kernel, bool as_kernel, size_t index, size_t *offset,
                size_t *bytes)
{
    questions++;
    if (kernel->is_kernel != as_kernel)
        return XCU_ERROR_INVALID_HANDLE;
    if (kernel->refused)
        return kernel->refused;
    if (index >= MOST_PARAMETERS || kernel->parameters[index].bytes == 0)
        return XCU_ERROR_INVALID_VALUE;
    *offset = kernel->parameters[index].offset;
    *bytes = kernel->parameters[index].bytes;
    return XCU_SUCCESS;
}

static int function_info(const void *handle, size_t index, size_t *offset, size_t *bytes)
{
    return info(handle, false, index, offset, bytes);
}

static int kernel_info(const void *handle, size_t index, size_t *offset, size_t *bytes)
{
    return info(handle, true, index, offset, bytes);
}

void *xfs_driver_symbol(const char *name)
{
    if (old_driver)
        return NULL;
    return strcmp(name, "cuFuncGetParamInfo") == 0     ? (void *)function_info
           : strcmp(name, "cuKernelGetParamInfo") == 0 ? (void *)kernel_info
                                                       : NULL;
}

/* ---- the recorder ---------------------------------------------------------------------------- */

static struct xfs_lane lane;
XFS_TLS struct xfs_lane *xfs_self = &lane;
static struct xfs_settings settings = {.arguments = true};
static uint64_t given[XFT_ARGUMENTS_MOST + 1]; /* the last set */
static uint32_t given_count, kept;
static char meta[256];

const struct xfs_settings *xfs_settings(void)
{
    return &settings;
}

bool xfs_on_own_stack(void (*work)(void *), void *argument)
{
    errno = 77;
    work(argument);
    return true;
}

uint32_t xfs_arguments_id(const uint64_t *pointers, uint32_t count)
{
    assert_true(count <= XFT_ARGUMENTS_MOST);
    memcpy(given, pointers, count * sizeof *pointers);
    given_count = count;
    return ++kept;
}

static struct xfs_verify_pointer looked_at[XFS_VERIFY_POINTERS];
static unsigned looked_at_count, not_known;

void xfs_verify_unknown(void)
{
    not_known++;
}

uint64_t xfs_verify_launched(const struct xfs_verify_pointer *pointers, unsigned count,
                             xcu_stream stream, bool per_thread)
{
    memcpy(looked_at, pointers, count * sizeof *pointers);
    looked_at_count = count;
    return per_thread && stream ? 5 : 0;
}

void xfs_meta_set(const char *key, const char *value)
{
    strcat(strcat(strcat(strcat(meta, key), "="), value), "\n");
}

/* ---- launches -------------------------------------------------------------------------------- */

static struct xfs_function entry;

static struct xfs_function *entry_of(const struct kernel *kernel)
{
    memset(&entry, 0, sizeof entry);
    entry.handle = (uint64_t)(uintptr_t)kernel;
    return &entry;
}

#define DEVICE UINT64_C(0x7f1200000000)
#define PINNED UINT64_C(0x7f5600000000)
#define BYTES UINT64_C(0x10000)

static int prepare(void **state)
{
    (void)state;
    xfs_ranges_clear();
    xfs_ranges_add(
        &(struct xfs_range){.start = DEVICE, .end = DEVICE + BYTES, .memory = XFT_MEM_DEVICE});
    xfs_ranges_add(
        &(struct xfs_range){.start = PINNED, .end = PINNED + BYTES, .memory = XFT_MEM_PINNED});
    xfs_arguments_after_fork();
    questions = given_count = kept = 0;
    settings.arguments = true;
    meta[0] = '\0';
    return 0;
}

static void assert_given(const uint64_t *expected, uint32_t count)
{
    assert_int_equal(given_count, count);
    assert_memory_equal(given, expected, count * sizeof *expected);
}

/* Pointers directly, into the middle, of the host; the same twice; one that was freed; numbers. */
static void test_direct(void **state)
{
    (void)state;
    static const struct kernel kernel = {
        .parameters = {{0, 8}, {8, 4}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 1}}};
    uint64_t a = PINNED + 8, b = DEVICE + 4000, again = PINNED + 8, stale = DEVICE + BYTES + 8,
             none = 12;
    int n = 5;
    char c = 1;
    void *values[] = {&a, &n, &b, &again, &stale, &none, &c};
    assert_int_equal(xfs_arguments_of(entry_of(&kernel), values, NULL), 1);
    assert_given((uint64_t[]){a, b}, 2);
    assert_string_equal(meta, "arguments=on\n");
}

/* What is looked at behind a launch: each pointer, as far as its allocation goes. */
static void test_verify(void **state)
{
    (void)state;
    static const struct kernel kernel = {.parameters = {{0, 8}, {8, 8}}}, without;
    uint64_t a = PINNED + 8, b = DEVICE + 4000;
    void *values[] = {&a, &b};
    looked_at_count = 0;
    assert_true(xfs_arguments_of(entry_of(&kernel), values, NULL) > 0);
    assert_int_equal(xfs_arguments_verify(&entry, values, NULL, &entry, true), 5);
    assert_int_equal(looked_at_count, 2);
    assert_true(looked_at[0].address == a && looked_at[0].end == PINNED + BYTES);
    assert_true(looked_at[1].address == b && looked_at[1].end == DEVICE + BYTES);
    assert_true(xfs_arguments_of(entry_of(&without), NULL, NULL) > 0);
    assert_int_equal(not_known, 0);
    assert_int_equal(xfs_arguments_verify(&entry, NULL, NULL, &entry, true), 0);
    assert_int_equal(not_known, 1); /* it may have been given anything */
}

/* Words within a structure, at any address of the host; not those of what is not aligned. */
static void test_by_value(void **state)
{
    (void)state;
    static const struct kernel kernel = {.is_kernel = true,
                                         .parameters = {{0, 4}, {8, 44}, {52, 12}, {64, 16}}};
    unsigned char bytes[64];
    uint64_t words[6] = {1, DEVICE, 0, PINNED + 16, DEVICE + 8, DEVICE + 24};
    uint64_t unaligned[2] = {DEVICE + 32, DEVICE + 40}, pair[2] = {0, DEVICE + 48};
    memcpy(bytes + 3, words, sizeof words);
    int n = 0;
    void *values[] = {&n, bytes + 3, unaligned, pair};
    assert_true(xfs_arguments_of(entry_of(&kernel), values, NULL) > 0);
    /* 44 bytes are five words, and half of one */
    assert_given((uint64_t[]){DEVICE, PINNED + 16, DEVICE + 8, DEVICE + 48}, 4);
}

static void test_block(void **state)
{
    (void)state;
    static const struct kernel kernel = {.parameters = {{0, 8}, {8, 4}, {16, 16}}};
    uint64_t block[4] = {DEVICE, DEVICE + 1, 0, PINNED};
    size_t size = sizeof block, short_size = 24;
    void *extra[] = {(void *)1, block, (void *)2, &size, NULL};
    void *less[] = {(void *)2, &short_size, (void *)1, block, NULL};
    void *strange[] = {(void *)1, block, (void *)9, &size, NULL};
    assert_true(xfs_arguments_of(entry_of(&kernel), NULL, extra) > 0);
    assert_given((uint64_t[]){DEVICE, PINNED}, 2);
    assert_int_equal(xfs_arguments_of(&entry, NULL, less), 0);
    assert_int_equal(xfs_arguments_of(&entry, NULL, strange), 0);
    assert_int_equal(xfs_arguments_of(&entry, NULL, NULL), 0);
    assert_int_equal(kept, 1);
}

/* A kernel without parameters, or without pointers, is given nothing: that is known. */
static void test_nothing(void **state)
{
    (void)state;
    static const struct kernel without, numbers = {.parameters = {{0, 4}, {8, 8}}};
    uint64_t n = 7;
    void *values[] = {&n, &n};
    assert_true(xfs_arguments_of(entry_of(&without), NULL, NULL) > 0);
    assert_int_equal(given_count, 0);
    given_count = 9;
    xfs_ranges_clear();
    assert_true(xfs_arguments_of(entry_of(&numbers), values, NULL) > 0);
    assert_int_equal(given_count, 0);
}

/* What was found holds until memory comes or goes; a function is asked about once. */
static void test_again(void **state)
{
    (void)state;
    static const struct kernel kernel = {.parameters = {{0, 8}, {8, 8}}};
    uint64_t a = DEVICE, b = PINNED;
    void *values[] = {&a, &b}, *swapped[] = {&b, &a};
    struct xfs_range gone;
    uint32_t first = xfs_arguments_of(entry_of(&kernel), values, NULL);
    unsigned asked = questions;
    assert_int_equal(xfs_arguments_of(&entry, values, NULL), first);
    assert_int_equal(kept, 1);
    assert_int_not_equal(xfs_arguments_of(&entry, swapped, NULL), first);
    assert_given((uint64_t[]){PINNED, DEVICE}, 2);
    assert_int_equal(xfs_arguments_of(&entry, values, NULL), first);
    assert_int_equal(kept, 2);
    assert_true(xfs_ranges_remove(PINNED, &gone));
    xfs_arguments_of(&entry, values, NULL);
    assert_given((uint64_t[]){DEVICE}, 1);
    assert_int_equal(questions, asked);
}

/* Another recorder has other ids. */
static void test_other_recorder(void **state)
{
    (void)state;
    static const struct kernel kernel = {.parameters = {{0, 8}}};
    uint64_t a = DEVICE;
    void *values[] = {&a};
    uint32_t id = xfs_arguments_of(entry_of(&kernel), values, NULL);
    lane.recorder = (struct xfs_recorder *)&lane;
    assert_int_not_equal(xfs_arguments_of(&entry, values, NULL), id);
    lane.recorder = NULL;
}

/* Of many pointers the first 64; of too many words, nothing. */
static void test_many(void **state)
{
    (void)state;
    static const struct kernel kernels[] = {{.parameters = {{0, 4096}}},
                                            {.parameters = {{0, 4096}, {4096, 8}}},
                                            {.parameters = {{0, 30000}}}};
    static uint64_t words[512];
    void *values[] = {words, words};
    for (size_t i = 0; i < 512; i++)
        words[i] = i < 200 ? DEVICE + i / 2 * 8 : i == 511 ? PINNED : i;
    uint32_t id = xfs_arguments_of(entry_of(&kernels[0]), values, NULL);
    assert_true(id > 0);
    assert_int_equal(given_count, XFT_ARGUMENTS_MOST);
    for (size_t i = 0; i < XFT_ARGUMENTS_MOST; i++)
        assert_true(given[i] == DEVICE + i * 8);
    assert_int_equal(xfs_arguments_of(&entry, values, NULL), id);
    assert_int_equal(kept, 1);
    for (size_t i = 0; i < 199; i++)
        words[i] = 0;
    xfs_arguments_of(&entry, values, NULL);
    assert_given((uint64_t[]){DEVICE + 99 * 8, PINNED}, 2);
    for (size_t i = 1; i < 3; i++)
        assert_int_equal(xfs_arguments_of(entry_of(&kernels[i]), values, NULL), 0);
}

/* Not a byte behind a parameter is read, nor one of what the driver does not tell of. */
static void test_nothing_else_is_read(void **state)
{
    (void)state;
    static const struct kernel kernel = {.parameters = {{0, 20}, {24, 4}}};
    static const struct kernel unknown = {.refused = XCU_ERROR_NOT_SUPPORTED};
    long page = sysconf(_SC_PAGESIZE);
    unsigned char *map =
        mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED && mprotect(map + page, (size_t)page, PROT_NONE) == 0);
    uint64_t a = DEVICE;
    memcpy(map + page - 20, &a, sizeof a);
    void *values[] = {map + page - 20, map + page};
    assert_true(xfs_arguments_of(entry_of(&kernel), values, NULL) > 0);
    assert_given((uint64_t[]){DEVICE}, 1);
    assert_int_equal(xfs_arguments_of(entry_of(&unknown), (void **)(map + page), NULL), 0);
    munmap(map, 2 * (size_t)page);
}

/* Modules come and go: what is kept of their functions is kept once. */
static void test_filled_anew(void **state)
{
    (void)state;
    static const struct kernel kernel = {.parameters = {{0, 8}}}, other = {.parameters = {{8, 8}}};
    uint64_t a = DEVICE;
    void *values[] = {&a};
    xfs_arguments_of(entry_of(&kernel), values, NULL);
    const struct xfs_parameters *before = entry.parameters;
    for (int i = 0; i < 1000000; i++) {
        entry.parameters = NULL;
        assert_true(xfs_arguments_of(&entry, values, NULL) > 0);
        assert_ptr_equal(entry.parameters, before);
    }
    entry.handle = (uint64_t)(uintptr_t)&other;
    entry.parameters = NULL;
    assert_true(xfs_arguments_of(&entry, values, NULL) > 0);
    assert_ptr_not_equal(entry.parameters, before);
}

static void test_off(void **state)
{
    (void)state;
    static const struct kernel kernel = {.parameters = {{0, 8}}};
    uint64_t a = DEVICE;
    void *values[] = {&a};
    settings.arguments = false;
    assert_int_equal(xfs_arguments_of(entry_of(&kernel), values, NULL), 0);
    assert_int_equal(xfs_arguments_of(&entry, values, NULL), 0);
    assert_string_equal(meta, "arguments=off\n");
    assert_int_equal(questions + kept, 0);
    assert_int_equal(xfs_arguments_of(NULL, values, NULL), 0);
}

/* The first of all: what the driver has is looked up once. */
static void test_errno(void **state)
{
    (void)state;
    static const struct kernel kernel = {.parameters = {{0, 4096}}};
    static uint64_t words[512];
    for (size_t i = 0; i < 512; i++)
        words[i] = DEVICE + i;
    void *values[] = {words};
    errno = 5;
    assert_true(xfs_arguments_of(entry_of(&kernel), values, NULL) > 0);
    assert_int_equal(errno, 5);
}

/* In a process of its own: an older driver. */
static void test_old_driver(void **state)
{
    (void)state;
    static const struct kernel kernel = {.parameters = {{0, 8}}};
    assert_int_equal(xfs_arguments_of(entry_of(&kernel), NULL, NULL), 0);
    assert_memory_equal(meta, "arguments=off\narguments.why=the driver", 38);
    assert_int_equal(questions, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_direct, prepare),
        cmocka_unit_test_setup(test_verify, prepare),
        cmocka_unit_test_setup(test_by_value, prepare),
        cmocka_unit_test_setup(test_block, prepare),
        cmocka_unit_test_setup(test_nothing, prepare),
        cmocka_unit_test_setup(test_again, prepare),
        cmocka_unit_test_setup(test_other_recorder, prepare),
        cmocka_unit_test_setup(test_many, prepare),
        cmocka_unit_test_setup(test_nothing_else_is_read, prepare),
        cmocka_unit_test_setup(test_filled_anew, prepare),
        cmocka_unit_test_setup(test_off, prepare),
        cmocka_unit_test_setup(test_errno, prepare),
    };
    const struct CMUnitTest old[] = {cmocka_unit_test_setup(test_old_driver, prepare)};
    (void)argv;
    old_driver = argc > 1;
    return old_driver ? cmocka_run_group_tests(old, NULL, NULL)
                      : cmocka_run_group_tests(tests, NULL, NULL);
}
