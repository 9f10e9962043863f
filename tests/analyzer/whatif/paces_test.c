/* Whose pace a thread keeps that sleeps between its calls: what faster copies save of a run in
 * which it waits for what others of the program have next, for nobody, or for work that it asked
 * for. */
#include "tests/analyzer/lab/paced.h"

#include <string.h>

#include "analyzer/report/json/json.h"
#include "analyzer/report/savings.h"

enum { SLEEP_NS = 3 * MS, READING_NS = 8 * US };

/* What the others of the process do: processors. Below 0: not known. */
struct others {
    double asleep, awake;
    double at_rest;     /* the same while the thread does not sleep for REST steps */
    bool rests;         /* there are such, in the middle */
    bool launch;        /* between the beginning of the sleep and its end the thread launches */
    bool caller;        /* another thread makes calls */
    bool caller_sleeps; /* which sleeps as well, all of the time but a little */
    double own;         /* processor time of the thread in a reading with sleep; 0: LEAST_OWN */
    double at_work;     /* before each sleep it works for WORK_NS, and the others so much */
    double more_own;    /* in every other reading with sleep it has so much more */
    bool asked;         /* the others work while it sleeps alone */
    bool short_calls;   /* there are no readings of its calls */
    const char *module; /* is loaded */
    bool long_readings; /* each begins where the one before ended, in front of a call */
    bool windows;       /* what they do is read while others call, too */
    bool holes;         /* but not in every other OF_HOLE steps */
    bool read_twice;    /* within each call, before the call itself is written */
};
enum { REST = 40, WORK_NS = 1 * MS, OF_HOLE = 8 };
#define LEAST_OWN 0.05

/* A reading of the thread, from `from` to the clock. */
static void read_at(struct play *play, enum xft_processor until, uint64_t from, double own,
                    double others)
{
    double ns = (double)(play->now - from);
    play_event(play,
               (struct xft_event){.kind = XFT_EVENT_PROCESSOR,
                                  .src = until,
                                  .aux = (uint64_t)(own * ns),
                                  .width = others < 0 ? 0 : (uint64_t)(others * ns) + 1},
               0)
        ->start_ns = from;
}

/* Another thread launches while this one sleeps, at any time. */
static void call_meanwhile(struct play *play, const struct others *others, uint64_t from)
{
    uint64_t now = play->now;
    play->lane = LANE_OTHER;
    play->now = from + 10 * US + from * UINT64_C(2654435761) % (SLEEP_NS - 50 * US);
    if (others->caller_sleeps)
        read_at(play, XFT_PROCESSOR_UNTIL_RETURN, from, 0.1, others->asleep);
    play_event(play, (struct xft_event){.kind = XFT_EVENT_LAUNCH}, 2 * US);
    play->lane = LANE_MAIN;
    play->now = now;
}

/* The same from where the one before ended; own_ns: of it since the last call. */
static void read_long(struct play *play, double own_ns, double others)
{
    static uint64_t ended;
    uint64_t from = ended > 0 && ended < play->now ? ended : play->now - SLEEP_NS;
    double ns = (double)(play->now - from);
    read_at(play, XFT_PROCESSOR_UNTIL_CALL, from, (ns - SLEEP_NS + own_ns) / ns, others);
    ended = play->now;
    play->now += WAKE_NS; /* a reading takes its time */
}

static void sleep_on(struct play *play, const struct others *others, unsigned step)
{
    uint64_t from = play->now;
    double own = (others->own > 0 ? others->own : LEAST_OWN) + others->more_own * (step % 2);
    if (others->at_work > 0) {
        play->now += WORK_NS;
        read_at(play, XFT_PROCESSOR_UNTIL_CALL, from, 1, others->at_work);
        from = play->now;
    }
    if (others->launch) {
        play->now += 20 * US;
        play_event(play, (struct xft_event){.kind = XFT_EVENT_LAUNCH}, 2 * US);
    }
    play->now = from + SLEEP_NS;
    if (others->long_readings) {
        read_long(play, own * SLEEP_NS, others->asleep);
        return;
    }
    read_at(play, XFT_PROCESSOR_UNTIL_CALL, from, own, others->asked ? 1 - own : others->asleep);
    if (others->caller)
        call_meanwhile(play, others, from);
}

