/*
 * Entry points: which function a name, a version and flags lead to.
 */
#include "tests/simgpu/cu.h"

#include <dlfcn.h>
#include <string.h>

static void *exported(const char *symbol)
{
    void *address = dlsym(RTLD_DEFAULT, symbol);

    assert_non_null(address);
    return address;
}

static void *found(const char *name, int version, uint64_t flags)
{
    void *address = NULL;
    int status = -1;

    OK(cuGetProcAddress_v2(name, &address, version, flags, &status));
    assert_int_equal(status, 0);
    assert_non_null(address);
    return address;
}

static void flags_choose_the_stream(void **state)
{
    assert_ptr_equal(found("cuMemcpyHtoD", 13000, 0), exported("cuMemcpyHtoD_v2"));
    assert_ptr_equal(found("cuMemcpyHtoD", 13000, 1), exported("cuMemcpyHtoD_v2"));
    assert_ptr_equal(found("cuMemcpyHtoD", 13000, 2), exported("cuMemcpyHtoD_v2_ptds"));
    assert_ptr_equal(found("cuMemcpyAsync", 7000, 2), exported("cuMemcpyAsync_ptsz"));
    /* no variant of its own: the plain one serves */
    assert_ptr_equal(found("cuMemAlloc", 13000, 2), exported("cuMemAlloc_v2"));
}

static void versions_choose_the_interface(void **state)
{
    assert_ptr_equal(found("cuMemPrefetchAsync", 8000, 0), exported("cuMemPrefetchAsync"));
    assert_ptr_equal(found("cuMemPrefetchAsync", 12010, 0), exported("cuMemPrefetchAsync"));
    assert_ptr_equal(found("cuMemPrefetchAsync", 12020, 0), exported("cuMemPrefetchAsync_v2"));
    assert_ptr_equal(found("cuMemcpyBatchAsync", 12080, 2), exported("cuMemcpyBatchAsync_ptsz"));
    assert_ptr_equal(found("cuMemcpyBatchAsync", 13000, 2), exported("cuMemcpyBatchAsync_v2_ptsz"));
    assert_ptr_equal(found("cuCtxSynchronize", 12090, 0), exported("cuCtxSynchronize"));
    assert_ptr_equal(found("cuCtxSynchronize", 13000, 0), exported("cuCtxSynchronize_v2"));
    assert_ptr_equal(found("cuGetProcAddress", 11030, 0), exported("cuGetProcAddress"));
    assert_ptr_equal(found("cuGetProcAddress", 12000, 0), exported("cuGetProcAddress_v2"));
}

static void what_is_not_there(void **state)
{
    void *address = &address;
    int status = -1;

    OK(cuGetProcAddress_v2("cuNoSuchThing", &address, 13000, 0, &status));
    assert_null(address);
    assert_int_equal(status, 1);
    OK(cuGetProcAddress_v2("cuMemcpyHtoD_v2", &address, 13000, 0, &status)); /* no base name */
    assert_null(address);
    OK(cuGetProcAddress_v2("cuMemcpyBatchAsync", &address, 12000, 0, &status));
    assert_null(address);
    assert_int_equal(status, 2);
    OK(cuGetProcAddress_v2("cuInit", &address, 13000, 0, NULL)); /* status is optional */
    assert_ptr_equal(address, exported("cuInit"));
    IS(XCU_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchThing", &address, 13000, 0));
    IS(XCU_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", &address, 13000, 4, &status));
    IS(XCU_ERROR_INVALID_VALUE, cuGetProcAddress_v2(NULL, &address, 13000, 0, &status));
    IS(XCU_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", NULL, 13000, 0, &status));
}

static void before_cuInit(void **state)
{
    const void *table;
    struct xcu_uuid id = {{0}};
    const char *name;
    int version = 0;

    OK(cuDriverGetVersion(&version));
    assert_int_equal(version, 13000);
    OK(cuGetErrorName(XCU_ERROR_HOST_MEMORY_NOT_REGISTERED, &name));
    assert_string_equal(name, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED");
    IS(XCU_ERROR_INVALID_VALUE, cuGetErrorName(12345, &name));
    assert_null(name);
    IS(XCU_ERROR_NOT_FOUND, cuGetExportTable(&table, &id));
    IS(XCU_ERROR_INVALID_VALUE, cuInit(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_choose_the_stream),
        cmocka_unit_test(versions_choose_the_interface),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(before_cuInit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
