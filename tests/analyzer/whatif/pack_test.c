/* Runs of small copies made one, played by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/pack.h"
#include "tests/analyzer/lab/hand_ops.h"
#include "tests/analyzer/traces/scenario.h"

enum { PIECES = 4, BYTES = 1000, MOST = 16 };

/* The profile's link gives 50 bytes each ns; packing a piece takes 30 ns and 0.12 for each byte at
 * worst (the profile has no copies within the host), half of that likely. */
enum { MORE_NS = (PIECES - 1) * BYTES / 50, PACK_NS = 150 };

struct setting {
    struct xfa_run run;
    struct xfa_analysis analysis;
    struct xfw_runs runs;
    struct xfw_op ops[MOST];
    size_t count;
};

static void setup_of(struct setting *s, enum xft_direction direction, enum xft_memory host,
                     bool async)
{
    bool up = direction == XFT_DIR_H2D;
    const struct xfa_class_key key = {.row = {
                                          .direction = (uint8_t)direction,
                                          .src_mem = up ? host : XFT_MEM_DEVICE,
                                          .dst_mem = up ? XFT_MEM_DEVICE : host,
                                          .async = async,
                                      }};
    *s = (struct setting){0};
    xfa_achievable_init(&s->analysis.achievable, scenario_profile(), &s->run);
    xfa_classes_init(&s->analysis.classes, NULL, NULL);
    xfa_class_put(&s->analysis.classes, &key);
}

static void setup(struct setting *s, enum xft_direction direction)
{
    setup_of(s, direction, XFT_MEM_PINNED, false);
}

static void teardown(struct setting *s)
{
    xfp_free((struct xfp_profile *)s->analysis.achievable.profile);
    xfa_achievable_free(&s->analysis.achievable);
    xfa_classes_free(&s->analysis.classes);
    xfw_runs_free(&s->runs);
}

static struct xfw_op *add(struct setting *s, struct xfw_op op)
{
    s->ops[s->count] = op;
    return &s->ops[s->count++];
}

/* 100 ns to call, 50 until the device begins, 40 until it is done. */
static struct xfw_op *copy(struct setting *s, unsigned number)
{
    struct xfw_op *op = add(s, hand_work(XFW_COPY, 0, 100, 50, 40));
    op->class = 0;
    op->bytes = BYTES;
    op->transfer = number;
    if (number + 1 < PIECES)
        xfw_mark(&s->runs.pieces, 0, number);
    else
        xfw_mark(&s->runs.lasts, 0, number);
    return op;
}

static double packed_as(const struct setting *s, enum xfw_certainty certainty, bool chosen,
                        enum xfw_packing packing)
{
    struct xfw_set rows = {0};
    xfw_set_add(&rows, chosen ? 0 : 7);
    struct xfw_change *change = xfw_change_pack(&s->analysis, &s->runs, &rows, packing);
    double end = hand_play(s->ops, s->count, change, certainty);
    xfw_change_free(change);
    return end;
}

static double packed(const struct setting *s, enum xfw_certainty certainty, bool chosen)
{
    return packed_as(s, certainty, chosen, XFW_PACK);
}

static void test_up(void **state)
{
    struct setting s;
    setup(&s, XFT_DIR_H2D);
    for (unsigned i = 0; i < PIECES; i++)
        copy(&s, i);
    add(&s, hand_wait(10));
    double was = (PIECES - 1) * 100 + 50 + 40 + 10, copied = 50 + 40 + MORE_NS + 10;
    assert_true(hand_play(s.ops, s.count, NULL, XFW_LIKELY) == was);
    assert_true(packed(&s, XFW_HIGH, true) == copied);
    assert_true(packed(&s, XFW_LIKELY, true) == PIECES * PACK_NS / 2 + copied);
    assert_true(packed(&s, XFW_LOW, true) == PIECES * PACK_NS + copied);
    assert_true(packed(&s, XFW_LIKELY, false) == was); /* another row's */
    teardown(&s);
}

