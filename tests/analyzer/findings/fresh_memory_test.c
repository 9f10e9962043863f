/* fresh-memory: page faults in copies of pageable memory and before them, and what keeping the
 * memory saves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { FETCH = 10, KEEP = 11, STEPS = 20, MEMORY = 0x40000000, OTHER = 0x20000000 };
static const uint64_t bytes = 16 * MIB, pages = 4096, own_ns = 20000000;
static const double copy_ns = 16 * PAGEABLE_NS, fault_ns = 1000; /* each */

/* A copy that takes so much beyond one of touched memory, behind the thread's own time. */
struct step {
    uint64_t within, before; /* page faults */
    double more_ns;
    unsigned every; /* of so many copies one has them */
    bool call;      /* another call comes between the own time and the copy */
    bool elsewhere; /* each copy has memory at another address */
    unsigned turns; /* so many buffers are used by turns; 0: one */
    bool unknown;   /* the page faults of the first copy are not known */
    bool proven;    /* the recorder saw that it is new */
    unsigned kept;  /* so many copies of another buffer, which is kept, before all others */
    double kept_ns; /* which take so long, each */
};

static void address(struct xft_event *copy, uint64_t at)
{
    *(copy->direction == XFT_DIR_H2D ? &copy->src : &copy->dst) = at;
}

static struct analyzed played_by(struct step step, enum xft_direction direction, const char *answer,
                                 struct xfp_profile *profile)
{
    struct trace_builder b;
    struct play play = {0};
    play_start(&play, &b, 1);
    play_site(&play, FETCH, "fetch", 1);
    play_site(&play, KEEP, "keep", 2);
    for (unsigned i = 0; i < step.kept; i++) {
        struct xft_event *event =
            play_copy(&play, KEEP, direction, XFT_MEM_PAGEABLE, bytes, (uint64_t)step.kept_ns);
        event->width = bytes;
        address(event, OTHER);
    }
    for (unsigned i = 0; i < STEPS; i++) {
        bool has = step.every == 0 || i % step.every == 0;
        play.now += own_ns;
        if (step.call)
            play_in_stream(&play, XFT_EVENT_RECORD, 0, 1000);
        struct xft_event *event = play_copy(&play, FETCH, direction, XFT_MEM_PAGEABLE, bytes,
                                            (uint64_t)(copy_ns + (has ? step.more_ns : 0)));
        event->width = bytes;
        has = has && !(step.unknown && i == 0);
        event->aux = has ? xft_faults(step.within, step.before) : 0;
        event->flags |= step.proven && i > 0 ? XFT_NEW_MEMORY : 0;
        uint64_t buffer = step.elsewhere ? i : step.turns ? i % step.turns : 0;
        address(event, MEMORY + buffer * 2 * bytes);
    }
    play_end(&play, XFT_STATE_CLOSED);
    return answer ? analyzed_answered(&b, profile, answer) : analyzed_played(&b, profile);
}

static struct analyzed played(struct step step, enum xft_direction direction, const char *answer)
{
    return played_by(step, direction, answer, measured_profile(MEASURED_ALL));
}

/* Page faults of new memory take as long as here, for each of its pages. */
struct faults {
    double copied, touched, released;
    bool huge;
};

static struct xfp_profile *profile_with(struct faults faults)
{
    static const char *const names[2][5] = {
        {"new-copy/pages/d2h/gpu0", "kept-copy/pages/d2h/gpu0", "touch/pages/host",
         "release/pages/host", "new-copy/pages/h2d/gpu0"},
        {"new-copy/huge-pages/d2h/gpu0", "kept-copy/huge-pages/d2h/gpu0", "touch/huge-pages/host",
         "release/huge-pages/host", "new-copy/huge-pages/h2d/gpu0"}};
    const double figures[] = {PAGEABLE_NS + 256 * faults.copied, PAGEABLE_NS, 256 * faults.touched,
                              256 * faults.released, PAGEABLE_NS + 256 * faults.copied};
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    for (unsigned i = 0; i < 5; i++)
        measured_table(profile, names[faults.huge][i], figures[i]);
    for (size_t t = profile->table_count - 5; t < profile->table_count; t++)
        for (size_t i = 0; i < profile->tables[t].row_count; i++) {
            struct xfp_cost *cost = &profile->tables[t].rows[i].cost;
            cost->ci_low = cost->ci_high = cost->median;
        }
    return profile;
}

