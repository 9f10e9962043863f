/* Words: units, names of C++, text that others wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/demangle.h"
#include "analyzer/base/units.h"

static void test_units(void **state)
{
    char text[XFA_UNIT_CHARS];
    assert_string_equal(xfa_bytes_text(text, 0), "0 B");
    assert_string_equal(xfa_bytes_text(text, 1023), "1023 B");
    assert_string_equal(xfa_bytes_text(text, 1024), "1 KiB");
    assert_string_equal(xfa_bytes_text(text, 1536), "1.50 KiB");
    assert_string_equal(xfa_bytes_text(text, 1 << 20), "1 MiB");
    assert_string_equal(xfa_bytes_text(text, 16 << 20), "16 MiB");
    assert_string_equal(xfa_bytes_text(text, UINT64_MAX), "16 EiB");
    assert_string_equal(xfa_time_text(text, NAN), "-");
    assert_string_equal(xfa_time_text(text, 0), "0 ns");
    assert_string_equal(xfa_time_text(text, 999), "999 ns");
    assert_string_equal(xfa_time_text(text, 12345), "12.3 us");
    assert_string_equal(xfa_time_text(text, 2.5e9), "2.50 s");
    assert_string_equal(xfa_gbps_text(text, NAN), "-");
    assert_string_equal(xfa_gbps_text(text, 55.35), "55.4");
}

static void test_cxx_names(void **state)
{
    static const char *const names[][2] = {
        {"_ZN3net6upload5batchEPKfm", "net::upload::batch(float const*, unsigned long)"},
        {"_Zthis is none", "_Zthis is none"},
        {"plain_c", "plain_c"},
        {"", ""},
        {"_ZN1aI1bS_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_E1cEv",
         "_ZN1aI1bS_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_E1cEv"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = xfa_demangle(names[i][0]);
        assert_string_equal(text, names[i][1]);
        free(text);
    }
}

/* What is shown of it is common/text_test.c's affair. */
static void test_hostile_text_is_kept_and_tamed(void **state)
{
    char *kept = xfa_kept("a\0\x1b[31m\xff", 8), *shown = xfa_clean("a\0\x1b[31m\xff", 8);
    assert_string_equal(kept, "a\xef\xbf\xbd\x1b[31m\xff");
    assert_string_equal(shown, "a<U+0000><U+001B>[31m<0xFF>");
    free(kept);
    free(shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_cxx_names),
        cmocka_unit_test(test_hostile_text_is_kept_and_tamed),
    };
    return cmocka_run_group_tests_name("analyzer-words", tests, NULL, NULL);
}
