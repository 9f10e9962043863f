/* remote-numa-node: which copies of page-locked memory it names, and what they lost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/traces/measured.h"

#define MIB ((uint64_t)1 << 20)
#define THIS_MACHINE "aaaa1111"

enum { SITE = 10, NEAR_NS = 20000, FAR_NS = 50000, ANYWHERE = -1 };

/* Copies of 1 and 2 MiB between a GPU and memory of a node. */
struct measured {
    const char *memory;
    enum xft_direction direction;
    int node;
    int ns; /* of 1 MiB; twice that for 2 MiB */
    int gpu;
    int off; /* so many percent either way */
};

static const struct measured two_nodes[] = {
    {"pinned", XFT_DIR_H2D, 0, .ns = 1000, .gpu = 1}, /* says nothing of GPU 0 */
    {"pinned", XFT_DIR_H2D, 0, .ns = FAR_NS},         {"pinned", XFT_DIR_H2D, 1, .ns = NEAR_NS},
    {"pinned", XFT_DIR_D2H, 0, .ns = FAR_NS},         {"pinned", XFT_DIR_D2H, 1, .ns = NEAR_NS},
    {"pageable", XFT_DIR_H2D, 0, .ns = FAR_NS},       {"pageable", XFT_DIR_H2D, 1, .ns = NEAR_NS},
};
#define TWO_NODES two_nodes, sizeof two_nodes / sizeof *two_nodes

static void write_path(FILE *out, const struct measured *path)
{
    char host[100], device[100];
    bool up = path->direction == XFT_DIR_H2D;
    snprintf(host, sizeof host, "{\"memory\": \"%s\", \"device\": -1, \"numa\": %d}", path->memory,
             path->node);
    snprintf(device, sizeof device, "{\"memory\": \"device\", \"device\": %d, \"numa\": -1}",
             path->gpu);
    fprintf(out,
            "{\"name\": \"copy/%s/%s/node%d-gpu%d\", \"method\": \"copy\", \"direction\": \"%s\","
            " \"src\": %s, \"dst\": %s, \"device_timed\": true, \"fit\": null, \"points\":"
            " [{\"bytes\": 1048576, \"n\": 9, \"median_ns\": %d, \"ci_low_ns\": %d, "
            "\"ci_high_ns\": %d},"
            " {\"bytes\": 2097152, \"n\": 9, \"median_ns\": %d, \"ci_low_ns\": %d, \"ci_high_ns\": "
            "%d}]}",
            path->memory, up ? "h2d" : "d2h", path->node, path->gpu, up ? "H2D" : "D2H",
            up ? host : device, up ? device : host, path->ns, path->ns - path->ns * path->off / 100,
            path->ns + path->ns * path->off / 100, 2 * path->ns,
            2 * (path->ns - path->ns * path->off / 100),
            2 * (path->ns + path->ns * path->off / 100));
}

/* A machine of two GPUs, the first on that node. */
static struct xfp_profile *profile_of(const char *machine_id, int gpu_node,
                                      const struct measured *paths, size_t count)
{
    const int nodes[] = {gpu_node, -1};
    struct measured_text text;
    measured_begin(&text, &(struct measured_machine){
                              .id = machine_id, .gpus = 2, .nodes = nodes, .numa_nodes = 2});
    fputs(", \"paths\": [", text.out);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", text.out);
        write_path(text.out, &paths[i]);
    }
    fputs("]", text.out);
    return measured_end(&text);
}

struct copies {
    enum xft_direction direction;
    unsigned memory; /* of the host */
    int node;        /* XFT_PLACE_UNKNOWN: not known */
    unsigned count;
    uint64_t bytes;
    uint64_t ns;   /* by the device; 0: nobody knows */
    unsigned rows; /* of each copy; 0: one run of bytes */
};

static void play_copies(struct play *play, const struct copies *copies)
{
    bool up = copies->direction == XFT_DIR_H2D;
    for (unsigned i = 0; i < copies->count; i++) {
        struct xft_event *call =
            play_async(play, SITE, copies->direction, copies->memory, copies->bytes, 0);
        *(up ? &call->src_place : &call->dst_place) = (int16_t)copies->node;
        *(up ? &call->dst_place : &call->src_place) = call->device = 0;
        call->width = copies->rows ? call->bytes / copies->rows : call->bytes;
        if (copies->ns)
            play_device_copy(play, call, copies->ns);
    }
}

static struct analyzed analysis_of(const struct xfp_profile *profile, const struct copies *copies,
                                   size_t count)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "feed", 1);
    for (size_t i = 0; i < count; i++)
        play_copies(&play, &copies[i]);
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, profile);
    build_free(&b);
    return a;
}

