/* Settings: what is read, what is refused, and that docs/settings.md tells what settings.def has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/settings.h"

static const char *asked_name, *asked_value;

static const char *get_one(const char *name)
{
    return asked_name && strcmp(name, asked_name) == 0 ? asked_value : NULL;
}

static bool parse(struct xfs_settings *settings, const char *name, const char *value)
{
    asked_name = name;
    asked_value = value;
    memset(settings, 0xaa, sizeof *settings);
    return xfs_settings_parse(settings, get_one);
}

static void check_defaults(const struct xfs_settings *s)
{
    assert_string_equal(s->output, "");
    assert_true(s->enable && s->stacks && s->symbols && !s->verbose);
    assert_int_equal(s->stack_depth, 32);
    assert_int_equal(s->timing, 0);
    assert_int_equal(s->buffer_bytes, 256u << 20);
}

static void test_defaults(void **state)
{
    (void)state;
    struct xfs_settings s;
    assert_true(parse(&s, NULL, NULL));
    check_defaults(&s);
    assert_true(parse(&s, "XFERSCOPE_STACKS", ""));
    check_defaults(&s);
}

static void test_values(void **state)
{
    (void)state;
    struct xfs_settings s;
    assert_true(parse(&s, "XFERSCOPE_OUTPUT", "/some where/run.xft"));
    assert_string_equal(s.output, "/some where/run.xft");
    assert_true(parse(&s, "XFERSCOPE_ENABLE", "0") && !s.enable);
    assert_true(parse(&s, "XFERSCOPE_STACK_DEPTH", "7") && s.stack_depth == 7);
    assert_true(parse(&s, "XFERSCOPE_TIMING", "cupti") && s.timing == 1);
    assert_true(parse(&s, "XFERSCOPE_TIMING", "host") && s.timing == 2);
    assert_true(parse(&s, "XFERSCOPE_BUFFER", "12345") && s.buffer_bytes == 12345);
    assert_true(parse(&s, "XFERSCOPE_BUFFER", "3K") && s.buffer_bytes == 3072);
    assert_true(parse(&s, "XFERSCOPE_BUFFER", "2G") && s.buffer_bytes == 2ull << 30);
}

static void test_nonsense(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"XFERSCOPE_ENABLE", "yes"},          {"XFERSCOPE_ENABLE", "2"},
        {"XFERSCOPE_ENABLE", "10"},           {"XFERSCOPE_STACK_DEPTH", "-1"},
        {"XFERSCOPE_STACK_DEPTH", "5 "},      {"XFERSCOPE_STACK_DEPTH", "4294967296"},
        {"XFERSCOPE_BUFFER", "1T"},           {"XFERSCOPE_BUFFER", "M"},
        {"XFERSCOPE_BUFFER", "1MB"},          {"XFERSCOPE_BUFFER", "99999999999999999999"},
        {"XFERSCOPE_BUFFER", "17179869184G"}, {"XFERSCOPE_TIMING", "cup"},
        {"XFERSCOPE_TIMING", "auto|cupti"},   {"XFERSCOPE_TIMING", "Host"},
    };
    struct xfs_settings s;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(parse(&s, bad[i][0], bad[i][1]));
        check_defaults(&s);
    }
    char *text = malloc(XFS_TEXT_BYTES + 1);
    memset(text, 'x', XFS_TEXT_BYTES);
    text[XFS_TEXT_BYTES] = '\0';
    assert_false(parse(&s, "XFERSCOPE_OUTPUT", text));
    assert_string_equal(s.output, "");
    text[XFS_TEXT_BYTES - 1] = '\0';
    assert_true(parse(&s, "XFERSCOPE_OUTPUT", text));
    free(text);
}

/* ---- the page --------------------------------------------------------------------------- */

static char page[65536];

static int read_page(void **state)
{
    (void)state;
    FILE *file = fopen(SETTINGS_PAGE, "r");
    if (file == NULL)
        return -1;
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    return fclose(file);
}

/* "| `NAME` | `default` | meaning" must be there; of a choice, the first word and all words. */
static void check_row(const char *name, const char *type, const char *value, const char *meaning)
{
    char row[512], first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(value, "|"), value);
    snprintf(row, sizeof row, *value ? "| `%s` | `%s` | %s" : "| `%s` |%s | %s", name,
             *value ? first : "", meaning);
    if (strstr(page, row) == NULL)
        fail_msg("docs/settings.md lacks: %s", row);
    if (strcmp(type, "CHOICE") != 0)
        return;
    const char *line = strstr(page, row);
    for (const char *word = value; *word; word += strcspn(word, "|"), word += *word == '|') {
        snprintf(row, sizeof row, "`%.*s`", (int)strcspn(word, "|"), word);
        const char *found = strstr(line, row);
        assert_true(found && found < strchr(line, '\n'));
    }
}

static void test_page_has_all(void **state)
{
    (void)state;
#define X(name, field, type, value, meaning) check_row(name, #type, value, meaning);
#include "preload/base/settings.def"
#undef X
}

static void test_page_has_no_more(void **state)
{
    (void)state;
    static const char *const names[] = {
#define X(name, field, type, value, meaning) name,
#include "preload/base/settings.def"
#undef X
        "XFERSCOPE_PROFILE", /* the commands'; the page says so */
        "XFERSCOPE_NCCL",    /* that of probe --net; the page says so */
    };
    size_t seen = 0;
    for (const char *at = page; (at = strstr(at, "XFERSCOPE_")) != NULL; seen++) {
        size_t n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), i = 0;
        while (i < sizeof names / sizeof *names &&
               (strlen(names[i]) != n || strncmp(names[i], at, n) != 0))
            i++;
        if (i == sizeof names / sizeof *names)
            fail_msg("docs/settings.md names %.*s, which there is not", (int)n, at);
        at += n;
    }
    assert_true(seen >= sizeof names / sizeof *names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test_setup(test_page_has_all, read_page),
        cmocka_unit_test_setup(test_page_has_no_more, read_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
