/*
 * The profile's sections: written and read back, asked, and refused when they make no sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/profile/profile_model.h"
#include "probe/profile/profile_sections.h"
#include "probe/report/report_csv.h"

#define HEAD "{\"schema\": \"xferscope-profile\", \"version\": 1, \"machine\": {}, \"paths\": []"
#define ENDS                                                                                       \
    "\"direction\": \"H2D\", \"src\": {\"memory\": \"pinned\", \"numa\": 1},"                      \
    "\"dst\": {\"memory\": \"device\", \"device\": 3}"

#define SPREAD(n, min, max, low, high)                                                             \
    "{\"n\": " #n ", \"min_ns\": " #min ", \"max_ns\": " #max ", \"ci_low_ns\": " #low             \
    ", \"ci_high_ns\": " #high "}"

static const char full[] = HEAD
    ", \"concurrent\": [{\"name\": \"c\", \"flows\": [{" ENDS "}, {" ENDS "}], \"points\":"
    "  [{\"bytes\": 1024, \"n\": 9, \"median_ns\": 100, \"min_ns\": 90, \"max_ns\": 130,"
    "    \"ci_low_ns\": 95, \"ci_high_ns\": 110}]}],"
    " \"streams\": [{\"name\": \"s\", " ENDS ", \"fit\": {\"Lo_ns\": 2000, \"g_ns\": 500,"
    "   \"G_ns_per_byte\": 0.02, \"max_error\": 0.011}, \"points\": [{\"bytes\": 1000000,"
    "   \"streams\": 4, \"n\": 6, \"median_ns\": 23500, \"min_ns\": 23400}]}],"
    " \"staged\": [{\"name\": \"t\", \"src_device\": 0, \"dst_device\": 2, \"hybrid_bytes\": 64,"
    "   \"points\": [{\"bytes\": 64, \"peer_ns\": 9, \"unpipelined_ns\": 8, \"pipelined_ns\": 7,"
    "   \"adaptive_ns\": 6, \"buffers\": 2, \"buffer_bytes\": 65536}, {\"bytes\": 1000,"
    "   \"peer_ns\": 90, \"unpipelined_ns\": 80, \"pipelined_ns\": 70, \"adaptive_ns\": 60,"
    "   \"buffers\": 8, \"buffer_bytes\": 131072,"
    "   \"peer\": " SPREAD(20, 81, 99, 85, 95) ", \"unpipelined\": " SPREAD(
        21, 71, 89, 75,
        85) ","
            "   \"pipelined\": " SPREAD(22, 61, 79, 65, 75) ", \"adaptive\": " SPREAD(
                23, 51, 69, 55,
                65) "   }], \"cells\": [{\"bytes\": 64, \"buffers\": 2, \"n\": 24, \"min_ns\": 5,"
                    "   \"max_ns\": 9, \"ci_low_ns\": 5.5, \"ci_high_ns\": 8,"
                    "   \"buffer_bytes\": 65536, \"median_ns\": 6}]}],"
                    " \"overlap\": [{\"name\": \"o\", \"device\": 1, \"copy_engines\": 2,"
                    "   \"implicit_sync\": false, \"category\": 3, \"bytes\": 512, \"h2d_ns\": 1,"
                    "   \"d2h_ns\": 2, \"both_ns\": 2.5, \"h2d\": " SPREAD(
                        25, 0.7, 1.3, 0.8,
                        1.2) ", \"d2h\": " SPREAD(26, 1.7, 2.3, 1.8,
                                                  2.2) ", \"both\": " SPREAD(27, 2.2, 2.8, 2.3,
                                                                             2.7) "}]}";

static struct xfp_profile *parse(const char *text)
{
    char error[256] = "";
    struct xfp_profile *profile = xfp_parse(text, strlen(text), error, sizeof(error));

    if (!profile)
        print_message("%s\n", error);
    return profile;
}

static void check_spread(const struct xfp_spread *s, uint32_t n, double min, double max, double low,
                         double high)
{
    assert_int_equal(s->n, n);
    assert_true(s->min_ns == min && s->max_ns == max);
    assert_true(s->ci_low_ns == low && s->ci_high_ns == high);
}

static void check_spreads(const struct xfp_profile *p)
{
    const struct xfp_staged_point *staged = &p->staged[0].points[1];

    check_spread(&staged->peer, 20, 81, 99, 85, 95);
    check_spread(&staged->unpipelined, 21, 71, 89, 75, 85);
    check_spread(&staged->pipelined, 22, 61, 79, 65, 75);
    check_spread(&staged->adaptive, 23, 51, 69, 55, 65);
    check_spread(&p->staged[0].cells[0].spread, 24, 5, 9, 5.5, 8);
    check_spread(&p->overlap[0].h2d, 25, 0.7, 1.3, 0.8, 1.2);
    check_spread(&p->overlap[0].d2h, 26, 1.7, 2.3, 1.8, 2.2);
    check_spread(&p->overlap[0].both, 27, 2.2, 2.8, 2.3, 2.7);
    /* what is not known stays so, also when it was written and read again */
    check_spread(&p->staged[0].points[0].adaptive, 0, 0, 0, 0, 0);
    assert_true(p->streams[0].points[0].min_ns == 23400);
    assert_true(p->streams[0].points[0].max_ns == 0);
}

