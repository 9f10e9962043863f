/*
 * The simulated CUPTI's records against NVIDIA's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cupti.h>

#include "tools/simgpu/cupti/records.h"

static int wrong;

static void compare(const char *what, size_t ours, size_t theirs)
{
    if (ours == theirs)
        return;
    print_error("%s: ours %zu, theirs %zu\n", what, ours, theirs);
    wrong++;
}

#define SAME(our, their) compare(#our, (size_t)(our), (size_t)(their));
#define SIZE(our, their) compare("size of " #our, sizeof(our), sizeof(their));
#define FIELD(our, f, their, g)                                                                    \
    compare("offset of " #our "." #f, offsetof(our, f), offsetof(their, g));                       \
    compare("size of " #our "." #f, sizeof(((our *)0)->f), sizeof(((their *)0)->g));

static void kinds(void **state)
{
    SAME(SIM_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY)
    SAME(SIM_CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2)
    SAME(SIM_CUPTI_COUNTER, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)
    SAME(SIM_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET)
    SAME(SIM_CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL)
    SAME(SIM_CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
    assert_int_equal(wrong, 0);
}

static void copies(void **state)
{
    SIZE(struct sim_cupti_memcpy, CUpti_ActivityMemcpy6)
    FIELD(struct sim_cupti_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind)
    FIELD(struct sim_cupti_memcpy, bytes, CUpti_ActivityMemcpy6, bytes)
    FIELD(struct sim_cupti_memcpy, end, CUpti_ActivityMemcpy6, end)
    FIELD(struct sim_cupti_memcpy, stream, CUpti_ActivityMemcpy6, streamId)
    FIELD(struct sim_cupti_memcpy, correlation, CUpti_ActivityMemcpy6, correlationId)
    FIELD(struct sim_cupti_memcpy, graph_node, CUpti_ActivityMemcpy6, graphNodeId)
    FIELD(struct sim_cupti_memcpy, graph, CUpti_ActivityMemcpy6, graphId)
    FIELD(struct sim_cupti_memcpy, copy_count, CUpti_ActivityMemcpy6, copyCount)
    SIZE(struct sim_cupti_memcpy2, CUpti_ActivityMemcpyPtoP4)
    FIELD(struct sim_cupti_memcpy2, src_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId)
    FIELD(struct sim_cupti_memcpy2, dst_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId)
    FIELD(struct sim_cupti_memcpy2, correlation, CUpti_ActivityMemcpyPtoP4, correlationId)
    FIELD(struct sim_cupti_memcpy2, graph, CUpti_ActivityMemcpyPtoP4, graphId)
    assert_int_equal(wrong, 0);
}

static void memsets_and_kernels(void **state)
{
    SIZE(struct sim_cupti_memset, CUpti_ActivityMemset4)
    FIELD(struct sim_cupti_memset, value, CUpti_ActivityMemset4, value)
    FIELD(struct sim_cupti_memset, correlation, CUpti_ActivityMemset4, correlationId)
    FIELD(struct sim_cupti_memset, memory_kind, CUpti_ActivityMemset4, memoryKind)
    FIELD(struct sim_cupti_memset, graph, CUpti_ActivityMemset4, graphId)
    SIZE(struct sim_cupti_kernel, CUpti_ActivityKernel10)
    FIELD(struct sim_cupti_kernel, start, CUpti_ActivityKernel10, start)
    FIELD(struct sim_cupti_kernel, correlation, CUpti_ActivityKernel10, correlationId)
    FIELD(struct sim_cupti_kernel, name, CUpti_ActivityKernel10, name)
    FIELD(struct sim_cupti_kernel, graph_node, CUpti_ActivityKernel10, graphNodeId)
    FIELD(struct sim_cupti_kernel, graph, CUpti_ActivityKernel10, graphId)
    FIELD(struct sim_cupti_kernel, max_active_clusters, CUpti_ActivityKernel10, maxActiveClusters)
    assert_int_equal(wrong, 0);
}

static void counters(void **state)
{
    SIZE(struct sim_cupti_counter, CUpti_ActivityUnifiedMemoryCounter3)
    FIELD(struct sim_cupti_counter, counter, CUpti_ActivityUnifiedMemoryCounter3, counterKind)
    FIELD(struct sim_cupti_counter, end, CUpti_ActivityUnifiedMemoryCounter3, end)
    FIELD(struct sim_cupti_counter, address, CUpti_ActivityUnifiedMemoryCounter3, address)
    FIELD(struct sim_cupti_counter, dst, CUpti_ActivityUnifiedMemoryCounter3, dstId)
    FIELD(struct sim_cupti_counter, flags, CUpti_ActivityUnifiedMemoryCounter3, flags)
    FIELD(struct sim_cupti_counter, processors, CUpti_ActivityUnifiedMemoryCounter3, processors)
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(copies),
        cmocka_unit_test(memsets_and_kernels),
        cmocka_unit_test(counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
