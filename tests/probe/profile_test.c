/*
 * The machine profile: hostile input, round trip, look-up, interpolation, the fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xferscope/profile.h"

#define HEAD "{\"schema\":\"xferscope-profile\",\"version\":1,\"machine\":{},\"paths\":["
#define PATH(name, points)                                                                         \
    "{\"name\":\"" name "\",\"method\":\"copy\",\"direction\":\"H2D\","                            \
    "\"src\":{\"memory\":\"pinned\",\"numa\":0},\"dst\":{\"memory\":\"device\",\"device\":0},"     \
    "\"points\":[" points "]}"

static const struct hostile {
    const char *text, *says;
} hostile[] = {
    {"", "no valid JSON"},
    {"[]", "JSON object expected"},
    {"nonsense", "no valid JSON"},
    {"{}", "schema: not a machine profile"},
    {"{\"schema\":\"xferscope-profile\"}", "version"},
    {"{\"schema\":\"xferscope-profile\",\"version\":99}", "newer"},
    {"{\"schema\":\"xferscope-profile\",\"version\":2}", "newer"}, /* by one */
    {"{\"schema\":\"xferscope-profile\",\"version\":1}", "machine: missing"},
    {"{\"schema\":\"xferscope-profile\",\"schema\":1,\"version\":1}", "no valid JSON"},
    {"{\"schema\":\"xferscope-profile\",\"version\":1,\"machine\":{}}", "paths: missing"},
    {HEAD "3]}", "paths[0]: must be an object"},
    {HEAD "{}]}", "paths[0].name: must be a string"},
    {HEAD PATH("a", "3") "]}", "paths[0].points[0]: must be an object"},
    {HEAD PATH("a", "{\"bytes\":-64,\"median_ns\":1}") "]}", "paths[0].points[0].bytes: -64"},
    {HEAD PATH("a", "{\"bytes\":6.5,\"median_ns\":1}") "]}", "bytes: must be a whole number"},
    {HEAD PATH("a", "{\"bytes\":99999999999999999999,\"median_ns\":1}") "]}", "no valid JSON"},
    {HEAD PATH("a", "{\"bytes\":64}") "]}", "median_ns: must be there"},
    {HEAD PATH("a", "{\"bytes\":64,\"median_ns\":NaN}") "]}", "no valid JSON"},
    {HEAD PATH("a", "{\"bytes\":64,\"median_ns\":1e999}") "]}", "no valid JSON"},
    {HEAD PATH("a", "{\"bytes\":64,\"median_ns\":-1}") "]}", "median_ns: -1 is not a time"},
    {HEAD PATH("a", "{\"bytes\":64,\"median_ns\":\"1\"}") "]}", "median_ns: must be a number"},
    {HEAD PATH("a", "{\"bytes\":64,\"median_ns\":5,\"min_ns\":6}") "]}", "not between min_ns"},
    {HEAD PATH("a", "{\"bytes\":64,\"median_ns\":1},{\"bytes\":64,\"median_ns\":1}") "]}",
     "paths[0].points[1].bytes: sizes must ascend"},
    {HEAD PATH("a", "") "," PATH("a", "") "]}", "paths[1].name: \"a\" is there twice"},
    {HEAD PATH("a\\u001b[2J", "") "]}", "paths[0].name: has control characters"},
    {HEAD "{\"name\":\"x\",\"method\":\"magic\"}]}", "method: \"magic\""},
    {HEAD "],\"warnings\":[7]}", "warnings[0]: must be a string"},
};

static void hostile_input_is_one_clear_line(void **state)
{
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        char error[400] = "";
        struct xfp_profile *p =
            xfp_parse(hostile[i].text, strlen(hostile[i].text), error, sizeof(error));

        if (p || !strstr(error, hostile[i].says) || strstr(error, ": : ") || strchr(error, '\n'))
            fail_msg("%s: got \"%s\"", hostile[i].text, error);
    }
}

static void refuses(const char *text, size_t bytes, const char *says)
{
    char error[200] = "";

    assert_null(xfp_parse(text, bytes, error, sizeof(error)));
    if (!strstr(error, says) || strchr(error, '\n'))
        fail_msg("got \"%s\", not \"%s\"", error, says);
}

static void deep_nesting_is_refused(void **state)
{
    static const char *const opening[] = {"[", "{\"a\":"};
    size_t depth = 100000;

    for (int i = 0; i < 2; i++) {
        size_t step = strlen(opening[i]);
        char *text = malloc(depth * step);

        for (size_t at = 0; at < depth; at++)
            memcpy(text + at * step, opening[i], step);
        refuses(text, depth * step, "more than 32 levels of objects and arrays");
        refuses(text, 32 * step, "no valid JSON");
        free(text);
    }
}