/* Of a saving, without what all of the replay leaves open. */
static struct bounds {
    double low, likely, high;
} bounds_of(const struct analyzed *a, const struct xfa_finding *f)
{
    double unsure = xfw_unsure_ns(a->findings->whatif, f->saving.likely);
    return (struct bounds){f->saving.low + unsure, f->saving.likely, f->saving.high - unsure};
}

static void assert_near(double found, double given)
{
    assert_true(found > 0.98 * given && found < 1.02 * given);
}

/* At best the host's work is faster, too, in caches that less goes through. */
static void assert_high(double found, double given)
{
    assert_true(found > 0.98 * given && found < 1.12 * given);
}

static const struct xfa_finding *found(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_FRESH, NULL);
}

/* What each call took beyond a copy of touched memory is saved. */
static void test_within(void **state)
{
    static const enum xft_direction both[] = {XFT_DIR_D2H, XFT_DIR_H2D};
    /* Of all but the first, in which kept memory is touched, too. */
    const double more = (double)pages * fault_ns, most = (STEPS - 1) * more;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct analyzed a = played((struct step){.within = pages, .more_ns = more}, both[i], NULL);
        const struct xfa_finding *f = found(&a);
        assert_non_null(f);
        assert_int_equal(f->remedy.kind, XFA_REMEDY_REUSE);
        assert_int_equal(f->transfers, STEPS);
        assert_true(f->lost_ns > 0.5 * most && f->lost_ns < most && !f->question);
        assert_true(f->saving.likely > 0.95 * most && f->saving.likely < 1.02 * most);
        double low = f->saving.low + xfw_unsure_ns(a.findings->whatif, f->saving.likely);
        assert_true(low > 0.65 * most && low < 0.75 * most);
        analyzed_free(&a);
    }
}

/* Calls that took no longer have nothing to save, whatever faulted. */
static void test_no_longer(void **state)
{
    struct analyzed a = played((struct step){.within = pages}, XFT_DIR_D2H, NULL);
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_non_null(f);
    assert_true(f->idle && f->saving.likely < 1000);
    analyzed_free(&a);
}

/* Huge pages: eight faults of 16 MiB. */
static void test_huge(void **state)
{
    const double more = 1e6;
    struct analyzed a = played((struct step){.within = 8, .more_ns = more}, XFT_DIR_D2H, NULL);
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_non_null(f);
    assert_true(f->saving.likely > 0.9 * STEPS * more && !f->idle);
    analyzed_free(&a);
}

/* Faults of the program's own time may be of other memory: a question, with the time of them. */
static void test_before(void **state)
{
    const struct step step = {.before = pages + 100};
    struct analyzed a = played(step, XFT_DIR_D2H, NULL);
    const struct xfa_finding *f = found(&a);
    const double most = STEPS * (double)own_ns; /* which is less than 6.4 us a page */
    (void)state;
    assert_non_null(f);
    assert_true(f->asked && f->idle && f->question && isnan(f->lost_ns));
    assert_true(f->saving.likely < 1);
    double high = f->saving.high - xfw_unsure_ns(a.findings->whatif, f->saving.likely);
    assert_true(high > 0.9 * most && high < 1.1 * most);
    analyzed_free(&a);

    a = played(step, XFT_DIR_D2H, "fresh-memory=yes");
    f = found(&a);
    assert_non_null(f);
    const double likely = STEPS * ((double)pages * 1600 + 0.1 * (double)bytes);
    assert_true(!f->asked && f->saving.likely > 0.9 * likely && f->saving.likely < 1.1 * likely);
    analyzed_free(&a);
}

