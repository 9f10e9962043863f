/* "Did you mean": what is near, what is not, and arguments as getopt_long() leaves them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/nearest.h"

static const char *const words[] = {"record", "probe", "analyze", "export", "dump", "run"};
#define COUNT (sizeof words / sizeof *words)

static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                        {"no-stacks", no_argument, NULL, 1},
                                        {"stack-depth", required_argument, NULL, 2},
                                        {"to", no_argument, NULL, 3},
                                        {NULL, 0, NULL, 0}};

static void near_words(void **state)
{
    (void)state;
    assert_string_equal(xfc_nearest("recrod", words, COUNT), "record");
    assert_string_equal(xfc_nearest("analyse", words, COUNT), "analyze");
    assert_string_equal(xfc_nearest("probes", words, COUNT), "probe");
    assert_string_equal(xfc_nearest("recordxyz", words, COUNT), "record"); /* three letters */
    assert_string_equal(xfc_nearest("export", words, COUNT), "export");
}

static void far_words(void **state)
{
    (void)state;
    assert_null(xfc_nearest("recordwxyz", words, COUNT)); /* four letters */
    assert_null(xfc_nearest("xyz", words, COUNT));        /* as far from "run" as it is long */
    assert_null(xfc_nearest("recordrecordrecordrecordrecordrec", words, COUNT));
    assert_null(xfc_nearest("", words, 0));
}

static void arguments(void **state)
{
    (void)state;
    assert_string_equal(xfc_nearest_option("--ouptut=run.xft", options), "output");
    assert_string_equal(xfc_nearest_option("--stackdepth", options), "stack-depth");
    assert_string_equal(xfc_nearest_option("--no-stack", options), "no-stacks");
    assert_null(xfc_nearest_option("--frames", options));
    assert_null(xfc_nearest_option("-ouptut", options)); /* letters, not a name */
}

static void sentence(void **state)
{
    char text[64];

    (void)state;
    assert_string_equal(xfc_did_you_mean(text, sizeof text, "--", "output"),
                        "; did you mean --output?");
    assert_string_equal(xfc_did_you_mean(text, sizeof text, "", NULL), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_words),
        cmocka_unit_test(far_words),
        cmocka_unit_test(arguments),
        cmocka_unit_test(sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
