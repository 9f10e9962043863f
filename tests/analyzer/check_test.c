/* Checks of the analyzer's own code: said once for each place, or the end of a test. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/check.h"

static char said[1024];

/* In a child whose XFERSCOPE_CHECKS is this: one place fails three times, another once. */
static void child(const char *asked, int out)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setenv("XFERSCOPE_CHECKS", asked, 1);
    dup2(out, STDERR_FILENO);
    int held = 0;
    for (int i = 0; i < 4; i++)
        held += XFA_EXPECT(i == 3, "one is not three");
    held += XFA_EXPECT(held == 2, "one is not two");
    _exit(held);
}

static int run(const char *asked)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0)
        child(asked, ends[1]);
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(ends[0], said + n, sizeof said - 1 - n)) > 0;)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#define LINE(words)                                                                                \
    "xferscope: a mistake of the analyzer: " words "; figures may be wrong, please report it\n"

static void test_said_once(void **state)
{
    (void)state;
    assert_int_equal(run("say"), 1);
    assert_string_equal(said, LINE("one is not three") LINE("one is not two"));
}

static void test_ends_tests(void **state)
{
    (void)state;
    assert_int_equal(run("abort"), -SIGABRT);
    assert_string_equal(said, LINE("one is not three"));
}

/* ctest sets it: what fails anywhere in the tests is seen. */
static void test_is_set_here(void **state)
{
    (void)state;
    const char *asked = getenv("XFERSCOPE_CHECKS");
    assert_non_null(asked);
    assert_string_equal(asked, "abort");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_said_once),
        cmocka_unit_test(test_ends_tests),
        cmocka_unit_test(test_is_set_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