/* The memory may be made before other calls: then that time goes. */
static void test_before_other_calls(void **state)
{
    const struct step step = {.before = pages + 100, .call = true};
    struct analyzed a = played(step, XFT_DIR_D2H, NULL);
    const struct xfa_finding *f = found(&a);
    const double most = (STEPS - 2) * (double)own_ns;
    (void)state;
    assert_non_null(f);
    assert_true(f->asked);
    double high = f->saving.high - xfw_unsure_ns(a.findings->whatif, f->saving.likely);
    assert_true(high > 0.9 * most);
    analyzed_free(&a);
}

/* The call says what its page faults took, the profile what page faults take. */
static void test_measured(void **state)
{
    const double all = STEPS * (double)pages;
    (void)state;
    for (int i = 0; i < 3; i++) {
        const double by_profile[] = {1000, 1200, 500};
        const double low[] = {1000, 1000, 500},
                     likely[] = {1000, 1000, 625}; /* 500 and a quarter */
        struct step step = {
            .within = pages, .more_ns = (double)pages * fault_ns, .elsewhere = true};
        struct analyzed a = played_by(step, XFT_DIR_D2H, NULL,
                                      profile_with((struct faults){.copied = by_profile[i]}));
        const struct xfa_finding *f = found(&a);
        assert_non_null(f);
        const struct bounds saved = bounds_of(&a, f);
        assert_near(f->lost_ns, all * by_profile[i]);
        assert_near(saved.low, all * low[i]);
        assert_near(saved.likely, all * likely[i]);
        assert_high(saved.high, all * fault_ns); /* what was there to be saved */
        analyzed_free(&a);
    }
}

/* Memory that comes again has been given back: that takes its time, too, of the thread's own. */
static void test_released(void **state)
{
    struct step step = {.within = pages, .more_ns = (double)pages * fault_ns};
    struct analyzed a = played_by(step, XFT_DIR_D2H, NULL,
                                  profile_with((struct faults){.copied = 1000, .released = 200}));
    const struct xfa_finding *f = found(&a);
    const double each = (double)pages;
    (void)state;
    assert_non_null(f);
    const struct bounds saved = bounds_of(&a, f);
    assert_near(saved.low, STEPS * each * 1000 + (STEPS - 1) * each * 150);
    assert_near(saved.likely, STEPS * each * 1000 + (STEPS - 1) * each * 200);
    assert_high(saved.high, STEPS * each * 1000 + (STEPS - 1) * each * 250);
    analyzed_free(&a);

    step.elsewhere = true; /* the program may keep what it has fetched */
    a = played_by(step, XFT_DIR_D2H, NULL,
                  profile_with((struct faults){.copied = 1000, .released = 200}));
    f = found(&a);
    assert_non_null(f);
    assert_near(bounds_of(&a, f).likely, STEPS * each * 1000);
    analyzed_free(&a);
}

/* What copies of touched memory take is seen in the run, where the profile has it wrong. */
static void test_kept_in_the_run(void **state)
{
    const double slower = 2 * copy_ns;
    struct step step = {.within = pages,
                        .more_ns = copy_ns + (double)pages * fault_ns,
                        .elsewhere = true,
                        .kept = 6,
                        .kept_ns = slower};
    struct analyzed a =
        played_by(step, XFT_DIR_D2H, NULL, profile_with((struct faults){.copied = 2000}));
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_non_null(f);
    struct bounds saved = bounds_of(&a, f);
    assert_near(saved.likely, STEPS * (double)pages * fault_ns);
    assert_high(saved.high, STEPS * (double)pages * fault_ns);
    analyzed_free(&a);

    step.kept = 2; /* too few */
    a = played_by(step, XFT_DIR_D2H, NULL, profile_with((struct faults){.copied = 2000}));
    f = found(&a);
    assert_non_null(f);
    saved = bounds_of(&a, f);
    assert_near(saved.likely, STEPS * ((double)pages * fault_ns + copy_ns));
    analyzed_free(&a);
}

