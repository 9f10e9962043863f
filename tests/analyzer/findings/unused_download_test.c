/* What the kernel's page bits prove: downloads that nobody read, uploads of what nobody wrote. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum {
    ROUNDS = 20,
    COPY_NS = 60000,
    WORK_NS = 50000,
    WITHIN_NS = 1000,
    GIVEN = 1,
    NAMED = 1,
    SAMPLE = 4096
};
enum { HOST = 0x100000, TABLE = 0x900000, DEVICE = 0x40000000 };

struct program {
    unsigned what; /* enum xft_host_access, of each download */
    bool not_asked;
    bool late;           /* the verdict comes when the next download has begun */
    bool kernels_see_it; /* page-locked memory that a kernel is given behind each */
    unsigned watched;    /* the first so many; 0: all */
    unsigned only_each;  /* other rounds' downloads are read; 0: all alike */
    unsigned host_memory;
};

static void tell(struct play *play, const struct xft_event *copy, unsigned what, uint64_t since)
{
    play_event(play,
               (struct xft_event){.kind = XFT_EVENT_HOST_ACCESS,
                                  .bytes = copy->bytes,
                                  .src = copy->src,
                                  .dst = copy->dst,
                                  .aux = copy->start_ns,
                                  .width = since,
                                  .count = what},
               0);
}

static void kernel(struct play *play)
{
    play_event(play,
               (struct xft_event){.kind = XFT_EVENT_LAUNCH, .dst = 32, .src = NAMED, .aux = GIVEN},
               100);
}

static void begin(struct play *play, struct trace_builder *b, bool asked)
{
    play_start(play, b, 1);
    build_meta(b, "host_access", asked ? "on" : "off");
    build_meta(b, "content", "sampled");
    build_meta(b, "arguments", "on");
    build_text(b, NAMED, "_Z4readPKfm");
    build_arguments(b, GIVEN, (uint64_t[]){HOST}, 1);
}

static struct analyzed weighed(struct trace_builder *b)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    const struct xfp_place device = {XFT_MEM_DEVICE, 0, -1};
    measured_path(profile, XFP_COPY, XFT_DIR_D2D, device, device, WITHIN_NS);
    return analyzed_answered(b, profile, NULL);
}

static struct analyzed run(const struct program *program)
{
    struct play play;
    struct trace_builder b;
    struct xft_event last = {0};
    begin(&play, &b, !program->not_asked);
    play_event(&play,
               (struct xft_event){.kind = XFT_EVENT_ALLOC,
                                  .dst = HOST,
                                  .bytes = MIB,
                                  .dst_mem = (uint8_t)program->host_memory},
               100);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct xft_event *call =
            play_copy(&play, STACK_RESULTS, XFT_DIR_D2H, program->host_memory, MIB, COPY_NS);
        call->dst = HOST;
        call->src = DEVICE;
        struct xft_event this = *call;
        bool is_read = program->only_each && round % program->only_each != 0;
        unsigned what = is_read ? XFT_HOST_READS_KNOWN | XFT_HOST_READ : program->what;
        if (program->late && round > 0)
            tell(&play, &last, what, 0);
        if (program->kernels_see_it)
            kernel(&play);
        play.now += WORK_NS;
        if (!program->late && (program->watched == 0 || round < program->watched))
            tell(&play, &this, what, 0);
        last = this;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return weighed(&b);
}

/* transfers 0: none; `at_worst`: so many at worst. */
static void expect_of(struct program program, unsigned transfers, unsigned at_worst)
{
    if (program.host_memory == 0)
        program.host_memory = XFT_MEM_PAGEABLE;
    struct analyzed a = run(&program);
    const struct xfa_finding *found = analyzed_finding(&a, XFA_FINDING_UNUSED_DOWNLOAD, NULL);
    assert_int_equal(found ? found->transfers : 0, transfers);
    if (transfers > 0) {
        assert_int_equal(found->remedy.kind, XFA_REMEDY_LEAVE_THERE);
        assert_true(found->bytes == transfers * MIB);
        assert_true(fabs(found->lost_ns - transfers * (double)COPY_NS) < 1);
        assert_true(fabs(found->saving.likely - transfers * (double)COPY_NS) <
                    0.05 * transfers * COPY_NS);
        /* That it is unread is no guess; of some copies it is not known. */
        double unsure = xfw_unsure_ns(a.findings->whatif, found->saving.likely);
        assert_true(fabs(found->saving.low + unsure - at_worst * (double)COPY_NS) < 0.3 * COPY_NS);
        assert_int_equal(found->assumed == NULL,
                         program.host_memory == XFT_MEM_PAGEABLE && at_worst == transfers);
    }
    analyzed_free(&a);
}

static void expect(struct program program, unsigned transfers)
{
    expect_of(program, transfers, transfers);
}

static void test_downloads_that_nobody_read(void **state)
{
    (void)state;
    expect((struct program){.what = XFT_HOST_READS_KNOWN}, ROUNDS);
    expect_of((struct program){.what = XFT_HOST_READS_KNOWN, .late = true}, ROUNDS, ROUNDS - 1);
    expect((struct program){.what = XFT_HOST_READS_KNOWN, .only_each = 2}, ROUNDS / 2);
    expect((struct program){.what = XFT_HOST_READS_KNOWN, .host_memory = XFT_MEM_PINNED}, ROUNDS);
}

/* The share of the time was used up: the others are taken to be like those that were watched, where
 * these are enough, and none of them was read. */
