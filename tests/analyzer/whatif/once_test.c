/* Memory taken once instead of again and again, played by hand: what goes, and what is still waited
 * for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { ROUNDS = 3, MOST = 64, SITE = 4, BYTES = 4096, MADE = 100, FREED = 50, WOKEN = 10 };

struct run {
    struct xfw_op ops[MOST];
    size_t count;
    struct xfw_once_book book;
};

static struct xfw_op *add(struct run *run, struct xfw_op op)
{
    run->ops[run->count] = op;
    return &run->ops[run->count++];
}

static struct xfw_once_calls *alloc_of(struct run *run, uint64_t address, uint64_t bytes,
                                       uint64_t key_bytes)
{
    struct xfw_op *op = add(run, hand_op(XFW_CALL, XFT_EVENT_ALLOC, MADE));
    op->site = SITE;
    op->dst = address;
    op->bytes = bytes;
    op->memory = XFT_MEM_DEVICE;
    const struct xfw_once_key key = {.bytes = key_bytes, .site = SITE, .memory = XFT_MEM_DEVICE};
    return xfw_once_take(&run->book, &key, address, bytes, MADE);
}

static struct xfw_once_calls *alloc(struct run *run, uint64_t address, uint64_t bytes)
{
    return alloc_of(run, address, bytes, bytes);
}

static struct xfw_op *release(struct run *run, uint64_t address)
{
    struct xfw_op *op = add(run, hand_op(XFW_CALL, XFT_EVENT_FREE, FREED));
    op->dst = address;
    op->awaits = XFW_AWAITS_DEVICE;
    op->wake_ns = WOKEN;
    xfw_once_give(&run->book, address, FREED);
    return op;
}

static double once(const struct run *run, const struct xfa_analysis *analysis,
                   enum xfw_certainty certainty)
{
    struct xfw_set chosen = {0};
    for (size_t i = 0; i < run->book.calls.count; i++)
        xfw_set_add(&chosen, (uint32_t)i);
    struct xfw_change *change = xfw_change_calls_once(analysis, &run->book.calls, &chosen);
    double end = hand_play(run->ops, run->count, change, certainty);
    xfw_change_free(change);
    return end;
}

static double as_it_was(const struct run *run)
{
    return hand_play(run->ops, run->count, NULL, XFW_LIKELY);
}

/* Kernels of 1000 ns that nobody waits for, but for the frees. */
static void test_waits_go(void **state)
{
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    xfw_once_book_init(&run.book);
    for (unsigned i = 0; i < ROUNDS; i++) {
        alloc(&run, 0x1000, BYTES);
        add(&run, hand_work(XFW_KERNEL, 0, 10, 5, 1000));
        release(&run, 0x1000);
    }
    assert_true(as_it_was(&run) == ROUNDS * (MADE + 5 + 1000 + WOKEN));
    /* One kernel behind the other, the last free stays. */
    assert_true(once(&run, &analysis, XFW_LIKELY) == MADE + 5 + ROUNDS * 1000 + WOKEN);
    assert_true(once(&run, &analysis, XFW_HIGH) == MADE + 5 + ROUNDS * 1000 + WOKEN);
    /* Each is waited for all the same, and a quarter of allocating stays. */
    assert_true(once(&run, &analysis, XFW_LOW) ==
                MADE + ROUNDS * (5 + 1000) + (ROUNDS - 1) * MADE / 4.0 + WOKEN);
    xfw_once_book_free(&run.book);
}

/* By apply's pool every free waits as it did; allocating goes, and what a free took behind its
 * wait, but for what the pool takes, and for a wait as short. */
static void test_by_the_pool(void **state)
{
    (void)state;
    enum { LONG = 100000, POOL = 200, AT_WORST = 1000, UNMAPPED = 30000 };
    const double kept = ROUNDS - 1, wait = XFW_SYNC_STREAM_NS;
    for (int unmaps = 0; unmaps < 2; unmaps++) {
        const double woken = unmaps ? UNMAPPED : WOKEN, left = unmaps ? wait : WOKEN;
        const double waited = MADE + ROUNDS * (5.0 + LONG) + woken;
        struct xfa_analysis analysis = {0};
        struct run run = {0};
        struct xfw_set chosen = {0};
        xfw_once_book_init(&run.book);
        for (unsigned i = 0; i < ROUNDS; i++) {
            alloc(&run, 0x1000, BYTES);
            add(&run, hand_work(XFW_KERNEL, 0, 10, 5, LONG));
            struct xfw_op *freed = release(&run, 0x1000);
            if (unmaps) /* as a record has it */
                freed->own_ns = freed->wake_ns = UNMAPPED;
        }
        xfw_set_add(&chosen, 0);
        struct xfw_change *pool = xfw_change_pool(&analysis, &run.book.calls, &chosen);
        assert_true(as_it_was(&run) == waited + kept * (MADE + woken));
        assert_true(hand_play(run.ops, run.count, pool, XFW_HIGH) == waited + kept * left);
        assert_true(hand_play(run.ops, run.count, pool, XFW_LIKELY) ==
                    waited + kept * (left + 2 * POOL));
        double worst = unmaps ? UNMAPPED / 4.0 + wait : WOKEN;
        assert_true(hand_play(run.ops, run.count, pool, XFW_LOW) ==
                    waited + kept * (MADE / 4.0 + worst + 2 * AT_WORST));
        xfw_change_free(pool);
        xfw_once_book_free(&run.book);
    }
}

