/* What becomes of work that goes wrong: nothing, but that it is said. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/xferscope/guarded.h"

static int says(void *words, FILE *out)
{
    return fputs(words, out) < 0;
}

static int crashes(void *unused, FILE *out)
{
    (void)unused;
    fputs("half of it", out);
    abort();
    return 0;
}

static int hangs(void *unused, FILE *out)
{
    (void)unused;
    (void)out;
    for (;;)
        pause();
    return 1;
}

static int fails(void *unused, FILE *out)
{
    (void)unused;
    (void)out;
    return 1;
}

static int says_much(void *unused, FILE *out)
{
    (void)unused;
    for (int i = 0; i < 100000; i++)
        fputs("0123456789", out);
    return 0;
}

static void test_goes_well(void **state)
{
    char text[32], words[] = "two\nlines\n";
    const char *why;
    (void)state;
    assert_true(guarded_text(says, words, 60, text, sizeof text, &why));
    assert_string_equal(text, words);
}

static void test_more_than_fits(void **state)
{
    char text[16];
    const char *why;
    (void)state;
    assert_true(guarded_text(says_much, NULL, 60, text, sizeof text, &why));
    assert_string_equal(text, "012345678901234");
}

static void test_goes_wrong(void **state)
{
    static const struct {
        guarded_work *work;
        unsigned seconds;
        const char *why;
    } cases[] = {{crashes, 60, "reading it failed"},
                 {hangs, 1, "that took too long"},
                 {fails, 60, "it could not be read"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        const char *why = NULL;
        assert_false(guarded_text(cases[i].work, NULL, cases[i].seconds, text, sizeof text, &why));
        assert_string_equal(why, cases[i].why);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    }
}

/* Children that nobody waits for, signals that are held back: as some shells start us. */
static void test_odd_surroundings(void **state)
{
    char text[32], words[] = "a line\n";
    const char *why;
    sigset_t alarm;
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    assert_true(guarded_text(says, words, 60, text, sizeof text, &why));
    assert_string_equal(text, words);
    assert_false(guarded_text(hangs, NULL, 1, text, sizeof text, &why));
    assert_string_equal(why, "that took too long");
    assert_true(signal(SIGCHLD, SIG_DFL) == SIG_IGN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_well),
        cmocka_unit_test(test_more_than_fits),
        cmocka_unit_test(test_goes_wrong),
        cmocka_unit_test(test_odd_surroundings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
