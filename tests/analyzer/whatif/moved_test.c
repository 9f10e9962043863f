/* Managed memory sent ahead, or left where it is, played by hand: what goes, and what it costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "tests/analyzer/lab/hand_ops.h"
#include "tests/analyzer/traces/measured.h"

/* Per MiB. */
#define AHEAD_NS 30000.0
#define BACK_NS 50000.0
#define FAULTS_NS 200000.0 /* of the host */
#define READ_NS 40000.0    /* over the link */
#define WRITE_NS 45000.0
#define DEVICE_NS 1000.0

enum { SPARED_MIB = XFP_SPARED_BYTES >> 20 };
enum { MOVED = 8, LAUNCH = 100, OWN = 3000, STALLED = 1000000, BUSY = 5000 };

struct fixture {
    struct xfa_run run;
    struct xfa_analysis analysis;
    struct xfp_profile *profile;
};

static struct fixture *started(void)
{
    static struct fixture f;
    const struct xfp_place host = {XFT_MEM_MANAGED, -1, -1}, gpu = {XFT_MEM_MANAGED, 0, -1};
    const struct xfp_place mapped = {XFT_MEM_MAPPED, -1, -1}, device = {XFT_MEM_DEVICE, 0, -1};
    f = (struct fixture){.profile = measured_profile(MEASURED_ALL)};
    measured_path(f.profile, XFP_PREFETCH, XFT_DIR_H2D, host, gpu, AHEAD_NS);
    measured_path(f.profile, XFP_PREFETCH, XFT_DIR_D2H, gpu, host, BACK_NS);
    measured_path(f.profile, XFP_DEMAND, XFT_DIR_D2H, gpu, host, FAULTS_NS);
    measured_path(f.profile, XFP_MAPPED_READ, XFT_DIR_H2D, mapped, device, READ_NS);
    measured_path(f.profile, XFP_MAPPED_WRITE, XFT_DIR_D2H, device, mapped, WRITE_NS);
    measured_path(f.profile, XFP_COPY, XFT_DIR_D2D, device, device, DEVICE_NS);
    measured_scalar(f.profile, "spared/managed/read/gpu0", SPARED_MIB * FAULTS_NS);
    measured_scalar(f.profile, "spared/managed/write/gpu0", SPARED_MIB * FAULTS_NS);
    measured_scalar(f.profile, "records/migration/h2d/gpu0", 0);
    f.analysis.achievable.profile = f.profile;
    f.analysis.achievable.run = &f.run;
    return &f;
}

static double played(struct fixture *f, const struct xfw_op *ops, size_t count,
                     struct xfw_change *make(const struct xfa_analysis *),
                     enum xfw_certainty certainty)
{
    struct xfw_change *change = make ? make(&f->analysis) : NULL;
    double ns = hand_play(ops, count, change, certainty);
    xfw_change_free(change);
    return ns;
}

/* The host fills, a kernel runs, the host waits and reads. */
struct step {
    struct xfw_op ops[3];
};

static struct step step(double gap, double kernel_own)
{
    struct step step = {{hand_work(XFW_KERNEL, 0, LAUNCH, 0, kernel_own + STALLED), hand_wait(0),
                         hand_op(XFW_CALL, XFT_EVENT_NONE, 0)}};
    step.ops[0].demanded =
        (struct xfw_moved){.bytes = MOVED * MIB, .stalled_ns = STALLED, .records = 8};
    step.ops[2].gap_ns = gap;
    step.ops[2].fetched =
        (struct xfw_moved){.bytes = MOVED * MIB, .stalled_ns = 200000, .records = 8};
    return step;
}

static void test_prefetched(void **state)
{
    struct fixture *f = started();
    const double ahead = MOVED * AHEAD_NS, back = MOVED * BACK_NS, faults = MOVED * FAULTS_NS;
    struct step s = step(faults + BUSY, OWN);
    assert_true(played(f, s.ops, 3, NULL, XFW_LIKELY) == OWN + STALLED + faults + BUSY);
    /* The kernel waits for the prefetch, which begins as its call does, the host for the other. */
    assert_true(played(f, s.ops, 3, xfw_change_prefetch, XFW_LIKELY) == ahead + OWN + back + BUSY);
    assert_true(played(f, s.ops, 3, xfw_change_prefetch, XFW_HIGH) == ahead + OWN + back + BUSY);
    /* At worst only what was under way is saved on the host: less than the prefetch takes. */
    assert_true(played(f, s.ops, 3, xfw_change_prefetch, XFW_LOW) == ahead + OWN + faults + BUSY);
    /* The host's time of its call, where nothing is waited for. */
    assert_true(played(f, s.ops, 1, xfw_change_prefetch, XFW_LIKELY) == ahead / 2 + LAUNCH);
    assert_true(played(f, s.ops, 1, xfw_change_prefetch, XFW_LOW) == ahead + LAUNCH);
    assert_true(played(f, s.ops, 1, xfw_change_prefetch, XFW_HIGH) == LAUNCH);
    /* Not before the host has filled it. */
    s.ops[0].gap_ns = BUSY;
    assert_true(played(f, s.ops, 3, xfw_change_prefetch, XFW_LIKELY) ==
                BUSY + ahead + OWN + back + BUSY);
    xfp_free(f->profile);
}

