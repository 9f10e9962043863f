/* staged-peer-copy: what it names, and what the run and single copies save by going directly. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/lab/played.h"
#include "tests/analyzer/traces/measured.h"

#define MIB ((uint64_t)1 << 20)
#define HOST ((uint64_t)0x50000000)

enum {
    DOWN = 10,
    UP,
    STEPS = 20,
    LINK_NS = 500000, /* down, and up */
    PEER_NS = 50000,
    RING_NS = 600000, /* through a ring */
    CALL_NS = 1500,
    WAKE_NS = 2000,
    ACROSS_NS = 4000, /* until a GPU sees another one's event */
};

static int copy_ns = LINK_NS, peer_ns = PEER_NS, steps_made = STEPS;

/* A machine of two GPUs, with copies between them, with peer access or staged, of 16 MiB. */
static struct xfp_profile *profile_of(bool peers, double across_ns)
{
    static const char *const peer =
        ", \"paths\": [{\"name\": \"copy/peer/p2p/gpu0-gpu1\", \"method\": \"copy\","
        " \"direction\": \"P2P\", \"src\": {\"memory\": \"device\", \"device\": 0, \"numa\": -1},"
        " \"dst\": {\"memory\": \"device\", \"device\": 1, \"numa\": -1}, \"device_timed\": true,"
        " \"fit\": null, \"points\": [{\"bytes\": 16777216, \"median_ns\": %d, \"host_ns\": "
        "1000}]}]";
    static const char *const staged =
        ", \"paths\": [], \"staged\": [{\"name\": \"staged/p2p/gpu0-gpu1\", \"src_device\": 0,"
        " \"dst_device\": 1, \"points\": [{\"bytes\": 16777216, \"peer_ns\": 900000,"
        " \"unpipelined_ns\": 900000, \"pipelined_ns\": 700000, \"adaptive_ns\": %d,"
        " \"buffers\": 8, \"buffer_bytes\": 2097152}], \"cells\": []}]";
    struct measured_text text;
    measured_begin(&text, &(struct measured_machine){.id = "aaaa1111", .gpus = 2});
    fprintf(text.out, peers ? peer : staged, peers ? peer_ns : RING_NS);
    struct xfp_profile *profile = measured_end(&text);
    measured_scalar(profile, "event/across/gpu0-gpu1", across_ns);
    return profile;
}

/* Down from GPU 0, the host waits, up to a GPU from somewhere in host memory. */
struct steps {
    int16_t to;
    uint64_t from_where, idle_ns; /* idle: of the host, before the copy up */
    uint64_t unpacked_ns; /* down to pageable memory: the call goes on so long behind the device */
};

static void play_copy_of(struct play *play, unsigned stack, enum xft_direction direction,
                         int16_t gpu, uint64_t at)
{
    struct xft_event *call = play_async(play, stack, direction, XFT_MEM_PINNED, 16 * MIB, copy_ns);
    bool up = direction == XFT_DIR_H2D;
    *(up ? &call->src : &call->dst) = at;
    *(up ? &call->dst_place : &call->src_place) = call->device = gpu;
}

/* It waits itself, until the driver has moved the bytes out of its own buffer. */
static void play_pageable(struct play *play, uint64_t at, uint64_t unpacked_ns)
{
    struct xft_event *call =
        play_async(play, DOWN, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 16 * MIB, copy_ns);
    call->dst = at;
    call->src_place = call->device = 0;
    play->now = call->end_ns = call->start_ns + 500 + copy_ns + unpacked_ns;
}

static void play_sync(struct play *play, int16_t gpu, uint64_t end)
{
    struct xft_event sync = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT, .device = gpu};
    play_event(play, sync, end + WAKE_NS - play->now);
}

