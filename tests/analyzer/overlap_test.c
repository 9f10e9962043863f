/*
 * The models of overlap.h against van Werkhoven et al.: values worked out by hand from the
 * parameters of table I, the numbers of streams of section VI, the classification of section VII.
 *
 * Of the paper's figures 8 to 10 the text has no numbers, nor the kernels' times, nor G of PCIe 2.0
 * with one direction alone. The classification is therefore held for ranges of these.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/ops/ops.h"
#include "tests/analyzer/overlap/overlap.h"

#define MIB ((uint64_t)1 << 20)
#define NS_PER_BYTE 1e6 /* of the tables' ms per byte */

enum { IMPLICIT_SYNC = 1, ONE_ENGINE = 2, TWO_ENGINES = 3, LEVELS = 42 };

static const struct xfp_fit table_1_in = {
    .valid = true, .Lo_ns = 9420, .g_ns = 2503, .G_ns_per_byte = 8.318392e-8 * NS_PER_BYTE};
static const struct xfp_fit table_1_out = {
    .valid = true, .Lo_ns = 9023, .g_ns = 2674, .G_ns_per_byte = 7.924734e-8 * NS_PER_BYTE};

static struct xfa_overlap_link link_of(struct xfp_fit in, struct xfp_fit out)
{
    return (struct xfa_overlap_link){{in, NAN}, {out, NAN}};
}

static struct xfa_overlap_machine table_1(int category)
{
    struct xfa_overlap_link link = link_of(table_1_in, table_1_out);

    return (struct xfa_overlap_machine){category, link, link, link};
}

/* As many bytes each way, one copy each. */
static struct xfa_overlap_work both_16_mib(double kernel_ns)
{
    return (struct xfa_overlap_work){
        .in_bytes = 16 * MIB, .out_bytes = 16 * MIB, .kernel_ns = kernel_ns};
}

static void close_to(double is, double expected)
{
    if (!(fabs(is - expected) <= 0.01))
        fail_msg("%.3f ns, not %.3f ns", is, expected);
}

/* ---- the equations --------------------------------------------------------------------------- */

static void equations_1_to_6_with_table_1(void **state)
{
    static const struct {
        int category;
        enum xfa_overlap_method method;
        double short_kernel, long_kernel; /* of 1 and 3 ms; 8 streams */
    } expected[] = {
        {ONE_ENGINE, XFA_OVERLAP_EXPLICIT, 3743587.334, 5743587.334},
        {IMPLICIT_SYNC, XFA_OVERLAP_STREAMS, 2904826.334, 4541160.065}, /* (2), (1) */
        {ONE_ENGINE, XFA_OVERLAP_STREAMS, 2779826.334, 3359086.042},    /* (4), (3) */
        {TWO_ENGINES, XFA_OVERLAP_STREAMS, 1722752.311, 3359086.042},   /* (5) */
        {IMPLICIT_SYNC, XFA_OVERLAP_HYBRID, 1722752.311, 3359086.042},  /* (5) whatever the GPU */
        {IMPLICIT_SYNC, XFA_OVERLAP_IMPLICIT, 1414037.594, 3018443},    /* (6) */
    };
    struct xfa_overlap_work brief = both_16_mib(1e6), lengthy = both_16_mib(3e6);

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct xfa_overlap_machine m = table_1(expected[i].category);

        close_to(xfa_overlap_ns(&m, &brief, expected[i].method, 8), expected[i].short_kernel);
        close_to(xfa_overlap_ns(&m, &lengthy, expected[i].method, 8), expected[i].long_kernel);
    }
}

