/* What calls say about memory: kinds, frees that fail, prefetches, peers, captured streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "preload/content/content.h"
#include "preload/content/verify.h"
#include "preload/intercept/captures.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/describe.h"
#include "preload/intercept/peers.h"
#include "preload/intercept/ranges.h"
#include "preload/intercept/session.h"
#include "preload/timing/event_pairs.h"
#include "preload/timing/timing.h"

/* ---- what the descriptions ask ------------------------------------------------------------ */

#define ADDRESS 0x10000u
#define STREAM ((xcu_stream)0x50)

atomic_int xfs_content_mode = XFS_CONTENT_OFF;
static int captured, asked, captures;
XFS_TLS struct xfs_place_entry xfs_places[XFS_PLACE_ENTRIES];

struct xfs_place xfs_classify_slowly(struct xfs_place_entry *entry, uint64_t address,
                                     uint32_t epoch)
{
    return (struct xfs_place){XFT_MEM_MANAGED, XFT_PLACE_UNKNOWN};
}

int xfs_captures_now(void)
{
    return captures;
}

int16_t xfs_current_device(void)
{
    return 1;
}

int16_t xfs_context_device(void *context)
{
    return 0;
}

int xfs_stream_captured(void *stream, int per_thread)
{
    asked++;
    return captured;
}

atomic_bool xfs_verify_watching;
atomic_bool xfs_access_watching;
void xfs_verify_forget(uint64_t start, uint64_t end)
{
    (void)start, (void)end;
}

void xfs_access_forget(uint64_t start, uint64_t end)
{
    (void)start;
    (void)end;
}

void xfs_content_forget(uint64_t start, uint64_t end)
{
}

void xfs_pairs_forget(void)
{
}

void xfs_captures_context_ended(int status)
{
}

void xfs_timing_managed(void)
{
}

atomic_uchar xfs_session;
static unsigned allocated, freed; /* before anything moves */

void xfs_before_moving_memory(bool frees)
{
    allocated += !frees;
    freed += frees;
}

/* ---- memory ------------------------------------------------------------------------------- */

static unsigned kind_at(uint64_t address)
{
    struct xfs_range range;
    return xfs_ranges_find(address, &range) ? range.memory : XFT_MEM_UNKNOWN;
}

