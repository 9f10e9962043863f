/*
 * Functions of the host that streams call, under the virtual clock: their stream waits, the program
 * does not, and one thread calls all of them.
 */
#include "tests/simgpu/cu.h"

#include "tools/simgpu/simgpu.h"

enum { SUBMIT = 2000, SPENT = 70000, BIG = 1 << 20 };

static xcu_stream a, b;
static uint64_t called_at;

static void work(void *ns)
{
    called_at = xferscope_simgpu_now_ns();
    xferscope_simgpu_spend_ns(*(uint64_t *)ns);
}

static void call(xcu_stream stream, uint64_t ns)
{
    static uint64_t asked[8];
    static unsigned next;

    asked[next] = ns;
    OK(cuLaunchHostFunc(stream, work, &asked[next++ % 8]));
    next %= 8;
}

static int start(void **state)
{
    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    return cuCtxSynchronize();
}

static int end(void **state)
{
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    return 0;
}

/* How long a wait for the stream lasts that begins now. */
static uint64_t wait_ns(xcu_stream stream)
{
    uint64_t t = xferscope_simgpu_now_ns();

    OK(cuStreamSynchronize(stream));
    return xferscope_simgpu_now_ns() - t;
}

static void the_program_goes_on(void **state)
{
    uint64_t t = xferscope_simgpu_now_ns();

    call(a, SPENT);
    assert_true(xferscope_simgpu_now_ns() - t <= 2 * SUBMIT);
    xferscope_simgpu_spend_ns(2 * SPENT);
    assert_true(wait_ns(a) < SUBMIT);
    call(a, SPENT);
    assert_in_range(wait_ns(a), SPENT - 2 * SUBMIT, SPENT + 2 * SUBMIT);
}

static void its_stream_waits(void **state)
{
    xcu_deviceptr device = device_memory(BIG);
    char *host = pinned_memory(BIG);
    uint64_t copy;

    OK(cuMemcpyHtoDAsync_v2(device, host, BIG, a));
    copy = wait_ns(a);
    call(a, SPENT);
    OK(cuMemcpyHtoDAsync_v2(device, host, BIG, a));
    assert_in_range(wait_ns(a), SPENT + copy - 2 * SUBMIT, SPENT + copy + 2 * SUBMIT);
    OK(cuMemcpyHtoDAsync_v2(device, host, BIG, b));
    call(a, SPENT);
    assert_in_range(wait_ns(b), copy - 2 * SUBMIT, copy + 2 * SUBMIT);
    OK(cuStreamSynchronize(a));
    OK(cuMemFree_v2(device));
    OK(cuMemFreeHost(host));
}

static void one_after_the_other(void **state)
{
    uint64_t t = xferscope_simgpu_now_ns(), first;

    call(a, SPENT);
    call(b, SPENT);
    OK(cuStreamSynchronize(b));
    assert_in_range(xferscope_simgpu_now_ns() - t, 2 * SPENT, 2 * SPENT + 4 * SUBMIT);
    call(a, SPENT);
    OK(cuStreamSynchronize(a));
    first = called_at;
    call(a, SPENT);
    call(b, 0);
    OK(cuStreamSynchronize(b));
    assert_true(called_at >= first + 2 * SPENT); /* when the first one has returned */
}

static void one_that_is_ready_first(void **state)
{
    xcu_deviceptr device = device_memory(BIG);
    char *host = pinned_memory(BIG);
    uint64_t late;

    for (int i = 0; i < 20; i++)
        OK(cuMemcpyHtoDAsync_v2(device, host, BIG, a));
    call(a, SPENT);
    call(b, SPENT);
    assert_in_range(wait_ns(b), SPENT - 2 * SUBMIT, SPENT + 2 * SUBMIT);
    late = wait_ns(a);
    assert_true(late > SPENT);
    OK(cuMemFree_v2(device));
    OK(cuMemFreeHost(host));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(the_program_goes_on),
        TEST(its_stream_waits),
        TEST(one_after_the_other),
        TEST(one_that_is_ready_first),
    };

    OK(cuInit(0));
    xcu_context context;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
