/* Transfers that are left out, played by hand: what goes with them, what comes in their stead. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/op/sample.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { MOST = 32, CLASS = 3, OTHER_CLASS = 4, BYTES = 1 << 20 };

struct run {
    struct xfw_op ops[MOST];
    size_t count;
    struct xfw_marks marks[XFW_CERTAINTIES], also[XFW_CERTAINTIES], copied;
    bool set, by_apply, returned; /* returned: `also` is of copies that go with others */
};

static struct xfw_op *add(struct run *run, struct xfw_op op)
{
    run->ops[run->count] = op;
    return &run->ops[run->count++];
}

/* The transfer of that number: submitted in 10, begins 5 behind, takes 600. */
static struct xfw_op *copy(struct run *run, uint64_t transfer)
{
    struct xfw_op *op = add(run, hand_work(XFW_COPY, 0, 10, 5, 600));
    op->class = CLASS;
    op->transfer = transfer;
    op->bytes = BYTES;
    return op;
}

static struct xfw_op *blocking(struct run *run, uint64_t transfer)
{
    struct xfw_op *op = copy(run, transfer);
    op->awaits = XFW_AWAITS_ITSELF;
    op->own_ns = 0;
    op->wake_ns = 20;
    return op;
}

static double play(const struct run *run, const struct xfa_analysis *analysis,
                   enum xfw_certainty certainty)
{
    struct xfw_leave_out what = {.marks = run->marks,
                                 .also = run->returned ? run->also : NULL,
                                 .copied = &run->copied,
                                 .set = run->set,
                                 .by_apply = run->by_apply};
    xfw_set_add(&what.classes, CLASS);
    struct xfw_change *change = xfw_change_leave_out(analysis, &what);
    double end = hand_play(run->ops, run->count, change, certainty);
    xfw_change_free(change);
    return end;
}

static double as_it_was(const struct run *run)
{
    return hand_play(run->ops, run->count, NULL, XFW_LIKELY);
}

static void expect(const struct run *run, const struct xfa_analysis *analysis, double low,
                   double likely, double high)
{
    const double wanted[] = {low, likely, high};
    for (int c = 0; c < XFW_CERTAINTIES; c++) {
        double end = play(run, analysis, (enum xfw_certainty)c);
        if (fabs(end - wanted[c]) > 0.001)
            fail_msg("certainty %d: %g, expected %g", c, end, wanted[c]);
    }
}

static void clear(struct run *run)
{
    for (int c = 0; c < XFW_CERTAINTIES; c++) {
        xfw_marks_free(&run->marks[c]);
        xfw_marks_free(&run->also[c]);
    }
    xfw_marks_free(&run->copied);
    *run = (struct run){0};
}

/* Scalars of no profile: waiting for what is done takes 2000, submitting too. */
enum { WAKE = 2000, SUBMIT = 2000 };

/* Each from its certainty on; the thread's own time before it stays, but at best it was slower
 * beside the copies that go. */
static void test_goes(void **state)
{
    (void)state;
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    for (uint64_t i = 0; i < 4; i++)
        copy(&run, i)->gap_ns = 7;
    add(&run, hand_wait(0));
    assert_true(as_it_was(&run) == 7 + 5 + 4 * 600);
    for (int c = 0; c < XFW_CERTAINTIES; c++)
        xfw_mark(&run.marks[c], 0, (uint64_t)c); /* 3 stays */
    expect(&run, &analysis, 7 * 2 + 5 + 3 * 600, 7 * 3 + 5 + 2 * 600, 7 * 2.5 + 5 + 600);
    for (int c = 0; c < XFW_CERTAINTIES; c++) /* those of another class are another finding's */
        run.ops[c].class = OTHER_CLASS;
    expect(&run, &analysis, 2412, 2412, 2412);
    xfw_mark(&run.also[XFW_LIKELY], 0, 0);
    run.returned = true;
    expect(&run, &analysis, 2412, 7 * 2 + 5 + 3 * 600, 7 * 1.5 + 5 + 3 * 600);
    clear(&run);
}

enum { UPLOADS = 4, LONG = 600000, SHORT = 60000, PART = BYTES / (int)XFW_APPLIED_COPIED };

/* Uploads of the same bytes, which a second lies between: a hundredth of it may be spent. */
static void upload_again(struct run *run, int duration_ns, enum xfw_awaits awaits)
{
    clear(run);
    run->by_apply = true;
    for (uint64_t i = 0; i < UPLOADS; i++) {
        struct xfw_op *op = blocking(run, i);
        op->duration_ns = duration_ns;
        op->start_ns = 1e9 * (double)i;
        op->awaits = awaits;
        if (awaits == XFW_AWAITS_ITS_START)
            op->wake_ns = duration_ns;
        xfw_mark(&run->marks[XFW_LOW], 0, i);
    }
}