static void read_within(struct play *play, double others)
{
    uint64_t now = play->now;
    for (int i = 0; i < 2; i++) {
        play->now += 2 * US;
        read_at(play, XFT_PROCESSOR_UNTIL_RETURN, play->now - 2 * US, 1, others);
    }
    play->now = now;
}

static void copy_awake(struct play *play, const struct others *others, double at_work)
{
    uint64_t from = play->now;
    play->now += READING_NS;
    if (others->read_twice)
        read_within(play, at_work);
    play_awaited(play, STACK_UPLOAD, STACK_RESULTS, XFT_DIR_H2D, 1 << 20, COPY_NS, WAKE_NS);
    if (!others->short_calls)
        read_at(play, XFT_PROCESSOR_UNTIL_RETURN, from, 1, at_work);
}

/* A thread copies what others make, and sleeps until there is more. */
static void consume(struct trace_builder *b, const struct others *others)
{
    struct play play;
    play_start(&play, b, 1);
    if (others->module)
        build_module(b, 0x700000, 0x710000, others->module);
    copy_awake(&play, others, others->awake);
    for (unsigned step = 0; step < STEPS; step++) {
        for (unsigned i = 0; i < REST && others->rests && step == STEPS / 2; i++) {
            uint64_t from = play.now;
            copy_awake(&play, others, others->at_rest);
            if (others->windows)
                window_since(&play, from, others->at_rest * (double)(play.now - from));
        }
        uint64_t from = play.now;
        sleep_on(&play, others, step);
        copy_awake(&play, others, others->awake);
        if (others->windows && !(others->holes && step / OF_HOLE % 2))
            window_since(&play, from, others->awake * (double)(play.now - from));
    }
    play_end(&play, XFT_STATE_CLOSED);
}

static struct analyzed consumed(struct trace_builder *b, const struct others *others)
{
    consume(b, others);
    return analyzed_trace(b, NULL);
}

static struct xfw_saving saved(const struct others *others)
{
    struct trace_builder b;
    struct analyzed a = consumed(&b, others);
    struct xfw_saving saving = saved_of(&a, 0);
    forget(&b, &a);
    return saving;
}

/* Without what bounds are widened by. */
static bool is_about(double value, double wanted)
{
    return fabs(value - wanted) < 1.5;
}

/* Somebody makes what the thread waits for, whatever it does: only before the first and behind the
 * last sleep does it matter how long a copy takes. */
static void test_keeps_pace(void **state)
{
    (void)state;
    struct xfw_saving saving = saved(&(struct others){.asleep = 1, .awake = 0.9});
    assert_true(is_about(saving.likely, 2));
    assert_true(saving.high < 5);
    saving = saved(&(struct others){.asleep = 1, .awake = 0.9, .launch = true});
    assert_true(is_about(saving.likely, 2));
    saving = saved(&(struct others){.asleep = 1, .awake = 0.9, .read_twice = true});
    assert_true(is_about(saving.likely, 2));
}

/* Of others that are in no sample for a while, readings show that they worked, or rested. */
static void test_holes(void **state)
{
    struct others others = {.asleep = 1, .awake = 1, .windows = true, .holes = true};
    (void)state;
    assert_true(is_about(saved(&others).likely, 2));
    others = (struct others){.asleep = 0.8, .awake = 0.01, .windows = true, .holes = true};
    assert_true(saved(&others).likely > 0.9 * STEPS);
}

/* What is slower takes as much of the sleep. */
static void test_sleeps_less(void **state)
{
    (void)state;
    struct trace_builder b;
    struct analyzed a = consumed(&b, &(struct others){.asleep = 1, .awake = 0.9});
    assert_true(is_about(saved_of(&a, 2).likely, -2));
    /* More than there is of it. */
    assert_true(saved_of(&a, 4).likely < -STEPS);
    /* Who was late once finds what the others made meanwhile. */
    struct faster once = {.part = 5, .only = STEPS / 3};
    assert_true(is_about(saved_by(&a, once).likely, 0));
    /* Work in front of each call takes the sleep, and no more. */
    const double work = 2 * SLEEP_NS, awake = 0.05 * SLEEP_NS;
    struct faster busy = {.part = 1, .work_ns = work};
    double later = STEPS * (work + awake - SLEEP_NS) + work;
    assert_true(is_about(saved_by(&a, busy).likely, -later / COPY_NS));
    forget(&b, &a);
}