static void check_full(const struct xfp_profile *p)
{
    assert_int_equal(p->concurrent_count, 1);
    assert_int_equal(p->concurrent[0].flow_count, 2);
    assert_int_equal(p->concurrent[0].flows[1].dst.device, 3);
    assert_int_equal(p->concurrent[0].flows[1].src.numa, 1);
    assert_true(p->concurrent[0].points[0].ci_high_ns == 110);
    assert_int_equal(p->concurrent[0].points[0].n, 9);
    assert_int_equal(p->streams[0].points[0].streams, 4);
    assert_true(p->streams[0].fit.valid && p->streams[0].fit.max_error == 0.011);
    assert_int_equal(p->staged[0].point_count, 2);
    assert_int_equal(p->staged[0].cells[0].buffer_bytes, 65536);
    assert_int_equal(p->overlap[0].category, 3);
    assert_true(p->overlap[0].both_ns == 2.5 && !p->overlap[0].implicit_sync);
    check_spreads(p);
}

static void what_is_written_is_read(void **state)
{
    struct xfp_profile *first = parse(full), *second;
    char error[256];
    char name[] = "/tmp/sections_test.XXXXXX";
    int fd = mkstemp(name);

    assert_non_null(first);
    check_full(first);
    assert_int_equal(xfp_save(first, name, error, sizeof(error)), 0);
    second = xfp_read_file(name, error, sizeof(error));
    assert_non_null(second);
    check_full(second);
    assert_true(xfp_has_section(second, "t") && !xfp_has_section(second, "u"));
    xfp_free(first);
    xfp_free(second);
    close(fd);
    unlink(name);
}

static void questions(void **state)
{
    struct xfp_profile *p = parse(full);
    struct xfp_fit unknown_gap = {.Lo_ns = 100, .G_ns_per_byte = 0.5, .g_ns = NAN};
    const struct xfp_staged *staged;

    /* L+o + k G + (n - 1) g by hand: 2000 + 1000000 * 0.02 + 3 * 500 */
    assert_true(fabs(xfp_streams_ns(&p->streams[0].fit, 1000000, 4) - 23500) < 1e-6);
    assert_true(fabs(xfp_streams_ns(&unknown_gap, 200, 256) - 200) < 1e-9);
    staged = xfp_find_staged(p, 0, 2);
    assert_non_null(staged);
    assert_null(xfp_find_staged(p, 2, 0));
    assert_int_equal(xfp_staged_at(staged, 1)->bytes, 64);
    assert_int_equal(xfp_staged_at(staged, 999)->bytes, 64);
    assert_int_equal(xfp_staged_at(staged, 1 << 30)->buffers, 8);
    xfp_free(p);
}

static void one_of_the_same_name_is_replaced(void **state)
{
    struct xfp_profile *p = parse(full);
    struct xfp_overlap again = {.name = strdup("o"), .category = 1}, other = {.name = strdup("o2")};

    assert_int_equal(xfp_add_overlap(p, &again), 0);
    assert_int_equal(p->overlap_count, 1);
    assert_int_equal(p->overlap[0].category, 1);
    assert_int_equal(xfp_add_overlap(p, &other), 0);
    assert_int_equal(p->overlap_count, 2);
    xfp_free(p);
}