/* By apply: the first is made as asked, the second one is hashed as well, the third one is hashed,
 * compared and left out but for the first 128 KiB, the fourth one is only hashed before. Where a
 * hash takes more than the call less a fifth, where nothing may be spent, and below 512 KiB all is
 * as it was. */
static void test_by_apply(void **state)
{
    (void)state;
    const double likely = 0.04 * BYTES, worst = 0.1 * BYTES, compare = 0.25 * BYTES;
    struct xfa_analysis analysis = {0};
    struct xfa_class_key key = {
        .row = {.direction = XFT_DIR_H2D, .src_mem = XFT_MEM_PINNED, .dst_mem = XFT_MEM_DEVICE}};
    struct run run = {0};
    xfa_classes_init(&analysis.classes, NULL, NULL);
    for (key.row.site = 0; key.row.site < CLASS; key.row.site++)
        xfa_class_put(&analysis.classes, &key);
    key.row.src_mem = XFT_MEM_PAGEABLE;
    xfa_class_put(&analysis.classes, &key);
    upload_again(&run, LONG, XFW_AWAITS_ITSELF);
    double less = 2.0 * (LONG - LONG / PART), was = as_it_was(&run);
    expect(&run, &analysis, was - less + 3 * worst + compare, was - less + 3 * likely + compare,
           was - less + compare);
    for (int i = 0; i < UPLOADS; i++)
        run.ops[i].start_ns = 1e6 * i;
    expect(&run, &analysis, was, was, was);
    upload_again(&run, LONG, XFW_AWAITS_ITS_START);
    assert_true(play(&run, &analysis, XFW_LIKELY) < as_it_was(&run) - less / 2 + compare);
    upload_again(&run, SHORT, XFW_AWAITS_ITSELF);
    was = as_it_was(&run);
    less = 2.0 * (SHORT - SHORT / PART);
    expect(&run, &analysis, was, was - less + 3 * likely + compare, was - less + compare);
    for (int i = 0; i < UPLOADS; i++)
        run.ops[i].bytes = XFW_APPLIED_LEFT_OUT - 1;
    expect(&run, &analysis, was, was, was);
    upload_again(&run, LONG, XFW_AWAITS_ITSELF);
    was = as_it_was(&run);
    ((struct xfa_kept_class *)xfa_table_at(&analysis.classes.classes, CLASS))->key.row.src_mem =
        XFT_MEM_PINNED;
    expect(&run, &analysis, was, was, was);
    xfa_classes_free(&analysis.classes);
    clear(&run);
}

/* No more than the copies took; not beside those that were waited for. */
static void test_beside(void **state)
{
    (void)state;
    struct xfa_analysis analysis = {0};
    enum { OWN = 5000 };
    for (int waits = 0; waits < 2; waits++) {
        struct run run = {0};
        if (waits)
            blocking(&run, 0);
        else
            copy(&run, 0);
        for (int i = 0; i < 2; i++)
            add(&run, hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0))->gap_ns = OWN;
        xfw_mark(&run.marks[XFW_LIKELY], 0, 0);
        assert_true(play(&run, &analysis, XFW_LIKELY) == 2 * OWN);
        assert_true(play(&run, &analysis, XFW_HIGH) == 2 * OWN - (waits ? 0 : 600));
        clear(&run);
    }
}

/* A thread that was woken to make the copy: at best what it did before goes, too. Its very first
 * call may come at any time. */
static void test_staged(void **state)
{
    (void)state;
    struct xfa_analysis analysis = {0};
    enum { WAY = 300, GAP = 1000, WAKES = 50 };
    for (int first = 0; first < 2; first++) {
        struct run run = {0};
        add(&run, hand_work(XFW_HOST_FUNCTION, 1, 10, WAKES, 0))->engine = XFW_NO_ENGINE;
        struct xfw_op *op = copy(&run, 0);
        op->woken_by_stream = run.ops[0].number + 1;
        op->woken_after_ns = WAY;
        op->gap_ns = first ? 0 : GAP;
        assert_true(as_it_was(&run) == WAKES + WAY + 10);
        xfw_mark(&run.marks[XFW_LIKELY], 0, 0);
        double high = WAKES + (first ? WAY : 0);
        expect(&run, &analysis, WAKES + WAY + 10, WAKES + WAY, high);
        run.ops[1].engine = XFW_TO_HOST; /* what comes back is worked on behind the copy */
        expect(&run, &analysis, WAKES + WAY + 10, WAKES + WAY, WAKES + WAY);
        clear(&run);
    }
}