/* The other branches of the maxima: more out than in. */
static void the_longer_direction_counts(void **state)
{
    struct xfa_overlap_work out = {.in_bytes = 16 * MIB, .out_bytes = 32 * MIB, .kernel_ns = 1e6};
    struct xfa_overlap_work in = {.in_bytes = 32 * MIB, .out_bytes = 16 * MIB, .kernel_ns = 1e6};
    struct xfa_overlap_machine one = table_1(ONE_ENGINE), two = table_1(TWO_ENGINES);

    /* Lo + in/8 + kernel/8 + Lo + out + 7 g, out 2659099.481, in 1395594.594 */
    close_to(xfa_overlap_ns(&two, &out, XFA_OVERLAP_STREAMS, 8), 2995709.805);
    close_to(xfa_overlap_ns(&two, &out, XFA_OVERLAP_IMPLICIT, 1), 2677542.481);
    /* Lo + in + 7 g + kernel/8 + Lo + out/8, in 2791189.187, out 1329550.241 */
    close_to(xfa_overlap_ns(&two, &in, XFA_OVERLAP_STREAMS, 8), 3118346.905);
    close_to(xfa_overlap_ns(&one, &in, XFA_OVERLAP_STREAMS, 8), 4175420.928);
    /* (4)'s third line: 2 streams, a kernel as long as what goes out */
    out.kernel_ns = 2659100;
    out.in_bytes = MIB;
    close_to(xfa_overlap_ns(&one, &out, XFA_OVERLAP_STREAMS, 2), 4053378.812);
}

static void one_stream_is_no_overlap(void **state)
{
    struct xfa_overlap_work work = both_16_mib(1e6);

    work.in_arrays = 3;
    work.out_arrays = 2;
    for (int category = 1; category <= 3; category++) {
        struct xfa_overlap_machine m = table_1(category);
        double explicit_ns = xfa_overlap_ns(&m, &work, XFA_OVERLAP_EXPLICIT, 1);

        m.copies.in.both_G = m.copies.out.both_G = 1; /* and no collision */
        close_to(explicit_ns, 3743587.334 + 2 * 2503 + 2674);
        close_to(xfa_overlap_ns(&m, &work, XFA_OVERLAP_STREAMS, 1), explicit_ns);
    }
}

/* 1 ns per byte alone, 2 in both directions, 100 bytes and 50. */
static void both_directions_slow_each_other_while_both_move(void **state)
{
    struct xfp_fit fit = {.valid = true, .g_ns = NAN, .G_ns_per_byte = 1};
    struct xfa_overlap_link link = {{fit, 2}, {fit, 2}};
    struct xfa_overlap_machine m = {TWO_ENGINES, link, link, link};
    struct xfa_overlap_work work = {.in_bytes = 100, .out_bytes = 50};

    /* 50 of them until the others are there, 100 ns; then 50 in 50 ns */
    close_to(xfa_overlap_ns(&m, &work, XFA_OVERLAP_IMPLICIT, 1), 150);
    work.mapped_out_times = 3; /* 150 bytes: 100 of them in 200 ns, then 50 */
    close_to(xfa_overlap_ns(&m, &work, XFA_OVERLAP_IMPLICIT, 1), 250);
    work.mapped_in_times = 2; /* 200 and 150: 300, then 50 */
    close_to(xfa_overlap_ns(&m, &work, XFA_OVERLAP_IMPLICIT, 1), 350);
    /* In 2 streams half of each moves alone: 50 ns, then 50 beside 25: 75 ns, then 25 out. */
    close_to(xfa_overlap_ns(&m, &work, XFA_OVERLAP_STREAMS, 2), 150);
    /* The output is mapped: 75 beside 50 that come in; out takes 75 + 125 after 50. */
    close_to(xfa_overlap_ns(&m, &work, XFA_OVERLAP_HYBRID, 2), 250);
    m.mapped.in.both_G = 0.5; /* less than alone: a measurement's noise */
    m.mapped.out.both_G = NAN;
    close_to(xfa_overlap_ns(&m, &work, XFA_OVERLAP_IMPLICIT, 1), 200);
}

