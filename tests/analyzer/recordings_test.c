/* Files of several runs are distinguished; nothing is said where they are one run, however it was
 * recorded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/run/recordings.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

#define SECOND UINT64_C(1000000000)
#define DAY (86400 * SECOND)

/* One process each, from `at` on for so many seconds. What is NULL is not in the trace. */
struct made {
    const char *run, *exe, *host;
    uint64_t at, seconds;
    const char *launcher, *world, *rank, *size;
    const char *job, *step;
};

static void say(struct trace_builder *b, const char *key, const char *value)
{
    if (value)
        build_meta(b, key, value);
}

static void add(struct analyzed *a, const struct made *made)
{
    struct trace_builder b;
    build_start(&b, 1);
    b.header.start_real_ns = DAY + made->at * SECOND;
    b.header.start_mono_ns = SECOND;
    say(&b, "run", made->run);
    say(&b, "exe", made->exe);
    say(&b, "hostname", made->host);
    say(&b, "rank.launcher", made->launcher);
    say(&b, "rank.world", made->world);
    say(&b, "rank", made->rank);
    say(&b, "rank.size", made->size);
    say(&b, "job.id", made->job);
    say(&b, "job.step", made->step);
    build_close(&b, XFT_STATE_CLOSED, SECOND + made->seconds * SECOND);
    analyzed_add(a, &b);
    build_free(&b);
}

/* How many runs; `names`: what is said of them, or NULL. */
static void expect(const struct made *made, size_t count, size_t runs, const char *names)
{
    struct analyzed a = analyzed_start(NULL);
    char *listed;
    for (size_t i = 0; i < count; i++)
        add(&a, &made[i]);
    analyzed_finish(&a);
    assert_int_equal(xfa_run_recordings(a.analysis->run, &listed), runs);
    assert_int_equal(a.analysis->runs, runs);
    assert_int_equal(a.analysis->mixed != NULL, runs > 1);
    if (names)
        assert_string_equal(listed, names);
    else
        assert_null(listed);
    free(listed);
    analyzed_free(&a);
}

#define EXPECT(made, runs, names) expect(made, sizeof(made) / sizeof *(made), runs, names)

static void test_one_after_the_other(void **state)
{
    (void)state;
    static const struct made two[] = {{"1.4.a", "/bin/zeros", "n1", 0, 10},
                                      {"1.4.a", "/bin/child", "n1", 5, 2},
                                      {"2.4.b", "/bin/waits", "n1", 11, 10}};
    static const struct made five[] = {{"1", "/bin/train", "n1", 0, 1},
                                       {"2", "/bin/train", "n1", 100, 1},
                                       {"3", NULL, "n2", 300, 1},
                                       {"4", "/bin/test", "n1", 600, 1},
                                       {"5", "/bin/test", "n1", 900, 1}};
    EXPECT(two, 2, "zeros, waits");
    EXPECT(five, 5, "train, train, unknown and 2 more");
}

/* At the same time on one host; on several also a little apart, as their calendars may be. */
static void test_at_once(void **state)
{
    (void)state;
    static const struct made by_hand[] = {{"1", "/p", "n1", 0, 10}, {"2", "/p", "n1", 9, 10}};
    static const struct made hosts[] = {{"1", "/p", "n1", 0, 10}, {"2", "/p", "n2", 60, 10}};
    static const struct made later[] = {{"1", "/p", "n1", 0, 10}, {"2", "/q", "n2", 90, 10}};
    /* The first and the last have nothing in common but the one between them. */
    static const struct made chain[] = {
        {"1", "/p", "n1", 0, 10}, {"3", "/p", "n1", 19, 10}, {"2", "/p", "n1", 9, 11}};
    /* The last to begin is what the others have in common. */
    static const struct made last[] = {
        {"1", "/p", "n1", 0, 10}, {"2", "/p", "n1", 11, 4}, {"3", "/p", "n2", 14, 10}};
    EXPECT(by_hand, 1, NULL);
    EXPECT(last, 1, NULL);
    EXPECT(hosts, 1, NULL);
    EXPECT(later, 2, "p, q");
    EXPECT(chain, 1, NULL);
}