/* How much that was is the same however often it was played. */
static void test_staged_once(void **state)
{
    (void)state;
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    struct xfw_leave_out what = {.marks = run.marks};
    enum { WAY = 300, GAP = 1000, WAKES = 50, COPIES = 2 };
    xfw_set_add(&what.classes, CLASS);
    add(&run, hand_work(XFW_HOST_FUNCTION, 1, 10, WAKES, 0))->engine = XFW_NO_ENGINE;
    for (uint64_t i = 0; i < COPIES; i++) {
        struct xfw_op *op = copy(&run, i);
        op->woken_by_stream = run.ops[0].number + 1;
        op->woken_after_ns = WAY;
        op->gap_ns = GAP;
        xfw_mark(&run.marks[XFW_LIKELY], 0, i);
    }
    struct xfw_change *change = xfw_change_leave_out(&analysis, &what);
    hand_play(run.ops, run.count, change, XFW_LIKELY);
    assert_true(*change->staged_ns == 0);
    for (int play = 0; play < 3; play++) {
        hand_play(run.ops, run.count, change, XFW_HIGH);
        assert_true(*change->staged_ns == COPIES * WAY);
    }
    xfw_change_free(change);
    clear(&run);
}

/* Half of the batches are of CLASS alone, the others of OTHER_CLASS. */
static struct xfw_sample *long_process(void)
{
    enum { BATCHES = 2048 };
    struct xfw_sample *sample = xfw_sample_new((uint64_t)BATCHES * XFW_BATCH);
    for (uint64_t i = 0; i < BATCHES; i++) {
        struct xfw_op op = hand_work(XFW_COPY, 0, 10, 5, 600);
        op.class = i % 2 ? CLASS : OTHER_CLASS;
        op.start_ns = (double)i * 1000;
        op.end_ns = op.start_ns + 1000;
        xfw_sample_take(sample, &op, 1, i + 1 == BATCHES);
    }
    return sample;
}

/* Of a long process not all copies are played: those that are stand for the others, too. */
static void test_staged_of_a_sample(void **state)
{
    (void)state;
    struct xfa_analysis analysis = {0};
    struct xfa_process process = {.number = 0};
    struct run run = {0};
    struct xfw_leave_out what = {.marks = run.marks};
    enum { WAY = 300, GAP = 1000, WAKES = 50 };
    xfw_set_add(&what.classes, CLASS);
    xfw_mark(&run.marks[XFW_LIKELY], 0, 0);
    add(&run, hand_work(XFW_HOST_FUNCTION, 1, 10, WAKES, 0))->engine = XFW_NO_ENGINE;
    struct xfw_op *op = copy(&run, 0);
    op->woken_by_stream = run.ops[0].number + 1;
    op->woken_after_ns = WAY;
    op->gap_ns = GAP;
    struct xfw_sample *sample = long_process();
    struct xfw_change *change = xfw_change_leave_out(&analysis, &what);
    struct xfw_player *player = xfw_player_new(&process, &change, 1, XFW_HIGH);
    for (size_t i = 0; i < run.count; i++)
        xfw_player_op(player, &run.ops[i]);
    xfw_player_finish(player, sample);
    xfw_player_free(player);
    assert_true(xfw_sample_weight(sample, CLASS) > 2);
    assert_true(*change->staged_ns == WAY * xfw_sample_weight(sample, CLASS));
    xfw_sample_free(sample);
    xfw_change_free(change);
    clear(&run);
}

/* Its wait goes with it, but for the worst case: then earlier work is waited for all the same. */
static void test_waits(void **state)
{
    (void)state;
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    add(&run, hand_work(XFW_KERNEL, 0, 10, 5, 5000));
    blocking(&run, 0);
    add(&run, hand_op(XFW_CALL, XFT_EVENT_NONE, 100));
    xfw_mark(&run.marks[XFW_LOW], 0, 0);
    assert_true(as_it_was(&run) == 5 + 5000 + 5 + 600 + 20 + 100);
    expect(&run, &analysis, 5 + 5000 + WAKE + 100, 10 + 100, 10 + 100);
    clear(&run);
}

/* Through the host: fetched, waited for, sent back, waited for. What is not fetched is not waited
 * for, but at worst; with other work of the stream the wait stays. */
static void test_waits_for_what_goes(void **state)
{
    (void)state;
    struct xfa_analysis analysis = {0};
    struct run run = {.returned = true};
    for (uint64_t i = 0; i < 2; i++) {
        copy(&run, i)->own_ns = 0;
        add(&run, hand_wait(30))->stream = 0;
    }
    assert_true(as_it_was(&run) == 2 * (5 + 600 + 30));
    xfw_mark(&run.also[XFW_LOW], 0, 0);
    xfw_mark(&run.marks[XFW_LOW], 0, 1);
    expect(&run, &analysis, 30, 0, 0); /* nothing is under way at the first one */
    run.ops[4] = run.ops[3];
    run.ops[3] = hand_work(XFW_KERNEL, 0, 0, 5, 100);
    run.count++;
    expect(&run, &analysis, 30 + 5 + 100 + 30, 5 + 100 + 30, 5 + 100 + 30);
    clear(&run);
}

