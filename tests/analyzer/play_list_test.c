/* Ops made by hand become steps, and are played on the simulated GPU: they take what the schedule
 * says, unchanged and with changes. */
#include "tests/analyzer/lab/play_by_hand.h"

/* ---- as recorded ----------------------------------------------------------------------------- */

static void test_kernels_streams_events(void **state)
{
    struct test *t = *state;
    host(t, 7 * US);
    kernel(t, 0, 100 * US);
    kernel(t, 0, 300 * US);
    kernel(t, 1, 250 * US);
    on_event(t, XFW_RECORD, 0, 3);
    on_event(t, XFW_WAIT, 1, 3);
    kernel(t, 1, 50 * US);
    host(t, 20 * US);
    on_event(t, XFW_CALL, XFW_NONE, 3);
    sync_device(t);
    host(t, 3 * US);
    assert_true(off(t, NULL) == 0);
    on_event(t, XFW_WAIT, 1, 9); /* never recorded: nothing to wait for */
    on_event(t, XFW_RECORD, 1, 9);
    on_event(t, XFW_QUERY, XFW_NONE, 9)->gap_ns = 30 * US; /* it was asking */
    double asked = off(t, NULL);
    assert_true(asked >= 0 && asked <= CALL); /* it finds out within a question's time */
}

/* The legacy default stream waits for blocking ones, and is waited for. */
static void test_default_stream(void **state)
{
    struct test *t = *state;
    for (uint32_t i = 0; i < 6; i++) {
        struct xfw_op *op = kernel(t, i % 3, (10.0 + i) * US);
        op->stream_kind = i % 3 == 0 ? XFW_LEGACY : i % 3 == 1 ? XFW_BLOCKING : XFW_NONBLOCKING;
    }
    sync_device(t);
    assert_true(off(t, NULL) == 0);
}

/* What began late for reasons that nobody recorded takes its time all the same. */
static void test_late_beginnings(void **state)
{
    struct test *t = *state;
    struct xfw_op *op = kernel(t, 0, 100 * US);
    op->own_ns = 5000 * US; /* the module is loaded */
    op->latency_ns = 5000 * US;
    sync_device(t);
    assert_true(fabs(off(t, NULL)) < 10 * US);
    t->count = 0;
    op = kernel(t, 0, 100 * US);
    op->latency_ns = 800 * US; /* the stream was busy with something else */
    sync_device(t);
    assert_true(fabs(off(t, NULL)) < 10 * US);
    t->count = 0;
    kernel(t, 0, 100 * US);
    sync_device(t)->wake_ns = 3000 * US;
    assert_true(fabs(off(t, NULL)) < 10 * US);
}

