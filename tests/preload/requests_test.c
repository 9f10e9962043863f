/* Requests: which message a call that completes one ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/messages/requests.h"
#include "preload/record/events.h"
#include "preload/record/recorder.h"

/* ---- the recorder ---------------------------------------------------------------------------- */

static uint64_t lost;
static struct xft_event written[16];
static unsigned count;

void xfs_lose(enum xft_loss loss, uint64_t n)
{
    assert_int_equal(loss, XFT_LOSS_EVENTS);
    lost += n;
}

void xfs_event_write(const struct xft_event *event)
{
    if (count < sizeof written / sizeof *written)
        written[count] = *event;
    count++;
}

static int begin(void **state)
{
    lost = count = 0;
    xfs_requests_after_fork();
    return 0;
}

/* ---- under way ------------------------------------------------------------------------------- */

static void begun(xfs_word request, bool shared, uint64_t at)
{
    xfs_request_begun(request, shared, &(struct xfs_request){at, at + 5, at % 2 == 1});
}

/* The start of the message that ends; 0: none. */
static uint64_t ended(xfs_word request, bool shared, uint64_t at)
{
    struct xfs_request what;
    return xfs_request_ends(request, shared, at, &what) ? what.start_ns : 0;
}

static void each_ends_once(void **state)
{
    struct xfs_request what;
    for (xfs_word r = 1; r <= 500; r++)
        begun(r * 0x40, false, 1000 + r);
    for (xfs_word r = 500; r >= 1; r--) {
        assert_true(xfs_request_ends(r * 0x40, false, 5000, &what));
        assert_int_equal(what.start_ns, 1000 + r);
        assert_int_equal(what.end_ns, 1005 + r);
        assert_int_equal(what.receives, (1000 + r) % 2);
        assert_false(xfs_request_ends(r * 0x40, false, 5000, &what));
    }
    assert_int_equal(ended(0, false, 5000), 0);
    assert_int_equal(lost, 0);
}

/* Without a search, while the place has no other; with one, all the same are found. */
static void at_home(void **state)
{
    struct xfs_request what = {10, 15, true}, found;
    assert_true(xfs_request_begun_at_home(0x100, what));
    assert_false(xfs_request_begun_at_home(0x100, what)); /* taken */
    assert_null(xfs_request_alone(0x100, 14, &found));    /* begun later */
    assert_null(xfs_request_alone(0x140, 20, &found));
    struct xfs_request_slot *slot = xfs_request_alone(0x100, 15, &found);
    assert_non_null(slot);
    assert_int_equal(found.start_ns, 10);
    assert_int_equal(found.end_ns, 15);
    assert_true(found.receives);
    begun(0x100, false, 20);
    assert_null(xfs_request_alone(0x100, 40, &found)); /* which of them? */
    assert_true(xfs_request_take(slot, 0x100));
    assert_false(xfs_request_take(slot, 0x100));
    assert_int_equal(ended(0x100, false, 40), 20);
    for (unsigned i = 0; i < 3; i++) /* one of them lies elsewhere */
        begun(0x100, false, 50 + 10 * i);
    assert_false(xfs_request_begun_at_home(0x100, what));
    for (unsigned i = 3; i-- > 0;)
        assert_int_equal(ended(0x100, false, 100), 50 + 10 * i);
    assert_null(xfs_request_alone(0, 100, &found));
    assert_int_equal(lost, 0);
}

/* MPI gives a handle that has become free to another thread before the first one has noticed. */
static void another_threads(void **state)
{
    begun(0x100, false, 10);
    begun(0x100, false, 50);
    assert_int_equal(ended(0x100, false, 20), 10);
    assert_int_equal(ended(0x100, false, 60), 50);
    begun(0x100, false, 110);
    begun(0x100, false, 150);
    assert_int_equal(ended(0x100, false, 160), 150);
    assert_int_equal(ended(0x100, false, 120), 110);
}

/* A call that began first, and waited in MPI while another thread had the handle, has it after that
 * thread, who has not noticed yet. */
static void begun_before_and_returned_after(void **state)
{
    xfs_request_begun(0x100, false, &(struct xfs_request){50, 55, true});
    xfs_request_begun(0x100, false, &(struct xfs_request){10, 90, true});
    assert_int_equal(ended(0x100, false, 100), 10);
    assert_int_equal(ended(0x100, false, 60), 50);
    assert_int_equal(lost, 0);
}

static void whose_end_was_not_seen(void **state)
{
    for (uint64_t at = 1; at <= 100000; at++)
        begun(0x100, false, at);
    assert_int_equal(lost, 0);
    assert_int_equal(ended(0x100, false, 200000), 100000);
    begun(0x140, false, 7);
    assert_int_equal(ended(0x140, false, 200000), 7);
}

