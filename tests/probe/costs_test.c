/*
 * Costs in the machine profile: hostile input, round trip, look-up by name and by size; paths
 * measured under load answer only those who ask for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xferscope/profile.h"

#define HEAD "{\"schema\":\"xferscope-profile\",\"version\":1,\"machine\":{},\"paths\":["
#define PATH(name, load, ns)                                                                       \
    "{\"name\":\"" name "\",\"method\":\"copy\",\"direction\":\"H2D\"," load                       \
    "\"src\":{\"memory\":\"pinned\",\"numa\":0},\"dst\":{\"memory\":\"device\",\"device\":0},"     \
    "\"points\":[{\"bytes\":64,\"median_ns\":" ns "}]}"
#define TABLE(rows)                                                                                \
    HEAD "],\"tables\":[{\"name\":\"alloc/pinned/gpu0\",\"by\":\"bytes\",\"unit\":\"ns\","         \
         "\"rows\":[" rows "]}]}"

static struct xfp_profile *parse(const char *text)
{
    char error[512] = "";
    struct xfp_profile *profile = xfp_parse(text, strlen(text), error, sizeof(error));

    assert_string_equal(error, "");
    assert_non_null(profile);
    return profile;
}

static const struct hostile {
    const char *text, *says;
} hostile[] = {
    {HEAD "],\"scalars\":3}", "scalars: must be an array"},
    {HEAD "],\"scalars\":[3]}", "scalars[0]: must be an object"},
    {HEAD "],\"scalars\":[{\"name\":\"a\",\"unit\":\"ns\"}]}", "scalars[0].median: missing"},
    {HEAD "],\"scalars\":[{\"unit\":\"ns\",\"median\":1}]}", "scalars[0].name: must be a string"},
    {HEAD "],\"scalars\":[{\"name\":\"a\",\"unit\":\"ns\",\"median\":-1}]}", "-1 is not a time"},
    {HEAD "],\"scalars\":[{\"name\":\"a\",\"unit\":\"ns\",\"median\":1,\"min\":2}]}",
     "not between min and max"},
    {HEAD "],\"scalars\":[{\"name\":\"a\",\"unit\":\"ns\",\"median\":1},"
          "{\"name\":\"a\",\"unit\":\"ns\",\"median\":1}]}",
     "scalars[1].name: \"a\" is there twice"},
    {HEAD "],\"tables\":[[]]}", "tables[0]: must be an object"},
    {HEAD "],\"tables\":[{\"name\":\"a\",\"unit\":\"ns\"}]}", "tables[0].by: must be a string"},
    {TABLE("7"), "tables[0].rows[0]: must be an object"},
    {TABLE("{\"median\":1}"), "tables[0].rows[0].at: missing"},
    {TABLE("{\"at\":0,\"median\":1}"), "tables[0].rows[0].at: 0 is outside"},
    {TABLE("{\"at\":4,\"median\":1},{\"at\":4,\"median\":1}"), "rows[1].at: rows must ascend"},
    {TABLE("{\"at\":4,\"median\":1,\"ci_high\":0.5}"), "not between ci_low and ci_high"},
    {HEAD PATH("a", "\"load\":\"heavy\",", "1") "]}", "paths[0].load: \"heavy\""},
    {HEAD PATH("a", "\"load\":7,", "1") "]}", "paths[0].load: must be a string"},
};

static void hostile_input_is_one_clear_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        char error[512] = "";

        assert_null(xfp_parse(hostile[i].text, strlen(hostile[i].text), error, sizeof(error)));
        if (!strstr(error, hostile[i].says) || strchr(error, '\n'))
            fail_msg("\"%s\" does not say \"%s\"", error, hostile[i].says);
    }
}

static void older_profiles_have_no_costs(void **state)
{
    struct xfp_profile *profile = parse(HEAD "],\"tables\":null}");

    (void)state;
    assert_int_equal(profile->scalar_count + profile->table_count, 0);
    assert_null(xfp_find_scalar(profile, "sync/stream/gpu0"));
    assert_null(xfp_find_table(profile, "alloc/pinned/gpu0"));
    xfp_free(profile);
}

static void saving_and_loading_is_lossless(void **state)
{
    char name[] = "costs-XXXXXX", error[512] = "";
    struct xfp_profile *a = parse(HEAD PATH(
        "a", "\"load\":\"mapped-traffic\",",
        "5") "],"
             "\"scalars\":[{\"name\":\"s\",\"unit\":\"ns\",\"n\":9,\"median\":2.5,\"min\":1,"
             "\"max\":4,"
             "\"ci_low\":2,\"ci_high\":3},{\"name\":\"t\",\"unit\":\"GB/s\",\"median\":0}],"
             "\"tables\":[{\"name\":\"empty\",\"by\":\"nodes\",\"unit\":\"ns\",\"rows\":[]},"
             "{\"name\":\"m\",\"by\":\"copies\",\"unit\":\"ns\",\"bytes\":4096,"
             "\"rows\":[{\"at\":1,\"median\":7},{\"at\":1099511627776,\"n\":3,\"median\":8}]}]}");
    struct xfp_profile *b;
    int fd = mkstemp(name);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(xfp_save(a, name, error, sizeof(error)), 0);
    b = xfp_read_file(name, error, sizeof(error));
    unlink(name);
    assert_string_equal(error, "");
    assert_non_null(b);
    assert_int_equal(b->paths[0].load, XFP_MAPPED_TRAFFIC);
    assert_int_equal(b->scalar_count, 2);
    assert_string_equal(b->scalars[0].name, "s");
    assert_memory_equal(&b->scalars[0].cost, &a->scalars[0].cost, sizeof(struct xfp_cost));
    assert_string_equal(b->scalars[1].unit, "GB/s");
    assert_int_equal(b->table_count, 2);
    assert_int_equal(b->tables[0].row_count, 0);
    assert_string_equal(b->tables[1].by, "copies");
    assert_int_equal(b->tables[1].bytes, 4096);
    assert_int_equal(b->tables[1].rows[1].at, 1099511627776);
    assert_memory_equal(&b->tables[1].rows[1].cost, &a->tables[1].rows[1].cost,
                        sizeof(struct xfp_cost));
    xfp_free(a);
    xfp_free(b);
}

static void check(const struct xfp_table *table, uint64_t at, enum xfp_basis basis, double ns,
                  double error)
{
    struct xfp_estimate e = xfp_table_at(table, at);

    assert_int_equal(e.basis, basis);
    assert_float_equal(e.ns, ns, 1e-9 * (ns + 1));
    assert_float_equal(e.error, error, 1e-9);
}

static void a_cost_by_size_says_where_it_comes_from(void **state)
{
    struct xfp_profile *profile = parse(
        TABLE("{\"at\":10,\"median\":100,\"ci_low\":90,\"ci_high\":105,\"min\":1,\"max\":999},"
              "{\"at\":20,\"median\":300},{\"at\":40,\"median\":500},"
              "{\"at\":50,\"median\":400}"));
    struct xfp_table *table = &profile->tables[0];

    (void)state;
    assert_ptr_equal(xfp_find_table(profile, "alloc/pinned/gpu0"), table);
    check(table, 20, XFP_MEASURED, 300, 0);
    check(table, 10, XFP_MEASURED, 100, 0.1);
    check(table, 1, XFP_INTERPOLATED, 100, 0.1);
    check(table, 15, XFP_INTERPOLATED, 200, 0.1);
    check(table, 30, XFP_INTERPOLATED, 400, 0);
    /* never less than was measured for less: a falling line does not go on */
    check(table, 203, XFP_MODELLED, 400, 0);
    check(table, 204, XFP_MODELLED, 400, 0.5); /* a guess */
    table->row_count = 3;
    check(table, 60, XFP_MODELLED, 700, 0);
    table->row_count = 1;
    check(table, 10, XFP_MEASURED, 100, 0.1);
    check(table, 11, XFP_UNKNOWN, 0, 0);
    table->row_count = 0;
    check(table, 10, XFP_UNKNOWN, 0, 0);
    xfp_free(profile);
}

