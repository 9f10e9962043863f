/* Whether advice was followed and paid, what fails, and what is warned of. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/compare/compare.h"
#include "analyzer/report/compared.h"

#define MS 1e6
#define MOST 4

/* A run that is made up, of rows that nothing is said of. */
struct run {
    struct xfa_snapshot summary;
    struct xfa_snapshot_row rows[MOST];
    struct xfa_snapshot_finding findings[MOST];
    struct xfa_call_place places[MOST][2];
    int64_t numbers[MOST][2];
    struct xfa_snapshot_phase phase;
};

static void start(struct run *run, const char *path, double span_ms)
{
    *run = (struct run){.summary = {.path = (char *)path,
                                    .rows = run->rows,
                                    .row_count = MOST,
                                    .findings = run->findings,
                                    .savings_known = true,
                                    .recording_known = true,
                                    .processes = 1,
                                    .set = {NAN, NAN, NAN},
                                    .alone_ns = span_ms * MS}};
    for (unsigned i = 0; i < MOST; i++)
        run->rows[i] = (struct xfa_snapshot_row){
            .place = {.text = "f",
                      .function = (char *)(const char *[]){"a", "b", "c", "d"}[i],
                      .file = "x.cu",
                      .line = 10},
            .called = "cudaMemcpy",
            .key = {.direction = XFT_DIR_H2D, .src_mem = XFT_MEM_PAGEABLE},
            .transfers = 10,
            .time = xfa_sample_of(MS, 0.3)};
    for (unsigned i = 0; i < XFA_MEASURES; i++)
        run->summary.measures[i] = xfa_sample_of(span_ms * MS, XFA_ONE_RUN_HOST);
}

/* At rows `first` and, unless it is negative, `second`. */
static struct xfa_snapshot_finding *find(struct run *run, enum xfa_finding_id id, int first,
                                         int second, double likely_ms)
{
    size_t i = run->summary.finding_count++;
    run->numbers[i][0] = first;
    run->numbers[i][1] = second;
    for (unsigned k = 0; k < 2; k++)
        run->places[i][k] = (struct xfa_call_place){.text = "f", .function = "f"};
    run->findings[i] = (struct xfa_snapshot_finding){
        .id = id,
        .sites = run->places[i],
        .rows = run->numbers[i],
        .site_count = second < 0 ? 1 : 2,
        .saving = {likely_ms * MS * 0.8, likely_ms * MS, likely_ms * MS * 1.2},
        .added_ns = NAN,
    };
    return &run->findings[i];
}

static void in_set(struct xfa_snapshot_finding *finding, unsigned order, double added_ms)
{
    finding->order = order;
    finding->added_ns = added_ms * MS;
}

static struct xfa_comparison *compare(struct run *before, struct run *after)
{
    return xfa_compare((struct xfa_snapshot *[]){&before->summary}, 1,
                       (struct xfa_snapshot *[]){&after->summary}, 1, NAN);
}

static void assert_saving(const struct xfw_saving *saving, double low, double likely, double high)
{
    assert_true(fabs(saving->low - low * MS) < 1);
    assert_true(fabs(saving->likely - likely * MS) < 1);
    assert_true(fabs(saving->high - high * MS) < 1);
}

/* ---- what was followed ----------------------------------------------------------------------- */

static struct run before, after;

/* Two findings in the set, 40 and 10 ms; what is left of the run after: span_ms. */
static void start_both(double span_ms)
{
    start(&before, "a", 100);
    start(&after, "b", span_ms);
    in_set(find(&before, XFA_FINDING_PAGEABLE, 0, 1, 40), 1, 40);
    in_set(find(&before, XFA_FINDING_SMALL, 2, -1, 20), 2, 10);
    before.summary.set = (struct xfw_saving){35 * MS, 50 * MS, 60 * MS};
}

static void test_all_of_the_set(void **state)
{
    (void)state;
    start_both(48);
    struct xfa_comparison *c = compare(&before, &after);
    assert_int_equal(c->finding_count, 2);
    assert_int_equal(c->findings[0].stands, XFA_GONE);
    assert_true(c->findings[0].followed && c->findings[1].followed);
    assert_int_equal(c->predicted, XFA_PREDICTED_SET);
    assert_int_equal(c->payoff_count, 1);
    assert_saving(&c->payoffs[0].predicted, 35, 50, 60);
    assert_true(fabs(c->payoffs[0].time.shift + 52 * MS) < 1);
    assert_int_equal(c->payoffs[0].paid, XFA_PAID_WITHIN);
    assert_int_equal(c->measures[XFA_MEASURE_SPAN].verdict, XFA_LESS);
    xfa_comparison_free(c);
}