/* Two runs of pieces of pageable memory, which lie anywhere. */
static void two_runs(struct setting *s)
{
    for (unsigned i = 0; i < 2 * PIECES; i++) {
        struct xfw_op *op = add(s, hand_work(XFW_COPY, 0, 100, 50, 40));
        op->class = 0;
        op->bytes = BYTES;
        op->transfer = i;
        op->src = 70000 + 3 * BYTES * i;
        xfw_mark(i % PIECES == PIECES - 1 ? &s->runs.lasts : &s->runs.pieces, 0, i);
    }
    add(s, hand_wait(10));
}

/* The host packs them into a page-locked buffer, out of which a copy takes what such copies take by
 * the profile. The buffer is paid once; where nobody waits for the copy out of it, the host does
 * before it packs again. */
static void test_into_locked(void **state)
{
    const double packing = PIECES * PACK_NS / 2;
    for (unsigned async = 0; async < 2; async++) {
        struct setting s;
        setup_of(&s, XFT_DIR_H2D, XFT_MEM_PAGEABLE, async);
        two_runs(&s);
        const struct xfa_achievable *achievable = &s.analysis.achievable;
        struct xfw_copy_cost cost =
            xfw_copy_cost(xfw_host_path(achievable, XFT_DIR_H2D, XFT_MEM_PINNED, -1, 0),
                          PIECES * BYTES, XFW_LIKELY);
        double buffer = xfw_pinning_cost(achievable, -1, 0, PIECES * BYTES, XFW_LIKELY, NULL);
        double around = (cost.blocking_ns - cost.device_ns) / 2;
        double of_each = packing + around + cost.device_ns + (async ? 0 : around);
        assert_true(cost.known);
        double likely = buffer + 2 * of_each + (async ? 10 : 0);
        double low = 2.0 * PIECES * PACK_NS + 100 + 50 + 40 + MORE_NS + 10;
        assert_true(fabs(packed(&s, XFW_LIKELY, true) - likely) < 1e-6);
        assert_true(packed(&s, XFW_LOW, true) == low); /* the same memory as before */
        teardown(&s);
    }
}

/* Rows stay as they lie: nothing is packed, and what the host does from call to call goes. At worst
 * it stays, and the device takes as long for the rows as it did, but for what it did of one piece
 * beside the one before. */
static void test_rows(void **state)
{
    struct setting s;
    setup(&s, XFT_DIR_H2D);
    for (unsigned i = 0; i < PIECES; i++) {
        struct xfw_op *op = copy(&s, i);
        op->row_bytes = BYTES / 4;
        op->gap_ns = i ? 200 : 0;
        op->lead_ns = i ? 10 : 0;
    }
    add(&s, hand_wait(10));
    assert_true(packed_as(&s, XFW_LIKELY, true, XFW_PACK_ROWS) == 50 + 40 + MORE_NS + 10);
    double at_worst = (PIECES - 1) * 200 + 50 + PIECES * 40 - (PIECES - 1) * 10 + 10;
    assert_true(packed_as(&s, XFW_LOW, true, XFW_PACK_ROWS) == at_worst);
    teardown(&s);
}

/* Rows that take the device long, which a kernel places one behind the other: the copy takes what
 * contiguous bytes take, at worst what one piece took and what all are longer. Where they end
 * scattered the host takes them apart. */
static void test_gathered(void **state)
{
    enum { ROWS_NS = 9000, LAUNCH = 2000 + 2000, ONE_NS = 2000 + BYTES / 50 };
    for (unsigned at_first = 0; at_first < 2; at_first++) {
        struct setting s;
        setup(&s, XFT_DIR_D2H);
        for (unsigned i = 0; i < PIECES; i++) {
            struct xfw_op *op = copy(&s, i);
            op->awaits = XFW_AWAITS_ITSELF;
            op->own_ns = 0;
            op->wake_ns = 10;
            op->duration_ns = ROWS_NS;
            op->src = 70000 + 7 * i * BYTES;
            op->dst = 90000 + i * BYTES;
        }
        if (at_first)
            xfw_mark(&s.runs.firsts, 0, 0);
        double around = LAUNCH + 50 + MORE_NS + 10;
        assert_true(packed_as(&s, XFW_LIKELY, true, XFW_PACK_GATHER) == around + ONE_NS);
        assert_true(packed_as(&s, XFW_LOW, true, XFW_PACK_GATHER) == around + ROWS_NS);
        s.ops[2].dst++;
        assert_true(packed_as(&s, XFW_LIKELY, true, XFW_PACK_GATHER) ==
                    around + ONE_NS + PIECES * PACK_NS / 2);
        teardown(&s);
    }
}