/* Two allocations are two prefetches, each with its call's time where that is measured; what the
 * host comes to later was on its way from the kernel's end on. */
static void test_each_allocation(void **state)
{
    struct fixture *f = started();
    const double faults = MOVED * FAULTS_NS, call_ns = 700, alone_ns = 9000;
    struct step s = step(faults + BUSY, OWN);
    for (size_t i = 0; i < f->profile->path_count; i++)
        for (size_t k = 0; k < f->profile->paths[i].point_count; k++) {
            struct xfp_point *point = &f->profile->paths[i].points[k];
            point->host_ns = f->profile->paths[i].method == XFP_PREFETCH ? call_ns : 0;
            point->median_ns += f->profile->paths[i].method == XFP_PREFETCH ? alone_ns : 0;
        }
    s.ops[0].demanded.allocations = s.ops[2].fetched.allocations =
        xfw_allocation_bit(1) | xfw_allocation_bit(2);
    assert_true(xfw_allocation_bit(1) != xfw_allocation_bit(2));
    double one = played(f, s.ops, 1, xfw_change_prefetch, XFW_LIKELY);
    assert_true(one == 2 * call_ns + LAUNCH);
    double ahead = played(f, s.ops, 2, xfw_change_prefetch, XFW_LIKELY) - OWN;
    double all = played(f, s.ops, 3, xfw_change_prefetch, XFW_LIKELY);
    s.ops[0].demanded.allocations = xfw_allocation_bit(1);
    assert_true(ahead > played(f, s.ops, 2, xfw_change_prefetch, XFW_LIKELY) - OWN);
    s.ops[0].demanded.allocations |= xfw_allocation_bit(2);
    struct xfw_op later[4] = {s.ops[0], s.ops[1], hand_op(XFW_CALL, XFT_EVENT_NONE, 0), s.ops[2]};
    later[2].gap_ns = BUSY; /* meanwhile it comes */
    assert_true(played(f, later, 4, xfw_change_prefetch, XFW_LIKELY) == all);
    xfp_free(f->profile);
}

/* Of what a kernel waited without records, nothing goes at worst. */
static void test_without_records(void **state)
{
    struct fixture *f = started();
    const double ahead = MOVED * AHEAD_NS, unseen = STALLED / 4;
    struct step s = step(0, OWN);
    (void)state;
    s.ops[0].demanded.unseen_ns = (float)unseen;
    assert_true(played(f, s.ops, 2, xfw_change_prefetch, XFW_LIKELY) == ahead + OWN);
    assert_true(played(f, s.ops, 2, xfw_change_prefetch, XFW_LOW) == ahead + OWN + unseen);
    xfp_free(f->profile);
}

/* As much as the probe found: likely between a thread that reads and one that writes. */
static void test_what_is_spared(void **state)
{
    struct fixture *f = started();
    const double ahead = MOVED * AHEAD_NS, back = MOVED * BACK_NS, faults = MOVED * FAULTS_NS;
    struct step s = step(faults + BUSY, OWN);
    struct xfp_profile *profile = f->profile;
    (void)state;
    for (size_t i = 0; i < profile->scalar_count; i++)
        if (strcmp(profile->scalars[i].name, "spared/managed/write/gpu0") == 0)
            profile->scalars[i].cost.median /= 2;
    double best = ahead + OWN + back + BUSY;
    assert_true(played(f, s.ops, 3, xfw_change_prefetch, XFW_LIKELY) == best + faults / 4);
    assert_true(played(f, s.ops, 3, xfw_change_prefetch, XFW_HIGH) == best);
    for (size_t i = 0; i < profile->scalar_count; i++)
        if (strncmp(profile->scalars[i].name, "spared/", 7) == 0)
            profile->scalars[i].name[0] = 'S'; /* a profile of before */
    double usual = played(f, s.ops, 3, xfw_change_prefetch, XFW_LIKELY) - best;
    assert_true(usual > 0.2 * faults && usual < 0.25 * faults);
    xfp_free(f->profile);
}