/* Memory that was seen to be new needs no question; what it takes to touch it is the profile's. Of
 * what the program sends to the device it has to write each byte in any case. */
static void test_proven(void **state)
{
    static const enum xft_direction both[] = {XFT_DIR_D2H, XFT_DIR_H2D};
    const double each = (double)pages, times = STEPS - 1; /* of the first it is not known */
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const double fill = i == 0 ? 0.1 * (double)bytes : 0;
        struct step step = {.before = pages + 1, .proven = true};
        struct analyzed a = played_by(
            step, both[i], NULL, profile_with((struct faults){.touched = 2000, .released = 200}));
        const struct xfa_finding *f = found(&a);
        assert_non_null(f);
        assert_true(!f->question && !f->asked && f->lost_ns > 0);
        const struct bounds saved = bounds_of(&a, f);
        assert_near(saved.low, times * 0.75 * each * 2200);
        assert_near(saved.likely, times * (each * 2200 + fill));
        assert_high(saved.high, times * (1.25 * each * 2200 + fill));
        analyzed_free(&a);
    }
}

/* How far processes differ in speed widens all savings: it is not counted twice. */
static void test_processes_differ(void **state)
{
    struct step step = {.before = pages + 1, .proven = true, .elsewhere = true};
    struct xfp_profile *profile = profile_with((struct faults){.touched = 2000});
    measured_scalar(profile, "launch/by-process/gpu0", 1000);
    struct xfp_cost *launch = &profile->scalars[profile->scalar_count - 1].cost;
    launch->min = 900, launch->max = 1100; /* by a tenth */
    struct analyzed a = played_by(step, XFT_DIR_D2H, NULL, profile);
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_non_null(f);
    assert_near(bounds_of(&a, f).low, (STEPS - 1) * (double)pages * 2000 * 0.85);
    analyzed_free(&a);
}

/* Own time that is a little longer than touching the memory by the profile: half of it goes, too.
 */
static void test_little_longer(void **state)
{
    const double each = (double)pages * 4000 + 0.1 * (double)bytes, more = (double)own_ns - each;
    struct step step = {.before = pages + 1, .proven = true, .elsewhere = true};
    struct analyzed a =
        played_by(step, XFT_DIR_D2H, NULL, profile_with((struct faults){.touched = 4000}));
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_true(more > 0 && more < 0.25 * each);
    assert_non_null(f);
    assert_near(bounds_of(&a, f).likely, (STEPS - 1) * (each + more / 2));
    analyzed_free(&a);
}

/* Huge pages, of which the profile has other figures. */
static void test_huge_measured(void **state)
{
    struct step step = {.within = 8, .more_ns = (double)pages * fault_ns, .elsewhere = true};
    struct analyzed a = played_by(step, XFT_DIR_D2H, NULL,
                                  profile_with((struct faults){.copied = 400, .huge = true}));
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_non_null(f);
    assert_near(bounds_of(&a, f).likely, STEPS * (double)pages * 500);
    analyzed_free(&a);
}