static void test_kinds_of_host_memory(void **state)
{
    static const struct {
        unsigned flags, memory;
    } rows[] = {
        {0, XFT_MEM_PINNED},
        {XCU_HOST_PORTABLE, XFT_MEM_PINNED},
        {XCU_HOST_DEVICEMAP, XFT_MEM_MAPPED},
        {XCU_HOST_WRITECOMBINED, XFT_MEM_WRITE_COMBINED},
        {XCU_HOST_WRITECOMBINED | XCU_HOST_DEVICEMAP, XFT_MEM_WRITE_COMBINED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct xfs_frame frame = {0};
        xfs_alloc_host(&frame, ADDRESS, 4096, rows[i].flags);
        assert_int_equal(frame.event.kind, XFT_EVENT_ALLOC);
        assert_int_equal(frame.event.dst_mem, rows[i].memory);
        assert_int_equal(frame.event.aux, rows[i].flags);
        assert_int_equal(kind_at(ADDRESS + 4095), rows[i].memory);
    }
    xfs_ranges_clear();
}

/* A free that failed frees nothing: what is there is still known. */
static void test_free_that_fails(void **state)
{
    struct xfs_frame frame = {0};
    xfs_alloc(&frame, ADDRESS, 4096, XFT_MEM_DEVICE);
    frame = (struct xfs_frame){0};
    xfs_free_begin(&frame, ADDRESS);
    xfs_free_end(&frame, 1);
    assert_int_equal(frame.event.kind, XFT_EVENT_NONE);
    assert_int_equal(kind_at(ADDRESS), XFT_MEM_DEVICE);
    assert_int_equal(kind_at(ADDRESS + 4095), XFT_MEM_DEVICE);
    xfs_free_begin(&frame, ADDRESS);
    xfs_free_end(&frame, 0);
    assert_int_equal(frame.event.kind, XFT_EVENT_FREE);
    assert_int_equal(frame.event.bytes, 4096);
    assert_int_equal(frame.event.device, 1);
    assert_int_equal(kind_at(ADDRESS), XFT_MEM_UNKNOWN);
}

/* As long as nothing moves it is counted what is allocated and freed, and a free that failed is
 * none. */
static void test_counted_before_anything_moves(void **state)
{
    (void)state;
    for (unsigned char on = XFS_SESSION_WAITING; on <= XFS_SESSION_ON; on++) {
        struct xfs_frame frame = {0};
        atomic_store(&xfs_session, on);
        allocated = freed = 0;
        xfs_alloc(&frame, ADDRESS, 4096, XFT_MEM_DEVICE);
        xfs_free_begin(&frame, ADDRESS);
        xfs_free_end(&frame, 1);
        assert_int_equal(freed, 0);
        xfs_free_begin(&frame, ADDRESS);
        xfs_free_end(&frame, 0);
        assert_int_equal(allocated, on < XFS_SESSION_ON);
        assert_int_equal(freed, on < XFS_SESSION_ON);
    }
}

/* Older calls name the host by -1, newer ones by a location. */
static void test_prefetches(void **state)
{
    static const struct {
        int place, direction, dst;
    } rows[] = {
        {-1, XFT_DIR_D2H, XFT_PLACE_HOST},
        {XFT_PLACE_HOST, XFT_DIR_D2H, XFT_PLACE_HOST},
        {0, XFT_DIR_H2D, 0},
        {3, XFT_DIR_H2D, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct xfs_frame frame = {0};
        xfs_prefetch(&frame, ADDRESS, 4096, rows[i].place);
        assert_int_equal(frame.event.kind, XFT_EVENT_PREFETCH);
        assert_int_equal(frame.event.direction, rows[i].direction);
        assert_int_equal(frame.event.dst_place, rows[i].dst);
        assert_int_equal(frame.event.bytes, 4096);
    }
}

static struct xft_event published[8];
static size_t published_count;

static void publish(const struct xft_event *event)
{
    assert_true(published_count < sizeof published / sizeof *published);
    published[published_count++] = *event;
}

static void check_range(const struct xft_event *event, uint64_t address, uint64_t bytes, int place)
{
    assert_int_equal(event->kind, XFT_EVENT_PREFETCH);
    assert_int_equal(event->src, address);
    assert_int_equal(event->bytes, bytes);
    assert_int_equal(event->dst_place, place);
    assert_int_equal(event->direction, place == XFT_PLACE_HOST ? XFT_DIR_D2H : XFT_DIR_H2D);
}

/* Each range lies where it lies, and goes where its own entry says. */
static void test_prefetch_batches(void **state)
{
    const xcu_deviceptr addresses[] = {ADDRESS, 16 * ADDRESS, 4 * ADDRESS, 9 * ADDRESS};
    const size_t sizes[] = {4096, 8192, 100, 1}, from[] = {0, 1, 3};
    const struct xcu_location where[] = {
        {XCU_LOCATION_DEVICE, 2}, {XCU_LOCATION_HOST, 0}, {XCU_LOCATION_DEVICE, 1}};
    const struct xfs_prefetches batch = {addresses, sizes, 4, where, from, 3};
    const int places[] = {2, XFT_PLACE_HOST, XFT_PLACE_HOST, 1};
    struct xfs_frame frame = {.event = {.start_ns = 100, .end_ns = 130}};
    xfs_prefetch_batch(&frame, &batch);
    check_range(&frame.event, ADDRESS, 4096, 2);
    assert_int_equal(frame.event.count, 4);
    frame.event.stack = 7;
    published_count = 0;
    xfs_prefetch_ranges(&frame, publish);
    assert_int_equal(published_count, 3);
    for (size_t i = 0; i < 3; i++) {
        check_range(&published[i], addresses[i + 1], sizes[i + 1], places[i + 1]);
        assert_int_equal(published[i].count, 0);
        assert_int_equal(published[i].stack, 7);
        assert_int_equal(published[i].start_ns, 130);
        assert_int_equal(published[i].end_ns, 130);
    }
    frame = (struct xfs_frame){.event = {.status = 1}};
    xfs_prefetch_batch(&frame, &batch);
    assert_int_equal(frame.event.kind, XFT_EVENT_NONE);
}

/* Either side may have switched it on; both ways count. */
static void test_peers(void **state)
{
    struct xfs_frame frame = {0};
    assert_false(xfs_peers_enabled(1, 2));
    xfs_peer_device(&frame, 2, 1); /* the current device is 1 */
    assert_true(xfs_peers_enabled(1, 2) && xfs_peers_enabled(2, 1));
    assert_false(xfs_peers_enabled(0, 2) || xfs_peers_enabled(1, 0));
    xfs_peer_device(&frame, 2, 0);
    assert_false(xfs_peers_enabled(1, 2) || xfs_peers_enabled(2, 1));
    frame = (struct xfs_frame){.event.status = XCU_ERROR_PEER_ACCESS_ALREADY_ENABLED};
    xfs_peer_device(&frame, 2, 1); /* by somebody whose call was not seen */
    assert_true(xfs_peers_enabled(1, 2));
    assert_int_equal(frame.event.kind, XFT_EVENT_NONE);
    xfs_peer_device(&frame, 2, 0); /* that failed, and for another reason */
    assert_true(xfs_peers_enabled(1, 2));
    frame.event.status = XCU_ERROR_PEER_ACCESS_NOT_ENABLED;
    xfs_peer_device(&frame, 2, 0);
    assert_false(xfs_peers_enabled(1, 2));
}

/* ---- streams ------------------------------------------------------------------------------ */

static unsigned flags_of(int status)
{
    struct xfs_frame frame = {.event.status = status};
    xfs_async(&frame, STREAM);
    return frame.event.flags;
}

/* The driver is asked only while something is captured. */
static void test_captures(void **state)
{
    captured = 1;
    assert_int_equal(flags_of(0), XFT_ASYNC | XFT_STREAM_KNOWN);
    assert_int_equal(asked, 0);
    captures = 1;
    assert_int_equal(flags_of(0), XFT_ASYNC | XFT_STREAM_KNOWN | XFT_CAPTURED);
    assert_int_equal(flags_of(1), XFT_ASYNC | XFT_STREAM_KNOWN);
    captured = 0; /* another stream is */
    assert_int_equal(flags_of(0), XFT_ASYNC | XFT_STREAM_KNOWN);
    captures = 0;
    asked = 0;
    assert_int_equal(flags_of(0), XFT_ASYNC | XFT_STREAM_KNOWN);
    assert_int_equal(asked, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_of_host_memory),
        cmocka_unit_test(test_free_that_fails),
        cmocka_unit_test(test_counted_before_anything_moves),
        cmocka_unit_test(test_prefetches),
        cmocka_unit_test(test_prefetch_batches),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_captures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