static void a_row_says_what_it_moves(void **state)
{
    struct xfp_profile *profile =
        parse(HEAD "],\"tables\":["
                   "{\"name\":\"a\",\"by\":\"bytes\",\"unit\":\"ns\"},"
                   "{\"name\":\"b\",\"by\":\"bytes each way\",\"unit\":\"ns\"},"
                   "{\"name\":\"c\",\"by\":\"row bytes\",\"unit\":\"ns\",\"bytes\":100},"
                   "{\"name\":\"d\",\"by\":\"copies\",\"unit\":\"ns\",\"bytes\":100}]}");
    const uint64_t moved[] = {0, 14, 100, 700};

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(xfp_table_moved(&profile->tables[i], 7), moved[i]);
    xfp_free(profile);
}

static void paths_under_load_are_asked_for(void **state)
{
    struct xfp_profile *profile =
        parse(HEAD PATH("busy", "\"load\":\"both-ways\",", "9") "," PATH("alone", "", "5") "]}");
    struct xfp_place src = {XFT_MEM_PINNED, -1, 0}, dst = {XFT_MEM_DEVICE, 0, -1};

    (void)state;
    assert_string_equal(xfp_find(profile, XFP_COPY, src, dst, false)->name, "alone");
    assert_string_equal(xfp_find_loaded(profile, XFP_COPY, src, dst, XFP_BOTH_WAYS)->name, "busy");
    assert_null(xfp_find_loaded(profile, XFP_COPY, src, dst, XFP_MAPPED_TRAFFIC));
    profile->paths[1].load = XFP_MAPPED_TRAFFIC;
    assert_null(xfp_find(profile, XFP_COPY, src, dst, false));
    assert_string_equal(xfp_load_word(XFP_BOTH_WAYS), "both-ways");
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_input_is_one_clear_line),
        cmocka_unit_test(older_profiles_have_no_costs),
        cmocka_unit_test(saving_and_loading_is_lossless),
        cmocka_unit_test(a_cost_by_size_says_where_it_comes_from),
        cmocka_unit_test(a_row_says_what_it_moves),
        cmocka_unit_test(paths_under_load_are_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