/* Times made from known parameters; the model finds them, and the error that one point is given. */
static void parameters_of_streams(void **state)
{
    struct xfp_stream_point points[20];
    const double Lo = 3000, G = 0.02, g = 900, first = Lo + 64 * G;
    struct xfp_fit fit;
    size_t n = 0;

    for (uint64_t bytes = 16 << 20; bytes <= 128 << 20; bytes *= 2)
        for (uint32_t streams = 1; streams <= 256; streams *= 4) {
            double ns = Lo + (double)bytes * G + (streams - 1) * g;

            points[n++] = (struct xfp_stream_point){bytes, streams, 6, ns, ns, ns, ns, ns};
        }
    fit = xfp_fit_streams(points, n, 64, first);
    assert_true(fit.valid && fabs(fit.Lo_ns - Lo) < 1 && fabs(fit.G_ns_per_byte - G) < 1e-7);
    assert_true(fabs(fit.g_ns - g) < 0.01 && fit.max_error < 1e-5);
    assert_int_equal(fit.fit_min_bytes, 16 << 20);
    fit = xfp_fit_streams(points, 5, 64, first); /* 16 MiB only */
    assert_true(fabs(fit.Lo_ns - Lo) < 1e-3 && fabs(fit.G_ns_per_byte - G) < 1e-9);
    assert_true(fit.valid && fabs(fit.g_ns - g) < 0.01 && fit.max_error < 1e-6);
    for (size_t i = 0; i < n; i++) /* by turns too long and too short: the best is in the middle */
        points[i].median_ns *= i % 2 ? 1.02 : 0.98;
    fit = xfp_fit_streams(points, n, 64, first);
    assert_true(fit.max_error > 0.018 && fit.max_error < 0.0205 && fabs(fit.g_ns - g) < 100);
    assert_false(xfp_fit_streams(points, 1, 64, first).valid);
    assert_false(xfp_fit_streams(points, 0, 64, first).valid);
}

static void rules(void **state)
{
    struct xfp_staged_point p[4] = {{.bytes = 1, .peer_ns = 10, .adaptive_ns = 9},
                                    {.bytes = 2, .peer_ns = 10, .adaptive_ns = 11},
                                    {.bytes = 4, .peer_ns = 20, .adaptive_ns = 19},
                                    {.bytes = 8, .peer_ns = 40, .adaptive_ns = 30}};

    assert_int_equal(xfp_hybrid_bytes(p, 4), 4);
    assert_int_equal(xfp_hybrid_bytes(p, 2), 0);
    assert_int_equal(xfp_hybrid_bytes(p, 1), 1);
    assert_int_equal(xfp_hybrid_bytes(p, 0), 0);
    assert_int_equal(xfp_overlap_category(true, 1), 1);
    assert_int_equal(xfp_overlap_category(false, 1), 2);
    assert_int_equal(xfp_overlap_category(false, 2), 3);
    assert_int_equal(xfp_overlap_category(true, 2), 0);
}