static void test_one_of_the_set(void **state)
{
    (void)state;
    start_both(62);
    find(&after, XFA_FINDING_SMALL, 2, -1, 20);
    struct xfa_comparison *c = compare(&before, &after);
    assert_int_equal(c->findings[0].stands, XFA_GONE);
    assert_int_equal(c->findings[1].stands, XFA_STAYS);
    assert_false(c->findings[1].followed);
    assert_int_equal(c->predicted, XFA_PREDICTED_ONE);
    assert_saving(&c->payoffs[0].predicted, 32, 40, 48);
    xfa_comparison_free(c);
}

/* Of three two: what each added, as sure as it is alone. */
static void test_parts_of_the_set(void **state)
{
    (void)state;
    start_both(60);
    in_set(find(&before, XFA_FINDING_RETURNED, 3, -1, 5), 3, 5);
    find(&after, XFA_FINDING_RETURNED, 3, -1, 5);
    struct xfa_comparison *c = compare(&before, &after);
    assert_int_equal(c->predicted, XFA_PREDICTED_PARTS);
    assert_saving(&c->payoffs[0].predicted, 40, 50, 60);
    xfa_comparison_free(c);
}

/* A finding that stands at fewer sites is not followed; one that is not worth it any more is. */
static void test_what_stands_and_what_does_not(void **state)
{
    (void)state;
    start_both(95);
    find(&after, XFA_FINDING_PAGEABLE, 1, -1, 20);
    find(&after, XFA_FINDING_SMALL, 2, -1, 0.1)->idle = true;
    find(&after, XFA_FINDING_SERIAL, 3, -1, 9);
    struct xfa_comparison *c = compare(&before, &after);
    assert_int_equal(c->finding_count, 3);
    assert_int_equal(c->findings[0].before->id, XFA_FINDING_SMALL);
    assert_int_equal(c->findings[0].stands, XFA_IDLE_NOW);
    assert_true(c->findings[0].followed);
    assert_int_equal(c->findings[1].stands, XFA_STAYS);
    assert_int_equal(c->findings[2].stands, XFA_NEW);
    assert_int_equal(c->findings[2].after->id, XFA_FINDING_SERIAL);
    xfa_comparison_free(c);
}

/* Another place of the same kind is another finding. */
static void test_the_same_kind_elsewhere(void **state)
{
    (void)state;
    start(&before, "a", 100);
    start(&after, "b", 100);
    find(&before, XFA_FINDING_PAGEABLE, 0, -1, 40);
    find(&after, XFA_FINDING_PAGEABLE, 3, -1, 40);
    struct xfa_comparison *c = compare(&before, &after);
    assert_int_equal(c->findings[0].stands, XFA_GONE);
    assert_int_equal(c->findings[1].stands, XFA_NEW);
    xfa_comparison_free(c);
}

/* Findings about no transfers are known by the function. */
static void test_findings_without_transfers(void **state)
{
    (void)state;
    start(&before, "a", 100);
    start(&after, "b", 100);
    find(&before, XFA_FINDING_ALLOCATION, -1, -1, 40);
    find(&after, XFA_FINDING_ALLOCATION, -1, -1, 30);
    struct xfa_comparison *c = compare(&before, &after);
    assert_int_equal(c->finding_count, 1);
    assert_int_equal(c->findings[0].stands, XFA_STAYS);
    assert_int_equal(c->predicted, XFA_PREDICTED_NOTHING);
    assert_int_equal(c->payoff_count, 0);
    xfa_comparison_free(c);
    after.places[0][0].function = "g";
    c = compare(&before, &after);
    assert_int_equal(c->finding_count, 2);
    xfa_comparison_free(c);
}

/* ---- what it paid ---------------------------------------------------------------------------- */

static enum xfa_paid paid_after(double span_ms)
{
    start_both(span_ms);
    struct xfa_comparison *c = compare(&before, &after);
    enum xfa_paid paid = c->payoffs[0].paid;
    xfa_comparison_free(c);
    return paid;
}

/* Predicted 35 to 60 of 100; one run may be off. */
static void test_paid_of_single_runs(void **state)
{
    (void)state;
    assert_int_equal(paid_after(65), XFA_PAID_WITHIN);
    assert_int_equal(paid_after(40), XFA_PAID_WITHIN);
    assert_int_equal(paid_after(75), XFA_PAID_UNSURE);
    assert_int_equal(paid_after(130), XFA_PAID_LESS);
    assert_int_equal(paid_after(15), XFA_PAID_MORE);
}