/* A head, count times the item, a tail; the caller frees it. */
static char *repeat(const char *head, const char *item, size_t count, const char *tail,
                    size_t *bytes)
{
    size_t at = strlen(head), step = strlen(item);
    char *text = malloc(at + count * step + strlen(tail) + 1);

    memcpy(text, head, at);
    for (size_t i = 0; i < count; i++, at += step)
        memcpy(text + at, item, step);
    strcpy(text + at, tail);
    *bytes = at + strlen(tail);
    return text;
}

static long peak_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Each would become a tree of gigabytes. The text is there before; no tree comes to it. */
static void trees_are_not_built_beyond_the_limits(void **state)
{
    static const struct {
        const char *head, *item, *says;
        size_t count;
    } floods[] = {
        {"[", "{},", "more than 300000 objects and arrays", 10000000},
        {"{\"x\":[", "[],", "more than 300000 objects and arrays", 10000000},
        {"[", "1,", "more than 1500000 values", 15000000},
        {"[", "\"\",", "more than 1500000 values", 10000000},
        {"[", "true ", "more than 1500000 values", 6000000},
        {"[", "\"\\\"{}\",", "more than 1500000 values", 4000000},
    };

    for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
        size_t bytes;
        char *text = repeat(floods[i].head, floods[i].item, floods[i].count, "0]", &bytes);
        long before = peak_kib();

        refuses(text, bytes, floods[i].says);
        assert_true(peak_kib() - before < 1024);
        free(text);
    }
}

/* What is in strings is no value, and keys are none. */
static void what_counts_is_what_is_built(void **state)
{
    size_t bytes, count = 600000;
    char *text = repeat("[\"", "{[1,", count, "\"]", &bytes);

    refuses(text, bytes, "not a machine profile");
    free(text);
    text = repeat("[", "{\"a\":1,\"b\":2,\"c\":3},", 299000, "0]", &bytes);
    refuses(text, bytes, "not a machine profile");
    free(text);
    text = repeat("[", " ", 33 << 20, "]", &bytes);
    refuses(text, bytes, "larger than 32 MiB");
    free(text);
}

static void too_many_entries_are_refused(void **state)
{
    const char *head = HEAD, *tail = "0]}";
    size_t count = 70000, at = strlen(head);
    char *text = malloc(at + 2 * count + strlen(tail) + 1), error[200];

    memcpy(text, head, at);
    for (size_t i = 0; i < count; i++, at += 2)
        memcpy(text + at, "0,", 2);
    memcpy(text + at, tail, strlen(tail));
    assert_null(xfp_parse(text, at + strlen(tail), error, sizeof(error)));
    assert_non_null(strstr(error, "paths: 70001 entries, at most 16384 are read"));
    free(text);
}

/* Every truncation and every single-byte damage of a good file: an error or a profile, no crash. */
static void damage_never_crashes(void **state)
{
    const char *good = HEAD PATH("a", "{\"bytes\":64,\"median_ns\":2.5,\"n\":9}") "]}";
    size_t bytes = strlen(good), refused = 0;
    char *text = malloc(bytes), error[400];

    for (size_t cut = 0; cut < bytes; cut++)
        assert_null(xfp_parse(good, cut, error, sizeof(error)));
    for (size_t at = 0; at < bytes; at++)
        for (int c = 0; c < 256; c += 5) {
            struct xfp_profile *p;

            memcpy(text, good, bytes);
            text[at] = (char)c;
            p = xfp_parse(text, bytes, error, sizeof(error));
            refused += !p;
            xfp_free(p);
        }
    assert_true(refused > bytes);
    free(text);
}

static struct xfp_profile *parse(const char *text)
{
    char error[400] = "";
    struct xfp_profile *p = xfp_parse(text, strlen(text), error, sizeof(error));

    if (!p)
        fail_msg("%s", error);
    return p;
}

static void assert_same_point(const struct xfp_point *a, const struct xfp_point *b)
{
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->n, b->n);
    assert_true(fabs(a->median_ns - b->median_ns) < 1e-6 * a->median_ns);
    assert_true(fabs(a->ci_high_ns - b->ci_high_ns) < 1e-6 * a->ci_high_ns);
    assert_true(fabs(a->blocking_ns - b->blocking_ns) < 1e-6);
}

