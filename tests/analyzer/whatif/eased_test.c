/* Calls that another thread's call held up in the driver, where a change makes that shorter; what
 * calls take alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/whatif/schedule/callers.h"
#include "analyzer/whatif/schedule/eased.h"

#define ABOUT 0.05 /* times are kept in classes of this width */

enum {
    COPY_NS = 100000, /* of pageable memory */
    SUBMIT_NS = 3000, /* of a page-locked copy */
    ALONE_NS = 8000,  /* a launch */
    HELD_NS = 70000,
    GAP_NS = 5000
};

static struct xfw_callers under_way;

static struct xfw_eased *new_eased(const double *alone_ns)
{
    xfw_callers_free(&under_way);
    return xfw_eased_new(alone_ns);
}

/* As a walk and a player do. */
static void meet_op(struct xfw_eased *eased, const struct xfw_op *recorded, struct xfw_op *op,
                    double begins_ns, enum xfw_certainty certainty)
{
    struct xfw_op was = *recorded;
    xfw_callers_meet(&under_way, &was);
    xfw_eased_op(eased, &was, op, begins_ns, certainty);
}

static struct xfw_op op_of(int tid, double start, double ns, enum xfw_what what)
{
    struct xfw_op op = xfw_op_none();
    op.tid = tid;
    op.what = (uint8_t)what;
    op.kind = what == XFW_COPY ? XFT_EVENT_TRANSFER : XFT_EVENT_LAUNCH;
    op.start_ns = start;
    op.end_ns = start + ns;
    op.own_ns = ns;
    return op;
}

static struct xfw_op blocking_copy(int tid, double start)
{
    struct xfw_op op = op_of(tid, start, COPY_NS, XFW_COPY);
    op.awaits = XFW_AWAITS_ITSELF;
    op.own_ns = 0;
    op.latency_ns = COPY_NS / 4.0;
    op.duration_ns = COPY_NS / 2.0;
    op.wake_ns = COPY_NS / 4.0;
    return op;
}

static struct xfw_op as_locked(struct xfw_op op)
{
    op.awaits = XFW_AWAITS_NOTHING;
    op.own_ns = SUBMIT_NS;
    return op;
}

static double *alone(void)
{
    double *ns = calloc(XFW_KINDS, sizeof *ns);
    assert_non_null(ns);
    for (unsigned i = 0; i < XFW_KINDS; i++)
        ns[i] = INFINITY;
    ns[XFT_EVENT_LAUNCH] = ALONE_NS;
    return ns;
}

/* One thread copies, as the change has left it; another one launches while it does; and a third one
 * behind that. What their calls take then. */
static void play_at(bool changed, bool still_under_way, enum xfw_certainty certainty,
                    const double begins[2], double ns[2])
{
    double *alone_ns = alone();
    struct xfw_eased *eased = new_eased(alone_ns);
    const struct xfw_op copy = blocking_copy(1, 0);
    struct xfw_op left = changed ? as_locked(copy) : copy;
    meet_op(eased, &copy, &left, 0, certainty);
    double start = still_under_way ? COPY_NS / 2.0 : COPY_NS;
    const struct xfw_op launches[] = {op_of(2, start, HELD_NS, XFW_KERNEL),
                                      op_of(3, start + HELD_NS - 1000, HELD_NS, XFW_KERNEL)};
    for (unsigned i = 0; i < 2; i++) {
        struct xfw_op launch = launches[i];
        meet_op(eased, &launches[i], &launch, begins[i], certainty);
        ns[i] = launch.own_ns;
    }
    xfw_eased_free(eased);
    free(alone_ns);
}

/* Played as late as recorded. */
static void play(bool changed, bool still_under_way, enum xfw_certainty certainty, double ns[2])
{
    const double start = still_under_way ? COPY_NS / 2.0 : COPY_NS;
    play_at(changed, still_under_way, certainty, (double[]){start, start + HELD_NS - 1000}, ns);
}

/* As they are played now, the copy is over long before, and so is the launch. */
static void test_held_up_no_more(void **state)
{
    double ns[2];
    play(true, true, XFW_LIKELY, ns);
    assert_true(ns[0] == ALONE_NS && ns[1] == ALONE_NS);
    play(true, true, XFW_HIGH, ns);
    assert_true(ns[0] == ALONE_NS && ns[1] == ALONE_NS);
}

/* The driver lets in one after the other, in the order of the calls as they are played now: behind
 * the copy that only submits, and behind each other. */
