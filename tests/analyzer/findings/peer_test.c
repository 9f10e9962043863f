/* peer-access-disabled: which copies between GPUs it names, and what they lost. */
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
#define OF_MIB "\"points\": [{\"bytes\": 1048576, \"median_ns\": "
#define THIS_MACHINE "aaaa1111"

/* By way of the host, copies count from the call on: the device tells of the last piece. */
enum { SITE = 10, PEER_NS = 5000, NO_PEER_NS = 50000, LATENCY_NS = 500, WAKE_NS = 3000 };

/* A machine of two GPUs, with what was measured from the first to the second. */
static struct xfp_profile *profile_of(const char *machine_id, bool peers)
{
    static const char *const path =
        "{\"name\": \"copy/%s/p2p/gpu0-gpu1\", \"method\": \"copy\", \"direction\": \"P2P\","
        " \"src\": {\"memory\": \"device\", \"device\": 0, \"numa\": -1},"
        " \"dst\": {\"memory\": \"device\", \"device\": 1, \"numa\": -1},"
        " \"device_timed\": true, \"fit\": null, " OF_MIB "%d}]}";
    struct measured_text text;
    measured_begin(&text, &(struct measured_machine){.id = machine_id, .gpus = 2});
    fputs(", \"paths\": [", text.out);
    if (peers) {
        fprintf(text.out, path, "peer", PEER_NS);
        fputs(", ", text.out);
    }
    fprintf(text.out, path, "no-peer", NO_PEER_NS);
    fputs("]", text.out);
    return measured_end(&text);
}

struct copies {
    int from, to;
    unsigned count;
    unsigned rows;  /* of each copy; 0: one run of bytes */
    uint16_t flags; /* in addition to XFT_ASYNC */
    uint64_t ns;    /* by the device; 0: nobody knows */
    bool direct;    /* else to the host and from it */
};

static void play_copies(struct play *play, const struct copies *copies)
{
    for (unsigned i = 0; i < copies->count; i++) {
        struct xft_event *call = play_async(play, SITE, XFT_DIR_P2P, XFT_MEM_DEVICE, MIB, 0);
        call->src_place = call->device = (int16_t)copies->from;
        call->dst_place = (int16_t)copies->to;
        call->flags |= copies->flags;
        call->width = copies->rows ? call->bytes / copies->rows : call->bytes;
        call->correlation = copies->ns ? ++play->correlation : 0;
        if (copies->ns && copies->direct) {
            play_device_part(play, call, MIB, copies->ns);
        } else if (copies->ns) {
            struct xft_event *half = play_device_part(play, call, MIB, copies->ns / 2);
            uint64_t start = half->start_ns;
            half->direction = XFT_DIR_D2H;
            half = play_device_part(play, call, MIB, copies->ns / 2);
            half->direction = XFT_DIR_H2D;
            half->end_ns = start + copies->ns;
        }
    }
}

static struct analyzed analysis_of(const struct xfp_profile *profile, const struct copies *copies,
                                   size_t count)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "exchange", 1);
    for (size_t i = 0; i < count; i++)
        play_copies(&play, &copies[i]);
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, profile);
    build_free(&b);
    return a;
}

/* Of a row, only the copies without peer access; compared with the path with it. */
static void test_lost(void **state)
{
    static const struct copies copies[] = {
        {0, 1, .count = 10, .ns = NO_PEER_NS},
        {0, 1, .count = 7, .ns = PEER_NS, .flags = XFT_PEER_ACCESS, .direct = true},
        {0, 1, .count = 5, .ns = NO_PEER_NS, .flags = XFT_PEER_ACCESS},
        {0, 1, .count = 3, .ns = 2 * NO_PEER_NS, .rows = 16},
        {0, 1, .count = 4, .ns = 2 * NO_PEER_NS, .direct = true},
        {0, 1, .count = 2, .ns = NO_PEER_NS, .flags = XFT_STREAM_KNOWN}, /* a class of its own */
    };
    char fix[XFA_REMEDY_CHARS];
    struct xfp_profile *profile = profile_of(THIS_MACHINE, true);
    struct analyzed a = analysis_of(profile, copies, 6);
    assert_int_equal(a.analysis->row_count, 1);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_PEER_ACCESS, "exchange");
    assert_non_null(f);
    assert_int_equal(f->site_count, 1);
    assert_int_equal(f->transfers, 12);
    assert_int_equal(f->bytes, 12 * MIB);
    assert_true(f->achieved_ns == 12.0 * (LATENCY_NS + NO_PEER_NS));
    assert_true(f->achievable_ns == 12.0 * PEER_NS);
    assert_true(f->lost_ns == 12.0 * (LATENCY_NS + NO_PEER_NS - PEER_NS));
    assert_int_equal(f->achieved_basis, XFA_BASIS_HOST);
    assert_int_equal(f->achievable_basis, XFA_BASIS_MEASURED);
    assert_int_equal(f->reckoning, XFA_RECKONED_PEER_ACCESS);
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, fix), "cudaDeviceEnablePeerAccess()"));
    analyzed_free(&a);
    xfp_free(profile);
}

