/* Threads that sleep between calls: when their processor time is read, and what is said of it. The
 * clocks and the kernel's counts are invented. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "preload/base/sandbox.h"
#include "preload/intercept/sleeps.h"
#include "preload/record/hot.h"
#include "preload/record/others.h"
#include "preload/record/periods.h"

enum { BEGIN = 1000000000, ROWS = 4096 };
static const uint64_t US = 1000;

/* ---- what stands in for the recorder and the kernel ------------------------------------------ */

atomic_bool xfs_sandbox_seen, xfs_periods_limited;
XFS_TLS struct xfs_lane *xfs_self;
XFS_TLS bool xfs_entered;

static struct xft_event rows[ROWS];
static struct xfs_lane lane, other;
static uint64_t now, worked, others, gave_up, all_gave_up, period_from, reading_ns;
static unsigned kernel_calls, process_calls, slow_calls;
static bool by_kernel;
static uint8_t early;         /* the calls are outside of periods */
static struct xft_event last; /* that was written */
static unsigned written;

uint64_t xfs_now_apart_ns(void)
{
    return now;
}

uint64_t xfs_monotonic_ns(void)
{
    return now;
}

uint64_t xfs_thread_ns(void)
{
    errno = 5;
    kernel_calls++;
    now += reading_ns;
    return worked;
}

bool xfs_thread_is_timed_by_kernel(void)
{
    return by_kernel;
}

uint64_t xfs_process_ns(void)
{
    process_calls++;
    if (slow_calls > 0) {
        slow_calls--;
        now += 3 * US;
    }
    return worked + others;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    memset(usage, 0, sizeof *usage);
    usage->ru_nvcsw = (long)(who == RUSAGE_SELF ? all_gave_up : gave_up);
    return 0;
}

/* Looked at behind each reading, and as a call begins before it does. */
static unsigned looks, looks_as_begins;
void xfs_others_look(uint64_t at, bool begins)
{
    errno = 7;
    assert_in_range(at, BEGIN, now);
    looks++;
    looks_as_begins += begins;
}

bool xfs_periods_last_has(uint64_t ns)
{
    return ns >= period_from;
}

void xfs_cost_make_room(uint64_t from_ns)
{
    assert_in_range(from_ns, BEGIN, now);
}

/* A row of the lane, as the recorder has it. */
void xfs_event_write(const struct xft_event *event)
{
    errno = 6;
    last = *event;
    written++;
    if (lane.next < ROWS)
        rows[lane.next++] = *event;
}

/* ---- a thread -------------------------------------------------------------------------------- */

static void start(void)
{
    lane = (struct xfs_lane){.rows = rows, .room = ROWS, .next_seq = 500};
    other = lane;
    xfs_self = &lane;
    xfs_sleeps_after_fork();
    atomic_store(&xfs_sandbox_seen, false);
    atomic_store(&xfs_periods_limited, false);
    xfs_entered = false;
    now = BEGIN, worked = 3 * US, others = 100 * US, gave_up = 7, all_gave_up = 900;
    kernel_calls = process_calls = slow_calls = written = 0;
    period_from = early = reading_ns = 0;
    by_kernel = true;
}

static void work(uint64_t us)
{
    now += us * US;
    worked += us * US;
}

static void sleep_while(uint64_t us, uint64_t others_work_us)
{
    now += us * US;
    others += others_work_us * US;
    gave_up += by_kernel;
}

/* Another one has the processor. */
static void lose_processor(uint64_t us)
{
    now += us * US;
    others += us * US;
}

/* The two edges of a call, as hook.c has them. */
static void begin_call(void)
{
    errno = 77;
    uint64_t begins = xfs_sleeps_due(now) ? xfs_sleeps_until_call(now, early) : now;
    assert_int_equal(begins, now);
    assert_int_equal(errno, 77);
}

static void end_call(uint64_t start_ns, enum xft_event_kind kind)
{
    errno = 77;
    if (xfs_sleeps_due(now))
        xfs_sleeps_until_return(now, early);
    assert_int_equal(errno, 77);
    rows[lane.next++] =
        (struct xft_event){.kind = (uint8_t)kind, .start_ns = start_ns, .end_ns = now};
}