/* Threads of OpenMP may only spin: nothing is likely then. */
static void test_openmp(void **state)
{
    (void)state;
    const char *paths[] = {"/usr/lib/libgomp.so.1", "/wheel/libgomp-24e2ab19.so.1",
                           "/opt/libomp.so"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct xfw_saving saving =
            saved(&(struct others){.asleep = 8, .awake = 8, .module = paths[i]});
        assert_true(is_about(saving.likely, STEPS + 1));
        assert_true(saving.low < 3);
    }
    struct others other = {.asleep = 1, .awake = 0.9, .module = "/usr/lib/libgomplike.so"};
    assert_true(is_about(saved(&other).likely, 2));
}

/* The reading behind a sleep comes before the call that ends it. */
static void test_long_readings(void **state)
{
    (void)state;
    struct trace_builder b;
    const struct others others = {
        .asleep = 1, .awake = 1, .short_calls = true, .long_readings = true};
    struct analyzed a = consumed(&b, &others);
    const struct xfa_process *process = a.analysis->run->processes[0];
    assert_int_equal(process->paced_count, 1);
    double slept = STEPS * (1 - LEAST_OWN) * SLEEP_NS;
    assert_true(fabs(process->paced[0].slept_ns - slept) < 0.02 * slept);
    forget(&b, &a);
}