static void a_direction_that_moves_nothing_costs_nothing(void **state)
{
    struct xfa_overlap_work in = {.in_bytes = 16 * MIB, .kernel_ns = 1e6};
    struct xfa_overlap_work none = {.kernel_ns = 1e6}, nothing = {0}, no_kernel = both_16_mib(0);
    double one_way = 9420 + 1395594.594, gaps = 7 * 2503;

    for (int category = 1; category <= 3; category++) {
        struct xfa_overlap_machine m = table_1(category);

        close_to(xfa_overlap_ns(&m, &in, XFA_OVERLAP_EXPLICIT, 1), one_way + 1e6);
        close_to(xfa_overlap_ns(&m, &in, XFA_OVERLAP_STREAMS, 8), one_way + gaps + 1e6 / 8);
        close_to(xfa_overlap_ns(&m, &in, XFA_OVERLAP_IMPLICIT, 1), one_way);
        close_to(xfa_overlap_ns(&m, &no_kernel, XFA_OVERLAP_EXPLICIT, 1), 2743587.334);
        for (int method = 0; method < XFA_OVERLAP_METHODS; method++) {
            close_to(xfa_overlap_ns(&m, &none, method, 8), 1e6);
            close_to(xfa_overlap_ns(&m, &nothing, method, 8), 0);
        }
    }
}

static void what_is_not_known_is_no_figure(void **state)
{
    struct xfa_overlap_work work = both_16_mib(1e6), in = {.in_bytes = MIB};
    struct xfa_overlap_limits limits = {.most_streams = 64};
    struct xfa_overlap_machine m = table_1(0);
    struct xfa_overlap_choice c = xfa_overlap_choose(&m, &work, limits);

    assert_true(isnan(c.ns[XFA_OVERLAP_STREAMS]) && isfinite(c.ns[XFA_OVERLAP_HYBRID]));
    m.mapped.out.fit.valid = false;
    assert_true(isnan(xfa_overlap_ns(&m, &work, XFA_OVERLAP_IMPLICIT, 1)));
    assert_false(isnan(xfa_overlap_ns(&m, &in, XFA_OVERLAP_IMPLICIT, 1))); /* nothing goes out */
    m.copies.in.fit.valid = m.hybrid.in.fit.valid = false;
    c = xfa_overlap_choose(&m, &work, limits);
    assert_false(c.known);
    for (int method = 0; method < XFA_OVERLAP_METHODS; method++)
        assert_true(isnan(c.ns[method]) && c.streams[method] == 1);
    m = table_1(TWO_ENGINES);
    work.kernel_ns = NAN;
    assert_false(xfa_overlap_choose(&m, &work, limits).known);
    work.kernel_ns = -1;
    assert_false(xfa_overlap_choose(&m, &work, limits).known);
}

/* ---- the number of streams ------------------------------------------------------------------- */

static uint32_t streams_of(int category, double kernel_ns, struct xfa_overlap_limits limits)
{
    struct xfa_overlap_machine m = table_1(category);
    struct xfa_overlap_work work = both_16_mib(kernel_ns);

    return xfa_overlap_choose(&m, &work, limits).streams[XFA_OVERLAP_STREAMS];
}

/* A whole number beside the real one. */
static void beside(uint32_t streams, double derived)
{
    assert_true(streams == floor(derived) || streams == ceil(derived));
}

static void streams_are_those_of_section_6(void **state)
{
    struct xfa_overlap_limits limits = {.most_streams = 1024};
    double in = 1395594.594, out = 1329550.241;

    beside(streams_of(IMPLICIT_SYNC, 1e7, limits), sqrt(in / 2674));
    beside(streams_of(IMPLICIT_SYNC, 1e6, limits), sqrt(1e6 / (2503 + 2674)));
    beside(streams_of(TWO_ENGINES, 1e6, limits), sqrt((out + 1e6) / 2503));
    /* out + g (n - 1) = kernel / n + out / n: n = 1.75, and the next whole number above it */
    assert_int_equal(streams_of(ONE_ENGINE, 1e6, limits), 2);
    /* a dominant kernel has no drawback of more streams in (3) and (5) */
    assert_int_equal(streams_of(ONE_ENGINE, 1e9, limits), 1024);
}