/* A kernel behind a copy begins 50 behind it, and 3 behind another kernel. */
static void test_what_follows(void **state)
{
    (void)state;
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    for (uint64_t i = 0; i < 3; i++) {
        copy(&run, i);
        add(&run, hand_work(XFW_KERNEL, 0, 10, 5, 100))->space_ns = 50;
        add(&run, hand_work(XFW_KERNEL, 0, 10, 5, 100))->space_ns = 3;
        xfw_mark(&run.marks[XFW_LOW], 0, i);
    }
    add(&run, hand_wait(0));
    assert_true(as_it_was(&run) == 5 + 3 * (600 + 50 + 100 + 3 + 100));
    /* Nobody knows at the first what is usual: as it was. */
    expect(&run, &analysis, 50 + 203 + 2 * 206, 50 + 203 + 2 * 206, 50 + 203 + 2 * 206);
    clear(&run);
}

/* Copies on the device take 40, by the profile, and 10 to submit. */
static struct xfp_profile machine(struct xfp_path *path, struct xfp_point *point)
{
    *point = (struct xfp_point){.bytes = BYTES,
                                .n = 9,
                                .median_ns = 40,
                                .ci_low_ns = 36,
                                .ci_high_ns = 44,
                                .min_ns = 36,
                                .max_ns = 44,
                                .host_ns = 10};
    *path = (struct xfp_path){.method = XFP_COPY,
                              .direction = XFT_DIR_D2D,
                              .src = {XFT_MEM_DEVICE, 0, -1},
                              .dst = {XFT_MEM_DEVICE, 0, -1},
                              .device_timed = true,
                              .point_count = 1,
                              .points = point};
    return (struct xfp_profile){.path_count = 1, .paths = path};
}

static void test_in_their_stead(void **state)
{
    (void)state;
    struct xfp_point point;
    struct xfp_path path;
    struct xfp_profile profile = machine(&path, &point);
    struct xfa_run no_gpus = {0};
    struct xfa_analysis analysis = {.achievable = {.profile = &profile, .run = &no_gpus}};
    struct run run = {0};
    assert_true(xfw_leave_out_knows(&analysis, 0));
    assert_false(xfw_leave_out_knows(&analysis, 1));
    copy(&run, 0);
    add(&run, hand_wait(0));
    xfw_mark(&run.marks[XFW_LOW], 0, 0);
    xfw_mark(&run.copied, 0, 0);
    assert_true(as_it_was(&run) == 605);
    expect(&run, &analysis, 5 + 44, 5 + 40, 0); /* at best it is used where it is */
    run.set = true;
    expect(&run, &analysis, SUBMIT, SUBMIT, SUBMIT); /* longer than the memset */
    run.ops[0].latency_ns = 4000;
    expect(&run, &analysis, 4000 + 44, 4000 + 20, 4000 + 18);
    /* One that was waited for: at worst it still is. */
    run.ops[0].awaits = XFW_AWAITS_ITSELF;
    expect(&run, &analysis, 4000 + 44 + WAKE, 4000 + 20, 4000 + 18);
    clear(&run);
}

/* An error beyond the figure itself, of a few sizes far apart: nothing takes less than no time. */
static void test_hardly_known(void **state)
{
    (void)state;
    struct xfp_point point;
    struct xfp_path path;
    struct xfp_profile profile = machine(&path, &point);
    struct xfa_run no_gpus = {0};
    struct xfa_analysis analysis = {.achievable = {.profile = &profile, .run = &no_gpus}};
    struct run run = {0};
    point.ci_low_ns = 1;
    point.ci_high_ns = 240; /* 200 of 40 */
    assert_true(xfp_time(&path, BYTES).error > 1);
    run.set = true;
    copy(&run, 0)->latency_ns = 4000;
    add(&run, hand_wait(0));
    for (int c = 0; c < XFW_CERTAINTIES; c++)
        xfw_mark(&run.marks[c], 0, 0);
    expect(&run, &analysis, 4000 + 60, 4000 + 20, 4000 + 10);
    clear(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_apply),     cmocka_unit_test(test_goes),
        cmocka_unit_test(test_beside),       cmocka_unit_test(test_staged),
        cmocka_unit_test(test_waits),        cmocka_unit_test(test_waits_for_what_goes),
        cmocka_unit_test(test_what_follows), cmocka_unit_test(test_in_their_stead),
        cmocka_unit_test(test_staged_once),  cmocka_unit_test(test_staged_of_a_sample),
        cmocka_unit_test(test_hardly_known),
    };
    return cmocka_run_group_tests_name("leave out", tests, NULL, NULL);
}