/* A copy through the host that is waited for; of its pieces only the last has a device time. */
static void play_step(struct play *play)
{
    struct xft_event *call = play_async(play, SITE, XFT_DIR_P2P, XFT_MEM_DEVICE, MIB, 0);
    uint64_t end = call->start_ns + NO_PEER_NS;
    call->src_place = call->device = 0;
    call->dst_place = 1;
    call->correlation = ++play->correlation;
    struct xft_event *half = play_device_part(play, call, MIB, 100);
    half->start_ns = end - 4000;
    half->end_ns = end - 2000;
    half->direction = XFT_DIR_D2H;
    half = play_device_part(play, call, MIB, 100);
    half->start_ns = end - 2000;
    half->end_ns = end;
    half->direction = XFT_DIR_H2D;
    struct xft_event sync = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    play_event(play, sync, end + WAKE_NS - play->now)->device = 0;
}

/* The run saves all of what a piece after the other took longer than a copy with peer access. */
static void test_saved(void **state)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = profile_of(THIS_MACHINE, true);
    play_start(&play, &b, 1);
    play_site(&play, SITE, "exchange", 1);
    for (int i = 0; i < 20; i++)
        play_step(&play);
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_weighed(&b, profile);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_PEER_ACCESS, "exchange");
    assert_non_null(f);
    assert_true(fabs(f->saving.likely - 20.0 * (NO_PEER_NS - PEER_NS)) < 1);
    assert_false(f->idle);
    analyzed_free(&a);
    build_free(&b);
    xfp_free(profile);
}

static bool found(const char *machine_id, bool peers, struct copies copies)
{
    struct xfp_profile *profile = profile_of(machine_id, peers);
    struct analyzed a = analysis_of(profile, &copies, 1);
    bool is = analyzed_finding(&a, XFA_FINDING_PEER_ACCESS, NULL) != NULL;
    analyzed_free(&a);
    xfp_free(profile);
    return is;
}

/* Nothing is said of GPUs that cannot have it, or of which it is not known. */
static void test_not_known(void **state)
{
    struct copies slow = {0, 1, .count = 10, .ns = 4 * NO_PEER_NS};
    assert_true(found(THIS_MACHINE, true, slow));
    assert_true(found("", true, slow));
    assert_false(found(THIS_MACHINE, false, slow));
    assert_false(found("bbbb2222", true, slow));
    slow.from = 1, slow.to = 0; /* not measured that way */
    assert_false(found(THIS_MACHINE, true, slow));
    slow.to = XFT_PLACE_UNKNOWN;
    assert_false(found(THIS_MACHINE, true, slow));
    struct analyzed a = analysis_of(NULL, &(struct copies){0, 1, .count = 9, .ns = NO_PEER_NS}, 1);
    assert_null(analyzed_finding(&a, XFA_FINDING_PEER_ACCESS, NULL));
    analyzed_free(&a);
}

/* No call enabled peer access, but the memory had it: by the device's account one copy, or as fast
 * as with it. And what has no times may have been as fast. */
static void test_not_accused(void **state)
{
    assert_false(
        found(THIS_MACHINE, true, (struct copies){0, 1, .count = 100, .ns = PEER_NS - LATENCY_NS}));
    assert_false(found(THIS_MACHINE, true,
                       (struct copies){0, 1, .count = 100, .ns = NO_PEER_NS, .direct = true}));
    assert_false(found(THIS_MACHINE, true, (struct copies){0, 1, .count = 100}));
    assert_false(found(THIS_MACHINE, true,
                       (struct copies){0, 1, .count = 100, .ns = NO_PEER_NS, .rows = 1024}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_not_known),
        cmocka_unit_test(test_not_accused),
    };
    return cmocka_run_group_tests_name("findings: peer access", tests, NULL, NULL);
}