static void add_to(struct xfp_point *point, double ns)
{
    point->median_ns += ns;
    point->ci_low_ns += ns;
    point->ci_high_ns += ns;
}

/* So many faults of the host take what as many of so few bytes do. */
static void test_by_faults(void **state)
{
    struct fixture *f = started();
    const double alone_ns = 9000, faults = MOVED * FAULTS_NS;
    struct step s = step(4 * faults, OWN);
    struct xfp_profile *profile = f->profile;
    (void)state;
    for (size_t i = 0; i < profile->path_count; i++)
        if (profile->paths[i].method == XFP_DEMAND && profile->paths[i].direction == XFT_DIR_D2H)
            for (size_t k = 0; k < profile->paths[i].point_count; k++)
                add_to(&profile->paths[i].points[k], alone_ns);
    double all = played(f, s.ops, 3, xfw_change_prefetch, XFW_HIGH);
    s.ops[2].fetched.faults = MOVED;
    assert_true(played(f, s.ops, 3, xfw_change_prefetch, XFW_HIGH) == all - (MOVED - 1) * alone_ns);
    xfp_free(f->profile);
}

/* By apply: to the GPU alone, and after trials. Of 40 launches 0, 1, 2, 5, 6, 9 and 10 are made as
 * asked; where it does not gain, only 3, 4, 7, 8 and 11 are not. */
static void test_by_apply(void **state)
{
    (void)state;
    enum { STEPS = 40, AS_ASKED = 7, OURS = 5 };
    struct fixture *f = started();
    const double ahead = MOVED * AHEAD_NS, faults = MOVED * FAULTS_NS;
    struct step s = step(faults + BUSY, OWN);
    struct xfw_op ops[3 * STEPS];
    for (size_t i = 0; i < 3 * (size_t)STEPS; i++)
        ops[i] = s.ops[i % 3];
    double host = STEPS * (faults + BUSY);
    assert_true(played(f, ops, 3 * STEPS, NULL, XFW_LIKELY) ==
                STEPS * (OWN + STALLED + 0.0) + host);
    assert_true(played(f, ops, 3 * STEPS, xfw_change_prefetch_by_apply, XFW_LIKELY) ==
                AS_ASKED * (double)(OWN + STALLED) + (STEPS - AS_ASKED) * (ahead + OWN) + host);
    for (size_t i = 0; i < 3 * (size_t)STEPS; i += 3) {
        ops[i].demanded.stalled_ns = ahead; /* no more than the prefetch */
        ops[i].duration_ns = 2 * ahead;
    }
    host += STEPS * 2 * ahead;
    assert_true(played(f, ops, 3 * STEPS, NULL, XFW_LIKELY) == host);
    for (size_t i = 0; i < 3 * (size_t)STEPS; i += 3)
        ops[i].demanded.stalled_ns = ahead / 2; /* half of it */
    assert_true(played(f, ops, 3 * STEPS, xfw_change_prefetch_by_apply, XFW_LIKELY) ==
                host + OURS * ahead / 2);
    xfp_free(f->profile);
}

static void test_prefetching_does_not_pay(void **state)
{
    struct fixture *f = started();
    struct step s = step(BUSY, OWN);
    s.ops[0].demanded.stalled_ns = MOVED * AHEAD_NS; /* not more than the prefetch */
    s.ops[2].fetched.stalled_ns = 0;                 /* and the thread has no more than this */
    assert_true(played(f, s.ops, 3, xfw_change_prefetch, XFW_LIKELY) ==
                played(f, s.ops, 3, NULL, XFW_LIKELY));
    f->analysis.achievable.profile = NULL; /* nobody knows */
    s = step(10 * MOVED * FAULTS_NS, OWN);
    assert_true(played(f, s.ops, 3, xfw_change_prefetch, XFW_LIKELY) ==
                played(f, s.ops, 3, NULL, XFW_LIKELY));
    xfp_free(f->profile);
}