static struct analyzed played_steps(const struct xfp_profile *profile, const struct steps *steps)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, DOWN, "fetch", 1);
    play_site(&play, UP, "send", 2);
    for (int i = 0; i < steps_made; i++) {
        uint64_t start = play.now + 500;
        if (steps->unpacked_ns) {
            play_pageable(&play, HOST, steps->unpacked_ns);
        } else {
            play_copy_of(&play, DOWN, XFT_DIR_D2H, 0, HOST);
            play_sync(&play, 0, start + copy_ns);
        }
        play.now += steps->idle_ns;
        start = play.now + 500;
        play_copy_of(&play, UP, XFT_DIR_H2D, steps->to, steps->from_where);
        play_sync(&play, steps->to, start + copy_ns);
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_weighed(&b, profile);
    build_free(&b);
    return a;
}

static const struct xfa_finding *staged(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_STAGED_PEER, NULL);
}

/* Both copies and one of the waits go, a copy between the GPUs comes. */
static void test_direct(void **state)
{
    const struct steps steps = {1, HOST, 0, 0};
    struct xfp_profile *profile = profile_of(true, ACROSS_NS);
    struct analyzed a = played_steps(profile, &steps);
    const struct xfa_finding *f = staged(&a);
    char fix[XFA_REMEDY_CHARS];
    assert_non_null(f);
    assert_int_equal(f->transfers, 2 * STEPS);
    assert_int_equal(f->site_count, 2);
    assert_true(fabs(f->lost_ns - STEPS * (2.0 * LINK_NS - PEER_NS)) < 1);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_PEER_COPY);
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, fix), "cudaMemcpyPeerAsync()"));
    assert_non_null(f->assumed);
    double least = STEPS * (2.0 * LINK_NS - PEER_NS), calls = STEPS * 10000.0;
    assert_true(fabs(f->saving.likely - least) < calls);
    assert_false(f->idle);
    analyzed_free(&a);
    xfp_free(profile);
}

/* What the driver takes to move the bytes into pageable memory is no time that the host had. */
static void test_pageable(void **state)
{
    const struct steps steps = {1, HOST, 0, 900000}, late = {1, HOST, 900000, 900000};
    struct xfp_profile *profile = profile_of(true, ACROSS_NS);
    (void)state;
    struct analyzed a = played_steps(profile, &steps);
    const struct xfa_finding *f = staged(&a);
    assert_non_null(f);
    assert_int_equal(f->transfers, 2 * STEPS);
    analyzed_free(&a);
    a = played_steps(profile, &late);
    assert_null(staged(&a));
    analyzed_free(&a);
    xfp_free(profile);
}

/* Small ones take no longer than one between the GPUs: nothing is lost of theirs, but the host's
 * waits go. */
static void test_small(void **state)
{
    const struct steps steps = {1, HOST, 0, 0};
    (void)state;
    copy_ns = 2000;
    peer_ns = 6000;
    steps_made = 100 * STEPS;
    struct xfp_profile *profile = profile_of(true, ACROSS_NS);
    struct analyzed a = played_steps(profile, &steps);
    const struct xfa_finding *f = staged(&a);
    assert_non_null(f);
    assert_int_equal(f->transfers, 2 * steps_made);
    assert_true(f->lost_ns == 0);
    for (size_t i = 0; i < f->site_count; i++)
        assert_true(f->sites[i].lost_ns == 0);
    analyzed_free(&a);
    xfp_free(profile);
    copy_ns = LINK_NS;
    peer_ns = PEER_NS;
    steps_made = STEPS;
}

/* No peer access between them: through a ring, which is named. */
static void test_ring(void **state)
{
    const struct steps steps = {1, HOST, 0, 0};
    struct xfp_profile *profile = profile_of(false, ACROSS_NS);
    struct analyzed a = played_steps(profile, &steps);
    const struct xfa_finding *f = staged(&a);
    char fix[XFA_REMEDY_CHARS];
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_STAGED_PIPELINE);
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, fix), "a ring of 8 "));
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, fix), " of 2048 KiB"));
    assert_true(fabs(f->saving.likely - STEPS * (2.0 * LINK_NS - RING_NS)) < STEPS * 10000.0);
    analyzed_free(&a);
    xfp_free(profile);
}

