/* Words: units, names of C++, text that others wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
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
        /* PyTorch's have more references than that. */
        {"_ZN1aI1bS_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_E8dispatchEv",
         "a<b, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, "
         "a>::dispatch()"},
        {"_Z3putIJifEEvDpT_", "void put<int, float>(int, float)"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = xfa_demangle(names[i][0]);
        assert_string_equal(text, names[i][1]);
        free(text);
    }
}

/* Each of its parts is twice the one before: 2^32 of them, as text, or to be looked through without
 * a word of text (in a pack). They stay as they are, and the test ends. */
static void test_names_that_never_end(void **state)
{
    static const char *const heads[] = {"_Z1f", "_Z1fDp"};
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char name[256];
        size_t at = (size_t)snprintf(name, sizeof name, "%s", heads[i]);
        for (unsigned k = 0; k < 32; k++)
            name[at++] = 'M';
        at += (size_t)snprintf(name + at, sizeof name - at, "1aS_");
        for (unsigned k = 0; k < 31; k++)
            at += (size_t)snprintf(name + at, sizeof name - at, "S%c_", digits[k]);
        char *text = xfa_demangle(name);
        assert_string_equal(text, name);
        free(text);
    }
}

/* Each argument is a pair of the one before, 2^16 in all: without them where it is a name. */
static void test_arguments_without_end(void **state)
{
    static const char *const names[][2] = {
        {"_ZN3net4sendI1pIS1_IS1_IS1_IS1_IS1_IS1_IS1_IS1_IS1_IS1_IS1_IS1_IS1_IS1_IS1_IS1_I"
         "iiES2_ES3_ES4_ES5_ES6_ES7_ES8_ES9_ESA_ESB_ESC_ESD_ESE_ESF_ESG_ESH_EEEvv",
         "void net::send<...>"},
        {"_ZN3net3setIiE6uploadI1pIS3_IS3_IS3_IS3_IS3_IS3_IS3_IS3_IS3_IS3_IS3_IS3_IS3_IS3_"
         "IS3_IS3_IiiES4_ES5_ES6_ES7_ES8_ES9_ESA_ESB_ESC_ESD_ESE_ESF_ESG_ESH_ESI_ESJ_EEEvv",
         "void net::set<int>::upload<...>"},
        {"_ZltI1pIS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IiiES1_ES"
         "2_ES3_ES4_ES5_ES6_ES7_ES8_ES9_ESA_ESB_ESC_ESD_ESE_ESF_ESG_EEi1xT_",
         NULL}, /* operator< */
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *wanted = names[i][1] ? names[i][1] : names[i][0];
        char *text = xfa_demangle(names[i][0]), *whole = xfa_demangle_whole(names[i][0]);
        assert_string_equal(text, wanted);
        assert_string_equal(whole, names[i][0]);
        free(text);
        free(whole);
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
        cmocka_unit_test(test_names_that_never_end),
        cmocka_unit_test(test_arguments_without_end),
        cmocka_unit_test(test_hostile_text_is_kept_and_tamed),
    };
    return cmocka_run_group_tests_name("analyzer-words", tests, NULL, NULL);
}
