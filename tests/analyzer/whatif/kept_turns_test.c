/* Threads that take turns keep them: until when a turn lasts, and when the next one may begin. */
#include "analyzer/whatif/schedule/kept_turns.h"

#include "tests/analyzer/lab/hand_run.h"

#define MANY 100 /* works: more than are followed */

static struct xfw_op work_of(uint32_t thread, double recorded_end)
{
    struct xfw_op op = hand_op(XFW_KERNEL, XFT_EVENT_LAUNCH, 0);
    op.thread = thread;
    op.begins_turn = true;
    op.device_end_ns = recorded_end;
    return op;
}

static struct xfw_op end_of(uint32_t thread, double recorded_end)
{
    struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_SYNC, 0);
    op.thread = thread;
    op.ends_turn = true;
    op.end_ns = recorded_end;
    return op;
}

static void play(struct xfw_kept_turns *kept, struct xfw_op op, double work_end)
{
    assert_true(xfw_kept_turns_played(kept, &op, work_end) == 0);
}

/* The wait is for what was done by its end, as recorded, or may have been. */
static void test_ends_behind_work(void **state)
{
    struct xfw_kept_turns *kept = xfw_kept_turns_new();
    const struct xfw_op end = end_of(0, 120);
    (void)state;
    play(kept, work_of(0, 100), 150);
    play(kept, work_of(0, 200), 250);
    play(kept, work_of(1, 110), 300);
    assert_true(xfw_kept_turns_played(kept, &end, NAN) == 150);
    xfw_kept_turns_end(kept, &end, 150);
    assert_true(xfw_kept_turns_played(kept, &end, NAN) == 0); /* of another turn */
    play(kept, work_of(0, NAN), 170);
    assert_true(xfw_kept_turns_played(kept, &end, NAN) == 170);
    xfw_kept_turns_free(kept);
}

static void test_much_work(void **state)
{
    struct xfw_kept_turns *kept = xfw_kept_turns_new();
    const struct xfw_op end = end_of(0, 120);
    (void)state;
    play(kept, work_of(0, 100), 500);
    for (unsigned i = 1; i < MANY; i++)
        play(kept, work_of(0, 100), 400);
    assert_true(xfw_kept_turns_played(kept, &end, NAN) == 500);
    xfw_kept_turns_free(kept);
}

/* None begins before those of other threads have ended. */
static void test_begins_behind_others(void **state)
{
    struct xfw_kept_turns *kept = xfw_kept_turns_new();
    struct xfw_op own = work_of(0, 100), other = work_of(1, 200), end = end_of(0, 120);
    (void)state;
    assert_true(xfw_kept_turns_from(kept, &own) == 0);
    play(kept, own, 100);
    assert_true(xfw_kept_turns_from(kept, &own) == 0);
    assert_true(isinf(xfw_kept_turns_from(kept, &other)));
    xfw_kept_turns_end(kept, &end, 130);
    assert_true(xfw_kept_turns_from(kept, &other) == 130);
    assert_true(xfw_kept_turns_from(kept, &own) == 0);
    other.begins_turn = false;
    assert_true(xfw_kept_turns_from(kept, &other) == 0);
    xfw_kept_turns_free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_behind_work),
        cmocka_unit_test(test_much_work),
        cmocka_unit_test(test_begins_behind_others),
    };
    return cmocka_run_group_tests_name("whatif: kept turns", tests, NULL, NULL);
}