/* What the host may look at, or fill, is waited for: the copy, not the kernel behind it. */
static void test_copies_are_waited_for(void **state)
{
    struct xfa_analysis analysis = {0};
    struct xfa_class_key key = {
        .row = {.direction = XFT_DIR_D2H, .src_mem = XFT_MEM_DEVICE, .dst_mem = XFT_MEM_PINNED}};
    struct run run = {0};
    xfa_classes_init(&analysis.classes, NULL, NULL);
    xfa_class_put(&analysis.classes, &key);
    key.row.dst_mem = XFT_MEM_PAGEABLE;
    xfa_class_put(&analysis.classes, &key);
    xfw_once_book_init(&run.book);
    for (unsigned i = 0; i < ROUNDS; i++) {
        alloc(&run, 0x1000, BYTES);
        add(&run, hand_work(XFW_COPY, 0, 10, 5, 200))->class = 0;
        add(&run, hand_work(XFW_KERNEL, 1, 10, 5, 500));
        release(&run, 0x1000);
    }
    /* The copy: 100 to 110, runs from 105 to 305. The kernel: 115 to 615, later ones behind it. */
    assert_true(as_it_was(&run) == ROUNDS * (MADE + 10 + 5 + 500 + WOKEN));
    assert_true(once(&run, &analysis, XFW_LIKELY) == MADE + 15 + ROUNDS * 500 + WOKEN);
    add(&run, hand_op(XFW_CALL, XFT_EVENT_NONE, 0));
    run.count -= 2; /* where the host stands before the last free */
    assert_true(once(&run, &analysis, XFW_LIKELY) == MADE + (ROUNDS - 1) * 205 + 20);
    assert_true(once(&run, &analysis, XFW_HIGH) == MADE + ROUNDS * 20);
    for (size_t i = 0; i < run.count; i++)
        run.ops[i].class = run.ops[i].what == XFW_COPY ? 1 : XFW_NONE;
    assert_true(once(&run, &analysis, XFW_LIKELY) == MADE + ROUNDS * 20);
    xfw_once_book_free(&run.book);
    xfa_classes_free(&analysis.classes);
}

/* A copy that the program itself waits for before it uses the memory again needs no other wait: two
 * buffers take turns. What was fetched is waited for before a time of the host's own in which it
 * can have been read. */
static void test_the_program_waits_itself(void **state)
{
    enum { OWN = 400, TURNS = 8, FETCHED = 1 << 12 };
    struct xfa_analysis analysis = {0};
    struct xfa_class_key key = {
        .row = {.direction = XFT_DIR_H2D, .src_mem = XFT_MEM_PINNED, .dst_mem = XFT_MEM_DEVICE}};
    xfa_classes_init(&analysis.classes, NULL, NULL);
    xfa_class_put(&analysis.classes, &key);
    key.row.direction = XFT_DIR_D2H;
    key.row.src_mem = XFT_MEM_DEVICE;
    key.row.dst_mem = XFT_MEM_PINNED;
    xfa_class_put(&analysis.classes, &key);
    for (int fetches = 0; fetches < 2; fetches++) {
        struct run run = {0};
        xfw_once_book_init(&run.book);
        for (uint32_t i = 0; i < TURNS; i++) {
            struct xfw_op *wait = add(&run, hand_op(XFW_CALL, XFT_EVENT_SYNC, 0));
            wait->awaits = XFW_AWAITS_STREAM;
            wait->stream = i % 2;
            alloc(&run, 0x1000, BYTES);
            struct xfw_op *copy = add(&run, hand_work(XFW_COPY, i % 2, 0, 0, 500));
            copy->gap_ns = OWN;
            copy->class = fetches ? 1 : 0;
            copy->bytes = FETCHED;
            copy->src = copy->dst = 0x7000000 + FETCHED * (i % 2);
            if (fetches)
                copy->engine = XFW_TO_HOST;
            release(&run, 0x1000);
        }
        /* Round by round: the copies, one behind the other; else the host's own time. */
        double turn = as_it_was(&run) / TURNS;
        assert_true(turn == OWN + MADE + 500 + WOKEN);
        double likely = once(&run, &analysis, XFW_LIKELY), high = once(&run, &analysis, XFW_HIGH);
        assert_true(likely == high);
        assert_true(high == MADE + OWN + TURNS * 500 + WOKEN);
        for (size_t i = 0; i < run.count; i++) { /* the own time is behind the free at once */
            struct xfw_op *op = &run.ops[i];
            op->gap_ns = op->kind == XFT_EVENT_SYNC ? OWN : 0;
        }
        likely = once(&run, &analysis, XFW_LIKELY);
        assert_true(fetches ? likely > high : likely == high);
        xfw_once_book_free(&run.book);
    }
    xfa_classes_free(&analysis.classes);
}

