/* frequent-readback: which kernels only make what the host looks at, and go with the look. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { FETCH = 10, FETCH_MORE = 11, ROUNDS = 320 };
enum { KERNEL_NS = 20000, COPY_NS = 1500, LAUNCH_NS = 2000, LATENCY_NS = 3000, WAKE_NS = 1000 };
enum { STEP = 1, PARTS = 2, SUM = 3, OTHER = 4, KERNELS = 5 }; /* names, and ids of arguments */
enum { STATE = 0x200000000, NEXT = 0x210000000, PARTIAL = 0x220000000, NORM = 0x230000000 };
enum { CONSTANT = 0x240000000, HOST = 0x100000000 };

/* Each round: a step, whose state two kernels make a value of, which the host fetches. */
struct loop {
    const char *names[KERNELS]; /* NULL: of C++, as below */
    uint64_t step[2];           /* what the step is given, where it is not the usual */
    uint64_t other;             /* given to one more kernel, which reads it; 0: there is none */
    uint64_t fetched;           /* of which more is fetched, too; 0: nothing */
    bool arguments_unknown;     /* of that other kernel */
    bool anew;                  /* the state's memory is freed and allocated in each round */
};

static const char *const usual[KERNELS] = {NULL, "_Z4stepPKfPf", "_Z5partsPKfPf", "_Z3sumPKfPf",
                                           "_Z5otherPKf"};

static struct play play;
static uint64_t device_free;

static void device(struct xft_event work, uint64_t called, uint64_t ns)
{
    uint64_t now = play.now, ready = called + LATENCY_NS;
    play.lane = LANE_DEVICE;
    play.now = device_free > ready ? device_free : ready;
    device_free = play_event(&play, work, ns)->end_ns;
    play.lane = LANE_MAIN;
    play.now = now;
}

static void launch(unsigned which, bool known)
{
    struct xft_event event = {.kind = XFT_EVENT_LAUNCH,
                              .correlation = ++play.correlation,
                              .src = which,
                              .aux = known ? which : 0};
    uint64_t called = play_event(&play, event, LAUNCH_NS)->start_ns;
    device((struct xft_event){.kind = XFT_EVENT_KERNEL,
                              .correlation = event.correlation,
                              .src = which},
           called, KERNEL_NS);
}

/* Fetched and waited for. */
static void fetch(unsigned stack, uint64_t place, uint64_t bytes)
{
    struct xft_event *call = play_async(&play, stack, XFT_DIR_D2H, XFT_MEM_PINNED, bytes, 0);
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    call->src = place;
    call->dst = HOST;
    call->device = 0;
    call->src_place = 0;
    call->dst_place = XFT_PLACE_HOST;
    call->correlation = ++play.correlation;
    struct xft_event done = *call;
    done.kind = XFT_EVENT_DEVICE_COPY;
    done.stack = done.call = done.flags = 0;
    device(done, call->start_ns, COPY_NS);
    play_event(&play, wait, device_free + WAKE_NS - play.now);
}

static void begin(struct trace_builder *b, const struct loop *loop)
{
    static const uint64_t buffers[] = {STATE, NEXT, PARTIAL, NORM, CONSTANT};
    play_start(&play, b, 1);
    play_site(&play, FETCH, "fetch", 1);
    play_site(&play, FETCH_MORE, "fetch more", 2);
    for (unsigned i = 1; i < KERNELS; i++)
        build_text(b, i, loop->names[i] ? loop->names[i] : usual[i]);
    build_arguments(b, STEP, loop->step[0] ? loop->step : (const uint64_t[]){CONSTANT, STATE}, 2);
    build_arguments(b, PARTS, (const uint64_t[]){STATE, PARTIAL}, 2);
    build_arguments(b, SUM, (const uint64_t[]){PARTIAL, NORM}, 2);
    build_arguments(b, OTHER, (const uint64_t[]){loop->other}, 1);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_event(&play, records, 0);
    for (unsigned i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        const struct xft_event alloc = {
            .kind = XFT_EVENT_ALLOC, .dst = buffers[i], .bytes = MIB, .dst_mem = XFT_MEM_DEVICE};
        play_event(&play, alloc, 1000);
    }
    device_free = 0;
}

