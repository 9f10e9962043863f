/* Threads that never sleep, and would wait for others of the program if their copies took less; and
 * the pace of any thread where calls are left out of what is played. */
#include "tests/analyzer/lab/paced.h"

#include "analyzer/whatif/op/sample.h"
#include "analyzer/whatif/schedule/schedule.h"

/* ---- would they wait? ------------------------------------------------------------------------ */

/* Between copies it works for own_ns, and others for busy_ns of each such step, from its beginning
 * on. */
struct load {
    uint64_t own_ns, copy_ns, busy_ns;
    bool caller; /* another thread calls, too, in the first steps */
    const char *module;
};
enum { WINDOW_NS = 5 * MS };

static double busy_until(const struct load *load, uint64_t first, uint64_t step_ns, uint64_t now)
{
    uint64_t steps = (now - first) / step_ns, in_step = (now - first) % step_ns;
    return (double)(steps * load->busy_ns + (in_step < load->busy_ns ? in_step : load->busy_ns));
}

/* While the thread copies. */
static void other_calls(struct play *play, const struct load *load)
{
    uint64_t now = play->now;
    play->lane = LANE_OTHER;
    play->now -= load->copy_ns / 2;
    for (unsigned i = 0; i < 6; i++)
        play_event(play, (struct xft_event){.kind = XFT_EVENT_LAUNCH}, 2 * US);
    play->lane = LANE_MAIN;
    play->now = now;
}

static struct xfw_saving saved_under(const struct load *load)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    if (load->module)
        build_module(&b, 0x700000, 0x710000, load->module);
    play_awaited(&play, STACK_UPLOAD, STACK_RESULTS, XFT_DIR_H2D, 1 << 20, load->copy_ns, WAKE_NS);
    uint64_t first = play.now, from = first, step_ns = 0;
    for (unsigned step = 0; step < 4 * STEPS; step++) {
        play.now += load->own_ns;
        play_awaited(&play, STACK_UPLOAD, STACK_RESULTS, XFT_DIR_H2D, 1 << 20, load->copy_ns,
                     WAKE_NS);
        if (load->caller && step < STEPS)
            other_calls(&play, load);
        step_ns = step_ns ? step_ns : play.now - first;
        while (play.now - from >= WINDOW_NS) {
            uint64_t now = play.now, until = from + WINDOW_NS < now ? from + WINDOW_NS : now;
            play.now = until;
            window_since(&play, from,
                         busy_until(load, first, step_ns, until) -
                             busy_until(load, first, step_ns, from));
            play.now = now;
            from = until;
        }
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, NULL);
    struct xfw_saving saving = saved_of(&a, 0);
    const double copies = 4.0 * STEPS * (double)load->copy_ns / COPY_NS;
    forget(&b, &a);
    return (struct xfw_saving){saving.low / copies, saving.likely / copies, saving.high / copies};
}

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) < 0.04;
}

/* Who would wait for others that have something to do nearly all of the time can save what they
 * rest. At best it does not wait for them. */
static void test_would_wait(void **state)
{
    struct load load = {.own_ns = MS, .copy_ns = COPY_NS, .busy_ns = 2400 * US};
    (void)state;
    struct xfw_saving saving = saved_under(&load);
    assert_true(is_near(saving.likely, 0.3) && saving.low < 0.3);
    assert_true(saving.high > 0.98);
    load.module = "/usr/lib/libgomp.so.1";
    saving = saved_under(&load);
    assert_true(saving.likely > 0.98 && saving.low < 0.3);
}

/* A team that works with the thread in its own time, and waits asleep, or awake for some time. */
static void test_fork_and_join(void **state)
{
    (void)state;
    struct load load = {.own_ns = MS, .copy_ns = COPY_NS, .busy_ns = MS};
    struct xfw_saving saving = saved_under(&load);
    assert_true(saving.low > 0.75 && saving.likely > 0.98);
    load.busy_ns = 10 * MS; /* it waits awake, until there is more */
    saving = saved_under(&load);
    assert_true(saving.low < 0.05 && saving.likely > 0.98);
    load = (struct load){.own_ns = 5 * MS, .copy_ns = 25 * MS, .busy_ns = 20 * MS};
    saving = saved_under(&load);
    assert_true(saving.low < 0.5 && saving.likely > 0.8);
}

/* Of several threads that call it is not known which of them others work for. */
static void test_several_call(void **state)
{
    const struct load load = {
        .own_ns = MS, .copy_ns = COPY_NS, .busy_ns = 2400 * US, .caller = true};
    (void)state;
    struct xfw_saving saving = saved_under(&load);
    assert_true(saving.likely > 0.7 && saving.low < 0.35);
}

/* ---- behind a cut ---------------------------------------------------------------------------- */

/* Behind a cut the pace is another: what was left out is not waited for. */
static void test_behind_cut(void **state)
{
    struct xfw_cuts cuts = {0};
    struct xfw_stretch counted = {.part = XFW_COUNTED, .ops = 2};
    struct xfw_stretch left = {.part = XFW_LEFT, .begins_ns = 200};
    struct xfw_op ops[2] = {xfw_op_none(), xfw_op_none()};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        ops[i].start_ns = 100 * i + 90;
        ops[i].end_ns = 100 * i + 100;
    }
    xfw_cuts_take(&cuts, &counted, ops, 2);
    assert_false(ops[0].anew || ops[1].anew);
    xfw_cuts_take(&cuts, &left, NULL, 0);
    counted.begins_ns = 1000;
    for (unsigned i = 0; i < 2; i++) {
        ops[i].start_ns += 1000;
        ops[i].end_ns += 1000;
    }
    xfw_cuts_take(&cuts, &counted, ops, 2);
    assert_true(ops[0].anew && !ops[1].anew);
    xfw_cuts_take(&cuts, &counted, ops, 2);
    assert_false(ops[0].anew || ops[1].anew);
    xfw_cuts_free(&cuts);
}

/* The same as it is played: it is late by what it was behind the cut, in calls with and without
 * sleep. */
static void test_played_behind_cut(void **state)
{
    (void)state;
    for (unsigned paced = 0; paced < 2; paced++) {
        struct xfw_schedule *schedule = xfw_schedule_new();
        struct xfw_op op = xfw_op_none();
        const double starts[] = {100, 200, 1000, 1100}, begin[] = {100, 200, 210, 310};
        op.what = XFW_CALL;
        op.gap_ns = 10;
        op.held = 7;
        op.certain_parts = XFW_OF_ALL;
        op.paced = paced ? XFW_PACED_AT_BEST : XFW_PACED_NOT;
        op.slept_parts = XFW_OF_ALL;
        for (unsigned i = 0; i < 4; i++) {
            op.start_ns = op.end_ns = op.made_ns = starts[i];
            op.gap_ns = i == 0 ? 100 : 10;
            op.anew = i == 2;
            xfw_schedule_op(schedule, &op);
            assert_true(fabs(xfw_schedule_last(schedule)->call - begin[i]) < 0.1);
        }
        xfw_schedule_free(schedule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_would_wait),        cmocka_unit_test(test_fork_and_join),
        cmocka_unit_test(test_several_call),      cmocka_unit_test(test_behind_cut),
        cmocka_unit_test(test_played_behind_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
