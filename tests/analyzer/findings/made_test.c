/* repeated-transfer, constant-content: at best the host's own time goes, too, in which it made what
 * need not be sent. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum {
    TABLE = 10,
    DATA,
    NAME = 7,
    WRITES,
    ARGUMENTS = 3,
    STEPS = 20,
    COPY_NS = 60000,
    OWN_NS = 200000
};
enum { SAMPLE = 4096, SET_NS = 2000 };

#define TABLES 0x7f0000000000
#define SMALL (MIB / 1024)

static void upload(struct play *play, unsigned stack, uint64_t place, uint64_t bytes,
                   uint64_t content)
{
    struct xft_event *call = play_copy(play, stack, XFT_DIR_H2D, XFT_MEM_PINNED, bytes, COPY_NS);
    call->src = place + 0x10000000000;
    call->dst = place;
    const struct xft_event hash = {.kind = XFT_EVENT_CONTENT,
                                   .bytes = bytes,
                                   .src = call->src,
                                   .dst = call->dst,
                                   .aux = content,
                                   .width = SAMPLE,
                                   .count = 10};
    uint64_t start = call->start_ns, now = play->now;
    if (bytes < 65536)
        return;
    play->lane = LANE_OTHER;
    play->now = start;
    play_event(play, hash, 0);
    play->now = now;
    play->lane = LANE_MAIN;
}

static uint64_t hash_of_zeros(void)
{
    static const unsigned char sample[SAMPLE];
    return XXH3_64bits(sample, SAMPLE);
}

/* One letter of a step. */
static void statement(struct play *play, char what, uint64_t step)
{
    if (what == 'o') /* own work of the thread */
        play->now += OWN_NS;
    else if (what == 'u') /* the table, the same each time */
        upload(play, TABLE, TABLES, MIB, 77);
    else if (what == 'z') /* zeros, as a table to begin with */
        upload(play, TABLE, TABLES, MIB, hash_of_zeros());
    else if (what == 's') /* of which it is not known whether it is */
        upload(play, TABLE, TABLES + 4 * MIB, SMALL, 0);
    else if (what == 'v') /* data, others each time */
        upload(play, DATA, TABLES + 8 * MIB, MIB, 1000 + step);
    else /* a kernel that reads the table, or writes to it */
        play_event(play,
                   (struct xft_event){.kind = XFT_EVENT_LAUNCH,
                                      .src = what == 'w' ? WRITES : NAME,
                                      .aux = ARGUMENTS},
                   1000);
}

/* What a step saves at best, beyond the copies of the table, of which so many are found. */
static double made_of(const char *step, enum xfa_finding_id id, unsigned copies, double copy_ns)
{
    struct trace_builder b;
    struct play play;
    const struct xfp_place device = {.memory = XFT_MEM_DEVICE, .device = 0, .numa = -1};
    struct xfp_profile *profile = measured_profile(0);
    measured_path(profile, XFP_COPY, XFT_DIR_D2D, device, device, SET_NS);
    play_start(&play, &b, 1);
    play_site(&play, TABLE, "table", 1);
    play_site(&play, DATA, "data", 2);
    build_meta(&b, "content", "sampled");
    build_meta(&b, "arguments", "on");
    build_text(&b, NAME, "_Z4readPKf");
    build_text(&b, WRITES, "_Z5writePf");
    build_arguments(&b, ARGUMENTS, (uint64_t[]){TABLES}, 1);
    for (uint64_t i = 0; i < 3; i++)
        play_event(&play,
                   (struct xft_event){.kind = XFT_EVENT_ALLOC,
                                      .dst = TABLES + 4 * i * MIB,
                                      .bytes = 4 * MIB,
                                      .dst_mem = XFT_MEM_DEVICE},
                   100);
    for (uint64_t i = 0; i < STEPS; i++)
        for (const char *at = step; *at; at++)
            statement(&play, *at, i);
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_played(&b, profile);
    const struct xfa_finding *f = analyzed_finding(&a, id, "table");
    assert_non_null(f);
    assert_int_equal(f->transfers, copies);
    double unsure = xfw_unsure_ns(a.findings->whatif, f->saving.likely);
    /* As likely the host's work stays. */
    assert_true(fabs(f->saving.likely - copies * copy_ns) < 0.05 * copies * copy_ns);
    double most = fmin(f->saving.high - unsure, a.findings->whatif->span.alone_ns);
    analyzed_free(&a);
    return (most - copies * copy_ns) / STEPS;
}

static double made_ns(const char *step)
{
    return made_of(step, XFA_FINDING_REPEATED, STEPS - 1, COPY_NS);
}

static void test_made(void **state)
{
    (void)state;
    /* Of the first step the table has to be made, and of the last one nothing comes behind it. */
    const double most = OWN_NS, least = 0.8 * OWN_NS;
    const double alone = made_ns("oukov"), behind_small = made_ns("osukov");
    assert_true(alone > least && alone <= most);
    assert_true(behind_small > least && behind_small <= most);
}

/* What is set on the device need not be filled by the host. */
static void test_filled(void **state)
{
    (void)state;
    const double filled = made_of("ozwov", XFA_FINDING_CONSTANT, STEPS, COPY_NS - SET_NS);
    assert_true(filled > 0.8 * OWN_NS && filled <= 1.05 * OWN_NS); /* at best setting takes less */
    assert_true(made_of("ozvw", XFA_FINDING_CONSTANT, STEPS, COPY_NS - SET_NS) < 0.02 * OWN_NS);
}

static void test_stays(void **state)
{
    (void)state;
    assert_true(made_ns("ouvk") < 0.02 * OWN_NS);  /* it may have made the data */
    assert_true(made_ns("okuk") < 0.02 * OWN_NS);  /* it came before a kernel */
    assert_true(made_ns("ovuk") < 0.02 * OWN_NS);  /* and before data */
    assert_true(made_ns("ukvok") < 0.02 * OWN_NS); /* and behind all */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_filled),
        cmocka_unit_test(test_stays),
    };
    return cmocka_run_group_tests_name("findings: what need not be made", tests, NULL, NULL);
}