static void allocate_anew(void)
{
    struct xft_event event = {
        .kind = XFT_EVENT_FREE, .dst = STATE, .bytes = MIB, .dst_mem = XFT_MEM_DEVICE};
    play_event(&play, event, 1000);
    event.kind = XFT_EVENT_ALLOC;
    play_event(&play, event, 1000);
}

/* What the run would save without the rounds' waits, as likely and at best: what is left are the
 * kernels that stay (whatif/schedule/left.h). */
struct saved {
    double likely, high;
};

static struct saved saved_by(struct loop loop)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    struct trace_builder b;
    begin(&b, &loop);
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (loop.anew)
            allocate_anew();
        launch(STEP, true);
        if (loop.other)
            launch(OTHER, !loop.arguments_unknown);
        launch(PARTS, true);
        launch(SUM, true);
        if (loop.fetched)
            fetch(FETCH_MORE, loop.fetched + MIB / 2, 4096);
        fetch(FETCH, NORM, 8);
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_played(&b, profile);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_READBACK, "fetch");
    assert_non_null(f);
    struct saved saved = {f->saving.likely, f->saving.high};
    analyzed_free(&a);
    return saved;
}

/* So many kernels go with the 31 looks of 32 that do. */
static void check(struct loop loop, double likely, double high)
{
    struct loop same = loop;
    same.names[PARTS] = "_Z5partsPfS_"; /* they write the state, which stays */
    same.names[SUM] = "_Z3sumPfS_";
    struct saved stays = saved_by(same), goes = saved_by(loop);
    double one = KERNEL_NS * (double)ROUNDS;
    assert_true(fabs((goes.likely - stays.likely) / one - likely * 31 / 32) < 0.2);
    assert_true(fabs((goes.high - stays.high) / one - high) < 0.25);
}

static void test_goes_with_the_look(void **state)
{
    (void)state;
    check((struct loop){.other = 0}, 2, 2);
}

static void test_used_otherwise(void **state)
{
    (void)state;
    check((struct loop){.other = STATE}, 2, 2); /* which stays in any case */
    check((struct loop){.other = NORM}, 0, 0);
    check((struct loop){.other = PARTIAL}, 1, 1); /* the sum goes */
    check((struct loop){.fetched = NORM}, 0, 0);
    check((struct loop){.fetched = PARTIAL}, 1, 1);
}

/* The step reads what it wrote before, or only what nobody makes: it stays. */
static void test_state(void **state)
{
    (void)state;
    check((struct loop){.step = {STATE, STATE}}, 2, 2);
    /* Nobody makes what the parts are of: they are all the work that there is. */
    check((struct loop){.names[STEP] = "_Z4stepPKfS0_"}, 1, 1);
}

/* In memory that is taken anew in each round nothing goes on: what is made of it is its round's
 * own, and stays. The sum is of memory that is kept. */
static void test_memory_of_the_round(void **state)
{
    (void)state;
    check((struct loop){.anew = true}, 1, 2);
}

/* Names that say nothing, or launches that may use anything: at best only. */
static void test_not_sure(void **state)
{
    (void)state;
    check((struct loop){.names[PARTS] = "parts"}, 1, 2);
    check((struct loop){.names[SUM] = "sum"}, 0, 1); /* it may write to the parts */
    check((struct loop){.other = CONSTANT, .arguments_unknown = true}, 0, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_with_the_look),
        cmocka_unit_test(test_used_otherwise),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_memory_of_the_round),
        cmocka_unit_test(test_not_sure),
    };
    return cmocka_run_group_tests_name("findings: look feeders", tests, NULL, NULL);
}