static void streams_keep_to_their_limits(void **state)
{
    struct xfa_overlap_machine m = table_1(TWO_ENGINES);
    struct xfa_overlap_work work = {
        .in_bytes = 2 * MIB, .out_bytes = 6 * MIB, .out_arrays = 3, .kernel_ns = 1e9};
    struct xfa_overlap_limits limits = {.most_streams = 100, .least_part = MIB / 4};
    struct xfa_overlap_choice c = xfa_overlap_choose(&m, &work, limits);

    assert_int_equal(c.streams[XFA_OVERLAP_STREAMS], 8); /* 2 MiB is the larger array */
    assert_int_equal(c.streams[XFA_OVERLAP_HYBRID], 8);
    assert_int_equal(c.streams[XFA_OVERLAP_EXPLICIT], 1);
    assert_int_equal(c.streams[XFA_OVERLAP_IMPLICIT], 1);
    assert_int_equal(streams_of(TWO_ENGINES, 1e6, (struct xfa_overlap_limits){0}), 1);
    limits.least_part = 64 * MIB;
    assert_int_equal(xfa_overlap_choose(&m, &work, limits).streams[XFA_OVERLAP_STREAMS], 1);
    /* fewer of them, where that hardly costs anything */
    limits = (struct xfa_overlap_limits){.most_streams = 1024, .tolerance = 0.01};
    assert_int_equal(streams_of(TWO_ENGINES, 1e9, limits), 1);
    assert_in_range(streams_of(TWO_ENGINES, 1e6, limits), 16, 29);
}

static void of_equals_the_simplest_is_best(void **state)
{
    struct xfa_overlap_machine m = table_1(TWO_ENGINES);
    struct xfa_overlap_work work = {.kernel_ns = 1e6}, tiny = {.in_bytes = 64, .out_bytes = 64};
    struct xfa_overlap_limits limits = {.most_streams = 64};

    m.mapped.in.fit.valid = false;
    assert_int_equal(xfa_overlap_choose(&m, &work, limits).best, XFA_OVERLAP_EXPLICIT);
    assert_int_equal(xfa_overlap_choose(&m, &tiny, limits).best, XFA_OVERLAP_EXPLICIT);
    tiny.in_arrays = 3; /* their gaps come with one stream as well */
    assert_int_equal(xfa_overlap_choose(&m, &tiny, limits).best, XFA_OVERLAP_EXPLICIT);
}

/* ---- section VII ----------------------------------------------------------------------------- */

struct gpu {
    const char *name;
    int category;
    double alone_in, alone_out;           /* G; 0: of PCIe 2.0, not in the text */
    double copies_in, copies_out;         /* table II: explicit-explicit */
    double collision_in, collision_out;   /* explicit-mapped */
    enum xfa_overlap_method for_buoydiff; /* the best one, measured and predicted */
};

static const struct gpu gpus[] = {
    {"GTX 680", IMPLICIT_SYNC, 0, 0, 0, 0, 2.491988e-7, 2.236644e-7, XFA_OVERLAP_HYBRID},
    {"GTX Titan", ONE_ENGINE, 8.318392e-8, 7.924734e-8, 0, 0, 1.193386e-7, 1.480396e-7,
     XFA_OVERLAP_HYBRID},
    {"Tesla K20", TWO_ENGINES, 0, 0, 1.741965e-7, 1.747120e-7, 2.491988e-7, 2.236644e-7,
     XFA_OVERLAP_STREAMS},
};

static struct xfa_overlap_way way(struct xfp_fit fit, double G, double both)
{
    fit.G_ns_per_byte = G * NS_PER_BYTE;
    return (struct xfa_overlap_way){fit, both ? both * NS_PER_BYTE : NAN};
}

/* L+o and g are table I's: those of PCIe 2.0 are not in the text. */
static struct xfa_overlap_machine machine_of(const struct gpu *gpu, double pcie_2, bool out_slowed)
{
    double in = gpu->alone_in ? gpu->alone_in : pcie_2;
    double out = gpu->alone_out ? gpu->alone_out : pcie_2;