/* What the calls took and what the profile has are two of a kind: the mean goes. */
static void test_between_run_and_profile(void **state)
{
    enum { PROBED = 60 };
    const double usual = (PROBED + MADE) / 2.0;
    struct xfp_row row = {.at = BYTES, .cost = {.n = 9, .median = PROBED}};
    row.cost.min = row.cost.max = row.cost.ci_low = row.cost.ci_high = PROBED;
    struct xfp_table table = {.name = "alloc/device/gpu0", .by = "bytes", .unit = "ns"};
    table.row_count = 1;
    table.rows = &row;
    struct xfp_profile profile = {.table_count = 1, .tables = &table};
    struct xfa_run machine = {0};
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    xfa_achievable_init(&analysis.achievable, &profile, &machine);
    xfw_once_book_init(&run.book);
    for (unsigned i = 0; i < ROUNDS; i++) {
        alloc(&run, 0x1000, BYTES);
        release(&run, 0x1000);
    }
    const double kept = MADE + FREED, others = ROUNDS - 1;
    assert_true(once(&run, &analysis, XFW_HIGH) == kept);
    assert_true(once(&run, &analysis, XFW_LIKELY) == kept + others * (MADE - usual));
    assert_true(once(&run, &analysis, XFW_LOW) ==
                kept + others * (MADE - 0.75 * usual + 0.25 * FREED));
    row.cost.median = row.cost.ci_low = row.cost.ci_high =
        3 * MADE; /* quicker than the profile has */
    assert_true(once(&run, &analysis, XFW_LIKELY) == kept);
    /* Processes differ by a tenth: what it took more is the program's. */
    struct xfp_scalar launches = {.name = "launch/by-process/gpu0", .unit = "ns"};
    launches.cost.median = 10;
    launches.cost.min = 9;
    launches.cost.max = 11;
    profile.scalar_count = 1;
    profile.scalars = &launches;
    row.cost.median = row.cost.ci_low = row.cost.ci_high = PROBED;
    assert_true(once(&run, &analysis, XFW_LIKELY) == kept + others * (MADE - 0.9 * MADE));
    row.cost.median = row.cost.ci_low = row.cost.ci_high = 0.9 * MADE;
    assert_true(once(&run, &analysis, XFW_LIKELY) == kept + others * (MADE - 0.95 * MADE));
    profile.scalar_count = 0;
    analysis.achievable.match = XFA_MATCH_NO; /* another machine's */
    row.cost.median = PROBED;
    assert_true(once(&run, &analysis, XFW_LIKELY) == kept);
    xfa_achievable_free(&analysis.achievable);
    xfw_once_book_free(&run.book);
}

/* As many are kept as were there at the same time; sizes are kept apart. */
static void test_as_many_as_were_held(void **state)
{
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    xfw_once_book_init(&run.book);
    for (unsigned i = 0; i < ROUNDS; i++) {
        alloc(&run, 0x1000, BYTES);
        alloc(&run, 0x3000, BYTES);
        alloc(&run, 0x5000, BYTES + 1 + i); /* another size each time */
        release(&run, 0x1000);
        release(&run, 0x5000);
        release(&run, 0x3000);
    }
    const struct xfw_once_calls *calls = xfa_table_at(&run.book.calls, 0);
    assert_int_equal(run.book.calls.count, 1 + ROUNDS);
    assert_int_equal(calls->takes, 2 * ROUNDS);
    assert_int_equal(calls->most, 2);
    assert_int_equal(xfw_once_needless_takes(calls), 2 * ROUNDS - 2);
    assert_int_equal(xfw_once_needless_gives(calls), 2 * ROUNDS - 2);
    assert_true(as_it_was(&run) == ROUNDS * 3 * (MADE + FREED));
    assert_true(once(&run, &analysis, XFW_LIKELY) == (2 + ROUNDS) * (MADE + FREED));
    alloc(&run, 0x1000, BYTES); /* and never freed: one less has to be in the end */
    assert_int_equal(xfw_once_needless_gives(xfa_table_at(&run.book.calls, 0)), 2 * ROUNDS - 1);
    assert_true(once(&run, &analysis, XFW_LIKELY) == (2 + ROUNDS) * MADE + (1 + ROUNDS) * FREED);
    xfw_once_book_free(&run.book);
}