/* What lies one behind the other at both ends needs no packing; up to the first that does not, all
 * that came before it does, too. */
static void test_side_by_side(void **state)
{
    struct setting s;
    setup(&s, XFT_DIR_H2D);
    for (unsigned i = 0; i < PIECES; i++) {
        struct xfw_op *op = copy(&s, i);
        op->src = 70000 + i * BYTES;
        op->dst = 90000 + i * BYTES;
    }
    add(&s, hand_wait(10));
    double copied = 50 + 40 + MORE_NS + 10;
    assert_true(packed(&s, XFW_LOW, true) == copied);
    assert_true(packed(&s, XFW_LIKELY, true) == copied);
    s.ops[2].dst++;
    assert_true(packed(&s, XFW_LIKELY, true) == PIECES * PACK_NS / 2 + copied);
    s.ops[2].dst--;
    s.ops[3].src--;
    assert_true(packed(&s, XFW_LOW, true) == PIECES * PACK_NS + copied);
    teardown(&s);
    setup(&s, XFT_DIR_D2H);
    for (unsigned i = 0; i < PIECES; i++) {
        struct xfw_op *op = copy(&s, i);
        op->awaits = XFW_AWAITS_ITSELF;
        op->own_ns = 0;
        op->wake_ns = 10;
        op->src = 70000 + i * BYTES;
        op->dst = 90000 + i * BYTES;
    }
    assert_true(packed(&s, XFW_LIKELY, true) == copied);
    s.ops[1].src += 8;
    assert_true(packed(&s, XFW_LIKELY, true) == copied + PIECES * PACK_NS / 2);
    teardown(&s);
}

/* Another change leaves the copies of these numbers out. */
struct gone {
    struct xfw_change change;
    unsigned numbers; /* a bit each */
};

static void leave_out(const struct xfw_change *change, void *state, struct xfw_player *player,
                      struct xfw_op *op)
{
    (void)state, (void)player;
    if (op->what == XFW_COPY && ((const struct gone *)change)->numbers >> op->transfer & 1)
        xfw_op_drop(op);
}

/* What is left is packed: without the last piece the one before it takes its place, one that is
 * left alone is not packed at all. */
static void test_left_out(void **state)
{
    static const struct xfw_change_type type = {.name = "leave out", .op = leave_out};
    static const struct {
        unsigned numbers, left;
    } cases[] = {{1u << (PIECES - 1), PIECES - 1}, {1u, PIECES - 1}, {0xeu, 1}, {0xfu, 0}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gone gone = {{.type = &type}, cases[i].numbers};
        struct setting s;
        struct xfw_set rows = {0};
        setup(&s, XFT_DIR_H2D);
        for (unsigned k = 0; k < PIECES; k++) {
            struct xfw_op *op = copy(&s, k); /* side by side: they need no packing */
            op->src = op->dst = 70000 + k * BYTES;
        }
        add(&s, hand_wait(10));
        xfw_set_add(&rows, 0);
        struct xfw_change *both[] = {&gone.change,
                                     xfw_change_pack(&s.analysis, &s.runs, &rows, XFW_PACK)};
        struct xfa_process process = {.number = 0};
        struct xfw_player *player = xfw_player_new(&process, both, 2, XFW_LIKELY);
        for (size_t k = 0; k < s.count; k++)
            xfw_player_op(player, &s.ops[k]);
        double more = cases[i].left ? (cases[i].left - 1) * BYTES / 50.0 : 0;
        double end = cases[i].left ? 50 + 40 + more + 10 : 10;
        assert_true(xfw_schedule_thread_now(xfw_player_schedule(player), 0) == end);
        xfw_player_free(player);
        xfw_change_free(both[1]);
        teardown(&s);
    }
}

/* Sees the one copy, whoever plays it. */
struct spy {
    struct xfw_change change;
    uint64_t *first;
};

