/* Text of others: what is shown of it, and that nothing else gets through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/text.h"

static void shows(const char *text, size_t n, const char *expected)
{
    char *shown = xfc_shown(text, n), *again = xfc_shown(expected, strlen(expected));
    assert_string_equal(shown, expected);
    assert_string_equal(again, expected); /* twice does no harm */
    free(shown);
    free(again);
}

#define SHOWS(text, expected) shows(text, sizeof(text) - 1, expected)

static void test_shown(void **state)
{
    (void)state;
    SHOWS("", "");
    SHOWS("plain <text> \\x1b %s", "plain <text> \\x1b %s");
    SHOWS("M\xc3\xbcnchen \xe2\x82\xac \xf0\x9f\x9a\x80",
          "M\xc3\xbcnchen \xe2\x82\xac \xf0\x9f\x9a\x80");
    SHOWS("\x1b[31m\a", "<U+001B>[31m<U+0007>");
    SHOWS("one\r\ntwo\tthree\x7f", "one<U+000D><U+000A>two<U+0009>three<U+007F>");
    SHOWS("a\0b", "a<U+0000>b");
    SHOWS("\xc2\x9b"
          "2J",
          "<U+009B>2J"); /* CSI in one character */
    SHOWS("a\xe2\x80\xae"
          "cba",
          "a<U+202E>cba"); /* right to left */
    SHOWS("\xe2\x81\xa6"
          "\xe2\x81\xa9",
          "<U+2066><U+2069>"); /* isolates */
    SHOWS("\xef\xbb\xbf"
          "x\xc2\xad"
          "y",
          "<U+FEFF>x<U+00AD>y");                                     /* mark, soft hyphen */
    SHOWS("\xf3\xa0\x81\x81", "<U+E0041>");                          /* a tag */
    SHOWS("\xff\xc3", "<0xFF><0xC3>");                               /* none, and half of one */
    SHOWS("\xc0\x80\xe0\x80\xae", "<0xC0><0x80><0xE0><0x80><0xAE>"); /* longer than need be */
    SHOWS("\xed\xa0\x80", "<0xED><0xA0><0x80>");                     /* half of a pair */
    SHOWS("\xf4\x90\x80\x80", "<0xF4><0x90><0x80><0x80>");           /* beyond the last */
}

/* What has to be hidden, and what must not be. */
static void test_hidden(void **state)
{
    (void)state;
    static const struct {
        uint32_t first, last;
    } asked[] = {{0, 0x1f},           {0x7f, 0x9f},       {0xad, 0xad},     {0x200b, 0x200f},
                 {0x2028, 0x202e},    {0x2060, 0x2064},   {0x2066, 0x2069}, {0xfeff, 0xfeff},
                 {0xfff9, 0xfffb},    {0xe0000, 0xe007f}, {0x61c, 0x61c},   {0xfffe, 0xffff},
                 {0x10fffe, 0x10ffff}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        for (uint32_t code = asked[i].first; code <= asked[i].last; code++)
            assert_true(xfc_hidden(code));
    for (uint32_t code = 0x20; code < 0x7f; code++)
        assert_false(xfc_hidden(code));
    static const uint32_t seen[] = {0xa0, 0xe9, 0x5d0, 0x627, 0x4e2d, 0x202f, 0xfffd, 0x1f680};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        assert_false(xfc_hidden(seen[i]));
}

/* Whatever the bytes: what is shown is UTF-8 without anything hidden. */
static void test_any_bytes(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int round = 0; round < 20000; round++) {
        char bytes[24];
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[i] = (char)(seed >> 24);
            if (i % 3 == 0 && seed & 1 << 20) /* lead bytes more often than chance has them */
                bytes[i] = (char)(0xe0 | (seed >> 16 & 0x17));
        }
        char *shown = xfc_shown(bytes, sizeof bytes), *valid = xfc_valid(bytes, sizeof bytes);
        size_t length, left = strlen(shown);
        uint32_t code;
        for (const char *at = shown; left > 0; at += length, left -= length) {
            length = xfc_utf8(at, left, &code);
            assert_true(length > 0 && !xfc_hidden(code));
        }
        left = strlen(valid);
        for (const char *at = valid; left > 0; at += length, left -= length)
            assert_true((length = xfc_utf8(at, left, &code)) > 0);
        free(shown);
        free(valid);
    }
}