static void test_one_at_a_time(void **state)
{
    double ns[2];
    play_at(true, true, XFW_LIKELY, (double[]){SUBMIT_NS - 500, SUBMIT_NS - 400}, ns);
    assert_true(ns[0] == ALONE_NS + 500);
    assert_true(ns[1] == 2 * ALONE_NS + 400);
    play_at(true, true, XFW_LIKELY, (double[]){1e6, 1e6 - ALONE_NS / 2.0}, ns); /* it is played
                                     later, and began before: it waits for what is in already */
    assert_true(ns[1] == ALONE_NS + ALONE_NS / 2.0 + ALONE_NS);
    play_at(true, true, XFW_LIKELY, (double[]){1e6, 1e6 - 2 * ALONE_NS}, ns); /* fits before it */
    assert_true(ns[1] == ALONE_NS);
}

static void test_as_it_was(void **state)
{
    double ns[2];
    play(true, true, XFW_LOW, ns);
    assert_true(ns[0] == HELD_NS && ns[1] == HELD_NS);
    play(false, true, XFW_LIKELY, ns); /* the copy is as it was */
    assert_true(ns[0] == HELD_NS && ns[1] == HELD_NS);
    play(true, false, XFW_LIKELY, ns); /* it was over: that had other reasons */
    assert_true(ns[0] == HELD_NS && ns[1] == HELD_NS);
}

/* A call that a change takes out of the default stream waits for no other thread's as such calls
 * do; and who waited for it waits less, too. */
static void test_out_of_default_stream(void **state)
{
    double *alone_ns = alone();
    for (unsigned moved = 0; moved < 2; moved++) {
        struct xfw_eased *eased = new_eased(alone_ns);
        const struct xfw_op other = op_of(1, 0, 10000, XFW_KERNEL);
        const struct xfw_op launch = op_of(2, 5000, HELD_NS, XFW_KERNEL);
        const struct xfw_op behind = op_of(1, 12000, HELD_NS, XFW_KERNEL);
        struct xfw_op first = other, played = launch, last = behind;
        played.was_legacy = moved;
        meet_op(eased, &other, &first, 0, XFW_LIKELY);
        meet_op(eased, &launch, &played, 20000, XFW_LIKELY);
        meet_op(eased, &behind, &last, 40000, XFW_LIKELY);
        assert_true(played.own_ns == (moved ? ALONE_NS : HELD_NS));
        assert_true(last.own_ns == (moved ? ALONE_NS : HELD_NS));
        xfw_eased_free(eased);
    }
    free(alone_ns);
}

/* No call takes longer than it took, and the first launch of a kernel loads it. */
static void test_never_longer(void **state)
{
    double *alone_ns = alone();
    struct xfw_eased *eased = new_eased(alone_ns);
    const struct xfw_op copy = blocking_copy(1, 0);
    struct xfw_op left = as_locked(copy);
    meet_op(eased, &copy, &left, 0, XFW_LIKELY);
    const struct xfw_op quick = op_of(2, 10, ALONE_NS / 2.0, XFW_KERNEL);
    struct xfw_op launch = quick;
    meet_op(eased, &quick, &launch, 10, XFW_LIKELY);
    assert_true(launch.own_ns == ALONE_NS / 2.0);
    struct xfw_op loads = op_of(2, COPY_NS / 2.0, 1e6, XFW_KERNEL);
    loads.name = 7;
    launch = loads;
    meet_op(eased, &loads, &launch, COPY_NS / 2.0, XFW_LIKELY);
    assert_true(launch.own_ns == 1e6);
    xfw_eased_free(eased);
    free(alone_ns);
}

/* What a call submits begins as much sooner as the driver lets it in. */
static void test_work_begins_sooner(void **state)
{
    double *alone_ns = alone();
    struct xfw_eased *eased = new_eased(alone_ns);
    const struct xfw_op copy = blocking_copy(1, 0);
    struct xfw_op left = as_locked(copy);
    (void)state;
    meet_op(eased, &copy, &left, 0, XFW_LIKELY);
    struct xfw_op launch = op_of(2, COPY_NS / 2.0, HELD_NS, XFW_KERNEL);
    launch.latency_ns = HELD_NS + 500;
    struct xfw_op played = launch;
    meet_op(eased, &launch, &played, COPY_NS / 2.0, XFW_LIKELY);
    assert_true(played.own_ns == ALONE_NS);
    assert_true(played.latency_ns == ALONE_NS + 500);
    xfw_eased_free(eased);
    free(alone_ns);
}

/* A copy that is waited for, behind another thread's: it begins as soon as those with nobody in the
 * driver do. The first of these says how soon that is; without one nothing is known. */
static double latency_behind(bool known, enum xfw_certainty certainty, const double *alone_ns)
{
    struct xfw_eased *eased = new_eased(alone_ns);
    const double later = 1e6;
    struct xfw_op quick = blocking_copy(2, 0);
    quick.latency_ns = 2000;
    struct xfw_op played = quick;
    if (known)
        meet_op(eased, &quick, &played, 0, certainty);
    struct xfw_op first = op_of(1, later, COPY_NS, XFW_CALL), gone;
    first.kind = XFT_EVENT_ALLOC;
    gone = first;
    gone.own_ns = 0;
    meet_op(eased, &first, &gone, later, certainty);
    struct xfw_op held = blocking_copy(2, later + 1000);
    held.latency_ns = COPY_NS;
    played = held;
    meet_op(eased, &held, &played, later + 1000, certainty);
    xfw_eased_free(eased);
    return played.latency_ns;
}

