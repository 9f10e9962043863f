#include "tests/record/harness.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "preload/base/check.h"
#include "preload/record/hot.h"
#include "preload/record/process.h"
#include "preload/record/record.h"
#include "preload/record/recorder.h"

#define EXPORTED __attribute__((visibility("default")))

const struct xfs_call_info xfs_calls[] = {
    {"testCopy", XFT_LEVEL_RUNTIME}, {"testAlloc", XFT_LEVEL_DRIVER}, {"", XFT_LEVEL_DRIVER}};
const size_t xfs_call_count = 3;
const struct xfs_call_info xfs_message_calls[] = {{"testSend", XFT_LEVEL_MPI}};
const size_t xfs_message_call_count = 1;

static bool call(uint64_t bytes, uint64_t aux, void (*between)(void))
{
    if (!xfs_record_ready())
        return false;
    uint64_t start = xfs_now_ns();
    uint32_t stack = xfs_stack_capture(0);
    struct xfs_lane *lane = xfs_take_lane();
    if (lane == NULL)
        return false;
    const struct xft_event event = {.start_ns = start,
                                    .end_ns = xfs_now_ns(),
                                    .kind = XFT_EVENT_TRANSFER,
                                    .bytes = bytes,
                                    .aux = aux,
                                    .stack = stack};
    if (between)
        between();
    xfs_lane_append(lane, &event, 0);
    return true;
}

EXPORTED bool harness_call(uint64_t bytes, uint64_t aux)
{
    return call(bytes, aux, NULL);
}

EXPORTED bool harness_call_around(uint64_t bytes, void (*between)(void))
{
    return call(bytes, 0, between);
}

EXPORTED bool harness_ready(void)
{
    return xfs_record_ready();
}

EXPORTED bool harness_expect(bool holds)
{
    return XFS_EXPECT(holds, "what was said not to hold does not");
}

EXPORTED uint32_t harness_name(const char *text, uint64_t bytes)
{
    return xfs_name(text, bytes);
}

EXPORTED uint32_t harness_arguments(const uint64_t *pointers, uint32_t count)
{
    return xfs_arguments_id(pointers, count);
}

EXPORTED void harness_lose(unsigned loss, uint64_t n)
{
    xfs_count_lost(atomic_load(&atomic_load(&xfs_life)->current), loss, n);
}

EXPORTED void harness_meta(const char *key, const char *value)
{
    xfs_meta_set(key, value);
}

EXPORTED uint64_t harness_capture_ns(uint32_t times)
{
    struct timespec start, end;
    if (!xfs_record_ready())
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint32_t i = 0; i < times; i++)
        xfs_stack_capture(0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (uint64_t)((end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec);
}