static void look(const struct xfw_change *change, void *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    (void)state, (void)player;
    if (op->what == XFW_COPY)
        *((const struct spy *)change)->first = op->src + op->dst;
}

/* Others see where it is from and goes to: the begin of what is contiguous; also where the last
 * piece is left out. */
static void test_seen_by_others(void **state)
{
    static const struct xfw_change_type gone_type = {.name = "leave out", .op = leave_out};
    static const struct xfw_change_type spy_type = {.name = "spy", .op = look};
    (void)state;
    for (unsigned left_out = 0; left_out < 2; left_out++) {
        uint64_t first = 0;
        struct gone gone = {{.type = &gone_type}, left_out << (PIECES - 1)};
        struct spy spy = {{.type = &spy_type}, &first};
        struct setting s;
        struct xfw_set rows = {0};
        setup(&s, XFT_DIR_H2D);
        for (unsigned k = 0; k < PIECES; k++) {
            struct xfw_op *op = copy(&s, k);
            op->src = 70000 + k * BYTES;
            op->dst = 90000 + k * BYTES;
        }
        xfw_set_add(&rows, 0);
        struct xfw_change *pack = xfw_change_pack(&s.analysis, &s.runs, &rows, XFW_PACK);
        struct xfw_change *all[] = {&gone.change, pack, &spy.change};
        struct xfa_process process = {.number = 0};
        struct xfw_player *player = xfw_player_new(&process, all, 3, XFW_LIKELY);
        for (size_t k = 0; k < s.count; k++)
            xfw_player_op(player, &s.ops[k]);
        assert_int_equal(first, 70000 + 90000);
        xfw_player_free(player);
        xfw_change_free(pack);
        teardown(&s);
    }
}

/* Each is waited for; what comes at once is taken apart behind that. */
static void test_down(void **state)
{
    struct setting s;
    setup(&s, XFT_DIR_D2H);
    for (unsigned i = 0; i < PIECES; i++) {
        struct xfw_op *op = copy(&s, i);
        op->awaits = XFW_AWAITS_ITSELF;
        op->own_ns = 0;
        op->wake_ns = 10;
    }
    double copied = 50 + 40 + MORE_NS + 10;
    assert_true(hand_play(s.ops, s.count, NULL, XFW_LIKELY) == PIECES * 100);
    assert_true(packed(&s, XFW_HIGH, true) == copied);
    assert_true(packed(&s, XFW_LIKELY, true) == copied + PIECES * PACK_NS / 2);
    teardown(&s);
}

/* One that is not waited for is taken apart behind the wait that comes. */
static void test_down_later(void **state)
{
    struct setting s;
    setup(&s, XFT_DIR_D2H);
    for (unsigned i = 0; i < PIECES; i++)
        copy(&s, i);
    add(&s, hand_op(XFW_CALL, XFT_EVENT_NONE, 70));
    add(&s, hand_wait(10));
    double copied = 50 + 40 + MORE_NS + 10; /* 160, and the host is ready to wait at 170 */
    assert_true(packed(&s, XFW_HIGH, true) == 100 + 70);
    add(&s, hand_op(XFW_CALL, XFT_EVENT_NONE, 5));
    assert_true(copied < 170);
    assert_true(packed(&s, XFW_LIKELY, true) == 170 + PIECES * PACK_NS / 2 + 5);
    teardown(&s);
}

/* Copies that block, behind a kernel: the host has the first when the kernel is done, and works on
 * each before it has the next. The one copy takes the place of the first, so that its work does not
 * move into the kernel's time. */
static void test_one_by_one(void **state)
{
    enum { KERNEL = 1000, WORK = 70 };
    struct setting s;
    setup(&s, XFT_DIR_D2H);
    add(&s, hand_work(XFW_KERNEL, 0, 0, 0, KERNEL));
    for (unsigned i = 0; i < PIECES; i++) {
        struct xfw_op *op = copy(&s, i);
        op->awaits = XFW_AWAITS_ITSELF;
        op->engine = XFW_TO_HOST;
        op->own_ns = 0;
        op->wake_ns = 10;
        add(&s, hand_op(XFW_CALL, XFT_EVENT_NONE, WORK));
    }
    double first = KERNEL + 50 + 40 + 10;
    assert_true(hand_play(s.ops, s.count, NULL, XFW_HIGH) ==
                first + (PIECES - 1) * 100 + PIECES * WORK);
    assert_true(packed(&s, XFW_HIGH, true) ==
                first + MORE_NS + WORK); /* the work before it is in the kernel's time */
    xfw_mark(&s.runs.firsts, 0, 0);
    assert_true(packed(&s, XFW_HIGH, true) == first + PIECES * WORK + MORE_NS);
    assert_true(packed(&s, XFW_LIKELY, true) ==
                first + PIECES * WORK + MORE_NS + PIECES * PACK_NS / 2);
    teardown(&s);
}