/* Up to the same GPU, from elsewhere, after time to read and write it all: something else. */
static void test_left(void **state)
{
    const struct steps others[] = {
        {0, HOST, 0, 0}, {1, HOST + 64 * MIB, 0, 0}, {1, HOST, 900000, 0}};
    struct xfp_profile *profile = profile_of(true, ACROSS_NS);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct analyzed a = played_steps(profile, &others[i]);
        assert_null(staged(&a));
        analyzed_free(&a);
    }
    xfp_free(profile);
}

/* One pair of copies by hand: the kernel before the first still comes before the copy. */
static void test_ops(void **state)
{
    const struct steps steps = {1, HOST, 0, 0};
    struct xfp_profile *profile = profile_of(true, ACROSS_NS);
    struct analyzed a = played_steps(profile, &steps);
    struct xfw_marks down = {0}, up = {0};
    struct played played = {0};
    xfw_mark(&down, 0, 0);
    xfw_mark(&up, 0, 1);
    played_kernel(&played, 0, 1000, 100000);
    struct xfw_op *op = played_copy(&played, 0, 1000, LINK_NS);
    op->dst = HOST;
    op->bytes = 16 * MIB;
    op->engine = XFW_TO_HOST;
    played_sync(&played, 0);
    op = played_copy(&played, 5000, 1000, LINK_NS);
    op->src = HOST;
    op->bytes = 16 * MIB;
    op->transfer = 1;
    op->gpu = 1;
    op->stream = 1;
    played_sync(&played, 0)->stream = 1; /* for the copy up alone: it goes */
    played_sync(&played, 0)->stream = 1; /* stays */
    struct xfw_change *change = xfw_change_peer_copy(a.analysis, &down, &up);
    assert_true(played_ns(&played, a.analysis, NULL, XFW_LIKELY) ==
                100000.0 + LINK_NS + 5000 + LINK_NS);
    assert_true(played_ns(&played, a.analysis, change, XFW_LIKELY) ==
                100000.0 + ACROSS_NS + PEER_NS);
    assert_true(played_ns(&played, a.analysis, change, XFW_LOW) ==
                100000.0 + 5000 + 500 + PEER_NS); /* the wait stays; then it is ordered to wait */
    xfw_change_free(change);
    xfw_marks_free(&down);
    xfw_marks_free(&up);
    analyzed_free(&a);
    xfp_free(profile);
}

/* With copies that go directly; frees what it is given. */
static double direct_ns(const struct played *played, struct analyzed *a,
                        struct xfp_profile *profile, struct xfw_marks marks[2], bool changed,
                        enum xfw_certainty certainty)
{
    struct xfw_change *change = xfw_change_peer_copy(a->analysis, &marks[0], &marks[1]);
    double ns = played_ns(played, a->analysis, changed ? change : NULL, certainty);
    xfw_change_free(change);
    xfw_marks_free(&marks[0]);
    xfw_marks_free(&marks[1]);
    analyzed_free(a);
    xfp_free(profile);
    return ns;
}

/* A kernel and a pair of copies: the thread came to the wait by so long a way, the copy up began so
 * far behind other work of its engine. */
static double pair_ns(double kernel_ns, double way_ns, double space_ns, bool changed)
{
    const struct steps steps = {1, HOST, 0, 0};
    struct xfp_profile *profile = profile_of(true, 0);
    struct analyzed a = played_steps(profile, &steps);
    struct xfw_marks marks[2] = {0}; /* down, up */
    struct played played = {0};
    xfw_mark(&marks[0], 0, 0);
    xfw_mark(&marks[1], 0, 1);
    played_kernel(&played, 0, 1000, kernel_ns);
    struct xfw_op *op = played_copy(&played, 0, 1000, LINK_NS);
    op->dst = HOST;
    op->bytes = 16 * MIB;
    op->engine = XFW_TO_HOST;
    played_sync(&played, way_ns); /* goes */
    op = played_copy(&played, 0, 1000, LINK_NS);
    op->src = HOST;
    op->bytes = 16 * MIB;
    op->transfer = 1;
    op->gpu = 1;
    op->stream = 1;
    op->space_ns = space_ns;
    played_sync(&played, 0)->stream = 1; /* goes */
    played_sync(&played, 0)->stream = 1;
    return direct_ns(&played, &a, profile, marks, changed, XFW_LIKELY);
}