static void saving_and_loading_is_lossless(void **state)
{
    struct xfp_profile *a = parse(
        HEAD PATH("a", "{\"bytes\":64,\"n\":7,\"median_ns\":1234.5,\"ci_high_ns\":1240,"
                       "\"blocking_ns\":3000},{\"bytes\":1099511627776,\"median_ns\":2e10}") //
        "],\"warnings\":[\"the governor is \\\"powersave\\\"\"]}");
    char name[] = "/tmp/xfp-profile-XXXXXX", error[400] = "";
    int fd = mkstemp(name);
    struct xfp_profile *b;

    close(fd);
    a->paths[0].fit = xfp_fit_points(a->paths[0].points, 2, 0);
    assert_int_equal(xfp_save(a, name, error, sizeof(error)), 0);
    b = xfp_read_file(name, error, sizeof(error));
    unlink(name);
    assert_non_null(b);
    assert_int_equal(b->paths[0].point_count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_same_point(&a->paths[0].points[i], &b->paths[0].points[i]);
    assert_string_equal(b->warnings[0], "the governor is \"powersave\"");
    assert_true(b->paths[0].fit.valid);
    assert_true(isnan(b->paths[0].fit.g_ns));
    assert_int_equal(b->paths[0].fit.fit_min_bytes, a->paths[0].fit.fit_min_bytes);
    xfp_free(a);
    xfp_free(b);
}

static void files_that_cannot_be_had_are_named(void **state)
{
    char error[400] = "";
    struct xfp_profile *p;
    struct stat dev;

    assert_null(xfp_read_file("/nonexistent/m.json", error, sizeof(error)));
    assert_non_null(strstr(error, "/nonexistent/m.json"));
    assert_null(xfp_read_file("/tmp", error, sizeof(error)));
    p = parse(HEAD "]}");
    assert_int_equal(xfp_save(p, "/nonexistent/m.json", error, sizeof(error)), -1);
    assert_int_equal(xfp_save(p, "/tmp", error, sizeof(error)), -1);
    assert_int_equal(xfp_save(p, "/dev/full", error, sizeof(error)), -1);
    assert_non_null(strstr(error, strerror(ENOSPC)));
    assert_int_equal(xfp_save(p, "/dev/null", error, sizeof(error)), 0);
    assert_int_equal(stat("/dev/null", &dev), 0);
    assert_true(S_ISCHR(dev.st_mode));
    xfp_free(p);
}

/* Lo = 1000 ns, G = 0.02 ns/B from 64 B to 64 MiB. */
static struct xfp_path linear_path(struct xfp_point *points, size_t count)
{
    struct xfp_path path = {.name = "linear", .method = XFP_COPY, .device_timed = true};

    for (size_t i = 0; i < count; i++) {
        double ns = 1000 + 0.02 * (double)(64ull << i);

        points[i] = (struct xfp_point){.bytes = 64ull << i, .n = 5, .median_ns = ns};
        points[i].ci_low_ns = points[i].min_ns = ns * 0.99;
        points[i].ci_high_ns = points[i].max_ns = ns * 1.01;
    }
    path.points = points;
    path.point_count = count;
    path.fit = xfp_fit_points(points, count, 400);
    return path;
}

static void a_linear_path_is_fitted_exactly(void **state)
{
    struct xfp_point points[21];
    struct xfp_path path = linear_path(points, 21);

    assert_true(path.fit.valid);
    assert_true(fabs(path.fit.Lo_ns - 1000) < 0.01);
    assert_true(fabs(path.fit.G_ns_per_byte - 0.02) < 1e-9);
    assert_true(path.fit.g_ns == 400);
    assert_true(path.fit.max_error < 1e-6);
    assert_int_equal(path.fit.fit_min_bytes, 65536);
}

static void fits_that_mean_nothing_are_invalid(void **state)
{
    struct xfp_point falling[] = {{.bytes = 64, .median_ns = 900},
                                  {.bytes = 1 << 20, .median_ns = 3}};
    struct xfp_point flat[] = {{.bytes = 64, .median_ns = 900}, {.bytes = 128, .median_ns = 901}};

    assert_false(xfp_fit_points(NULL, 0, 0).valid);
    assert_false(xfp_fit_points(falling, 1, 0).valid);
    assert_false(xfp_fit_points(falling, 2, 0).valid);
    assert_false(xfp_fit_points(flat, 2, 0).valid); /* no size where bytes make the time */
}

static void an_estimate_says_where_it_comes_from(void **state)
{
    struct xfp_point points[21];
    struct xfp_path path = linear_path(points, 21);
    struct xfp_estimate e = xfp_time(&path, 4096);

    assert_int_equal(e.basis, XFP_MEASURED);
    assert_true(fabs(e.error - 0.01) < 1e-9);
    points[6].ci_high_ns = points[6].max_ns = points[6].median_ns * 1.03; /* the wider side */
    assert_true(fabs(xfp_time(&path, 4096).error - 0.03) < 1e-9);
    points[6].ci_low_ns = points[6].min_ns = points[6].median_ns * 0.95;
    assert_true(fabs(xfp_time(&path, 4096).error - 0.05) < 1e-9);
    e = xfp_time(&path, 3 << 20);
    assert_int_equal(e.basis, XFP_INTERPOLATED);
    assert_true(fabs(e.ns - (1000 + 0.02 * (3 << 20))) < 1);
    assert_true(e.error >= 0.01 && e.error < 0.011);
    e = xfp_time(&path, 1ull << 30);
    assert_int_equal(e.basis, XFP_MODELLED);
    assert_true(fabs(e.ns - (1000 + 0.02 * (1 << 30))) < 10);
    e = xfp_time(&path, 1);
    assert_true(e.ns == points[0].median_ns);
    assert_int_equal(xfp_blocking_time(&path, 4096).basis, XFP_UNKNOWN);
    assert_int_equal(xfp_time(NULL, 4096).basis, XFP_UNKNOWN);
}

static void blocking_times_stand_apart(void **state)
{
    struct xfp_point points[21];
    struct xfp_path path = linear_path(points, 21);
    struct xfp_estimate e;

    for (size_t i = 0; i < 21; i++)
        points[i].blocking_ns = points[i].median_ns + 5000;
    e = xfp_blocking_time(&path, 1 << 12);
    assert_int_equal(e.basis, XFP_MEASURED);
    assert_true(e.ns == points[6].median_ns + 5000);
    e = xfp_blocking_time(&path, 1ull << 30);
    assert_int_equal(e.basis, XFP_MODELLED);
    assert_true(fabs(e.ns - (6000 + 0.02 * (1 << 30))) < 10);
}

static struct xfp_place place(enum xft_memory memory, int device, int numa)
{
    return (struct xfp_place){memory, device, numa};
}

static void the_best_fitting_path_is_found(void **state)
{
    struct xfp_point p = {.bytes = 64, .median_ns = 1};
    struct xfp_place gpu0 = place(XFT_MEM_DEVICE, 0, -1), gpu1 = place(XFT_MEM_DEVICE, 1, -1);
    struct xfp_path paths[] = {
        {.method = XFP_COPY, .src = place(XFT_MEM_PINNED, -1, -1), .dst = gpu0, .blocking = true},
        {.method = XFP_COPY, .src = place(XFT_MEM_PINNED, -1, 0), .dst = gpu0},
        {.method = XFP_COPY, .src = place(XFT_MEM_PINNED, -1, 1), .dst = gpu0},
        {.method = XFP_COPY, .src = gpu0, .dst = gpu1},
        {.method = XFP_MAPPED_READ, .src = place(XFT_MEM_PINNED, -1, 1), .dst = gpu0},
    };
    struct xfp_profile profile = {.path_count = 5, .paths = paths};

    for (size_t i = 0; i < 5; i++) {
        paths[i].points = &p;
        paths[i].point_count = 1;
    }
#define FIND(src, dst, blocking) xfp_find(&profile, XFP_COPY, src, dst, blocking)
    assert_ptr_equal(FIND(place(XFT_MEM_PINNED, -1, 1), gpu0, false), &paths[2]);
    assert_ptr_equal(FIND(place(XFT_MEM_PINNED, -1, -1), gpu0, false), &paths[0]);
    assert_ptr_equal(FIND(place(XFT_MEM_PINNED, -1, 3), gpu0, false), &paths[0]);
    assert_ptr_equal(FIND(place(XFT_MEM_PINNED, -1, 1), gpu0, true), &paths[0]);
    assert_null(FIND(place(XFT_MEM_PAGEABLE, -1, 1), gpu0, false));
    assert_null(FIND(place(XFT_MEM_PINNED, -1, 1), gpu1, false));
    assert_ptr_equal(FIND(gpu0, gpu1, false), &paths[3]);
    assert_null(FIND(gpu1, gpu0, false)); /* peer paths are directed */
#undef FIND
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_input_is_one_clear_line),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(trees_are_not_built_beyond_the_limits),
        cmocka_unit_test(what_counts_is_what_is_built),
        cmocka_unit_test(too_many_entries_are_refused),
        cmocka_unit_test(damage_never_crashes),
        cmocka_unit_test(saving_and_loading_is_lossless),
        cmocka_unit_test(files_that_cannot_be_had_are_named),
        cmocka_unit_test(a_linear_path_is_fitted_exactly),
        cmocka_unit_test(fits_that_mean_nothing_are_invalid),
        cmocka_unit_test(an_estimate_says_where_it_comes_from),
        cmocka_unit_test(blocking_times_stand_apart),
        cmocka_unit_test(the_best_fitting_path_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