static void call(uint64_t us)
{
    begin_call();
    uint64_t start_ns = now;
    work(us);
    end_call(start_ns, XFT_EVENT_TRANSFER);
}

/* A step, in which the thread waits for room in a queue. */
static void step_that_waits(uint64_t us)
{
    uint64_t start_ns = now;
    sleep_while(us, 0);
    rows[lane.next++] =
        (struct xft_event){.kind = XFT_EVENT_LAUNCH, .start_ns = start_ns, .end_ns = now};
}

static void check_last(enum xft_processor until, uint64_t us, uint64_t own_us, uint64_t width)
{
    assert_int_equal(last.kind, XFT_EVENT_PROCESSOR);
    assert_int_equal(last.src, until);
    assert_int_equal(last.end_ns - last.start_ns, us * US);
    assert_int_equal(last.aux, own_us * US);
    assert_int_equal(last.width, width);
    assert_int_equal(last.device, XFT_PLACE_UNKNOWN);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* The first sleep is said; what others do from then on. */
static void test_sleep(void **state)
{
    (void)state;
    start();
    call(10);
    sleep_while(300, 300);
    call(10);
    assert_int_equal(written, 1);
    check_last(XFT_PROCESSOR_UNTIL_CALL, 310, 10, 0);
    assert_int_equal(last.start_ns, BEGIN);
    assert_int_equal(process_calls, 1);
    sleep_while(200, 150);
    call(400);
    assert_int_equal(written, 3);
    check_last(XFT_PROCESSOR_UNTIL_RETURN, 400, 400, 1);
    assert_int_equal(rows[lane.next - 3].src, XFT_PROCESSOR_UNTIL_CALL); /* before the call's own */
    assert_int_equal(rows[lane.next - 3].aux, 10 * US);
    assert_int_equal(rows[lane.next - 3].width, 150 * US + 1);
    work(60); /* awake, and said so all the same */
    call(1);
    check_last(XFT_PROCESSOR_UNTIL_CALL, 60, 60, 1);
    assert_int_equal(written, 4);
}

/* Threads that work, or lose their processor to others, have none. */
static void test_busy(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 100; i++) {
        call(100);
        work(100);
        lose_processor(5000);
    }
    assert_int_equal(written, 0);
    assert_int_equal(process_calls, 0);
}

/* Less than XFS_SLEEPS_OFTEN_NS behind the last reading there is none, and no event for less than
 * XFS_SLEEPS_LEAST_NS of sleep. */
static void test_short(void **state)
{
    (void)state;
    start();
    call(10);
    sleep_while(39, 0);
    call(1);
    assert_int_equal(kernel_calls, 2); /* the first call, and as it returned: at 50 us */
    sleep_while(19, 0);
    work(31);
    call(1);
    assert_int_equal(kernel_calls, 3);
    assert_int_equal(written, 0);
    work(30);
    sleep_while(21, 0); /* the call before may have slept as well */
    call(1);
    assert_int_equal(written, 1);
}

/* Sleep in calls is none between them: in short ones since the last reading, steps, polled waits.
 */
static void test_sleep_in_calls(void **state)
{
    (void)state;
    start();
    call(1);
    step_that_waits(300);
    call(1);
    assert_int_equal(kernel_calls, 2);
    assert_int_equal(written, 0);
    sleep_while(400, 0); /* between queries */
    work(1);
    rows[lane.next++] = (struct xft_event){.kind = XFT_EVENT_QUERY,
                                           .count = 5,
                                           .width = 399 * US,
                                           .start_ns = now - 1 * US,
                                           .end_ns = now};
    call(1);
    assert_int_equal(written, 0);
    step_that_waits(300);
    sleep_while(100, 0);
    step_that_waits(200);
    call(1);
    assert_int_equal(written, 1);
    check_last(XFT_PROCESSOR_UNTIL_CALL, 601, 1, 0);
}