static void test_left(void **state)
{
    static const struct step steps[] = {
        {.within = 7},                     /* as any call may */
        {.within = pages / 3},             /* a third of it is new */
        {.within = pages, .every = 3},     /* seldom */
        {.before = pages / 3},             /* too few for it */
        {.before = 5 * pages},             /* so many are not of it */
        {.within = pages, .every = STEPS}, /* its first use */
        {0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct analyzed a = played(steps[i], XFT_DIR_D2H, NULL);
        assert_null(found(&a));
        analyzed_free(&a);
    }
}

/* What the copies of a run save where the program touches a page in so long. */
static struct bounds by_turns(unsigned turns, bool unknown, double touched)
{
    const struct faults faults = {.copied = 1000, .touched = touched, .released = 0};
    const struct step step = {
        .within = pages, .more_ns = (double)pages * fault_ns, .turns = turns, .unknown = unknown};
    struct analyzed a = played_by(step, XFT_DIR_D2H, NULL, profile_with(faults));
    const struct xfa_finding *f = found(&a);
    assert_non_null(f);
    struct bounds bounds = bounds_of(&a, f);
    analyzed_free(&a);
    return bounds;
}

/* As many kept buffers are touched once as the device has on the other side, which is one: four
 * addresses of the host are what the system gave. At worst they are four buffers. One whose page
 * faults are not known took longer for another reason, at worst. */
static void test_buffers_by_turns(void **state)
{
    const double each = (double)pages * fault_ns, touched = (double)pages * 400;
    (void)state;
    const double one = STEPS * each - touched;
    assert_near(by_turns(1, false, 400).likely, one);
    assert_near(by_turns(4, false, 400).likely, one);
    assert_true(by_turns(4, false, 400).low < by_turns(1, false, 400).low - 2 * touched);
    assert_near(by_turns(4, false, 2000).likely, (STEPS - 1) * each);
    assert_near(by_turns(1, true, 400).likely, one);
    assert_true(by_turns(1, true, 400).low < by_turns(1, false, 400).low);
}

/* Kept memory can be page-locked, too, where page faults take most of the copies: both changes are
 * in the set, and each saves what it does. */
static void test_kept_and_page_locked(void **state)
{
    const double more = 5 * copy_ns;
    const struct faults faults = {.copied = more / (double)pages, .touched = 1};
    const struct step step = {.within = pages, .more_ns = more};
    struct analyzed a = played_by(step, XFT_DIR_D2H, NULL, profile_with(faults));
    const struct xfa_finding *f = found(&a),
                             *pin = analyzed_finding(&a, XFA_FINDING_PAGEABLE, NULL);
    (void)state;
    assert_non_null(f);
    assert_non_null(pin);
    assert_int_equal(f->order, 1);
    assert_int_equal(pin->order, 2);
    assert_near(f->added_ns, STEPS * more);
    assert_true(pin->added_ns > 0.5 * STEPS * copy_ns && pin->added_ns < STEPS * copy_ns);
    analyzed_free(&a);
}

/* One copy into memory that nobody had touched: it is no memory that is new each time, but
 * page-locking makes it in less time than the copy did. */
static void test_page_locked_once(void **state)
{
    const double more = 20 * copy_ns;
    const struct faults faults = {.copied = more / (double)pages, .touched = 100};
    struct xfp_profile *profile = profile_with(faults);
    const struct step step = {.within = pages, .more_ns = more, .every = STEPS};
    struct analyzed a = played_by(step, XFT_DIR_D2H, NULL, profile);
    const struct xfa_finding *pin = analyzed_finding(&a, XFA_FINDING_PAGEABLE, NULL);
    double lock = REGISTER_BASE_NS + 16 * REGISTER_NS + 100 * (double)pages;
    double copied = STEPS * (copy_ns - 16 * PINNED_NS - BLOCKING_MORE_NS);
    (void)state;
    assert_null(found(&a));
    assert_non_null(pin);
    assert_int_equal(pin->remedy.kind, XFA_REMEDY_PIN);
    assert_near(pin->saving.likely, more + copied - lock);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_page_locked_once),
        cmocka_unit_test(test_no_longer),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_before),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_before_other_calls),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_released),
        cmocka_unit_test(test_kept_in_the_run),
        cmocka_unit_test(test_proven),
        cmocka_unit_test(test_huge_measured),
        cmocka_unit_test(test_little_longer),
        cmocka_unit_test(test_processes_differ),
        cmocka_unit_test(test_buffers_by_turns),
        cmocka_unit_test(test_kept_and_page_locked),
    };
    return cmocka_run_group_tests_name("findings: fresh memory", tests, NULL, NULL);
}