/* Where nobody knows what recording cost, it may have been all of it. */
static void test_recording_not_known(void **state)
{
    struct fixture *f = started();
    struct step s = step(MOVED * FAULTS_NS + BUSY, DEVICE_NS);
    f->profile->scalars[f->profile->scalar_count - 1].name[0] = 'R';
    for (unsigned i = 0; i < 2; i++) {
        struct xfw_change *(*make)(const struct xfa_analysis *) =
            i ? xfw_change_stay : xfw_change_prefetch;
        double unchanged = played(f, s.ops, 3, NULL, XFW_LIKELY);
        assert_true(played(f, s.ops, 3, make, XFW_LOW) == unchanged);
        assert_true(played(f, s.ops, 3, make, XFW_LIKELY) < unchanged);
    }
    xfp_free(f->profile);
}

/* 1 of 8 MiB may have been touched. */
static void test_stays(void **state)
{
    struct fixture *f = started();
    const double faults = MOVED * FAULTS_NS, own = DEVICE_NS;
    struct step s = step(faults + BUSY, own);
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_LIKELY) == READ_NS + BUSY);
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_HIGH) == READ_NS / 4 + BUSY);
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_LOW) ==
                MOVED / 2 * (READ_NS + WRITE_NS) + faults + BUSY - 200000);
    /* Half of what comes back had not stayed: that moves as before. */
    s.ops[0].demanded.bytes = MOVED / 2 * MIB;
    s.ops[0].duration_ns = own / 2 + STALLED;
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_LIKELY) ==
                READ_NS / 2 + faults / 2 + BUSY);
    xfp_free(f->profile);
}

/* A kernel whose own time says nothing: pages that faults brought one by one do. */
static void test_stays_by_pages(void **state)
{
    struct fixture *f = started();
    const double least = 2000, faults = MOVED * FAULTS_NS;
    struct step s = step(faults + BUSY, least);
    (void)state;
    for (size_t i = 0; i < f->profile->path_count; i++)
        if (f->profile->paths[i].src.memory == XFT_MEM_DEVICE &&
            f->profile->paths[i].dst.memory == XFT_MEM_DEVICE)
            for (size_t k = 0; k < f->profile->paths[i].point_count; k++)
                f->profile->paths[i].points[k].median_ns += least;
    double unchanged = played(f, s.ops, 3, NULL, XFW_LIKELY);
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_LIKELY) == unchanged); /* a quarter */
    s.ops[0].demanded.pages = 16;
    double stays = played(f, s.ops, 3, xfw_change_stay, XFW_LIKELY);
    assert_true(stays < 2 * READ_NS + BUSY);
    s.ops[0].demanded.pages = XFW_PAGES_TOGETHER;
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_LIKELY) == unchanged);
    s.ops[0].demanded.pages = MOVED * (MIB / XFW_PAGE_BYTES) / 2; /* half of it */
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_LIKELY) == unchanged);
    xfp_free(f->profile);
}

/* At best the host only waited from the first page to the last. */
static void test_waits_between_pages(void **state)
{
    struct fixture *f = started();
    const double faults = MOVED * FAULTS_NS, work = 700000;
    struct step s = step(faults + work, DEVICE_NS);
    (void)state;
    double likely = played(f, s.ops, 3, xfw_change_stay, XFW_LIKELY);
    double best = played(f, s.ops, 3, xfw_change_stay, XFW_HIGH);
    s.ops[2].fetched.span_us = (uint16_t)((faults + work / 2) / 1e3);
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_LIKELY) == likely);
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_HIGH) == best - work / 2);
    s.ops[2].fetched.span_us = UINT16_MAX;
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_HIGH) == best - work);
    xfp_free(f->profile);
}

/* Kernels that may have touched a quarter of it, and what comes back from them. */
static void test_moves_on(void **state)
{
    struct fixture *f = started();
    struct step s = step(MOVED * FAULTS_NS + BUSY, 2 * DEVICE_NS);
    assert_true(played(f, s.ops, 3, xfw_change_stay, XFW_LIKELY) ==
                played(f, s.ops, 3, NULL, XFW_LIKELY));
    xfp_free(f->profile);
}

/* ---- apart ----------------------------------------------------------------------------------- */

enum { TURNS = 12, FAULTED = 100000, REACHED = 4000000, COPIES = 30000 };

struct turns {
    unsigned
        stretches; /* of TURNS in which the page comes back, and of as many in which it is left */
    uint64_t bytes, threads;
    double nap_ns; /* the driver has the thread wait where it faults */
};

/* The host touches a page, a kernel does, to which it comes back, and the host waits; or it comes
 * back no more (left), and the kernel takes long. */
