/* Transfers that could go: which, how sure that is by what kernels were given, and what the run
 * would save without them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/report/summary.h"
#include "tests/analyzer/lab/left_out_run.h"

/* What a kernel was given, and what its name says of that, decides. */
static void test_repeated(void **state)
{
    (void)state;
    expect("uA1 rA", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    nothing("uA1 wA");
    nothing("uA1 rA wA rA");
    expect("uA1 xA", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
    expect("uA1 rA wB", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    expect("uA1 bA", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    expect("uA1 bN", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST); /* which of the two is it? */
    expect("uA1 rA w-", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);  /* behind the buffer */
    expect("uA1 rA ?", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
    expect("uA1 rA g", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
    expect("uA1 rA tB", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST); /* pointers to pointers */
    nothing("uA1 wA rA mA wA");
    expect("vA1 rA", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST); /* the host may have written */
    expect("2A1 rA", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    nothing("2A1 rA w-"); /* who knows how far the rows go */
    nothing("uAfresh rA");
    expect("dA1 rA", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    nothing("dA1 wA");
    expect("dA1 xA", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
}

/* Where one thing decides that the record does not show, it is a question; answered it is a finding
 * or none. */
static void test_questions(void **state)
{
    (void)state;
    struct program program = {.round = "uA1 xA"};
    struct analyzed a = run(&program);
    const struct xfa_finding *found = only_finding(&a, program.round);
    assert_true(found->asked && found->idle && found->order == 0);
    char *question = xfa_finding_question(found);
    assert_string_equal(question,
                        "no kernel changes what upload (train.c:42) has copied, before it "
                        "copies it again");
    free(question);
    analyzed_free(&a);
    a = run(&(struct program){.round = "uA1 rA"});
    assert_false(only_finding(&a, "uA1 rA")->asked);
    analyzed_free(&a);
    program.assume = "repeated-transfer=yes";
    expect_of(&program, XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    a = run(&program);
    found = only_finding(&a, program.round);
    assert_true(!found->asked && !found->idle && found->order == 1);
    char *assumed = xfa_finding_assumed(found);
    assert_non_null(strstr(assumed, "(by --assume)"));
    free(assumed);
    analyzed_free(&a);
    program.assume = "repeated-transfer@nowhere=yes";
    expect_of(&program, XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
    program.assume = "repeated-transfer@upload=no";
    nothing_of(&program);
    program = (struct program){.round = "wA dAfresh xA uBfresh rB", .assume = "round-trip=yes"};
    expect_of(&program, XFA_FINDING_RETURNED, ROUNDS, 2 * COPY_NS - SUBMIT, 2 * COPY_NS - SUBMIT,
              2 * COPY_NS);
}

/* The line of `record` asks, too, where nothing is certain. */
static void test_question_of_the_summary(void **state)
{
    char path[] = "/tmp/xferscope-test-XXXXXX.trace", machine_path[] = "/tmp/xferscope-test-XXXXXX";
    char error[256], *text = NULL;
    size_t bytes;
    struct xfp_profile *profile = machine();
    struct trace_builder b;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    close(mkstemps(path, 6));
    close(mkstemp(machine_path));
    build(&b, &(struct program){.round = "uA1 xA"});
    build_save(&b, path);
    assert_int_equal(xfp_save(profile, machine_path, error, sizeof error), 0);
    const struct xfa_summary_request request = {
        .run = path, .profile = machine_path, .make_profile = "probe"};
    assert_true(xfa_summarize(&request, out));
    fclose(out);
    assert_non_null(strstr(text, "; up to "));
    assert_non_null(strstr(text, " if no kernel changes what upload (train.c:42) has copied"));
    free(text);
    unlink(path);
    unlink(machine_path);
    build_free(&b);
    xfp_free(profile);
}

/* The host learns that the device is done by a function that the stream calls. */
static void test_called_back(void **state)
{
    (void)state;
    const double slow = SLOW_NS + 500; /* behind its call */
    expect("aA1 rA h s", XFA_FINDING_REPEATED, ROUNDS - 1, slow, slow, slow);
    /* Without a call behind the last one nobody knows when it went on. */
    const double seen = slow * (ROUNDS - 2) / (ROUNDS - 1);
    const double way = WAY_NS - 1000; /* which the call takes that gives the stream the function */
    expect("aA1 rA h", XFA_FINDING_REPEATED, ROUNDS - 1, seen, seen, seen + way);
    struct analyzed a = run(&(struct program){.round = "aA1 rA h"});
    char *assumed = xfa_finding_assumed(only_finding(&a, "aA1 rA h"));
    assert_non_null(strstr(assumed, "given; at best, the thread's own work"));
    free(assumed);
    analyzed_free(&a);
}

/* Other copies and frees have written there: the device could keep the bytes elsewhere. */
static void test_overwritten(void **state)
{
    (void)state;
    expect("uA1 rA mA rA", XFA_FINDING_DUPLICATE, ROUNDS - 1, 0, 0, COPY_NS);
    expect("uA1 rA cBA rA", XFA_FINDING_DUPLICATE, ROUNDS - 1, 0, 0, COPY_NS);
    expect("uA1 rA fA", XFA_FINDING_DUPLICATE, ROUNDS - 1, 0, 0, COPY_NS);
    nothing("uA1 wA cBA rA");
}

/* Without arguments nothing is known of kernels: likely, and what is assumed is said. */
static void test_unseen(void **state)
{
    (void)state;
    const struct program off = {.round = "uA1 ?", .arguments = "off"};
    expect_of(&off, XFA_FINDING_REPEATED, ROUNDS - 1, 0, COPY_NS, COPY_NS);
    struct analyzed a = run(&off);
    const struct xfa_finding *found = only_finding(&a, off.round);
    assert_non_null(strstr(found->assumed, "was not recorded"));
    assert_non_null(strstr(xfa_reckoning_text(found->reckoning, false), "may have changed"));
    analyzed_free(&a);
    a = run(&(struct program){.round = "uA1 rA"});
    found = only_finding(&a, "uA1 rA");
    assert_non_null(strstr(found->assumed, "only by pointers"));
    assert_null(strstr(xfa_reckoning_text(found->reckoning, false), "may have changed"));
    analyzed_free(&a);
}

/* The device copies it from where it is, as long as it is there. */
static void test_duplicate(void **state)
{
    (void)state;
    expect("uAfresh uBfresh rA wB", XFA_FINDING_DUPLICATE, ROUNDS, COPY_NS - SUBMIT,
           COPY_NS - SUBMIT, COPY_NS);
    nothing("uAfresh wA uBfresh wB");
    expect("uAfresh xA uBfresh wB", XFA_FINDING_DUPLICATE, ROUNDS, AT_BEST);
}

/* The rounds' bytes are fresh, each at one place; only in so many rounds two places get the same.
 */
static void expect_seldom(unsigned rounds, double likely)
{
    struct analyzed a = run(&(struct program){.round = "uAfresh rA uBfresh wB", .alike = rounds});
    const struct xfa_finding *found = analyzed_finding(&a, XFA_FINDING_DUPLICATE, NULL);
    assert_non_null(found);
    assert_int_equal(found->transfers, rounds);
    assert_true(fabs(found->saving.likely - rounds * likely) < 0.02 * COPY_NS * rounds);
    assert_true(found->saving.high > rounds * (COPY_NS - SUBMIT) * 0.98);
    assert_int_equal(found->idle, likely == 0);
    assert_int_equal(found->asked, likely == 0);
    if (likely == 0)
        assert_non_null(strstr(found->question, "in each run"));
    analyzed_free(&a);
}

/* Seen once or twice it may be by chance, as an initial state is that two buffers begin with: then
 * it is a question, and no advice. */
static void test_duplicate_by_chance(void **state)
{
    (void)state;
    expect_seldom(1, 0);
    expect_seldom(2, 0);
    expect_seldom(3, COPY_NS - SUBMIT);
}

/* The same of a value that few of a site's copies have. */
static void test_constant_by_chance(void **state)
{
    (void)state;
    for (unsigned alike = 1; alike <= 3; alike++) {
        struct analyzed a = run(&(struct program){.round = "uAseldom wA", .alike = alike});
        const struct xfa_finding *found = analyzed_finding(&a, XFA_FINDING_CONSTANT, NULL);
        assert_non_null(found);
        assert_int_equal(found->idle, alike < 3);
        assert_int_equal(found->asked, alike < 3);
        assert_int_equal(found->saving.likely > 0, alike == 3);
        analyzed_free(&a);
    }
}

/* Sent back to another place: both copies go, if the host does not look. Sent back to where it is:
 * what was fetched is for the host. */
static void test_round_trip(void **state)
{
    (void)state;
    const double copied = COPY_NS - SUBMIT;
    expect("wA dAfresh uBfresh rB", XFA_FINDING_RETURNED, ROUNDS, copied, copied + COPY_NS,
           2 * COPY_NS);
    expect("wA dAfresh uAfresh rA", XFA_FINDING_RETURNED, ROUNDS, COPY_NS, COPY_NS, 2 * COPY_NS);
    nothing("wA dAfresh wA uBfresh rB");
    nothing("wA dAfresh wA uAfresh rA");
    expect("wA dAfresh xA uBfresh rB", XFA_FINDING_RETURNED, ROUNDS, 0, 0, 2 * COPY_NS);
    expect("uAfresh rA dAfresh", XFA_FINDING_RETURNED, ROUNDS, ALL);
}

/* Behind each other in a stream, through the same memory of the host: no hash is needed. */
static void test_round_trip_on_its_way(void **state)
{
    (void)state;
    struct analyzed a = run(&(struct program){.round = "wA DA UB rB s", .unhashed = true});
    const struct xfa_finding *found = only_finding(&a, "on its way");
    assert_non_null(found);
    assert_int_equal(found->id, XFA_FINDING_RETURNED);
    assert_int_equal(found->transfers, ROUNDS);
    analyzed_free(&a);
    /* It has just arrived, and the host had no time to change it. */
    struct analyzed after = run(&(struct program){.round = "wA DA s UB rB s", .unhashed = true});
    const struct xfa_finding *straight = only_finding(&after, "just arrived");
    assert_non_null(straight);
    assert_int_equal(straight->id, XFA_FINDING_RETURNED);
    assert_true(straight->saving.low <= 0 && straight->saving.likely > 0);
    analyzed_free(&after);
    nothing_of(&(struct program){.round = "wA DA wA UB rB s", .unhashed = true});
    nothing_of(&(struct program){.round = "wA DA PB rB s", .unhashed = true});
}

static void test_constant(void **state)
{
    (void)state;
    const double set = COPY_NS - 2000; /* submitting it, as long as nobody has measured that */
    for (unsigned whole = 0; whole < 2; whole++) {
        const char *const rounds[] = {"uAzero wA", "uAone wA"};
        for (unsigned i = 0; i < 2; i++) {
            const struct program program = {.round = rounds[i], .whole = whole};
            expect_of(&program, XFA_FINDING_CONSTANT, ROUNDS, set, set, set);
        }
    }
    expect("uAseven wA", XFA_FINDING_CONSTANT, ROUNDS, set, set, set);
    nothing_of(
        &(struct program){.round = "uAseven wA", .whole = true}); /* of large ones the usual */
    nothing("uA1 wA");
    /* What is there already is better left out. */
    struct analyzed a = run(&(struct program){.round = "uAzero rA"});
    const struct xfa_finding *found = analyzed_finding(&a, XFA_FINDING_REPEATED, NULL);
    assert_non_null(found);
    assert_int_equal(found->transfers, ROUNDS - 1);
    analyzed_free(&a);
}

static void unused(const char *round, unsigned transfers)
{
    const struct program program = {.round = round, .unhashed = true};
    expect_of(&program, XFA_FINDING_UNUSED, transfers, 0, COPY_NS, COPY_NS);
}

static void used(const char *round)
{
    nothing_of(&(struct program){.round = round, .unhashed = true});
}

static void test_unused(void **state)
{
    (void)state;
    unused("uA1 wB", ROUNDS); /* the last one goes with the process */
    unused("uA1 mA wA", ROUNDS);
    unused("uA1 fA", ROUNDS);
    unused("uA1 MA", ROUNDS); /* the rest by the next one */
    unused("uA1 NA MA wA", ROUNDS);
    used("uA1 MA rA");
    unused("uA1 cBA rA", ROUNDS);
    unused("uA1 w-", ROUNDS);
    used("uA1 rA");
    used("uA1 wA");
    used("uA1 xA");
    used("uA1 dA1");
    used("uA1 cAB");
    used("uA1 ?");
    used("uA1 g");
    used("uA1 tB");
    used("uZ1 wB"); /* in no allocation: perhaps a constant */
    nothing_of(&(struct program){.round = "uA1 ?", .arguments = "off", .unhashed = true});
    nothing_of(&(struct program){.round = "uA1", .arguments = "off", .unhashed = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_question_of_the_summary),
        cmocka_unit_test(test_called_back),
        cmocka_unit_test(test_overwritten),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_duplicate),
        cmocka_unit_test(test_duplicate_by_chance),
        cmocka_unit_test(test_constant_by_chance),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_round_trip_on_its_way),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_unused),
    };
    return cmocka_run_group_tests_name("left out", tests, NULL, NULL);
}