/* The way to a wait goes with it, work of the host does not; and a direct copy begins no later for
 * what another engine needed. */
static void test_way(void **state)
{
    double all = pair_ns(100, 0, 0, true);
    assert_true(pair_ns(100, 0, 0, false) > all);
    assert_true(pair_ns(100, 1500, 0, true) == all);
    assert_true(pair_ns(100, 3000, 0, true) == all + 3000);
    assert_true(pair_ns(100000, 0, 5000, true) == pair_ns(100000, 0, 0, true));
}

/* A kernel, then copies by way of the host, one pair behind the other. */
struct row {
    int pairs;
    bool between;  /* a kernel of the GPU that they come from, before each pair but the first */
    bool blocking; /* the copies down wait themselves, before the wait that stands there */
    enum xfw_certainty certainty;
    double work_ns; /* of the host, behind them all */
};

static void play_pair(struct played *played, const struct row *row, int i)
{
    if (i > 0 && row->between)
        played_kernel(played, 0, 1000, 100);
    struct xfw_op *op = played_copy(played, 0, 1000, LINK_NS);
    op->dst = HOST + (uint64_t)i * 64 * MIB;
    op->bytes = 16 * MIB;
    op->engine = XFW_TO_HOST;
    op->transfer = 2 * (uint64_t)i;
    if (row->blocking)
        op->awaits = XFW_AWAITS_ITSELF;
    played_sync(played, 0);
    op = played_copy(played, 0, 1000, LINK_NS);
    op->src = HOST + (uint64_t)i * 64 * MIB;
    op->bytes = 16 * MIB;
    op->transfer = 2 * (uint64_t)i + 1;
    op->gpu = 1;
    op->stream = 1;
    played_sync(played, 0)->stream = 1;
}

static double row_ns(const struct row *row)
{
    const struct steps steps = {.to = 1, .from_where = HOST};
    struct xfp_profile *profile = profile_of(true, ACROSS_NS);
    struct analyzed a = played_steps(profile, &steps);
    struct xfw_marks marks[2] = {0}; /* down, up */
    struct played played = {0};
    played_kernel(&played, 0, 1000, 100000);
    for (int i = 0; i < row->pairs; i++) {
        xfw_mark(&marks[0], 0, 2 * (uint64_t)i);
        xfw_mark(&marks[1], 0, 2 * (uint64_t)i + 1);
        play_pair(&played, row, i);
    }
    played_sync(&played, row->work_ns)->stream = 1;
    return direct_ns(&played, &a, profile, marks, true, row->certainty);
}

/* One event stands for all copies of one and the same work; at worst each has its own. */
static void test_row(void **state)
{
    struct row row = {.pairs = 1, .certainty = XFW_LIKELY};
    double one = row_ns(&row);
    assert_true(one == 100000.0 + ACROSS_NS + PEER_NS);
    row.pairs = 3;
    assert_true(row_ns(&row) == one + 2 * PEER_NS);
    row.between = true;
    assert_true(row_ns(&row) > one + 2 * PEER_NS);
    row = (struct row){.pairs = 1, .certainty = XFW_LOW};
    one = row_ns(&row);
    row.pairs = 3;
    assert_true(row_ns(&row) > one + 2 * PEER_NS);
}

/* A copy down that waits itself leaves nothing for the wait behind it: that goes, too. */
static void test_wait_behind(void **state)
{
    struct row row = {.pairs = 3, .certainty = XFW_LIKELY, .work_ns = 300000};
    double queued = row_ns(&row); /* the host works while the kernel runs */
    assert_true(queued < 100000.0 + row.work_ns);
    row.blocking = true;
    assert_true(row_ns(&row) == queued);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direct),      cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_small),       cmocka_unit_test(test_ring),
        cmocka_unit_test(test_left),        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_way),         cmocka_unit_test(test_row),
        cmocka_unit_test(test_wait_behind),
    };
    return cmocka_run_group_tests_name("findings: staged copies between GPUs", tests, NULL, NULL);
}