/* Of a row, only the copies of the far node; compared with the near one's, size by size. */
static void test_lost(void **state)
{
    static const struct copies copies[] = {
        {XFT_DIR_H2D, XFT_MEM_PINNED, 0, .count = 10, .bytes = MIB, .ns = FAR_NS},
        {XFT_DIR_H2D, XFT_MEM_PINNED, 0, .count = 2, .bytes = 2 * MIB, .ns = 2 * FAR_NS},
        {XFT_DIR_H2D, XFT_MEM_PINNED, 0, .count = 3, .bytes = MIB, .ns = 9 * FAR_NS}, /* capped */
        {XFT_DIR_H2D, XFT_MEM_PINNED, 0, .count = 4, .bytes = MIB, .ns = NEAR_NS - 1000},
        {XFT_DIR_H2D, XFT_MEM_PINNED, 0, .count = 5, .bytes = MIB},
        {XFT_DIR_H2D, XFT_MEM_PINNED, 0, .count = 6, .bytes = MIB, .ns = FAR_NS, .rows = 16},
        {XFT_DIR_H2D, XFT_MEM_PINNED, 1, .count = 7, .bytes = MIB, .ns = FAR_NS},
        {XFT_DIR_H2D, XFT_MEM_PINNED, XFT_PLACE_UNKNOWN, .count = 8, .bytes = MIB, .ns = FAR_NS},
    };
    char fix[XFA_REMEDY_CHARS];
    struct xfp_profile *profile = profile_of(THIS_MACHINE, 1, TWO_NODES);
    struct analyzed a = analysis_of(profile, copies, sizeof copies / sizeof *copies);
    assert_int_equal(a.analysis->row_count, 1);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_REMOTE_NODE, "feed");
    assert_non_null(f);
    assert_int_equal(f->site_count, 1);
    assert_int_equal(f->transfers, 19);
    assert_int_equal(f->bytes, 21 * MIB);
    assert_true(f->achieved_ns == (10 + 2 * 2 + 3 * 9.0) * FAR_NS + 4 * (NEAR_NS - 1000.0));
    assert_true(f->achievable_ns == 21.0 * NEAR_NS);
    assert_true(f->lost_ns == 17.0 * (FAR_NS - NEAR_NS));
    assert_int_equal(f->achieved_basis, XFA_BASIS_DEVICE);
    assert_int_equal(f->achievable_basis, XFA_BASIS_MEASURED);
    assert_int_equal(f->reckoning, XFA_RECKONED_NEAR_NODE);
    assert_int_equal(f->remedy.node, 1);
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, fix), "--cpunodebind=1 --membind=1"));
    analyzed_free(&a);
    xfp_free(profile);
}

/* Both directions are one thing to do. */
static void test_to_the_host(void **state)
{
    static const struct copies copies[] = {
        {XFT_DIR_D2H, XFT_MEM_PINNED, 0, .count = 10, .bytes = MIB, .ns = FAR_NS},
        {XFT_DIR_H2D, XFT_MEM_PINNED, 0, .count = 5, .bytes = MIB, .ns = FAR_NS},
    };
    struct xfp_profile *profile = profile_of(THIS_MACHINE, 1, TWO_NODES);
    struct analyzed a = analysis_of(profile, copies, 2);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_REMOTE_NODE, "feed");
    assert_non_null(f);
    assert_int_equal(f->site_count, 2);
    assert_int_equal(f->sites[0].row->key.direction, XFT_DIR_D2H);
    assert_true(f->lost_ns == 15.0 * (FAR_NS - NEAR_NS));
    analyzed_free(&a);
    xfp_free(profile);
}

/* What a row could achieve is what the best node gives, wherever the profile lists it and wherever
 * its memory lies. */
static void test_achievable(void **state)
{
    struct copies copies = {XFT_DIR_H2D, XFT_MEM_PINNED, 0, .count = 1, .bytes = MIB, .ns = FAR_NS};
    for (copies.node = -1; copies.node < 2; copies.node++) {
        struct xfp_profile *profile = profile_of(THIS_MACHINE, 1, TWO_NODES);
        struct analyzed a = analysis_of(profile, &copies, 1);
        assert_true(analyzed_figures(&a, 0)->achievable.ns == NEAR_NS);
        analyzed_free(&a);
        xfp_free(profile);
    }
}

/* The node that the remedy names for many such copies; -1: no finding. */
static int named(const struct xfp_profile *profile, struct copies copies)
{
    struct analyzed a = analysis_of(profile, &copies, 1);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_REMOTE_NODE, NULL);
    int node = f ? f->remedy.node : -1;
    analyzed_free(&a);
    return node;
}

static int named_by(const char *machine_id, int gpu_node, const struct measured *paths,
                    size_t count, struct copies copies)
{
    struct xfp_profile *profile = profile_of(machine_id, gpu_node, paths, count);
    int node = named(profile, copies);
    xfp_free(profile);
    return node;
}

