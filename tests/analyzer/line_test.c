/* Lines of numbers and texts are those of printf and of the JSON library, byte for byte. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/base/line.h"

/* What was written, as text; the caller frees it. */
struct writing {
    struct xfa_line line;
    FILE *out;
    char *text;
    size_t bytes;
};

static void begin(struct writing *writing)
{
    writing->out = open_memstream(&writing->text, &writing->bytes);
    xfa_line_begin(&writing->line, writing->out);
}

static void expect(struct writing *writing, const char *text)
{
    xfa_line_end(&writing->line);
    fclose(writing->out);
    assert_string_equal(writing->text, text);
    free(writing->text);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void check_real(double value, int digits)
{
    struct writing writing;
    char text[64];
    snprintf(text, sizeof text, "%.*g", digits, value);
    begin(&writing);
    xfa_line_real(&writing.line, value, digits);
    expect(&writing, text);
}

static void test_reals(void **state)
{
    static const double values[] = {0,
                                    1,
                                    10,
                                    0.1,
                                    0.5,
                                    1e-4,
                                    9.9999e-5,
                                    123456.789,
                                    1e14,
                                    1e15,
                                    999999999999999.5,
                                    999999999.5,
                                    99999999.95,
                                    1e-11,
                                    9e-12,
                                    1e-300,
                                    1e300,
                                    2.5,
                                    0.125,
                                    1e9 / 7,
                                    5e-10,
                                    1.0000000000000002};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (int digits = 1; digits <= XFA_LINE_DIGITS; digits++) {
            check_real(values[i], digits);
            check_real(-values[i], digits);
            check_real(nextafter(values[i], 0), digits);
            check_real(nextafter(values[i], INFINITY), digits);
        }
    }
}

/* Halves: the last digit is that of the exact value, the even one of two. */
static void test_ties(void **state)
{
    for (int whole = 0; whole < 2000; whole++) {
        check_real(whole + 0.5, 3);
        check_real(whole + 0.5, 4);
        check_real(ldexp(whole, -10), 5);
        check_real(1e8 + whole + 0.5, 9);
    }
}

/* Of all sizes that a time in seconds or a bandwidth has. */
static void test_drawn_reals(void **state)
{
    uint64_t drawn = 20261123;
    for (int i = 0; i < 200000; i++) {
        drawn = drawn * 6364136223846793005u + 1442695040888963407u;
        double value = (double)(drawn >> 11) * exp2(-(double)(drawn >> 3 & 127));
        check_real(value, XFA_LINE_DIGITS);
        check_real(value, 9);
    }
}

static void test_whole(void **state)
{
    static const uint64_t values[] = {0,         9, 10, 1234567, INT64_MAX, (uint64_t)INT64_MAX + 1,
                                      UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct writing writing;
        char text[160];
        uint64_t value = values[i];
        snprintf(text, sizeof text, "%" PRIu64 " %" PRId64 " 0x%" PRIx64 " %" PRIu64 ".%03u", value,
                 (int64_t)value, value, value / 1000, (unsigned)(value % 1000));
        begin(&writing);
        xfa_line_unsigned(&writing.line, value);
        xfa_line_text(&writing.line, " ");
        xfa_line_signed(&writing.line, (int64_t)value);
        xfa_line_text(&writing.line, " ");
        xfa_line_hex(&writing.line, value);
        xfa_line_text(&writing.line, " ");
        xfa_line_us(&writing.line, value);
        expect(&writing, text);
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void test_texts(void **state)
{
    static const struct {
        const char *text, *json, *shown;
    } cases[] = {
        {"plain", "\"plain\"", "plain"},
        {"", "\"\"", ""},
        {"a \"b\" \\", "\"a \\\"b\\\" \\\\\"", "a \"b\" \\"},
        {"\n", "\"\\n\"", "<U+000A>"},
        {"\x7f", "\"\\u007f\"", "<U+007F>"},
        {"\xe2\x80\xae", "\"\\u202e\"", "<U+202E>"},
        {"\xff", "\"\xef\xbf\xbd\"", "<0xFF>"},
        {"\xc3\xa9", "\"\xc3\xa9\"", "\xc3\xa9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct writing writing;
        begin(&writing);
        xfa_line_json(&writing.line, cases[i].text);
        expect(&writing, cases[i].json);
        begin(&writing);
        xfa_line_shown(&writing.line, cases[i].text);
        expect(&writing, cases[i].shown);
    }
    struct writing writing;
    begin(&writing);
    xfa_line_json(&writing.line, NULL);
    expect(&writing, "null");
}

/* A line, and a text, may be longer than the room that a line has. */
static void test_long(void **state)
{
    struct writing writing;
    size_t bytes = 3 * sizeof writing.line.bytes;
    char *text = malloc(bytes + 1), *all = malloc(2 * bytes + 1), *end = all;
    memset(text, 'x', bytes);
    text[bytes] = 0;
    begin(&writing);
    for (size_t i = 0; i < bytes / 10; i++) {
        xfa_line_unsigned(&writing.line, 1234567890);
        end = stpcpy(end, "1234567890");
    }
    xfa_line_text(&writing.line, text);
    stpcpy(end, text);
    expect(&writing, all);
    free(text);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reals),       cmocka_unit_test(test_ties),
        cmocka_unit_test(test_drawn_reals), cmocka_unit_test(test_whole),
        cmocka_unit_test(test_texts),       cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