    return (struct xfa_overlap_machine){
        .category = gpu->category,
        .copies = {way(table_1_in, in, gpu->copies_in), way(table_1_out, out, gpu->copies_out)},
        .mapped = {way(table_1_in, in, 0), way(table_1_out, out, 0)},
        .hybrid = {way(table_1_in, in, gpu->collision_in),
                   way(table_1_out, out, out_slowed ? gpu->collision_out : 0)},
    };
}

static struct xfa_overlap_work arrays(uint32_t in, uint32_t out, double read_times)
{
    uint64_t array = (uint64_t)1024 * 1024 * LEVELS * sizeof(double);

    return (struct xfa_overlap_work){.in_bytes = in * array,
                                     .out_bytes = out * array,
                                     .in_arrays = in,
                                     .out_arrays = out,
                                     .mapped_in_times = read_times};
}

static enum xfa_overlap_method best_of(const struct xfa_overlap_machine *m,
                                       const struct xfa_overlap_work *work)
{
    enum xfa_overlap_method best = XFA_OVERLAP_EXPLICIT;

    for (int method = 0; method < XFA_OVERLAP_METHODS; method++)
        if (xfa_overlap_ns(m, work, method, LEVELS) < xfa_overlap_ns(m, work, best, LEVELS))
            best = method;
    return best;
}

/* state reads two arrays and writes three, each element once; buoydiff reads levels 1, k-1 and k of
 * two and writes two. */
static void classify(const struct gpu *gpu, const struct xfa_overlap_machine *m)
{
    struct xfa_overlap_work density = arrays(2, 3, 1);
    struct xfa_overlap_work buoyancy = arrays(2, 2, (3 * LEVELS - 3) / (double)LEVELS);

    for (int percent = 0; percent <= 50; percent += 5) { /* the kernel, of the copies' time */
        density.kernel_ns = buoyancy.kernel_ns = 0;      /* the copies alone */
        density.kernel_ns = xfa_overlap_ns(m, &density, XFA_OVERLAP_EXPLICIT, 1) * percent / 100;
        buoyancy.kernel_ns = xfa_overlap_ns(m, &buoyancy, XFA_OVERLAP_EXPLICIT, 1) * percent / 100;
        if (best_of(m, &density) != XFA_OVERLAP_IMPLICIT)
            fail_msg("%s: %s for state, kernel %d %%", gpu->name,
                     xfa_overlap_word(best_of(m, &density)), percent);
        if (best_of(m, &buoyancy) != gpu->for_buoydiff)
            fail_msg("%s: %s for buoydiff, kernel %d %%", gpu->name,
                     xfa_overlap_word(best_of(m, &buoyancy)), percent);
    }
}

/* PCIe 2.0's G alone: from what 16 lanes can be at most, 8 GB/s, to what table II has for copies
 * in both directions. Whether mapped output is slowed by the copies, the text leaves open. */
static void the_best_methods_are_those_of_section_7(void **state)
{
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++)
        for (double pcie_2 = 1.25e-7; pcie_2 < 1.742e-7; pcie_2 += 0.05e-7)
            for (int slowed = 0; slowed < 2; slowed++) {
                struct xfa_overlap_machine m = machine_of(&gpus[i], pcie_2, slowed);

                classify(&gpus[i], &m);
            }
}

/* ---- a profile ------------------------------------------------------------------------------- */

