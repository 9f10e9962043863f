/* Threads that share work: each thing is done once, what they did is seen, and signals are not
 * theirs. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/crew.h"
#include "tests/analyzer/lab/one_processor.h"

enum { THINGS = 100, ROUNDS = 300, SIGNALS = 50 };

struct work {
    unsigned done[THINGS];
    pthread_t by[THINGS];
};

static void one(void *self, size_t i)
{
    struct work *work = self;
    work->done[i]++;
    work->by[i] = pthread_self();
}

/* Of any number of things, none at all, too. */
static void test_each_once(void **state)
{
    struct work work = {0};
    struct xfa_crew *crew = xfa_crew_new();
    unsigned wanted[THINGS] = {0};
    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t count = round % (THINGS + 1);
        xfa_crew_do(crew, one, &work, count);
        for (size_t i = 0; i < THINGS; i++) {
            wanted[i] += i < count;
            assert_int_equal(work.done[i], wanted[i]);
        }
    }
    xfa_crew_free(crew);
}

/* On one processor nobody else is needed. */
static void test_alone(void **state)
{
    cpu_set_t all;
    struct work work = {0};
    (void)state;
    keep_to_one_processor(&all);
    struct xfa_crew *crew = xfa_crew_new();
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    xfa_crew_do(crew, one, &work, THINGS);
    for (size_t i = 0; i < THINGS; i++)
        assert_true(work.done[i] == 1 && pthread_equal(work.by[i], pthread_self()));
    xfa_crew_free(crew);
}

static volatile sig_atomic_t caught, caught_by_others;
static pthread_t caller;

static void take_signal(int number)
{
    (void)number;
    caught = caught + 1;
    if (!pthread_equal(pthread_self(), caller))
        caught_by_others = caught_by_others + 1;
}

/* The caller has them blocked: nobody takes them then; and once it has not, it does. */
static void test_signals(void **state)
{
    const struct sigaction action = {.sa_handler = take_signal};
    struct sigaction before;
    struct work work = {0};
    sigset_t set, mask;
    (void)state;
    caller = pthread_self();
    sigaction(SIGUSR1, &action, &before);
    struct xfa_crew *crew = xfa_crew_new();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &mask);
    for (int i = 0; i < SIGNALS; i++) {
        kill(getpid(), SIGUSR1);
        xfa_crew_do(crew, one, &work, THINGS);
        assert_int_equal(caught, i);
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
        assert_int_equal(caught, i + 1);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    assert_int_equal(caught_by_others, 0);
    xfa_crew_free(crew);
    sigaction(SIGUSR1, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