/* Four runs on each side, which hardly differ: what is outside is outside. */
static void test_paid_of_repetitions(void **state)
{
    (void)state;
    struct run runs[8];
    struct xfa_snapshot *all[8];
    for (unsigned i = 0; i < 8; i++) {
        start(&runs[i], "r", i < 4 ? 100 + i * 0.1 : 75 + i * 0.1);
        all[i] = &runs[i].summary;
        if (i >= 4)
            continue;
        in_set(find(&runs[i], XFA_FINDING_PAGEABLE, 0, 1, 40), 1, 40);
        runs[i].summary.set = (struct xfw_saving){35 * MS, 40 * MS, 45 * MS};
    }
    struct xfa_comparison *c = xfa_compare(all, 4, all + 4, 4, NAN);
    assert_true(c->repeated);
    assert_int_equal(c->payoffs[0].paid, XFA_PAID_LESS);
    xfa_comparison_free(c);
    for (unsigned i = 0; i < 4; i++) /* within noise of what was achieved */
        runs[i].summary.set.low = 24.9 * MS;
    c = xfa_compare(all, 4, all + 4, 4, NAN);
    assert_int_equal(c->payoffs[0].paid, XFA_PAID_UNSURE);
    xfa_comparison_free(c);
}

/* The phase has its part of the set's saving. */
static void test_a_phase(void **state)
{
    (void)state;
    start_both(50);
    before.summary.span.alone_ns = 100 * MS;
    before.phase = (struct xfa_snapshot_phase){"work", {85 * MS, 85 * MS, 80 * MS, 40 * MS}};
    after.phase = (struct xfa_snapshot_phase){"work", {42 * MS, 42 * MS, 42 * MS, 42 * MS}};
    before.summary.phases = &before.phase;
    after.summary.phases = &after.phase;
    before.summary.phase_count = after.summary.phase_count = 1;
    struct xfa_comparison *c = compare(&before, &after);
    assert_int_equal(c->phase_count, 1);
    assert_true(fabs(c->phases[0].time.before - 80 * MS) < 1); /* without what recording cost */
    assert_int_equal(c->payoff_count, 2);
    assert_string_equal(c->payoffs[1].phase, "work");
    assert_saving(&c->payoffs[1].predicted, 28, 40, 48);
    assert_int_equal(c->payoffs[1].paid, XFA_PAID_WITHIN);
    assert_ptr_equal(xfa_main_payoff(c), &c->payoffs[1]);
    char *line = xfa_compared_headline_text(c), *advice = xfa_advice_verdict_text(c);
    assert_string_equal(line, "phase work faster: 80.0 ms before, 42.0 ms after (-47.5 %); the "
                              "run: faster: 100 ms before, 50.0 ms after (-50.0 %)");
    assert_non_null(strstr(advice, " in phase work predicted 40.0 ms (between 28.0 ms and "));
    free(line);
    free(advice);
    xfa_comparison_free(c);
}

/* A phase that has less than half of what was predicted does not lead. */
static void test_a_phase_of_little(void **state)
{
    (void)state;
    start_both(50);
    before.summary.span.alone_ns = 100 * MS;
    before.phase = (struct xfa_snapshot_phase){"load", {85 * MS, 85 * MS, 80 * MS, 60 * MS}};
    after.phase = (struct xfa_snapshot_phase){"load", {62 * MS, 62 * MS, 62 * MS, 62 * MS}};
    before.summary.phases = &before.phase;
    after.summary.phases = &after.phase;
    before.summary.phase_count = after.summary.phase_count = 1;
    struct xfa_comparison *c = compare(&before, &after);
    char *line = xfa_compared_headline_text(c);
    assert_ptr_equal(xfa_main_payoff(c), &c->payoffs[0]);
    assert_null(xfa_phase_verdict_text(c));
    assert_null(strstr(line, "phase"));
    free(line);
    xfa_comparison_free(c);
}

static void test_savings_that_are_not_known(void **state)
{
    (void)state;
    start_both(50);
    before.summary.savings_known = false;
    struct xfa_comparison *c = compare(&before, &after);
    assert_int_equal(c->predicted, XFA_PREDICTED_UNKNOWN);
    assert_int_equal(c->payoffs[0].paid, XFA_PAID_UNKNOWN);
    assert_true(fabs(c->payoffs[0].time.shift + 50 * MS) < 1);
    xfa_comparison_free(c);
}

/* Recording is taken out of the run's time where all know it, and else of none. */
static void test_what_recording_cost(void **state)
{
    (void)state;
    start_both(50);
    before.summary.recording_ns = 20 * MS;
    struct xfa_comparison *c = compare(&before, &after);
    assert_true(fabs(c->measures[XFA_MEASURE_SPAN].before - 80 * MS) < 1);
    xfa_comparison_free(c);
    after.summary.recording_known = false;
    c = compare(&before, &after);
    assert_false(c->without_recording);
    assert_true(fabs(c->measures[XFA_MEASURE_SPAN].before - 100 * MS) < 1);
    xfa_comparison_free(c);
}