/* Each rank recorded by itself, the second begins when the first has ended. */
static void test_ranks(void **state)
{
    (void)state;
    static const struct made mpi[] = {
        {"1", "/p", "n1", 0, 10, "openmpi", "job.1", "0", "2", NULL, NULL},
        {"2", "/p", "n1", 11, 10, "openmpi", "job.1", "1", "2", NULL, NULL}};
    static const struct made two_launches[] = {
        {"1", "/p", "n1", 0, 10, "openmpi", "job.1", "0", "2", "77", NULL},
        {"2", "/p", "n1", 11, 10, "openmpi", "job.2", "1", "2", "77", NULL}};
    static const struct made unnamed[] = {
        {"1", "/p", "n1", 0, 10, "pmi", NULL, "0", "2", NULL, NULL},
        {"2", "/p", "n1", 11, 10, "pmi", NULL, "1", "2", NULL, NULL}};
    static const struct made again[] = {
        {"1", "/p", "n1", 0, 10, "pmi", NULL, "0", "2", NULL, NULL},
        {"2", "/p", "n1", 11, 10, "pmi", NULL, "0", "2", NULL, NULL}};
    EXPECT(mpi, 1, NULL);
    EXPECT(two_launches, 2, "p, p");
    EXPECT(unnamed, 1, NULL);
    EXPECT(again, 2, "p, p");
}

/* torchrun's usual name says nothing, one that it was given does. */
static void test_torchrun(void **state)
{
    (void)state;
    static const struct made none[] = {
        {"1", "/p", "n1", 0, 10, "torchrun", "none.0", "0", "2", NULL, NULL},
        {"2", "/p", "n1", 11, 10, "torchrun", "none.0", "0", "2", NULL, NULL}};
    static const struct made at_once[] = {
        {"1", "/p", "n1", 0, 10, "torchrun", "none.0", "0", "2", NULL, NULL},
        {"2", "/p", "n2", 11, 10, "torchrun", "none.0", "1", "2", NULL, NULL}};
    static const struct made named[] = {
        {"1", "/p", "n1", 0, 10, "torchrun", "mine.0", "0", "2", NULL, NULL},
        {"2", "/p", "n1", 11, 10, "torchrun", "mine.0", "1", "2", NULL, NULL}};
    EXPECT(none, 2, "p, p");
    EXPECT(at_once, 1, NULL);
    EXPECT(named, 1, NULL);
}

static void test_jobs(void **state)
{
    (void)state;
    static const struct made job[] = {
        {"1", "/p", "n1", 0, 10, NULL, NULL, NULL, NULL, "77", "0"},
        {"2", "/p", "n1", 11, 10, NULL, NULL, NULL, NULL, "77", "0"},
        {"3", "/p", "n1", 22, 10, NULL, NULL, NULL, NULL, "77", NULL}};
    static const struct made steps[] = {
        {"1", "/p", "n1", 0, 10, NULL, NULL, NULL, NULL, "77", "0"},
        {"2", "/p", "n1", 11, 10, NULL, NULL, NULL, NULL, "77", "1"}};
    static const struct made jobs[] = {
        {"1", "/p", "n1", 0, 10, NULL, NULL, NULL, NULL, "77", NULL},
        {"2", "/p", "n1", 11, 10, NULL, NULL, NULL, NULL, "78", NULL}};
    EXPECT(job, 1, NULL);
    EXPECT(steps, 2, "p, p");
    EXPECT(jobs, 2, "p, p");
}

/* What no `record` made, and files of before: nobody knows. */
static void test_not_in_the_trace(void **state)
{
    (void)state;
    static const struct made bare[] = {
        {NULL, "/p", "n1", 0, 10}, {NULL, "/q", "n1", 1000, 10}, {"1", "/r", "n1", 2000, 10}};
    EXPECT(bare, 1, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_torchrun),
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_not_in_the_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
