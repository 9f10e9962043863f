/* Schedules played on the simulated GPU, whose clock is exact: what is played takes what its steps
 * say, no less for being done by a player. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/play.h"

enum { MOST = 64, PATIENCE_S = 20 };

#define US 1000u
#define MIB (1u << 20)

struct playing {
    struct xfp_play *play;
    struct xfp_play_step steps[2][MOST];
    size_t counts[2];
};

static struct xfp_play_step *add(struct playing *p, int thread, enum xfp_play_what what)
{
    struct xfp_play_step *step = &p->steps[thread][p->counts[thread]++];

    assert_true(p->counts[thread] <= MOST);
    *step = (struct xfp_play_step){.what = (uint8_t)what,
                                   .stream = 0,
                                   .event = XFP_PLAY_NONE,
                                   .src = XFP_PLAY_NONE,
                                   .dst = XFP_PLAY_NONE};
    return step;
}

static void kernel(struct playing *p, uint32_t stream, uint64_t ns)
{
    struct xfp_play_step *step = add(p, 0, XFP_PLAY_KERNEL);

    step->stream = stream;
    step->own_ns = 5 * US;
    step->amount = ns;
}

/* Stage: two regions of each kind, two streams, two events, two slots. */
static void prepare(struct playing *p)
{
    const struct xfp_play_region regions[] = {
        {{XFT_MEM_PINNED, -1, -1}, 0, 4 * MIB},
        {{XFT_MEM_PAGEABLE, -1, -1}, 0, 4 * MIB},
        {{XFT_MEM_DEVICE, 0, -1}, 0, 4 * MIB},
        {{XFT_MEM_DEVICE, 0, -1}, 0, 4 * MIB},
    };
    const struct xfp_play_stream streams[] = {{0, XFP_PLAY_NONBLOCKING},
                                              {0, XFP_PLAY_NONBLOCKING},
                                              {0, XFP_PLAY_LEGACY},
                                              {0, XFP_PLAY_BLOCKING}};
    const int events[] = {0, 0};
    const struct xfp_play_stage stage = {.regions = regions,
                                         .region_count = 4,
                                         .streams = streams,
                                         .stream_count = 4,
                                         .events = events,
                                         .event_count = 2,
                                         .slots = 2};
    char error[240] = "";

    assert_int_equal(xfp_play_prepare(p->play, &stage, error, sizeof(error)), 0);
}

static int try_playing(struct playing *p, struct xfp_played *played)
{
    const struct xfp_play_thread threads[] = {{p->steps[0], p->counts[0]},
                                              {p->steps[1], p->counts[1]}};
    const struct xfp_play_list list = {.threads = threads,
                                       .thread_count = p->counts[1] ? 2 : 1,
                                       .give_up_ns = (uint64_t)PATIENCE_S * 1000000000u};
    int bad = xfp_play_run(p->play, &list, played);

    p->counts[0] = p->counts[1] = 0;
    return bad;
}

static double wall(struct playing *p)
{
    struct xfp_played played;
    size_t steps = p->counts[0] + p->counts[1];

    if (try_playing(p, &played))
        fail_msg("%s", played.why);
    assert_int_equal(played.steps, steps);
    assert_int_equal(played.failed, 0);
    return played.wall_ns;
}

static int open_play(void **state)
{
    struct playing *p = calloc(1, sizeof(*p));
    char error[240] = "";

    p->play = xfp_play_open(error, sizeof(error));
    if (!p->play)
        fail_msg("%s", error);
    prepare(p);
    *state = p;
    return 0;
}

static int close_play(void **state)
{
    struct playing *p = *state;

    xfp_free(xfp_play_close(p->play));
    free(p);
    return 0;
}

static void test_own_time(void **state)
{
    struct playing *p = *state;

    add(p, 0, XFP_PLAY_HOST)->gap_ns = 7 * US;
    add(p, 0, XFP_PLAY_HOST)->own_ns = 11 * US;
    add(p, 0, XFP_PLAY_HOST)->gap_ns = 13;
    assert_true(wall(p) == 18 * US + 13);
    add(p, 0, XFP_PLAY_KERNEL)->own_ns = 9 * US; /* longer than the call takes */
    assert_true(wall(p) == 9 * US);
}

/* From the end of the one before it; a spinning kernel may take some time more. */
static void test_kernels(void **state)
{
    struct playing *p = *state;
    double one, two, side_by_side;

    kernel(p, 0, 100 * US);
    add(p, 0, XFP_PLAY_SYNC_STREAM);
    one = wall(p);
    kernel(p, 0, 100 * US);
    kernel(p, 0, 250 * US);
    add(p, 0, XFP_PLAY_SYNC_STREAM);
    two = wall(p);
    assert_true(one >= 100 * US && one < 110 * US);
    assert_true(two - one == 250 * US);
    kernel(p, 0, 100 * US);
    kernel(p, 1, 100 * US);
    add(p, 0, XFP_PLAY_SYNC_DEVICE);
    side_by_side = wall(p);
    assert_true(side_by_side == one + 5 * US);
}