/* ---- the limit ------------------------------------------------------------------------------- */

static bool fails(double span_ms, double transfers_ms, double limit, enum xfa_measure *by)
{
    start(&before, "a", 100);
    start(&after, "b", span_ms);
    after.summary.measures[XFA_MEASURE_WALL] = before.summary.measures[XFA_MEASURE_WALL];
    after.summary.measures[XFA_MEASURE_TRANSFERS] =
        xfa_sample_of(transfers_ms * MS, XFA_ONE_RUN_DEVICE);
    before.summary.measures[XFA_MEASURE_TRANSFERS] = xfa_sample_of(100 * MS, XFA_ONE_RUN_DEVICE);
    struct xfa_comparison *c = xfa_compare((struct xfa_snapshot *[]){&before.summary}, 1,
                                           (struct xfa_snapshot *[]){&after.summary}, 1, limit);
    bool failed = c->failed;
    *by = c->slowest;
    xfa_comparison_free(c);
    return failed;
}

static void test_the_limit(void **state)
{
    (void)state;
    enum xfa_measure by;
    assert_false(fails(100, 100, 0, &by));
    assert_false(fails(145, 100, 0.05, &by)); /* noise */
    assert_true(fails(160, 100, 0.05, &by));
    assert_int_equal(by, XFA_MEASURE_SPAN);
    assert_false(fails(160, 100, 0.7, &by)); /* slower, but not by so much */
    assert_true(fails(100, 115, 0.05, &by));
    assert_int_equal(by, XFA_MEASURE_TRANSFERS);
    assert_false(fails(60, 200, 0.05, &by)); /* the run is faster for it */
    assert_true(fails(160, 200, 0.05, &by));
    assert_int_equal(by, XFA_MEASURE_TRANSFERS);
    assert_false(fails(200, 200, NAN, &by));
}

/* ---- warnings -------------------------------------------------------------------------------- */

static bool warned(const struct xfa_comparison *c, const char *of)
{
    for (size_t i = 0; i < c->warning_count; i++)
        if (strstr(c->warnings[i], of))
            return true;
    return false;
}

static void test_warnings(void **state)
{
    (void)state;
    start(&before, "a", 100);
    start(&after, "b", 100);
    struct xfa_comparison *c = compare(&before, &after);
    assert_int_equal(c->warning_count, 0);
    xfa_comparison_free(c);
    before.summary.gpus = "H100";
    after.summary.gpus = "H200";
    before.summary.timing = "cupti";
    after.summary.timing = "host";
    before.summary.driver = 12040;
    after.summary.driver = 13010;
    after.summary.simulated = true;
    after.summary.lossy = true;
    after.summary.processes = 2;
    before.summary.program = after.summary.program = "train";
    after.summary.arguments = "--big";
    before.summary.hosts = "one";
    after.summary.mismatch = "the profile is of another machine";
    c = compare(&before, &after);
    assert_true(warned(c, "GPUs: H100 in a, H200 in b"));
    assert_true(warned(c, "device times from: cupti in a, host in b"));
    assert_true(warned(c, "driver: for CUDA 12.4 in a, 13.1 in b"));
    assert_true(warned(c, "GPU: a real one in a, the simulated one in b"));
    assert_true(warned(c, "b: something was lost"));
    assert_true(warned(c, "processes: 1 in a, 2 in b"));
    assert_true(warned(c, "arguments: none in a, --big in b"));
    assert_true(warned(c, "b: the profile is of another machine"));
    assert_false(warned(c, "hosts")); /* not known of one: nothing to tell */
    assert_int_equal(c->warning_count, 8);
    xfa_comparison_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_the_set),
        cmocka_unit_test(test_one_of_the_set),
        cmocka_unit_test(test_parts_of_the_set),
        cmocka_unit_test(test_what_stands_and_what_does_not),
        cmocka_unit_test(test_the_same_kind_elsewhere),
        cmocka_unit_test(test_findings_without_transfers),
        cmocka_unit_test(test_paid_of_single_runs),
        cmocka_unit_test(test_paid_of_repetitions),
        cmocka_unit_test(test_a_phase),
        cmocka_unit_test(test_a_phase_of_little),
        cmocka_unit_test(test_savings_that_are_not_known),
        cmocka_unit_test(test_what_recording_cost),
        cmocka_unit_test(test_the_limit),
        cmocka_unit_test(test_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