/* Sleep that nobody cuts short, or work that was asked for, takes as long. */
static void test_own_time(void **state)
{
    const struct others all[] = {
        {.asleep = 0, .awake = 0},
        {.asleep = 1, .awake = 0},
        {.asleep = 1, .awake = 0.3},
        {.asleep = 1, .awake = 1, .caller = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct trace_builder b;
        struct analyzed a = consumed(&b, &all[i]);
        assert_int_equal(a.analysis->run->processes[0]->paced_count, 0);
        if (!all[i].caller) /* that thread takes as long as it did */
            assert_true(is_about(saved_of(&a, 0).likely, STEPS + 1));
        forget(&b, &a);
    }
}

/* The other thread that makes calls sleeps, too: somebody else is at work. */
static void test_caller_sleeps(void **state)
{
    const struct others others = {.asleep = 1, .awake = 0.9, .caller = true, .caller_sleeps = true};
    (void)state;
    assert_true(is_about(saved(&others).likely, 2));
}

/* What it asked for may be worked on while it works itself, but not in its calls. */
static void test_asks_for_work(void **state)
{
    (void)state;
    struct xfw_saving saving = saved(&(struct others){.asleep = 1, .awake = 0, .at_work = 1});
    assert_true(is_about(saving.likely, STEPS + 1));
    assert_true(saving.low > 0.6 * STEPS);
}

/* Of little sleep beside its own work: the others' part of that tells. */
static void test_sleeps_little(void **state)
{
    (void)state;
    const struct others goes_on = {.asleep = 1, .awake = 1, .own = 0.8};
    assert_true(saved(&goes_on).likely < 0.4 * STEPS);
    const struct others rests = {.asleep = 0.8, .awake = 1, .own = 0.8};
    assert_true(is_about(saved(&rests).likely, STEPS + 1));
}

/* Without readings of its calls: what others do is known where its own part of readings differs. */
static void test_short_calls(void **state)
{
    (void)state;
    struct others others = {.asleep = 1, .own = 0.3, .more_own = 0.3, .short_calls = true};
    assert_true(saved(&others).likely < 0.4 * STEPS);
    others.asked = true;
    assert_true(saved(&others).low > 0.6 * STEPS);
    others = (struct others){.asleep = 1, .own = 0.3, .short_calls = true};
    struct xfw_saving saving = saved(&others);
    assert_true(is_about(saving.likely, STEPS + 1));
    assert_true(saving.low < 0.6 * STEPS);
    others.asleep = 0.1; /* nobody is at work */
    assert_true(saved(&others).low > 0.6 * STEPS);
}

/* Where it is the same, what the busiest works for longer than the thread sleeps says so. */
static void test_short_calls_in_windows(void **state)
{
    struct others others = {
        .asleep = 1, .awake = 1, .own = 0.3, .short_calls = true, .windows = true};
    (void)state;
    assert_true(saved(&others).likely < 0.4 * STEPS);
    others.awake = 0.42; /* while it sleeps */
    assert_true(is_about(saved(&others).likely, STEPS + 1));
    assert_true(saved(&others).low > 0.6 * STEPS);
}

/* Where it is not sure, or not known, what others do, the range has both. */
static void test_range(void **state)
{
    (void)state;
    struct xfw_saving saving = saved(&(struct others){.asleep = 0.6, .awake = 0.6});
    assert_true(is_about(saving.likely, 2));
    assert_true(saving.high >= STEPS);
    saving = saved(&(struct others){.asleep = 0.4, .awake = 0.4});
    assert_true(is_about(saving.likely, STEPS + 1));
    assert_true(saving.low < 2);
    saving = saved(&(struct others){.asleep = -1, .awake = -1});
    assert_true(is_about(saving.likely, STEPS + 1));
    assert_true(saving.low < 2);
    saving = saved(&(struct others){.asleep = 0.2, .awake = 0.2});
    assert_true(saving.low > 0.6 * STEPS);
}

/* While the thread has more to do than the others make for it these rest: so much of what it saves
 * then is saved. */
static void test_rest(void **state)
{
    const double part = 1 - 0.6 / 0.8; /* the rest, by the least that counts as work */
    struct others others = {.asleep = 1, .awake = 1, .rests = true, .at_rest = 0.6};
    (void)state;
    assert_true(is_about(saved(&others).likely, 2 + part * REST));
    others.at_rest = 0.9;
    assert_true(is_about(saved(&others).likely, 2));
}

/* What they rested is known where it was read at all times: of those in which the thread does not
 * sleep. Where it does, they were late all the same. */
static void test_rest_in_windows(void **state)
{
    struct others others = {
        .asleep = 1, .awake = 0.9, .rests = true, .at_rest = 0.6, .windows = true};
    (void)state;
    assert_true(is_about(saved(&others).likely, 2 + (1 - others.at_rest) * REST));
    others.at_rest = 1;
    assert_true(is_about(saved(&others).likely, 2));
}

/* All sleep is found, in whatever gap of the reading. */
static void test_report(void **state)
{
    (void)state;
    const double rate = 1 / (1 - LEAST_OWN); /* they rest while it works itself, or may */
    for (unsigned launch = 0; launch < 2; launch++) {
        struct trace_builder b;
        consume(&b, &(struct others){.asleep = 1, .awake = 0.9, .launch = launch > 0});
        struct analyzed a = analyzed_played(&b, scenario_profile());
        const struct xfa_process *process = a.analysis->run->processes[0];
        assert_int_equal(process->paced_count, 1);
        const struct xfa_paced *paced = &process->paced[0];
        assert_int_equal(paced->paced, XFW_PACED_AT_BEST);
        assert_true(fabs(paced->slept_ns / (0.95 * STEPS * SLEEP_NS) - 1) < 0.01);
        assert_true(fabs(paced->rate - rate) < 0.005 && fabs(paced->beside - 0.9) < 0.001);
        assert_null(xfa_paced_text(a.analysis, a.findings->whatif, false));
        char *text = xfa_paced_text(a.analysis, a.findings->whatif, true);
        assert_non_null(strstr(text, " of the span) between its calls, until other threads"));
        free(text);
        char *report = analyzed_report(&a, xfa_format_find("json"));
        assert_non_null(strstr(report, "\"keeps_pace\": \"always\""));
        free(report);
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openmp),
        cmocka_unit_test(test_long_readings),
        cmocka_unit_test(test_keeps_pace),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_sleeps_less),
        cmocka_unit_test(test_own_time),
        cmocka_unit_test(test_caller_sleeps),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_asks_for_work),
        cmocka_unit_test(test_sleeps_little),
        cmocka_unit_test(test_short_calls),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_rest_in_windows),
        cmocka_unit_test(test_short_calls_in_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