/* Of long times without work a part is played; with work under way, all. */
static void test_long_pauses(void **state)
{
    struct test *t = *state;
    struct xfa_play_setting setting;
    host(t, 0)->start_ns = 3e9; /* before the first call */
    kernel(t, 0, 100 * US);
    host(t, 500000 * US);
    kernel(t, 0, 600000 * US);
    host(t, 500000 * US);
    sync_device(t);
    assert_true(off(t, NULL) == 0);
    begin(t, &setting);
    struct written written = write_script(t, &setting, NULL, UINT64_MAX, INFINITY);
    assert_true(xfa_play_script_account(written.script).skipped_ns ==
                3e9 + 500000 * US - XFA_PLAY_KEPT_NS);
    xfa_play_script_free(written.script);
    xfa_play_setting_free(&setting);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The steps of a thread, once their memory has been found. */
static const struct xfp_play_step *steps_of(struct test *t, struct xfw_change *change,
                                            struct xfp_play_stage *stage, size_t *count)
{
    static struct xfa_play_setting setting;
    static struct xfa_play_script *script; /* of the last call */
    if (script) {
        xfa_play_script_free(script);
        xfa_play_setting_free(&setting);
        script = NULL;
    }
    if (!t)
        return NULL;
    begin(t, &setting);
    script = write_script(t, &setting, change, UINT64_MAX, INFINITY).script;
    xfa_play_stage_make(&setting, stage);
    const struct xfp_play_list *list = xfa_play_script_list(script);
    *count = list->threads[0].count;
    return list->threads[0].steps;
}

static void test_copies(void **state)
{
    struct test *t = *state;
    struct xfp_play_stage stage;
    size_t count;
    copy(t, PAGEABLE, 0, MIB, 100 * US)->awaits = XFW_AWAITS_ITSELF;
    copy(t, PINNED, 0, MIB, 20 * US)->awaits = XFW_AWAITS_ITSELF;
    copy(t, ASYNC, 0, MIB, 20 * US)->src += MIB / 2; /* overlaps the one before */
    copy(t, DOWN, 1, MIB, 20 * US);
    copy(t, BATCH, 0, MIB, 33 * US);
    copy(t, ASYNC, 0, 64 * 1000, 40 * US)->row_bytes = 1000;
    const struct xfp_play_step *steps = steps_of(t, NULL, &stage, &count);
    assert_int_equal(count, 6);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(steps[i].what, XFP_PLAY_COPY);
        assert_int_equal(steps[i].amount, MIB);
        assert_int_equal(steps[i].flags, i < 2 ? XFP_PLAY_BLOCKS : 0);
    }
    assert_int_equal(stage.regions[steps[0].src].place.memory, XFT_MEM_PAGEABLE);
    assert_int_equal(stage.regions[steps[1].src].place.memory, XFT_MEM_PINNED);
    assert_int_equal(steps[2].src, steps[1].src);
    assert_int_equal(steps[2].src_at, steps[1].src_at + MIB / 2);
    assert_int_equal(stage.regions[steps[1].dst].place.memory, XFT_MEM_DEVICE);
    assert_int_equal(steps[3].src, steps[1].dst);
    assert_int_equal(steps[3].dst, steps[1].src);
    assert_int_equal(steps[4].what, XFP_PLAY_COPY_FOR);
    assert_int_equal(steps[4].amount, 33000);
    assert_int_equal(steps[5].row_bytes, 1000);
    assert_true(stage.regions[steps[1].src].bytes >= MIB * 3 / 2);
    xfa_play_stage_free(&stage);
    steps_of(NULL, NULL, NULL, NULL);
    double took = off(t, NULL); /* and they can be played */
    assert_true(isfinite(took));
}

/* Registered memory is registered, copied from as such, and given back. */
static void test_registered(void **state)
{
    struct test *t = *state;
    struct xfp_play_stage stage;
    size_t count;
    struct xfw_op *op = add(t, hand_op(XFW_CALL, XFT_EVENT_REGISTER, 50 * US));
    op->dst = 0x5000;
    op->bytes = 2 * MIB;
    copy(t, REGISTERED, 0, MIB, 20 * US)->src = 0x5000 + MIB;
    sync_device(t);
    add(t, hand_op(XFW_CALL, XFT_EVENT_UNREGISTER, 50 * US))->dst = 0x5000;
    copy(t, REGISTERED, 0, MIB, 20 * US); /* by whom, nobody knows */
    op = add(t, hand_op(XFW_CALL, XFT_EVENT_ALLOC, 50 * US));
    op->dst = 0x9000;
    op->bytes = MIB;
    op->memory = XFT_MEM_PINNED;
    add(t, hand_op(XFW_CALL, XFT_EVENT_FREE, 50 * US))->dst = 0x9000;
    add(t, hand_op(XFW_CALL, XFT_EVENT_FREE, 50 * US))->dst = 0xa000; /* of what was not seen */
    const struct xfp_play_step *steps = steps_of(t, NULL, &stage, &count);
    assert_int_equal(count, 8);
    assert_int_equal(steps[0].what, XFP_PLAY_REGISTER);
    assert_int_equal(steps[1].what, XFP_PLAY_COPY);
    assert_int_equal(steps[1].src, steps[0].dst);
    assert_int_equal(steps[1].src_at, steps[0].dst_at + MIB);
    assert_int_equal(stage.regions[steps[1].src].place.memory, XFT_MEM_PAGEABLE);
    assert_int_equal(steps[3].what, XFP_PLAY_UNREGISTER);
    assert_int_equal(stage.regions[steps[4].src].place.memory, XFT_MEM_PINNED);
    assert_int_equal(steps[5].what, XFP_PLAY_ALLOC);
    assert_int_equal(steps[6].what, XFP_PLAY_FREE);
    assert_int_equal(steps[7].what, XFP_PLAY_HOST); /* the last one's time */
    xfa_play_stage_free(&stage);
    steps_of(NULL, NULL, NULL, NULL);
    assert_true(isfinite(off(t, NULL)));
}