/* An event orders two streams, and lets the host wait for less than all. */
static void test_events(void **state)
{
    struct playing *p = *state;
    double apart, ordered, half = 0, asked = 0;

    kernel(p, 0, 100 * US);
    kernel(p, 1, 300 * US);
    add(p, 0, XFP_PLAY_SYNC_DEVICE);
    apart = wall(p);
    kernel(p, 0, 100 * US);
    p->steps[0][0].event = 1;
    add(p, 0, XFP_PLAY_WAIT)->event = 1;
    p->steps[0][1].stream = 1;
    kernel(p, 1, 300 * US);
    add(p, 0, XFP_PLAY_SYNC_DEVICE);
    ordered = wall(p);
    assert_true(ordered - apart > 90 * US && ordered - apart <= 100 * US);
    for (int asks = 0; asks < 2; asks++) {
        kernel(p, 0, 100 * US);
        add(p, 0, XFP_PLAY_RECORD)->event = 0;
        kernel(p, 0, 300 * US);
        add(p, 0, asks ? XFP_PLAY_ASK_EVENT : XFP_PLAY_SYNC_EVENT)->event = 0;
        *(asks ? &asked : &half) = wall(p);
    }
    assert_true(half >= 100 * US && half < 110 * US);
    assert_true(asked >= half && asked < half + US);
    for (int blocking = 0; blocking < 2; blocking++) { /* the legacy default stream waits for it */
        kernel(p, blocking ? 3 : 1, 100 * US);
        kernel(p, 2, 100 * US);
        add(p, 0, XFP_PLAY_SYNC_DEVICE);
        *(blocking ? &ordered : &apart) = wall(p);
    }
    assert_true(ordered - apart == 95 * US);
}

static struct xfp_play_step *copy(struct playing *p, uint32_t src, uint32_t dst, uint64_t bytes)
{
    struct xfp_play_step *step = add(p, 0, XFP_PLAY_COPY);

    step->src = src;
    step->dst = dst;
    step->amount = bytes;
    return step;
}

/* Real copies: what the machine's profile has for that memory. */
static void test_copies(void **state)
{
    enum { PINNED, PAGEABLE, THERE, OTHER };
    struct playing *p = *state;
    double pinned, pageable, blocking, within;

    copy(p, PINNED, THERE, 4 * MIB);
    pinned = wall(p); /* submitted, no more */
    assert_true(pinned < 10 * US);
    copy(p, PINNED, THERE, 4 * MIB);
    add(p, 0, XFP_PLAY_SYNC_STREAM);
    pinned = wall(p);
    assert_true(pinned > 50 * US);
    copy(p, PAGEABLE, THERE, 4 * MIB);
    pageable = wall(p); /* staged before the call returns */
    assert_true(pageable > 2 * pinned);
    copy(p, PINNED, THERE, 4 * MIB)->flags = XFP_PLAY_BLOCKS;
    p->steps[0][0].stream = 2;
    blocking = wall(p);
    assert_true(blocking > 50 * US);
    copy(p, THERE, OTHER, 4 * MIB);
    add(p, 0, XFP_PLAY_SYNC_STREAM);
    within = wall(p);
    assert_true(within < pinned);
    copy(p, PINNED, THERE, 2 * MIB)->row_bytes = 64;
    add(p, 0, XFP_PLAY_SYNC_STREAM);
    assert_true(wall(p) > 20 * US);
    add(p, 0, XFP_PLAY_SET)->dst = THERE;
    p->steps[0][0].amount = 4 * MIB;
    add(p, 0, XFP_PLAY_SYNC_STREAM);
    assert_true(wall(p) < within);
}

/* Of a length of time: on its engine, beside kernels, one behind the other. */
static void test_copies_for(void **state)
{
    struct playing *p = *state;
    const uint64_t lengths[] = {20 * US, 150 * US, 1000 * US};

    for (int out = 0; out < 2; out++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            double few = 0, many = 0;

            for (int n = 0; n < 2; n++) {
                for (int k = 0; k < (n ? 5 : 1); k++) {
                    struct xfp_play_step *step = add(p, 0, XFP_PLAY_COPY_FOR);

                    *(out ? &step->src : &step->dst) = 0;
                    step->amount = lengths[i];
                }
                add(p, 0, XFP_PLAY_SYNC_STREAM);
                *(n ? &many : &few) = wall(p);
            }
            double one = (many - few) / 4;
            if (!(one > 0.95 * (double)lengths[i] && one < 1.05 * (double)lengths[i]))
                fail_msg("%s: %g instead of %g", out ? "out" : "in", one, (double)lengths[i]);
        }
}