static void parameters_come_from_a_profile(void **state)
{
    char error[200];
    struct xfp_profile *profile = xfp_read_file(RECORDED_PROFILE, error, sizeof(error));
    struct xfa_overlap_work work = arrays(2, 3, 1);
    struct xfa_overlap_limits limits = {.most_streams = 64, .least_part = MIB};
    struct xfa_overlap_machine m, other;

    assert_non_null(profile);
    m = xfa_overlap_of_profile(profile, 0, -1);
    other = xfa_overlap_of_profile(profile, 1, -1);
    xfp_free(profile);
    assert_int_equal(m.category, TWO_ENGINES);
    close_to(m.copies.in.fit.Lo_ns, 3454.847212);
    close_to(m.copies.in.fit.g_ns, 3987.08662);
    close_to(m.copies.in.fit.G_ns_per_byte * 1e6, 18012.39604);
    close_to(m.copies.out.fit.G_ns_per_byte * 1e6, 18056.53362);
    close_to(m.copies.in.both_G * 1e6, 19099.96483);
    close_to(m.copies.out.both_G * 1e6, 19667.91549);
    close_to(m.mapped.in.fit.G_ns_per_byte * 1e6, 19493.02267);
    close_to(m.mapped.out.fit.G_ns_per_byte * 1e6, 18958.36415);
    assert_true(isnan(m.mapped.in.fit.g_ns));
    /* (2109599.948 - 530288.0108) ns / 48 MiB */
    close_to(m.mapped.out.both_G * 1e6, 31378.109);
    close_to(m.hybrid.in.both_G * 1e6, 49424.4291);
    close_to(m.hybrid.out.fit.G_ns_per_byte * 1e6, 18958.36415);
    assert_true(isnan(m.hybrid.out.both_G));
    assert_true(xfa_overlap_choose(&m, &work, limits).known);
    assert_int_equal(other.category, 0);
    assert_false(xfa_overlap_choose(&other, &work, limits).known);
}

#define HOST(memory) "{\"memory\": \"" memory "\", \"device\": -1}"
#define GPU "{\"memory\": \"device\", \"device\": 0}"
#define PATH(name, method, way, src, dst, load, G)                                                 \
    "{\"name\": \"" name "\", \"method\": \"" method "\", \"direction\": \"" way                   \
    "\", \"src\": " src ", \"dst\": " dst ", \"load\": \"" load                                    \
    "\", \"fit\": {\"Lo_ns\": 1, \"G_ns_per_byte\": " G                                            \
    ", \"max_error\": 0}, \"points\": [{\"bytes\": 64, \"median_ns\": 9}]}"

/* Kernels' writes while copies come in are hybrid's alone. */
static void each_method_has_the_load_that_it_makes(void **state)
{
    static const char text[] =
        "{\"schema\": \"xferscope-profile\", \"version\": 1, \"machine\": {\"gpus\": "
        "[{\"name\": \"one\", \"copy_engines\": 1}]}, \"paths\": [" PATH(
            "a", "copy", "H2D", HOST("pinned"), GPU, "alone",
            "1") "," PATH("b", "copy", "H2D", HOST("pinned"), GPU, "both-ways",
                          "2") "," PATH("c", "copy", "H2D", HOST("pinned"), GPU, "mapped-traffic",
                                        "3") "," PATH("d", "mapped-write", "D2H", GPU,
                                                      HOST("mapped"), "alone",
                                                      "4") "," PATH("e", "mapped-write", "D2H", GPU,
                                                                    HOST("mapped"), "both-ways",
                                                                    "5") "]}";
    char error[200] = "";
    struct xfp_profile *profile = xfp_parse(text, sizeof(text) - 1, error, sizeof(error));
    struct xfa_overlap_machine m;

    assert_string_equal(error, "");
    m = xfa_overlap_of_profile(profile, 0, -1);
    xfp_free(profile);
    assert_int_equal(m.category, ONE_ENGINE); /* the profile says nothing of overlap */
    close_to(m.copies.in.fit.G_ns_per_byte, 1);
    close_to(m.copies.in.both_G, 2);
    close_to(m.hybrid.in.fit.G_ns_per_byte, 1);
    close_to(m.hybrid.in.both_G, 3);
    close_to(m.hybrid.out.fit.G_ns_per_byte, 4);
    close_to(m.hybrid.out.both_G, 5);
    close_to(m.mapped.out.fit.G_ns_per_byte, 4);
    assert_true(isnan(m.mapped.out.both_G));
    assert_false(m.mapped.in.fit.valid);
    assert_false(m.copies.out.fit.valid);
}