/* What the lane's events do not say any more is taken to have been in calls. */
static void test_lane_goes_on(void **state)
{
    (void)state;
    start();
    call(1);
    sleep_while(300, 0);
    for (int i = 0; i < XFS_SLEEPS_ROWS; i++)
        step_that_waits(1);
    call(1);
    assert_int_equal(written, 0);
    sleep_while(300, 0);
    for (int i = 0; i < XFS_SLEEPS_ROWS - 1; i++)
        step_that_waits(1);
    call(1);
    assert_int_equal(written, 1);
    start();
    call(1);
    sleep_while(300, 0);
    lane.next_seq += lane.next; /* a new slab, which has nothing yet */
    lane.next = 0;
    call(1);
    assert_int_equal(written, 0);
    lane.next_seq += lane.next;
    lane.next = 0;
    sleep_while(300, 0);
    step_that_waits(5);
    call(1);
    assert_int_equal(written, 0); /* the call before is in the other one */
    lane.next_seq += lane.next;
    lane.next = 0;
    step_that_waits(5);
    sleep_while(300, 0);
    call(1);
    assert_int_equal(written, 1);
}

/* After a while without sleep it is looked for more seldom, until there is some. */
static void test_seldom(void **state)
{
    (void)state;
    start();
    for (unsigned i = 0; i < 1000; i++) {
        work(50);
        call(1);
    }
    unsigned often = XFS_SLEEPS_MANY + 1, seldom = (1000 - often) * 51 / 1020;
    assert_in_range(kernel_calls, often + seldom - 2, often + seldom + 2);
    work(1000);
    call(1);
    work(600);
    sleep_while(300, 0);
    call(1);
    assert_int_equal(written, 0);
    work(200);
    call(1);
    assert_int_equal(written, 1);
    unsigned before = kernel_calls;
    sleep_while(100, 0);
    call(1);
    assert_int_equal(kernel_calls, before + 1);
    assert_int_equal(written, 2);
}

/* The process's time is asked for no more where that takes long, unless it was an interruption. */
static void test_dear(void **state)
{
    (void)state;
    start();
    call(1);
    sleep_while(100, 0);
    slow_calls = 1;
    call(1);
    assert_int_equal(process_calls, 2);
    sleep_while(500, 60);
    slow_calls = 2;
    begin_call();
    assert_int_equal(process_calls, 4);
    check_last(XFT_PROCESSOR_UNTIL_CALL, 501 + 3, 1, 0);
    sleep_while(500, 60);
    call(1);
    assert_int_equal(process_calls, 4);
    assert_int_equal(last.width, 0);
    xfs_sleeps_after_fork();
    call(1);
    sleep_while(500, 60);
    call(1);
    assert_int_equal(process_calls, 5);
}

/* What others work may be due behind any reading, where the thread may be looked at. */
static void test_others(void **state)
{
    (void)state;
    start();
    looks = looks_as_begins = 0;
    call(1);
    assert_int_equal(looks, 1);
    assert_int_equal(looks_as_begins, 1);
    call(60);
    assert_int_equal(looks, 2);
    assert_int_equal(looks_as_begins, 1);
    lane.busy = true;
    work(60);
    begin_call();
    lane.busy = false;
    early = 1;
    begin_call();
    assert_int_equal(looks, 2);
}

/* Slow ones are rarer; one that seems to take longest was interrupted. */
static void test_dear_readings(void **state)
{
    (void)state;
    start();
    reading_ns = 3 * US;
    call(1);
    assert_int_equal(xfs_sleeps.least_ns, XFS_SLEEPS_PART * 3 * US);
    work(XFS_SLEEPS_PART * 3 - 10);
    call(1);
    assert_int_equal(kernel_calls, 1);
    work(10);
    reading_ns = 500 * US;
    call(1);
    assert_int_equal(kernel_calls, 2);
    assert_int_equal(xfs_sleeps.least_ns, XFS_SLEEPS_SELDOM_NS);
    reading_ns = 0;
    work(1000);
    call(1);
    assert_int_equal(xfs_sleeps.least_ns, XFS_SLEEPS_OFTEN_NS);
    start();
    by_kernel = false; /* the simulated GPU's clock has nothing to do with what it takes */
    reading_ns = 3 * US;
    call(1);
    assert_int_equal(xfs_sleeps.least_ns, XFS_SLEEPS_OFTEN_NS);
}