/* What was waited for behind pieces goes with them; the first one's wait stays, and so do waits
 * for other streams. */
static void test_waits_behind_pieces(void **state)
{
    for (unsigned awaited = 0; awaited < 2; awaited++) {
        struct setting s;
        setup(&s, awaited ? XFT_DIR_D2H : XFT_DIR_H2D);
        for (unsigned i = 0; i < PIECES; i++) {
            copy(&s, i)->own_ns = 0;
            struct xfw_op *wait = add(&s, hand_wait(10));
            wait->awaits = XFW_AWAITS_STREAM;
            wait->stream = 0;
            wait->own_ns = 5;
        }
        if (awaited) {
            xfw_mark(&s.runs.firsts, 0, 0);
            for (unsigned i = 0; i < s.count; i += 2)
                s.ops[i].engine = XFW_TO_HOST;
        }
        double all = hand_play(s.ops, s.count, NULL, XFW_HIGH);
        double one = all / PIECES; /* a copy and its wait */
        /* Of copies to the host the wait behind the last one has nothing to wait for. */
        double behind = awaited ? 5 : 0;
        assert_true(packed(&s, XFW_HIGH, true) == one + MORE_NS + behind);
        struct xfw_op *other = &s.ops[3];
        other->stream = 1;
        assert_true(packed(&s, XFW_HIGH, true) >= one + MORE_NS + behind + 5);
        teardown(&s);
    }
}

/* The last one is left out by another change: nothing is owed for it. */
static void test_behind_the_first_left_out(void **state)
{
    struct setting s;
    setup(&s, XFT_DIR_D2H);
    for (unsigned i = 0; i < PIECES; i++) {
        struct xfw_op *op = copy(&s, i);
        op->awaits = XFW_AWAITS_ITSELF;
        op->engine = XFW_TO_HOST;
        op->own_ns = 0;
    }
    xfw_mark(&s.runs.firsts, 0, 0);
    xfw_op_drop(&s.ops[PIECES - 1]);
    assert_true(packed(&s, XFW_HIGH, true) == 50 + 40);
    teardown(&s);
}

/* An event behind a piece is reached when all pieces are there. */
static void test_events(void **state)
{
    struct setting s;
    setup(&s, XFT_DIR_H2D);
    for (unsigned i = 0; i < PIECES; i++) {
        copy(&s, i);
        if (i == 0) {
            struct xfw_op *record = add(&s, hand_op(XFW_RECORD, XFT_EVENT_RECORD, 0));
            record->event = 0;
            record->stream = 0;
        }
    }
    struct xfw_op *wait = add(&s, hand_op(XFW_WAIT, XFT_EVENT_WAIT, 0));
    wait->event = 0;
    wait->stream = 1;
    add(&s, hand_work(XFW_KERNEL, 1, 0, 0, 1000));
    add(&s, hand_wait(0));
    assert_true(hand_play(s.ops, s.count, NULL, XFW_LIKELY) == PIECES * 100 + 1000);
    assert_true(packed(&s, XFW_HIGH, true) == 50 + 40 + MORE_NS + 1000);
    teardown(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up),
        cmocka_unit_test(test_into_locked),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_gathered),
        cmocka_unit_test(test_seen_by_others),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_down),
        cmocka_unit_test(test_down_later),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_one_by_one),
        cmocka_unit_test(test_waits_behind_pieces),
        cmocka_unit_test(test_behind_the_first_left_out),
    };
    return cmocka_run_group_tests_name("what if: packed", tests, NULL, NULL);
}