static void engines_are_those_that_were_seen(void **state)
{
    struct xfp_gpu known[] = {{.copy_engines = 1}, {.copy_engines = 3}, {.copy_engines = 1}, {0}};
    struct xfp_overlap overlap = {.device = 2, .copy_engines = 2};
    struct xfp_profile profile = {
        .machine = {.gpus = known, .gpu_count = 4}, .overlap = &overlap, .overlap_count = 1};

    assert_true(xfw_ops_one_engine(&profile, 0));
    assert_false(xfw_ops_one_engine(&profile, 1));
    assert_false(xfw_ops_one_engine(&profile, 2)); /* measured */
    assert_false(xfw_ops_one_engine(&profile, 3));
    assert_false(xfw_ops_one_engine(&profile, 4));
    assert_false(xfw_ops_one_engine(&profile, -1));
    assert_false(xfw_ops_one_engine(NULL, 0));
    overlap.copy_engines = 1;
    assert_true(xfw_ops_one_engine(&profile, 2));
}

/* Mapped memory that one kernel reads and writes, and not two; with the node's figure, where the
 * profile has one. */
static void a_kernel_reads_and_writes(void **state)
{
#define ROWS(ns) "[{\"at\": 1000, \"median\": 500}, {\"at\": 2000, \"median\": " ns "}]"
#define TABLE(name, ns)                                                                            \
    "{\"name\": \"both-ways/" name                                                                 \
    "\", \"by\": \"bytes each way\", \"unit\": \"ns\", \"rows\": " ROWS(ns) "}"
#define MACHINE(tables)                                                                            \
    "{\"schema\": \"xferscope-profile\", \"version\": 1, \"machine\": {\"gpus\": "                 \
    "[{\"name\": \"one\", \"copy_engines\": 2}]}, \"paths\": [], \"tables\": [" tables "]}"
    static const struct {
        const char *text;
        int node;
        double G;
    } cases[] = {
        {MACHINE(TABLE("mapped/mapped/gpu0", "3500")), -1, 3},
        {MACHINE(TABLE("mapped/mapped/gpu0", "3500") "," TABLE("one-kernel/mapped/gpu0", "2500")),
         -1, 2},
        {MACHINE(TABLE("mapped/mapped/node1-gpu0",
                       "3500") "," TABLE("one-kernel/mapped/node1-gpu0",
                                         "2500") "," TABLE("one-kernel/mapped/node0-gpu0", "1500")),
         1, 2},
        {MACHINE(TABLE("one-kernel/mapped/gpu1", "2500")), -1, NAN},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char error[200] = "";
        struct xfp_profile *profile =
            xfp_parse(cases[i].text, strlen(cases[i].text), error, sizeof(error));
        struct xfa_overlap_machine m;

        assert_string_equal(error, "");
        m = xfa_overlap_of_profile(profile, 0, cases[i].node);
        xfp_free(profile);
        if (isnan(cases[i].G)) {
            assert_true(isnan(m.mapped.in.both_G) && isnan(m.mapped.out.both_G));
            continue;
        }
        close_to(m.mapped.in.both_G, cases[i].G);
        close_to(m.mapped.out.both_G, cases[i].G);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equations_1_to_6_with_table_1),
        cmocka_unit_test(the_longer_direction_counts),
        cmocka_unit_test(one_stream_is_no_overlap),
        cmocka_unit_test(both_directions_slow_each_other_while_both_move),
        cmocka_unit_test(a_direction_that_moves_nothing_costs_nothing),
        cmocka_unit_test(what_is_not_known_is_no_figure),
        cmocka_unit_test(streams_are_those_of_section_6),
        cmocka_unit_test(streams_keep_to_their_limits),
        cmocka_unit_test(of_equals_the_simplest_is_best),
        cmocka_unit_test(the_best_methods_are_those_of_section_7),
        cmocka_unit_test(parameters_come_from_a_profile),
        cmocka_unit_test(each_method_has_the_load_that_it_makes),
        cmocka_unit_test(engines_are_those_that_were_seen),
        cmocka_unit_test(a_kernel_reads_and_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