static void shared_ones(void **state)
{
    for (uint64_t at = 1; at <= 300; at++)
        begun(0x100, true, at);
    uint64_t sum = 0;
    for (int i = 0; i < 300; i++)
        sum += ended(0x100, true, 0);
    assert_int_equal(sum, 300 * 301 / 2);
    assert_int_equal(ended(0x100, true, 1000), 0);
    assert_int_equal(lost, 0);
}

static void too_many(void **state)
{
    for (uint64_t at = 1; at <= 10000; at++)
        begun(at * 0x40, false, at);
    assert_in_range(lost, 10000 - 4096, 10000 - 3000);
    uint64_t found = 0;
    for (uint64_t at = 1; at <= 10000; at++)
        found += ended(at * 0x40, false, 20000) == at;
    assert_int_equal(found, 10000 - lost);
}

/* ---- persistent ones ------------------------------------------------------------------------- */

static void persistent(void **state)
{
    struct xft_event event = {.bytes = 8}, found;
    xfs_request_keep(0x100, &event);
    event.bytes = 9;
    xfs_request_keep(0x140, &event);
    assert_true(xfs_request_kept(0x100, &found));
    assert_int_equal(found.bytes, 8);
    xfs_request_forget(0x100);
    assert_false(xfs_request_kept(0x100, &found));
    assert_true(xfs_request_kept(0x140, &found));
    assert_int_equal(found.bytes, 9);
    for (xfs_word r = 1; r <= 2 * XFS_REQUESTS_KEPT; r++)
        xfs_request_keep(r * 0x40, &event);
    assert_in_range(lost, XFS_REQUESTS_KEPT, 2 * XFS_REQUESTS_KEPT - 100);
}

/* ---- those of a call ------------------------------------------------------------------------- */

static const struct xfs_mpi ints = {.no_request = 0x2c000000};

static void more_than_are_read(void **state)
{
    static uint32_t handles[XFS_REQUESTS_MOST + 10];
    struct xfs_message m = {.mpi = &ints};
    for (unsigned i = 0; i < XFS_REQUESTS_MOST + 10; i++)
        handles[i] = 0x98000000 + i;
    xfs_requests_take(&m, XFS_REQUESTS_MOST + 10, handles);
    assert_int_equal(m.taken, XFS_REQUESTS_MOST);
    assert_int_equal(m.requests[XFS_REQUESTS_MOST - 1], 0x98000000 + XFS_REQUESTS_MOST - 1);
    assert_int_equal(lost, 10);
    xfs_requests_give_back(&m);
}

static void more_calls_than_rooms(void **state)
{
    static uint32_t handles[100];
    struct xfs_message m[9];
    memset(m, 0, sizeof m);
    for (unsigned i = 0; i < 9; i++) {
        m[i].mpi = &ints;
        xfs_requests_take(&m[i], 100, handles);
    }
    assert_int_equal(m[7].taken, 100);
    assert_int_equal(m[8].taken, 0);
    assert_int_equal(lost, 100);
    xfs_requests_give_back(&m[3]);
    xfs_requests_take(&m[8], 100, handles);
    assert_int_equal(m[8].taken, 100);
}

/* Of a call that failed: those that it set to MPI_REQUEST_NULL. */
static void failed(void **state)
{
    uint32_t handles[] = {0x98000000, 0x98000001, 0x98000002};
    struct xfs_message m = {.mpi = &ints};
    m.event.count = XFT_MESSAGE_WAIT;
    m.event.start_ns = 1000;
    for (unsigned i = 0; i < 3; i++)
        begun(handles[i], false, 10 + i);
    xfs_requests_take(&m, 3, handles);
    handles[1] = (uint32_t)ints.no_request;
    xfs_requests_failed(&m);
    assert_int_equal(count, 1);
    assert_int_equal(written[0].kind, XFT_EVENT_MESSAGE_END);
    assert_int_equal(written[0].aux, 11);
    assert_int_equal(written[0].stream, 0x98000001);
    assert_int_equal(written[0].flags, XFT_FAILED);
    assert_int_equal(ended(0x98000000, false, 2000), 10);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_ends_once),
        TEST(at_home),
        TEST(another_threads),
        TEST(begun_before_and_returned_after),
        TEST(whose_end_was_not_seen),
        TEST(shared_ones),
        TEST(too_many),
        TEST(persistent),
        TEST(more_than_are_read),
        TEST(more_calls_than_rooms),
        TEST(failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