static void test_blocking_copies(void **state)
{
    double *alone_ns = alone();
    (void)state;
    assert_true(latency_behind(true, XFW_LIKELY, alone_ns) == 2000);
    assert_true(latency_behind(true, XFW_HIGH, alone_ns) == 2000);
    assert_true(latency_behind(true, XFW_LOW, alone_ns) == COPY_NS);
    assert_true(latency_behind(false, XFW_LIKELY, alone_ns) == COPY_NS);
    free(alone_ns);
}

/* A program may have begun any number of threads before: those that are in the driver count. */
static void test_after_many_threads(void **state)
{
    double *alone_ns = alone();
    struct xfw_eased *eased = new_eased(alone_ns);
    (void)state;
    for (int i = 0; i < 2 * XFW_CALLERS; i++) {
        const struct xfw_op launch = op_of(1000 + i, i, 0.5, XFW_KERNEL);
        struct xfw_op left = launch;
        meet_op(eased, &launch, &left, i, XFW_LIKELY);
    }
    const double begins = 1e6;
    const struct xfw_op copy = blocking_copy(1, begins);
    struct xfw_op copied = as_locked(copy);
    meet_op(eased, &copy, &copied, begins, XFW_LIKELY);
    const struct xfw_op launch = op_of(2, begins + COPY_NS / 2.0, HELD_NS, XFW_KERNEL);
    struct xfw_op launched = launch;
    meet_op(eased, &launch, &launched, launch.start_ns, XFW_LIKELY);
    assert_true(launched.own_ns == ALONE_NS);
    xfw_eased_free(eased);
    free(alone_ns);
}

/* More than have room are in the driver: further ones are not looked at. */
static void test_too_many_at_a_time(void **state)
{
    struct xfw_callers callers = {0};
    (void)state;
    for (int i = 0; i <= XFW_CALLERS; i++) {
        const struct xfw_call call = {.tid = 1 + i,
                                      .kind = XFT_EVENT_LAUNCH,
                                      .start_ns = i,
                                      .end_ns = 1e6 + i,
                                      .submits = true};
        xfw_callers_add(&callers, &call);
    }
    assert_non_null(xfw_callers_of(&callers, 1));
    assert_non_null(xfw_callers_of(&callers, XFW_CALLERS));
    assert_null(xfw_callers_of(&callers, XFW_CALLERS + 1));
    xfw_callers_free(&callers);
}

static void test_calls_alone(void **state)
{
    struct xfw_call_times *times = xfw_call_times_new();
    double now = 0;
    for (unsigned i = 0; i < 100; i++, now += 3.0 * HELD_NS) {
        bool crowded = i % 4 != 0;
        double ns = crowded ? HELD_NS : ALONE_NS;
        const struct xfw_call one = {.tid = 1,
                                     .kind = XFT_EVENT_LAUNCH,
                                     .start_ns = now,
                                     .end_ns = now + ns,
                                     .ns = ns,
                                     .submits = true};
        struct xfw_call other = one;
        other.tid = 2;
        other.start_ns += crowded ? 10 : HELD_NS;
        other.end_ns += crowded ? 10 : HELD_NS;
        assert_null(xfw_call_times_add(times, &one));
        assert_true(crowded == (xfw_call_times_add(times, &other) != NULL));
    }
    double *ns = xfw_call_times_end(times);
    assert_non_null(ns);
    assert_true(fabs(ns[XFT_EVENT_LAUNCH] - ALONE_NS) < ABOUT * ALONE_NS);
    assert_true(isinf(ns[XFT_EVENT_SET]));
    free(ns);
    xfw_call_times_free(times);
}

static void test_one_thread(void **state)
{
    struct xfw_call_times *times = xfw_call_times_new();
    const struct xfw_call call = {.tid = 1, .kind = XFT_EVENT_LAUNCH, .end_ns = 9, .submits = true};
    xfw_call_times_add(times, &call);
    assert_null(xfw_call_times_end(times));
    xfw_call_times_free(times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_up_no_more),    cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_as_it_was),          cmocka_unit_test(test_out_of_default_stream),
        cmocka_unit_test(test_work_begins_sooner), cmocka_unit_test(test_blocking_copies),
        cmocka_unit_test(test_never_longer),       cmocka_unit_test(test_calls_alone),
        cmocka_unit_test(test_one_thread),         cmocka_unit_test(test_after_many_threads),
        cmocka_unit_test(test_too_many_at_a_time),
    };
    return cmocka_run_group_tests_name("what-if: eased", tests, NULL, NULL);
}
