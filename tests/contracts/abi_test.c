/*
 * Holds every size, offset and number of our copies of NVIDIA's binary interfaces against NVIDIA's
 * headers: include/xferscope/cuda_abi.h and cupti_abi.h, preload/nvtx/nvtx_abi.h, and the simulated
 * GPU's device properties and activity records. ABI_CUDA, ABI_CUPTI, ABI_NVTX: the headers that are
 * there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#ifdef ABI_CUDA
#include <cuda.h>
#include <driver_types.h>
#endif
#ifdef ABI_CUPTI
#include <cupti.h>
#endif
#ifdef ABI_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#include "preload/nvtx/nvtx_abi.h"
#include "tools/simgpu/cupti/records.h"
#include "tools/simgpu/runtime/device_props.h"
#include "xferscope/cuda_abi.h"
#include "xferscope/cupti_abi.h"
#include "xferscope/trace.h"

struct row {
    const char *what;
    uint64_t ours, theirs;
};

#define SAME(our, their) {#our " = " #their, (uint64_t)(our), (uint64_t)(their)},
#define SIZE(our, their) {"size of " #our, sizeof(our), sizeof(their)},
#define FIELD(our, f, their, g)                                                                    \
    {"offset of " #our "." #f, offsetof(our, f), offsetof(their, g)},                              \
        {"size of " #our "." #f, sizeof(((our *)0)->f), sizeof(((their *)0)->g)},

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

/* A test of the rows in a file. */
#define COMPARE(name)                                                                              \
    static void name##_match(void **state)                                                         \
    {                                                                                              \
        compare(name##_rows, sizeof(name##_rows) / sizeof(name##_rows[0]));                        \
    }

#ifdef ABI_CUDA
static const struct row result_rows[] = {
#include "tests/contracts/abi_results.def"
};
static const struct row copy_rows[] = {
#include "tests/contracts/abi_copies.def"
};
static const struct row other_rows[] = {
#include "tests/contracts/abi_others.def"
};
static const struct row props_rows[] = {
#include "tests/contracts/abi_props.def"
};
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

#endif
#ifdef ABI_CUPTI
static const struct row cupti_rows[] = {
#include "tests/contracts/abi_cupti.def"
};
static const struct row record_rows[] = {
#include "tests/contracts/abi_records.def"
};
COMPARE(cupti)
COMPARE(record)
#endif
#ifdef ABI_NVTX
static const struct row nvtx_rows[] = {
#include "tests/contracts/abi_nvtx.def"
};
COMPARE(nvtx)
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef ABI_CUDA
        cmocka_unit_test(result_match), cmocka_unit_test(copy_match),
        cmocka_unit_test(other_match),  cmocka_unit_test(props_match),
        cmocka_unit_test(format_sizes),
#endif
#ifdef ABI_CUPTI
        cmocka_unit_test(cupti_match),  cmocka_unit_test(record_match),
#endif
#ifdef ABI_NVTX
        cmocka_unit_test(nvtx_match),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