/* ---- as advised ------------------------------------------------------------------------------ */

struct hand_change {
    struct xfw_change change;
    const struct xfp_path *path;
};

/* The op of number 3 goes to a side stream, which waits for what was before number 2. */
static void move_op(const struct xfw_change *change, void *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    double *end = state;
    if (op->number == 2)
        *end = xfw_schedule_last(xfw_player_schedule(player))->end;
    if (op->number != 3)
        return;
    op->stream = xfw_player_side_stream(player, op->stream, 1);
    xfw_player_stream_after(player, op->stream, *end);
}

static void drop_op(const struct xfw_change *change, void *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    struct xfw_op other = xfw_op_like(op);
    other.own_ns = 4 * US;
    if (op->number == 1) {
        xfw_op_drop(op);
        xfw_player_play(player, &other);
    }
}

/* Unregistering goes, but its copy is waited for. */
static void keep_op(const struct xfw_change *change, void *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    const struct xfw_schedule *schedule = xfw_player_schedule(player);
    if (op->kind != XFT_EVENT_UNREGISTER)
        return;
    double done = xfw_schedule_stream_end(schedule, 0);
    xfw_op_drop(op);
    op->own_ns = done - xfw_schedule_thread_now(schedule, op->thread) - op->gap_ns;
}

static void test_kept(void **state)
{
    struct test *t = *state;
    const struct xfw_change_type keep = {.op = keep_op};
    struct xfw_change kept = {.type = &keep};
    struct xfp_play_stage stage;
    size_t count;
    struct xfw_op *op = add(t, hand_op(XFW_CALL, XFT_EVENT_REGISTER, 50 * US));
    op->dst = 0x5000;
    op->bytes = MIB;
    copy(t, REGISTERED, 0, MIB, 90 * US);
    add(t, hand_op(XFW_CALL, XFT_EVENT_UNREGISTER, 50 * US))->dst = 0x5000;
    copy(t, REGISTERED, 0, MIB, 90 * US);
    const struct xfp_play_step *steps = steps_of(t, &kept, &stage, &count);
    assert_int_equal(count, 4);
    assert_int_equal(steps[2].what, XFP_PLAY_SYNC_EVENT);
    assert_int_equal(steps[2].event, steps[1].event);
    assert_int_equal(steps[3].src, steps[0].dst);
    xfa_play_stage_free(&stage);
    steps_of(NULL, NULL, NULL, NULL);
}

static void pin_op(const struct xfw_change *change, void *state, struct xfw_player *player,
                   struct xfw_op *op)
{
    const struct hand_change *hand = (const struct hand_change *)change;
    struct xfw_op pinning = xfw_op_like(op);
    pinning.kind = XFT_EVENT_REGISTER;
    pinning.bytes = op->bytes;
    if (op->class != PAGEABLE)
        return;
    xfw_player_play(player, &pinning);
    op->path = hand->path;
    op->awaits = XFW_AWAITS_NOTHING;
    op->duration_ns /= 3;
}

static void test_moved_and_dropped(void **state)
{
    struct test *t = *state;
    const struct xfw_change_type move = {.state_bytes = sizeof(double), .op = move_op};
    const struct xfw_change_type drop = {.op = drop_op};
    struct xfw_change moved = {.type = &move}, dropped = {.type = &drop};
    host(t, US);
    kernel(t, 0, 100 * US);
    kernel(t, 0, 400 * US);
    kernel(t, 0, 200 * US);
    sync_device(t);
    assert_true(off(t, NULL) == 0);
    assert_true(off(t, &moved) == 0); /* the event is recorded and waited for while kernels run */
    assert_true(off(t, &dropped) == 0);
}