static void test_downloads_that_were_not_watched(void **state)
{
    (void)state;
    expect_of((struct program){.what = XFT_HOST_READS_KNOWN, .watched = 8}, ROUNDS, 8);
    expect((struct program){.what = XFT_HOST_READS_KNOWN, .watched = 7}, 7);
    expect((struct program){.what = XFT_HOST_READS_KNOWN, .watched = 18, .only_each = 2}, 9);
}

static void test_downloads_that_are_used(void **state)
{
    (void)state;
    expect((struct program){.what = XFT_HOST_READS_KNOWN | XFT_HOST_READ}, 0);
    expect((struct program){.what = XFT_HOST_READS_KNOWN | XFT_HOST_SENT}, 0);
    expect((struct program){.what = 0}, 0);
    expect((struct program){.what = XFT_HOST_READS_KNOWN, .not_asked = true}, 0);
    expect((struct program){.what = XFT_HOST_READS_KNOWN,
                            .kernels_see_it = true,
                            .host_memory = XFT_MEM_PINNED},
           0);
}

/* ---- uploads --------------------------------------------------------------------------------- */

enum since { SINCE_THE_LAST, SINCE_ANOTHER, SINCE_NOBODY_KNOWS };

/* The same bytes in each round, by samples: how many are said to be the same, and only probably? */
static void expect_same(unsigned what, enum since since, unsigned transfers, bool probably)
{
    struct play play;
    struct trace_builder b;
    uint64_t before = 0;
    begin(&play, &b, true);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct xft_event *call =
            play_copy(&play, STACK_UPLOAD, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, COPY_NS);
        call->src = TABLE;
        call->dst = DEVICE;
        struct xft_event this = *call;
        uint64_t now = play.now;
        play.now = this.start_ns;
        play.lane = LANE_OTHER;
        play_event(&play,
                   (struct xft_event){.kind = XFT_EVENT_CONTENT,
                                      .bytes = MIB,
                                      .src = TABLE,
                                      .dst = DEVICE,
                                      .aux = 77,
                                      .width = SAMPLE},
                   0);
        play.now = this.start_ns;
        if (since != SINCE_NOBODY_KNOWS && round > 0)
            tell(&play, &this, what, since == SINCE_ANOTHER ? before + 1 : before);
        play.lane = LANE_MAIN;
        play.now = now + WORK_NS;
        before = this.start_ns;
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = weighed(&b);
    const struct xfa_finding *found = analyzed_finding(&a, XFA_FINDING_REPEATED, NULL);
    assert_int_equal(found ? found->transfers : 0, transfers);
    assert_int_equal(found && found->probably, probably);
    analyzed_free(&a);
}

static void test_uploads_of_what_nobody_wrote(void **state)
{
    (void)state;
    expect_same(XFT_HOST_WRITES_KNOWN, SINCE_THE_LAST, ROUNDS - 1, false);
    expect_same(XFT_HOST_WRITES_KNOWN, SINCE_ANOTHER, ROUNDS - 1, true);
    expect_same(0, SINCE_NOBODY_KNOWS, ROUNDS - 1, true);
    /* Samples do not show what was written beside them. */
    expect_same(XFT_HOST_WRITES_KNOWN | XFT_HOST_WROTE, SINCE_THE_LAST, 0, false);
}

/* ---- state that goes down and up again ------------------------------------------------------- */

/* What the run would save at worst without a state's ways down and up. */
static double saved_at_worst(unsigned what)
{
    struct play play;
    struct trace_builder b;
    begin(&play, &b, true);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct xft_event ways[2];
        for (unsigned up = 0; up < 2; up++) {
            struct xft_event *call =
                play_copy(&play, up ? STACK_UPLOAD : STACK_RESULTS, up ? XFT_DIR_H2D : XFT_DIR_D2H,
                          XFT_MEM_PAGEABLE, MIB, COPY_NS);
            call->src = up ? HOST : DEVICE;
            call->dst = up ? DEVICE : HOST;
            ways[up] = *call;
            struct xft_event content = *call;
            uint64_t now = play.now;
            content.kind = XFT_EVENT_CONTENT;
            content.aux = 1000 + round;
            content.width = SAMPLE;
            play.lane = LANE_OTHER;
            play.now = call->start_ns;
            play_event(&play, content, 0);
            play.now = call->start_ns;
            if (up)
                tell(&play, &ways[1], XFT_HOST_WRITES_KNOWN, ways[0].start_ns);
            play.lane = LANE_MAIN;
            play.now = now;
        }
        tell(&play, &ways[0], what, 0);
        play.now += WORK_NS;
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = weighed(&b);
    const struct xfa_finding *found = analyzed_finding(&a, XFA_FINDING_RETURNED, NULL);
    assert_non_null(found);
    assert_false(found->probably);
    double low = found->saving.low + xfw_unsure_ns(a.findings->whatif, found->saving.likely);
    analyzed_free(&a);
    return low / COPY_NS;
}

static void test_state_that_nobody_looks_at(void **state)
{
    (void)state;
    double unknown = saved_at_worst(0);
    double read = saved_at_worst(XFT_HOST_READS_KNOWN | XFT_HOST_READ | XFT_HOST_SENT);
    double unread = saved_at_worst(XFT_HOST_READS_KNOWN | XFT_HOST_SENT);
    assert_true(fabs(unknown - read) < 0.01);
    assert_true(unread > read + 0.8 * ROUNDS); /* the ways down go as well, for sure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_downloads_that_nobody_read),
        cmocka_unit_test(test_downloads_that_were_not_watched),
        cmocka_unit_test(test_downloads_that_are_used),
        cmocka_unit_test(test_uploads_of_what_nobody_wrote),
        cmocka_unit_test(test_state_that_nobody_looks_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