/* One thing of the full text made wrong; the line says in which section it is. */
static void what_makes_no_sense_is_refused(void **state)
{
    static const char *const faults[][3] = {
        {"\"category\": 3", "\"category\": 7", "overlap[0]"},
        {"\"copy_engines\": 2", "\"copy_engines\": 0", "overlap[0]"},
        {"\"both_ns\": 2.5", "\"both_ns\": -2", "overlap[0]"},
        {"\"both_ns\": 2.5", "\"both_ns\": \"x\"", "overlap[0]"},
        {"\"peer_ns\": 90,", "", "staged[0]"},
        {"\"bytes\": 1000,", "\"bytes\": 64,", "staged[0]: sizes must ascend"},
        {"\"hybrid_bytes\": 64", "\"hybrid_bytes\": -1", "staged[0]"},
        {"\"streams\": 4", "\"streams\": 0", "streams[0]"},
        {"\"G_ns_per_byte\": 0.02", "\"G_ns_per_byte\": 0", "streams[0]"},
        {"\"streams\": [{\"name\": \"s\"", "\"streams\": [{\"name\": \"c\"", "there twice"},
        {"\"ci_high_ns\": 110", "\"ci_high_ns\": 99", "concurrent[0]"},
        {"\"name\": \"t\"", "\"name\": \"\\u001b[2J\"", "staged[0]"},
        {"\"name\": \"o\"", "\"name\": 4", "overlap[0]"},
        {"\"min_ns\": 51", "\"min_ns\": 61", "staged[0]: median_ns is not within"},
        {"\"n\": 23", "\"n\": 0", "staged[0]"},
        {"\"n\": 24", "\"n\": -1", "staged[0]"},
        {"\"ci_high_ns\": 8,", "\"ci_high_ns\": 5.75,", "staged[0]: median_ns is not within"},
        {"\"ci_high_ns\": 2.7", "\"ci_high_ns\": 1e30", "overlap[0]"},
        {"\"n\": 25", "\"n\": \"25\"", "overlap[0]"},
        {"\"src\": {\"memory\": \"pinned\"", "\"src\": {\"memory\": \"wet\"", "concurrent[0]"},
    };

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        char text[sizeof(full) + 64], error[256] = "";
        const char *at = strstr(full, faults[i][0]);

        assert_non_null(at);
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - full), full, faults[i][1],
                 at + strlen(faults[i][0]));
        assert_null(xfp_parse(text, strlen(text), error, sizeof(error)));
        if (!strstr(error, faults[i][2]) || strchr(error, '\n') || strchr(error, 27))
            fail_msg("%s: %s", faults[i][1], error);
    }
}

/* Rows as they are to be, from the bytes on; what is not known is an empty field. */
static void csv_shows_what_is_known(void **state)
{
    static const char *const rows[] = {
        "\nc,copy,,,,,,,,1024,9,100,90,130,95,110,,,20.48,0.075,concurrent,,bytes each,1024,",
        "\ns,copy,H2D,pinned,-1,1,device,3,-1,1000000,6,23500,23400,,23500,23500,",
        "\nt,copy,P2P,device,0,-1,device,2,-1,64,,6,,,,,,,10.6667,,staged,,,,4B,1,2,65536,",
        ",1000,20,90,81,99,85,95,,,11.1111,0.05556,staged,,,,driver,",
        ",1000,21,80,71,89,75,85,,,12.5,0.0625,staged,,,,2B,",
        ",1000,22,70,61,79,65,75,,,14.2857,0.07143,staged,,,,3B,",
        ",1000,23,60,51,69,55,65,,,16.6667,0.08333,staged,,,,4B,1,8,131072,",
        ",64,24,6,5,9,5.5,8,,,10.6667,0.2083,staged,,,,ring,,2,65536,",
        "\no,copy,,,,,,,,512,25,1,0.7,1.3,0.8,1.2,,,512,0.2,overlap,,,,h2d,",
        ",512,26,2,1.7,2.3,1.8,2.2,,,256,0.1,overlap,,,,d2h,",
        ",512,27,2.5,2.2,2.8,2.3,2.7,,,409.6,0.08,overlap,,,,both,",
    };
    struct xfp_profile *p = parse(full);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    assert_int_equal(xfp_print_csv(p, out), 0);
    fclose(out);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!strstr(text, rows[i]))
            fail_msg("no %s in\n%s", rows[i], text);
    free(text);
    xfp_free(p);
}

/* Names are a file's: no formula of a spreadsheet comes of one, and no further field. */
static void csv_of_a_hostile_profile(void **state)
{
    struct xfp_profile *p =
        parse(HEAD ", \"concurrent\": [{\"name\": \"=1+1,2\", \"flows\": [{" ENDS "}, {" ENDS
                   "}], \"points\": [{\"bytes\": 1024, \"n\": 9, \"median_ns\": 100}]}]}");
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    assert_int_equal(xfp_print_csv(p, out), 0);
    fclose(out);
    if (!strstr(text, "\n\"'=1+1,2\",copy,"))
        fail_msg("%s", text);
    free(text);
    xfp_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(questions),
        cmocka_unit_test(one_of_the_same_name_is_replaced),
        cmocka_unit_test(parameters_of_streams),
        cmocka_unit_test(rules),
        cmocka_unit_test(csv_shows_what_is_known),
        cmocka_unit_test(csv_of_a_hostile_profile),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
