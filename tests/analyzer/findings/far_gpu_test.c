/* far-gpu: which copies another GPU of the machine would make faster, and what the run would save.
 */
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

enum { SITE = 10, COUNT = 40, GPUS = 4, NEAR_NS = 20000, FAR_NS = 50000 };

static void write_path(FILE *out, bool first, const char *name, const char *direction,
                       const char *src, const char *dst, int ns)
{
    fprintf(out,
            "%s{\"name\": \"copy/%s\", \"method\": \"copy\", \"direction\": \"%s\", \"src\": %s,"
            " \"dst\": %s, \"device_timed\": true, \"fit\": null, \"points\": [{\"bytes\": 1048576,"
            " \"median_ns\": %d}]}",
            first ? "" : ", ", name, direction, src, dst, ns);
}

/* Two sockets with two GPUs each: near within one, far between them. */
static struct xfp_profile *two_sockets(const char *machine_id)
{
    static const int nodes[GPUS] = {0, 0, 1, 1};
    struct measured_text text;
    char name[64], src[99], dst[99];
    bool first = true;
    measured_begin(&text, &(struct measured_machine){
                              .id = machine_id, .gpus = GPUS, .nodes = nodes, .numa_nodes = 2});
    fputs(", \"paths\": [", text.out);
    for (int g = 0; g < GPUS; g++) {
        snprintf(dst, sizeof dst, "{\"memory\": \"device\", \"device\": %d, \"numa\": -1}", g);
        for (int other = 0; other < GPUS; other++) {
            snprintf(src, sizeof src, "{\"memory\": \"device\", \"device\": %d, \"numa\": -1}",
                     other);
            snprintf(name, sizeof name, "peer/p2p/gpu%d-gpu%d", other, g);
            if (other == g)
                continue;
            write_path(text.out, first, name, "P2P", src, dst,
                       other / 2 == g / 2 ? NEAR_NS : FAR_NS);
            first = false;
        }
        for (int node = 0; node < 2; node++) {
            snprintf(src, sizeof src, "{\"memory\": \"pinned\", \"device\": -1, \"numa\": %d}",
                     node);
            snprintf(name, sizeof name, "pinned/h2d/node%d-gpu%d", node, g);
            write_path(text.out, false, name, "H2D", src, dst, node == g / 2 ? NEAR_NS : FAR_NS);
        }
    }
    fputs("]", text.out);
    return measured_end(&text);
}

struct copies {
    enum xft_direction direction;
    int src, dst; /* GPU, or the host's node */
    enum xft_memory memory;
};

static void play_copies(struct play *play, const struct copies *copies)
{
    for (unsigned i = 0; i < COUNT; i++) {
        struct xft_event *call =
            play_async(play, SITE, copies->direction, copies->memory, MIB, FAR_NS);
        call->src_place = (int16_t)copies->src;
        call->dst_place = (int16_t)copies->dst;
        call->device = copies->direction == XFT_DIR_P2P ? call->src_place : call->dst_place;
        const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
        play_event(play, wait, FAR_NS)->device = call->device;
    }
}

static struct analyzed analysis_of(const char *machine_id, const struct copies *copies,
                                   size_t count)
{
    struct xfp_profile *profile = machine_id ? two_sockets(machine_id) : NULL;
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "feed", 1);
    for (size_t i = 0; i < count; i++)
        play_copies(&play, &copies[i]);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, NULL);
}

static void check(struct copies copies, enum xfa_remedy_kind remedy, int node)
{
    const double lost = COUNT * (double)(FAR_NS - NEAR_NS);
    struct analyzed a = analysis_of("aaaa1111", &copies, 1);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_FAR_GPU, "feed");
    assert_non_null(f);
    assert_int_equal(f->transfers, COUNT);
    assert_int_equal(f->remedy.kind, remedy);
    assert_int_equal(f->remedy.node, node);
    assert_true(fabs(f->lost_ns - lost) < 1);
    assert_true(a.findings->whatif->known);
    assert_true(fabs(f->saving.likely - lost) < 0.02 * lost);
    assert_non_null(f->assumed);
    assert_int_equal(f->idle, remedy == XFA_REMEDY_NEAR_GPU); /* the memory is moved more easily */
    analyzed_free(&a);
}

static void test_found(void **state)
{
    check((struct copies){XFT_DIR_H2D, 0, 2, XFT_MEM_PINNED}, XFA_REMEDY_NEAR_GPU, 0);
    check((struct copies){XFT_DIR_H2D, 1, 0, XFT_MEM_PINNED}, XFA_REMEDY_NEAR_GPU, 1);
    check((struct copies){XFT_DIR_P2P, 0, 2, XFT_MEM_DEVICE}, XFA_REMEDY_NEAR_PEER, -1);
}

static bool is_found(const char *machine_id, const struct copies *copies, size_t count)
{
    struct analyzed a = analysis_of(machine_id, copies, count);
    bool is = analyzed_finding(&a, XFA_FINDING_FAR_GPU, NULL) != NULL;
    analyzed_free(&a);
    return is;
}

static void test_not_found(void **state)
{
    struct copies far = {XFT_DIR_H2D, 0, 2, XFT_MEM_PINNED}, other = far;
    assert_true(is_found("aaaa1111", &far, 1));
    assert_false(is_found("bbbb2222", &far, 1)); /* another machine's GPUs */
    assert_false(is_found(NULL, &far, 1));
    other.dst = 1; /* near, slow for other reasons */
    assert_false(is_found("aaaa1111", &other, 1));
    other = far;
    other.src = -1; /* nobody knows where it lies */
    assert_false(is_found("aaaa1111", &other, 1));
    other = far;
    other.memory = XFT_MEM_PAGEABLE;
    assert_false(is_found("aaaa1111", &other, 1));
    other = (struct copies){XFT_DIR_P2P, 0, 1, XFT_MEM_DEVICE};
    assert_false(is_found("aaaa1111", &other, 1));
}

/* GPUs that the run's copies use are none to go to. */
static void test_others_in_use(void **state)
{
    const struct copies all[] = {{XFT_DIR_P2P, 0, 2, XFT_MEM_DEVICE},
                                 {XFT_DIR_H2D, 0, 1, XFT_MEM_PINNED},
                                 {XFT_DIR_H2D, 1, 3, XFT_MEM_PINNED}};
    assert_true(is_found("aaaa1111", all, 2)); /* 2 with 3 */
    assert_false(is_found("aaaa1111", all, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_others_in_use),
    };
    return cmocka_run_group_tests_name("findings: far GPUs", tests, NULL, NULL);
}