static void test_memory(void **state)
{
    const uint8_t kinds[] = {XFT_MEM_DEVICE, XFT_MEM_PINNED, XFT_MEM_WRITE_COMBINED, XFT_MEM_MAPPED,
                             XFT_MEM_MANAGED};
    struct playing *p = *state;
    struct xfp_played played;

    for (size_t i = 0; i < sizeof(kinds); i++) {
        struct xfp_play_step *step = add(p, 0, XFP_PLAY_ALLOC);

        step->dst = 1;
        step->memory = kinds[i];
        step->amount = MIB;
        add(p, 0, XFP_PLAY_FREE)->dst = 1;
    }
    for (int what = XFP_PLAY_REGISTER; what <= XFP_PLAY_PIN; what++) {
        struct xfp_play_step *step = add(p, 0, (enum xfp_play_what)what);

        step->dst = 1;
        step->dst_at = 4096;
        step->amount = MIB;
    }
    assert_true(wall(p) > 0);
    for (int again = 0; again < 2; again++) { /* what is left is given back behind it */
        for (int i = 0; i < 2; i++) {
            struct xfp_play_step *step = add(p, 0, XFP_PLAY_REGISTER);

            step->dst = 1;
            step->amount = MIB;
            step->own_ns = 3000 * US;
        }
        assert_int_equal(try_playing(p, &played), 0);
        assert_int_equal(played.failed, 1); /* the second is refused, and its time spent */
        assert_true(played.wall_ns >= 6000 * US);
        add(p, 0, XFP_PLAY_ALLOC)->dst = 0;
        p->steps[0][0].memory = XFT_MEM_DEVICE;
        p->steps[0][0].amount = MIB;
        assert_true(wall(p) > 0);
    }
    add(p, 0, XFP_PLAY_ALLOC)->dst = 0;
    p->steps[0][0].memory = XFT_MEM_DEVICE;
    p->steps[0][0].amount = UINT64_MAX / 4;
    assert_int_equal(try_playing(p, &played), 0);
    assert_int_equal(played.failed, 1);
}

/* The second begins when the first has taken two steps, and the first waits for its end. */
static void test_threads(void **state)
{
    struct playing *p = *state;
    struct xfp_play_step *after;

    for (int i = 0; i < 10; i++) {
        add(p, 0, XFP_PLAY_HOST)->gap_ns = 10 * US;
        add(p, 0, XFP_PLAY_HOST)->gap_ns = 10 * US;
        after = add(p, 0, XFP_PLAY_AFTER);
        after->stream = 1;
        after->amount = 2;
        after = add(p, 1, XFP_PLAY_AFTER);
        after->stream = 0;
        after->amount = 2;
        add(p, 1, XFP_PLAY_HOST)->gap_ns = 50 * US;
        assert_true(wall(p) == 70 * US);
    }
}

static void refuse(struct playing *p)
{
    struct xfp_played played;

    assert_int_equal(try_playing(p, &played), -1);
    assert_non_null(strstr(played.why, "step 0 of thread 0"));
    assert_int_equal(played.steps, 0);
}

/* A list that names what is not on the stage is not begun. */
static void test_wrong_lists(void **state)
{
    struct playing *p = *state;

    add(p, 0, XFP_PLAY_KERNEL)->stream = 4;
    refuse(p);
    add(p, 0, XFP_PLAY_KERNEL)->device = 1;
    refuse(p);
    add(p, 0, XFP_PLAY_RECORD)->event = 2;
    refuse(p);
    copy(p, 0, 2, 4 * MIB)->dst_at = 1;
    refuse(p);
    copy(p, 0, 2, 4 * MIB)->row_bytes = 64; /* twice that on the host */
    refuse(p);
    copy(p, 0, 1, 64); /* within the host */
    refuse(p);
    add(p, 0, XFP_PLAY_SET)->dst = 0;
    refuse(p);
    add(p, 0, XFP_PLAY_COPY_FOR);
    refuse(p);
    add(p, 0, XFP_PLAY_ALLOC)->dst = 2;
    refuse(p);
    add(p, 0, XFP_PLAY_AFTER)->amount = 2;
    refuse(p);
}

/* Threads that wait for each other are given up. */
static void test_given_up(void **state)
{
    struct playing *p = *state;
    struct xfp_played played;

    for (int i = 0; i < 2; i++) {
        struct xfp_play_step *step = add(p, i, XFP_PLAY_AFTER);

        step->stream = (uint32_t)(1 - i);
        step->amount = 1;
    }
    const struct xfp_play_thread threads[] = {{p->steps[0], 1}, {p->steps[1], 1}};
    const struct xfp_play_list list = {
        .threads = threads, .thread_count = 2, .give_up_ns = 50000 * US};
    assert_int_equal(xfp_play_run(p->play, &list, &played), -1);
    assert_non_null(strstr(played.why, "stopped"));
    p->counts[0] = p->counts[1] = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_time),   cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_events),     cmocka_unit_test(test_copies),
        cmocka_unit_test(test_copies_for), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_wrong_lists),
        cmocka_unit_test(test_given_up),
    };

    return cmocka_run_group_tests_name("play", tests, open_play, close_play);
}