static void test_valid(void **state)
{
    (void)state;
    char *text = xfc_valid("a\0\x1b\xff\xe2\x80\xae\xc3", 8);
    assert_string_equal(text, "a\xef\xbf\xbd\x1b\xef\xbf\xbd\xe2\x80\xae\xef\xbf\xbd");
    free(text);
}

static char *printed;
static size_t printed_bytes;

#define PRINTS(expected, ...)                                                                      \
    do {                                                                                           \
        FILE *out = open_memstream(&printed, &printed_bytes);                                      \
        int n = xfc_print(out, __VA_ARGS__);                                                       \
        fclose(out);                                                                               \
        assert_string_equal(printed, expected);                                                    \
        assert_int_equal(n, strlen(expected));                                                     \
        free(printed);                                                                             \
    } while (0)

/* What printf prints, but for the texts. */
#define AS_PRINTF(...)                                                                             \
    do {                                                                                           \
        char *expected;                                                                            \
        assert_true(asprintf(&expected, __VA_ARGS__) >= 0);                                        \
        PRINTS(expected, __VA_ARGS__);                                                             \
        free(expected);                                                                            \
    } while (0)

static void test_print(void **state)
{
    (void)state;
    AS_PRINTF("nothing to convert\n");
    AS_PRINTF("%s %-12s|%12s|%.3s|%-6.2s|%*s|%-*s|%.*s|%%", "a", "b", "c", "defgh", "ijk", 5, "l",
              4, "m", 2, "nop");
    AS_PRINTF("%d %i %u %5d %-5d| %05d %+d %x %#X %c", -1, 2, 3u, 4, 5, 6, 7, 0xabu, 0xcdu, 'z');
    AS_PRINTF("%ld %lu %lld %llu %zu %lx %llx %5zu %.3d", -1l, ~0ul, -2ll, ~0ull, (size_t)7,
              0xffffffffful, 0xeeeeeeeeeull, (size_t)8, 9);
    AS_PRINTF("%f %.2f %8.3f %g %.9g %e %+.1f %.*f", 1.5, 2.25, 3.0, 1e-9, 1.0 / 3, 5e7, 6.25, 1,
              7.77);
    AS_PRINTF("%*d|%-*d|%*d", 6, 1, 6, 2, -6, 3);
    PRINTS("<U+001B>[2J\x1b", "%s\x1b", "\x1b[2J"); /* what the program itself says is its own */
    PRINTS("a<U+000A>b 1 <0xFF>", "%s %d %s", "a\nb", 1, "\xff");
    PRINTS("<U+202E>", "%.3s", "\xe2\x80\xae\x1b");
    PRINTS("   <U+001B>", "%11s", "\x1b");
}

static void csv_is(const char *text, const char *wanted)
{
    char *field = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&field, &bytes);
    assert_non_null(out);
    xfc_csv_field(out, text);
    fclose(out);
    assert_string_equal(field, wanted);
    free(field);
}

static void test_csv(void **state)
{
    (void)state;
    csv_is("", "");
    csv_is("plain", "plain");
    csv_is("a=b", "a=b");
    csv_is("a, \"b\"", "\"a, \"\"b\"\"\"");
    csv_is("=cmd|' /c calc'!A1", "'=cmd|' /c calc'!A1");
    csv_is("+1", "'+1");
    csv_is("-1", "'-1");
    csv_is("@SUM(1,2)", "\"'@SUM(1,2)\"");
    csv_is("\tx", "'\tx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shown),     cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_any_bytes), cmocka_unit_test(test_valid),
        cmocka_unit_test(test_print),     cmocka_unit_test(test_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