static const struct copies slow = {XFT_DIR_H2D, XFT_MEM_PINNED, 0,
                                   .count = 50, .bytes = MIB,   .ns = FAR_NS};

/* The best node is the one that was measured best; the GPU's own one when that is no slower. */
static void test_best_node(void **state)
{
    static const struct measured alike[] = {
        {"pinned", XFT_DIR_H2D, 0, .ns = FAR_NS},
        {"pinned", XFT_DIR_H2D, 1, .ns = NEAR_NS},
        {"pinned", XFT_DIR_H2D, 2, .ns = NEAR_NS},
    };
    assert_int_equal(named_by(THIS_MACHINE, 1, TWO_NODES, slow), 1);
    assert_int_equal(named_by(THIS_MACHINE, -1, TWO_NODES, slow), 1);
    assert_int_equal(named_by(THIS_MACHINE, 0, TWO_NODES, slow), 1);
    assert_int_equal(named_by(THIS_MACHINE, 1, alike, 3, slow), 1);
    assert_int_equal(named_by(THIS_MACHINE, 2, alike, 3, slow), 2);
    struct copies there = slow;
    there.node = 1;
    assert_int_equal(named_by(THIS_MACHINE, 2, alike, 3, there), -1);
    /* Another one is faster by 4 %: that may be chance where both are 3 % off, not where they are 1
     * %. */
    struct measured close[] = {
        {"pinned", XFT_DIR_H2D, 0, .ns = FAR_NS, .off = 3},
        {"pinned", XFT_DIR_H2D, 1, .ns = NEAR_NS, .off = 3},
        {"pinned", XFT_DIR_H2D, 2, .ns = NEAR_NS + NEAR_NS / 25, .off = 3},
    };
    assert_int_equal(named_by(THIS_MACHINE, 2, close, 3, slow), 2);
    close[0].off = close[1].off = close[2].off = 1;
    assert_int_equal(named_by(THIS_MACHINE, 2, close, 3, slow), 1);
}

/* Nothing is said where the profile does not know both nodes, nor of another machine. */
static void test_not_known(void **state)
{
    static const struct measured others[] = {
        {"pinned", XFT_DIR_D2H, 1, .ns = NEAR_NS},
        {"registered", XFT_DIR_H2D, 1, .ns = NEAR_NS},
        {"pinned", XFT_DIR_H2D, 0, .ns = FAR_NS},
        {"pinned", XFT_DIR_H2D, ANYWHERE, .ns = NEAR_NS},
    };
    static const struct measured elsewhere[] = {
        {"pinned", XFT_DIR_H2D, 2, .ns = FAR_NS},
        {"pinned", XFT_DIR_H2D, 1, .ns = NEAR_NS},
    };
    assert_int_equal(named_by(THIS_MACHINE, 1, TWO_NODES, slow), 1);
    assert_int_equal(named_by("", 1, TWO_NODES, slow), 1);
    assert_int_equal(named_by("bbbb2222", 1, TWO_NODES, slow), -1);
    assert_int_equal(named_by(THIS_MACHINE, 1, others, 4, slow), -1);
    assert_int_equal(named_by(THIS_MACHINE, 1, elsewhere, 2, slow), -1);
    assert_int_equal(named(NULL, slow), -1);
}

/* Nor of copies whose time or node is not known, that were as fast as from the best node, of
 * pageable memory, or of rows. */
static void test_not_accused(void **state)
{
    struct copies copies = slow;
    copies.ns = 0;
    assert_int_equal(named_by(THIS_MACHINE, 1, TWO_NODES, copies), -1);
    copies = slow, copies.node = XFT_PLACE_UNKNOWN;
    assert_int_equal(named_by(THIS_MACHINE, 1, TWO_NODES, copies), -1);
    copies = slow, copies.node = 1;
    assert_int_equal(named_by(THIS_MACHINE, 1, TWO_NODES, copies), -1);
    copies = slow, copies.ns = NEAR_NS;
    assert_int_equal(named_by(THIS_MACHINE, 1, TWO_NODES, copies), -1);
    copies = slow, copies.memory = XFT_MEM_PAGEABLE;
    assert_int_equal(named_by(THIS_MACHINE, 1, TWO_NODES, copies), -1);
    copies = slow, copies.rows = 1024;
    assert_int_equal(named_by(THIS_MACHINE, 1, TWO_NODES, copies), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost),       cmocka_unit_test(test_to_the_host),
        cmocka_unit_test(test_achievable), cmocka_unit_test(test_best_node),
        cmocka_unit_test(test_not_known),  cmocka_unit_test(test_not_accused),
    };
    return cmocka_run_group_tests_name("findings: remote node", tests, NULL, NULL);
}