static void test_pinned(void **state)
{
    struct test *t = *state;
    char name[] = "copy/pinned/h2d/gpu0";
    const struct xfp_path path = {
        .name = name, .src = {XFT_MEM_PINNED, -1, -1}, .dst = {XFT_MEM_DEVICE, 0, -1}};
    const struct xfw_change_type pin = {.op = pin_op};
    struct hand_change pinned = {{.type = &pin}, &path};
    struct xfp_play_stage stage;
    size_t count;
    copy(t, PAGEABLE, 0, MIB, 99 * US)->awaits = XFW_AWAITS_ITSELF;
    const struct xfp_play_step *steps = steps_of(t, &pinned.change, &stage, &count);
    assert_int_equal(count, 2);
    assert_int_equal(steps[0].what, XFP_PLAY_PIN);
    assert_int_equal(steps[0].amount, MIB);
    assert_int_equal(steps[1].what, XFP_PLAY_COPY);
    assert_int_equal(steps[1].flags, 0);
    assert_int_equal(stage.regions[steps[1].src].place.memory, XFT_MEM_PINNED);
    xfa_play_stage_free(&stage);
    t->ops[0].row_bytes = 4096; /* page-locked they are rows as well */
    steps = steps_of(t, &pinned.change, &stage, &count);
    assert_int_equal(steps[1].row_bytes, 4096);
    xfa_play_stage_free(&stage);
    t->ops[0].in_one = true; /* as a change leaves them that makes them contiguous */
    steps = steps_of(t, &pinned.change, &stage, &count);
    assert_int_equal(steps[1].row_bytes, 0);
    xfa_play_stage_free(&stage);
    t->ops[0].in_one = false;
    pinned.path = NULL; /* nobody knows how: it lasts as long as that */
    steps = steps_of(t, &pinned.change, &stage, &count);
    assert_int_equal(steps[1].what, XFP_PLAY_COPY_FOR);
    assert_int_equal(steps[1].amount, 33000);
    xfa_play_stage_free(&stage);
    steps_of(NULL, NULL, NULL, NULL);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Cut off where the time is over; the other script at the same op. */
static void test_part(void **state)
{
    struct test *t = *state;
    struct xfa_play_setting setting;
    for (int i = 0; i < 20; i++) {
        kernel(t, 0, 100 * US);
        sync_device(t);
    }
    begin(t, &setting);
    struct written first = write_script(t, &setting, NULL, UINT64_MAX, 450 * US);
    struct xfa_play_account account = xfa_play_script_account(first.script);
    assert_false(account.whole);
    assert_int_equal(account.last_op, 9); /* the fifth of its 102 us ends beyond that */
    struct written second = write_script(t, &setting, NULL, account.last_op, INFINITY);
    struct xfa_play_account same = xfa_play_script_account(second.script);
    assert_false(same.whole);
    assert_int_equal(same.last_op, account.last_op);
    assert_true(same.model_ns == account.model_ns && same.steps == account.steps);
    assert_true(play(t, &setting, first.script) == account.model_ns);
    xfa_play_script_free(first.script);
    xfa_play_script_free(second.script);
    xfa_play_setting_free(&setting);
}

/* Addresses share what there is, each within it, pages where they were. */
static void test_memory(void **state)
{
    struct xfa_play_memory memory;
    const struct xfa_play_kind pageable = {XFT_MEM_PAGEABLE, 0, -1, -1};
    const struct xfa_play_kind there = {XFT_MEM_DEVICE, 0, 0, -1};
    size_t count;
    uint64_t at;
    uint32_t region;
    xfa_play_memory_init(&memory);
    memory.gpu_bytes = MIB;
    xfa_play_memory_use(&memory, &pageable, 0, 0x10010, 16);
    xfa_play_memory_use(&memory, &pageable, 0, 0x20000, 0x2000);
    xfa_play_memory_use(&memory, &pageable, 0, 0x21000, 0x3000);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(xfa_play_memory_use(&memory, &there, 0, i * MIB + i, 0x8000), 1);
    struct xfp_play_region *regions = xfa_play_memory_regions(&memory, &count);
    assert_int_equal(count, 3);
    assert_int_equal(regions[1].bytes, 0x4000);
    xfa_play_memory_find(&memory, 0, 0x10010, 16, &region, &at);
    assert_int_equal(region, 0);
    assert_int_equal(at, 0x10);
    xfa_play_memory_find(&memory, 0, 0x21000, 0x3000, &region, &at);
    assert_int_equal(region, 1);
    assert_int_equal(at, 0x1000);
    assert_true(regions[2].bytes < 2 * MIB);
    for (uint64_t i = 0; i < 100; i++) {
        xfa_play_memory_find(&memory, 1, i * MIB + i, 0x8000, &region, &at);
        assert_int_equal(region, 2);
        assert_int_equal(at % 4096, i);
        assert_true(at + 0x8000 <= regions[2].bytes);
    }
    free(regions);
    xfa_play_memory_free(&memory);
}

/* A second thread begins when the first is where it was then, and waits for its event. */
static void test_threads(void **state)
{
    struct test *t = *state;
    kernel(t, 0, 100 * US);
    on_event(t, XFW_RECORD, 0, 1);
    host(t, 10 * US)->end_ns = 12000;
    struct xfw_op *op = on_event(t, XFW_CALL, XFW_NONE, 1);
    op->thread = 1;
    op->start_ns = 17000;
    host(t, 5 * US)->thread = 1;
    sync_device(t)->thread = 1;
    struct xfa_play_setting setting;
    begin(t, &setting);
    struct written written = write_script(t, &setting, NULL, UINT64_MAX, INFINITY);
    double took = play(t, &setting, written.script);
    const struct xfp_play_list *list = xfa_play_script_list(written.script);
    assert_int_equal(list->thread_count, 2);
    assert_int_equal(list->threads[1].steps[0].what, XFP_PLAY_AFTER);
    assert_true(took >= LAUNCH + 100 * US && took < LAUNCH + 130 * US);
    xfa_play_script_free(written.script);
    xfa_play_setting_free(&setting);
}

/* Work passed to another thread and back: the thread's own time before it is waiting. */
static void test_passed_over(void **state)
{
    struct test *t = *state;
    for (int i = 0; i < 8; i++) {
        struct xfw_op *op = host(t, 400 * US);
        op->own_ns = 20 * US;
        op->thread = (uint32_t)i % 2;
        if (i > 0) {
            op->woken_by = 1 - op->thread;
            op->woken_after_ns = 30 * US;
        }
    }
    assert_true(off(t, NULL) == 0);
}

/* Threads that begin while another's call is under way do not wait for its end. */
static void test_begun_at_once(void **state)
{
    struct test *t = *state;
    sync_device(t);
    sync_device(t)->gap_ns = 100 * US;
    for (uint32_t i = 1; i < 3; i++) {
        struct xfw_op *op = sync_device(t);
        op->thread = i;
        op->woken_by = i - 1;
        op->within_call = true;
        op->woken_after_ns = 5 * US;
    }
    struct xfa_play_setting setting;
    begin(t, &setting);
    struct written written = write_script(t, &setting, NULL, UINT64_MAX, INFINITY);
    const struct xfp_play_list *list = xfa_play_script_list(written.script);
    assert_int_equal(list->thread_count, 3);
    for (uint32_t i = 1; i < 3; i++) {
        const struct xfp_play_step *steps = list->threads[i].steps;
        assert_int_equal(steps[0].what, XFP_PLAY_AFTER);
        assert_int_equal(steps[0].stream, i - 1);
        assert_int_equal(steps[0].amount, 1); /* what the other had done before its call */
        assert_int_equal(steps[0].gap_ns, 0);
        assert_int_equal(steps[1].gap_ns, 100 * US + i * 5 * US);
    }
    xfa_play_script_free(written.script);
    xfa_play_setting_free(&setting);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_kernels_streams_events),
        TEST(test_default_stream),
        TEST(test_late_beginnings),
        TEST(test_long_pauses),
        TEST(test_copies),
        TEST(test_registered),
        TEST(test_moved_and_dropped),
        TEST(test_kept),
        TEST(test_pinned),
        TEST(test_part),
        TEST(test_memory),
        TEST(test_threads),
        TEST(test_passed_over),
        TEST(test_begun_at_once),
    };
    return cmocka_run_group_tests_name("play: lists", tests, NULL, NULL);
}