/* Blocks of the largest size serve each call; at worst that size is not known: room grows by half.
 */
static void test_any_size(void **state)
{
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    xfw_once_book_init(&run.book);
    for (unsigned i = 0; i < ROUNDS; i++) {
        alloc_of(&run, 0x1000, (1 + i) * BYTES, XFW_ONCE_ANY_SIZE);
        release(&run, 0x1000);
    }
    const struct xfw_once_calls *calls = xfa_table_at(&run.book.calls, 0);
    assert_int_equal(run.book.calls.count, 1);
    assert_int_equal(xfw_once_needless_takes(calls), ROUNDS - 1);
    assert_int_equal(calls->bytes, 6 * BYTES);
    assert_int_equal(calls->largest, ROUNDS * BYTES);
    assert_int_equal(calls->most_bytes, ROUNDS * BYTES);
    assert_int_equal(calls->held_bytes, 0);
    assert_true(once(&run, &analysis, XFW_LIKELY) == MADE + FREED);
    assert_true(once(&run, &analysis, XFW_LOW) ==
                2 * MADE + MADE / 4.0 + FREED + (ROUNDS - 1) * FREED / 4.0);
    xfw_once_book_free(&run.book);
}

/* A block that is copied into a larger one: at best it was large enough. Other copies stay. */
static void test_growing_blocks(void **state)
{
    enum { COPY = 1000, OTHER = 0x9000 };
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    xfw_once_book_init(&run.book);
    alloc_of(&run, 0x1000, BYTES, XFW_ONCE_ANY_SIZE);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        alloc_of(&run, 0x1000 + i, (1 + i) * BYTES, XFW_ONCE_ANY_SIZE);
        for (unsigned k = 0; k < 3; k++) { /* all of it; a part; from somewhere else */
            struct xfw_op *copy = add(&run, hand_work(XFW_COPY, 0, 0, 0, COPY));
            copy->src = k == 2 ? OTHER : 0x1000 + i - 1;
            copy->dst = 0x1000 + i;
            copy->bytes = i * BYTES - (k == 1);
        }
        release(&run, 0x1000 + i - 1);
    }
    add(&run, hand_wait(0));
    double likely = once(&run, &analysis, XFW_LIKELY), high = once(&run, &analysis, XFW_HIGH);
    assert_true(likely == 2 * MADE + ROUNDS * 3 * COPY + WOKEN);
    assert_true(high == 2 * MADE + ROUNDS * 2 * COPY + WOKEN);
    xfw_once_book_free(&run.book);
}

/* What is not chosen stays as it is; so does a free of what nobody has seen allocated. */
static void test_others_stay(void **state)
{
    struct xfa_analysis analysis = {0};
    struct run run = {0};
    struct xfw_set none = {0};
    xfw_once_book_init(&run.book);
    for (unsigned i = 0; i < ROUNDS; i++) {
        alloc(&run, 0x1000, BYTES);
        release(&run, 0x1000);
        release(&run, 0x9000);
    }
    struct xfw_change *change = xfw_change_calls_once(&analysis, &run.book.calls, &none);
    assert_true(hand_play(run.ops, run.count, change, XFW_LIKELY) == as_it_was(&run));
    xfw_change_free(change);
    assert_true(once(&run, &analysis, XFW_LIKELY) == MADE + FREED + ROUNDS * FREED);
    xfw_once_book_free(&run.book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_go),
        cmocka_unit_test(test_by_the_pool),
        cmocka_unit_test(test_copies_are_waited_for),
        cmocka_unit_test(test_the_program_waits_itself),
        cmocka_unit_test(test_between_run_and_profile),
        cmocka_unit_test(test_as_many_as_were_held),
        cmocka_unit_test(test_any_size),
        cmocka_unit_test(test_growing_blocks),
        cmocka_unit_test(test_others_stay),
    };
    return cmocka_run_group_tests_name("what if: calls once", tests, NULL, NULL);
}