/* Nothing is known where the lane is another one, the clock goes back, or the thread's time does:
 * it was exchanged, or this is a forked child. Nor after xfs_sleeps_forget(). */
static void test_begins_anew(void **state)
{
    (void)state;
    for (int how = 0; how < 5; how++) {
        start();
        call(1);
        sleep_while(300, 0);
        if (how == 0)
            xfs_self = &other;
        else if (how == 1)
            now -= 301 * US;
        else if (how == 2)
            worked = 1;
        else if (how == 3)
            xfs_sleeps_forget();
        call(1);
        assert_int_equal(written, how == 4);
        now += (uint64_t)(how == 1) * 400 * US;
        sleep_while(300, 0);
        call(1);
        assert_int_equal(written, 1 + (how == 4));
    }
}

/* Kernels that do not count, and clocks that need not. */
static void test_who_counts(void **state)
{
    (void)state;
    start();
    gave_up = all_gave_up = 0;
    call(1);
    lose_processor(300);
    call(1);
    assert_int_equal(written, 1);
    start();
    gave_up = 0;
    call(1);
    lose_processor(300);
    call(1);
    assert_int_equal(written, 0);
    start();
    by_kernel = false;
    call(1);
    sleep_while(300, 0);
    call(1);
    assert_int_equal(written, 1);
}

/* In a sandbox nothing is asked, nor where there is no answer; there is no reading without an end
 * at each edge either. */
static void test_may_not(void **state)
{
    (void)state;
    start();
    atomic_store(&xfs_sandbox_seen, true);
    call(1);
    sleep_while(3000, 0);
    call(1);
    assert_int_equal(kernel_calls, 0);
    assert_int_equal(xfs_sleeps.least_ns, XFS_SLEEPS_SELDOM_NS);
    start();
    worked = 0;
    for (int i = 0; i < 10; i++) {
        begin_call();
        sleep_while(200, 0);
        begin_call();
    }
    assert_int_equal(written, 0);
    assert_int_equal(kernel_calls, 3); /* at once, after 1 ms and 2 ms */
}

/* Not on top of the recorder's own work: it goes on as if the call had not been. */
static void test_on_top(void **state)
{
    (void)state;
    start();
    call(1);
    sleep_while(300, 0);
    lane.busy = true;
    begin_call();
    lane.busy = false;
    xfs_entered = true;
    begin_call();
    xfs_entered = false;
    xfs_self = NULL;
    begin_call();
    xfs_self = &lane;
    assert_int_equal(kernel_calls, 1);
    begin_call();
    assert_int_equal(written, 1);
}

/* An interval that began before the period did has no event. */
static void test_periods(void **state)
{
    (void)state;
    start();
    atomic_store(&xfs_periods_limited, true);
    call(1);
    sleep_while(100, 0);
    period_from = now;
    sleep_while(100, 0);
    call(1);
    assert_int_equal(written, 0);
    sleep_while(100, 0);
    call(1);
    assert_int_equal(written, 1);
    early = 2;
    sleep_while(100, 0);
    call(100);
    assert_int_equal(written, 1);
    assert_int_equal(kernel_calls, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleep),        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_short),        cmocka_unit_test(test_sleep_in_calls),
        cmocka_unit_test(test_lane_goes_on), cmocka_unit_test(test_seldom),
        cmocka_unit_test(test_dear),         cmocka_unit_test(test_dear_readings),
        cmocka_unit_test(test_others),       cmocka_unit_test(test_begins_anew),
        cmocka_unit_test(test_who_counts),   cmocka_unit_test(test_may_not),
        cmocka_unit_test(test_on_top),       cmocka_unit_test(test_periods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