static void turn(struct xfw_op *ops, const struct turns *turns, bool left, bool first)
{
    const struct xfw_moved moved = {.bytes = turns->bytes, .stalled_ns = 2000, .records = 1};
    ops[0] = hand_work(XFW_KERNEL, 0, LAUNCH, 0, left ? REACHED : OWN + FAULTED);
    ops[0].name = 1;
    ops[0].threads = left ? turns->threads : 256;
    ops[0].gap_ns = BUSY;
    ops[1] = hand_wait(0);
    if (!left || first) {
        ops[0].gap_ns += turns->nap_ns;
        ops[0].fetched = moved;
    }
    if (!left) {
        ops[0].demanded = moved;
        ops[0].demanded.stalled_ns = FAULTED;
    }
}

static double turns_of(struct fixture *f, struct turns turns, bool apart,
                       enum xfw_certainty certainty)
{
    static struct xfw_op ops[8 * TURNS * 2];
    const unsigned count = 2 * turns.stretches * TURNS;
    for (unsigned i = 0; i < count; i++)
        turn(&ops[(size_t)2 * i], &turns, i / TURNS % 2 != 0, i % TURNS == 0);
    return played(f, ops, (size_t)2 * count, apart ? xfw_change_apart : NULL, certainty);
}

static double saved_apart(struct fixture *f, struct turns turns, enum xfw_certainty certainty)
{
    return turns_of(f, turns, false, certainty) - turns_of(f, turns, true, certainty);
}

static void test_apart(void **state)
{
    struct fixture *f = started();
    (void)state;
    struct turns turns = {1, XFW_PAGE_BYTES, 256, 0};
    /* All faults, and all that kernels reached over the link; copies come instead. */
    const double gone = TURNS * (FAULTED + (double)REACHED - OWN + BUSY);
    double saved = saved_apart(f, turns, XFW_LIKELY);
    assert_true(saved > gone - 2 * TURNS * COPIES && saved < gone);
    /* A kernel of another size is another one, and more than a little is sent ahead instead. */
    turns.threads = 512;
    assert_true(saved_apart(f, turns, XFW_LIKELY) < TURNS * (FAULTED + (double)BUSY));
    turns = (struct turns){1, XFW_APART_BYTES + 1, 256, 0};
    assert_true(saved_apart(f, turns, XFW_LIKELY) == 0);
    xfp_free(f->profile);
}

/* What the thread does where no page comes says how long it waited where one came. */
static void test_naps_of_the_driver(void **state)
{
    struct fixture *f = started();
    const double nap = 500000;
    (void)state;
    const struct turns usual = {2, XFW_PAGE_BYTES, 256, 0}, naps = {2, XFW_PAGE_BYTES, 256, nap};
    double more = saved_apart(f, naps, XFW_LIKELY) - saved_apart(f, usual, XFW_LIKELY);
    assert_true(more > TURNS * nap && more < (TURNS + 2) * (nap + BUSY));
    more = saved_apart(f, naps, XFW_LOW) - saved_apart(f, usual, XFW_LOW);
    assert_true(more < TURNS * BUSY);
    xfp_free(f->profile);
}

/* At worst it may be another reason, until pages have come back to kernels as short as before. */
static void test_apart_at_worst(void **state)
{
    struct fixture *f = started();
    (void)state;
    const double faults = 4 * TURNS * (double)FAULTED,
                 reached = TURNS * ((double)REACHED - 2 * OWN);
    double saved[4];
    for (unsigned i = 0; i < 4; i++)
        saved[i] = saved_apart(f, (struct turns){i + 1, XFW_PAGE_BYTES, 256, 0}, XFW_LOW);
    assert_true(saved[0] < faults && saved[1] < faults);
    assert_true(saved[2] > reached - 6 * TURNS * COPIES && saved[2] < reached + faults);
    assert_true(saved[3] > 2 * reached - 8 * TURNS * COPIES);
    xfp_free(f->profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_records),
        cmocka_unit_test(test_prefetched),
        cmocka_unit_test(test_what_is_spared),
        cmocka_unit_test(test_by_faults),
        cmocka_unit_test(test_by_apply),
        cmocka_unit_test(test_each_allocation),
        cmocka_unit_test(test_prefetching_does_not_pay),
        cmocka_unit_test(test_recording_not_known),
        cmocka_unit_test(test_stays),
        cmocka_unit_test(test_stays_by_pages),
        cmocka_unit_test(test_waits_between_pages),
        cmocka_unit_test(test_moves_on),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_naps_of_the_driver),
        cmocka_unit_test(test_apart_at_worst),
    };
    return cmocka_run_group_tests_name("what if: managed memory ahead, or at home", tests, NULL,
                                       NULL);
}
