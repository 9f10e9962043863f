/*
 * Holds every size, offset and number of include/xferscope/cuda_abi.h against NVIDIA's headers.
 * Built only where a toolkit is installed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <cuda.h>
#include <driver_types.h>

#include "tools/simgpu/runtime/device_props.h"
#include "xferscope/cuda_abi.h"

struct row {
    const char *what;
    uint64_t ours, theirs;
};

#define SAME(our, their) {#our " = " #their, (uint64_t)(our), (uint64_t)(their)},
#define SIZE(our, their) {"size of " #our, sizeof(our), sizeof(their)},
#define FIELD(our, f, their, g)                                                                    \
    {"offset of " #our "." #f, offsetof(our, f), offsetof(their, g)},                              \
        {"size of " #our "." #f, sizeof(((our *)0)->f), sizeof(((their *)0)->g)},

static const struct row result_rows[] = {
#include "tests/contracts/abi_results.def"
};
static const struct row copy_rows[] = {
#include "tests/contracts/abi_copies.def"
};
static const struct row other_rows[] = {
#include "tests/contracts/abi_others.def"
};

static void compare(const struct row *rows, size_t count)
{
    int wrong = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].ours == rows[i].theirs)
            continue;
        print_error("%s: ours %llu, theirs %llu\n", rows[i].what, (unsigned long long)rows[i].ours,
                    (unsigned long long)rows[i].theirs);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    assert_true(count > 10);
}

static const struct row props_rows[] = {
#include "tests/contracts/abi_props.def"
};

#define COMPARE(name)                                                                              \
    static void name##_match(void **state)                                                         \
    {                                                                                              \
        compare(name##_rows, sizeof(name##_rows) / sizeof(name##_rows[0]));                        \
    }
COMPARE(result)
COMPARE(copy)
COMPARE(other)
COMPARE(props)

static void format_sizes(void **state)
{
    static const struct {
        int format;
        unsigned bytes;
    } cases[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, 1},  {CU_AD_FORMAT_SIGNED_INT8, 1},
        {CU_AD_FORMAT_UNSIGNED_INT16, 2}, {CU_AD_FORMAT_SIGNED_INT16, 2},
        {CU_AD_FORMAT_HALF, 2},           {CU_AD_FORMAT_UNSIGNED_INT32, 4},
        {CU_AD_FORMAT_SIGNED_INT32, 4},   {CU_AD_FORMAT_FLOAT, 4},
        {CU_AD_FORMAT_NV12, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(xcu_format_bytes(cases[i].format), cases[i].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_match), cmocka_unit_test(copy_match),
        cmocka_unit_test(other_match),  cmocka_unit_test(props_match),
        cmocka_unit_test(format_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
