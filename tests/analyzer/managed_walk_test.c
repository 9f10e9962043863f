/* Managed memory of one process, event by event: compared with rules that look at everything at
 * once, and what is kept meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/sums/blocks.h"
#include "analyzer/sums/managed_process.h"
#include "tests/analyzer/lab/memory.h"
#include "tests/analyzer/lab/resolved.h"

enum { SLACK = 20000, TID = 100 };

static uint64_t seed;

static unsigned any(unsigned below) /* xorshift64 */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % below;
}

/* ---- blocks -------------------------------------------------------------------------------- */

enum { MOST = 400 };

struct plain {
    uint64_t address, end, died;
    uint32_t stack;
    bool gone;
};

static const struct plain *plain_find(const struct plain *plain, size_t count, uint64_t address)
{
    const struct plain *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (!plain[i].gone && address >= plain[i].address && address < plain[i].end &&
            (!found || plain[i].address >= found->address))
            found = &plain[i];
    return found;
}

static void plain_end(struct plain *plain, size_t count, uint64_t address, uint64_t when)
{
    for (size_t i = 0; i < count; i++)
        if (!plain[i].gone && plain[i].died == UINT64_MAX && plain[i].address == address) {
            plain[i].died = when;
            return;
        }
}

/* Overlapping ones too, and many at one address. */
static void one_life_of_blocks(void)
{
    struct plain plain[MOST];
    struct xfa_blocks blocks = {0};
    size_t count = 0, living = 0;
    for (uint64_t now = 1; count < MOST; now++) {
        uint64_t address = 100 + 10 * any(12), when = now + any(30);
        if (any(3) < 2) {
            uint64_t end = address + any(60);
            plain[count] = (struct plain){address, end, UINT64_MAX, (uint32_t)count, false};
            xfa_blocks_add(&blocks, address, end, (uint32_t)count++);
        } else {
            plain_end(plain, count, address, when);
            xfa_blocks_end(&blocks, address, when);
        }
        living = 0;
        xfa_blocks_pass(&blocks, now);
        for (size_t i = 0; i < count; i++) {
            plain[i].gone = plain[i].gone || plain[i].died < now;
            living += !plain[i].gone;
        }
        assert_int_equal(blocks.count, living);
        for (uint64_t at = 95; at < 280; at += 1 + any(5)) {
            const struct plain *expected = plain_find(plain, count, at);
            const struct xfa_block *found = xfa_blocks_find(&blocks, at);
            assert_int_equal(found != NULL, expected != NULL);
            if (found)
                assert_int_equal(found->stack, expected->stack);
        }
    }
    xfa_blocks_free(&blocks);
}

/* Blocks whose ends are known and far off are not looked at again and again: that would take
 * very long. */
static void test_blocks_of_one_address(void **state)
{
    (void)state;
    enum { ALIKE = 300000 };
    struct xfa_blocks blocks = {0};
    for (uint32_t i = 0; i < ALIKE; i++)
        xfa_blocks_add(&blocks, 100, 200, i);
    for (uint64_t i = 0; i < ALIKE; i++)
        xfa_blocks_end(&blocks, 100, 1000000 + i);
    xfa_blocks_pass(&blocks, 1000000 + ALIKE - 1);
    assert_int_equal(blocks.count, 1);
    assert_int_equal(xfa_blocks_find(&blocks, 150)->stack, ALIKE - 1); /* the oldest ended first */
    xfa_blocks_free(&blocks);
}

static void test_blocks(void **state)
{
    (void)state;
    for (seed = 1; seed < 30; seed++) {
        uint64_t mine = seed;
        seed = mine * 0x9e3779b97f4a7c15u;
        one_life_of_blocks();
        seed = mine;
    }
}

/* ---- all at once --------------------------------------------------------------------------- */

enum { EVENTS = 600, STACKS = 6 };

/* Calls, kernels, migrations and faults, close together in time and address. One thread, whose
 * calls do not overlap. */
static void make_events(struct xft_event *events)
{
    static const uint8_t kinds[] = {XFT_EVENT_ALLOC,     XFT_EVENT_ALLOC, XFT_EVENT_FREE,
                                    XFT_EVENT_MIGRATION, XFT_EVENT_FAULT, XFT_EVENT_FAULT,
                                    XFT_EVENT_FAULT,     XFT_EVENT_KERNEL};
    uint64_t now = 1000, live[8] = {0};
    for (size_t i = 0; i < EVENTS; i++) {
        struct xft_event *e = &events[i];
        unsigned slot = any(8);
        now += any(4) ? any(9000) : 0;
        *e = (struct xft_event){.kind = kinds[any(sizeof kinds)],
                                .start_ns = now,
                                .end_ns = now + any(30000),
                                .stack = 1 + any(STACKS),
                                .call = (uint16_t)any(3),
                                .count = 1 + any(5),
                                .device = (int16_t)any(2)};
        if (e->kind == XFT_EVENT_ALLOC || e->kind == XFT_EVENT_FREE) {
            e->kind = live[slot] ? XFT_EVENT_FREE : XFT_EVENT_ALLOC;
            e->dst = 1000 * (slot + 1);
            e->bytes = 500;
            e->dst_mem = XFT_MEM_MANAGED;
            e->end_ns = now;
            live[slot] = !live[slot];
        } else if (e->kind == XFT_EVENT_KERNEL) {
            e->src = 1 + any(4);
            e->end_ns = now + any(100000);
        } else {
            e->src = 1000 * (slot + 1) + any(700);
            e->bytes = 1 + any(100);
            e->device = any(3) ? e->device : XFT_PLACE_HOST;
        }
    }
}

/* The stack of the newest allocation that was there. */
static uint32_t block_at(const struct xft_event *events, const struct xft_event *of)
{
    uint32_t stack = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        const struct xft_event *e = &events[i];
        if (e->kind != XFT_EVENT_ALLOC || e->start_ns > of->start_ns || of->src < e->dst ||
            of->src >= e->dst + e->bytes)
            continue;
        uint64_t died = UINT64_MAX;
        for (size_t j = i + 1; j < EVENTS && died == UINT64_MAX; j++)
            if (events[j].kind == XFT_EVENT_FREE && events[j].dst == e->dst)
                died = events[j].end_ns;
        stack = of->start_ns <= died ? e->stack : stack;
    }
    return stack;
}

/* The kernel begun last. */
static uint32_t kernel_at(const struct xft_event *events, const struct xft_event *of)
{
    const struct xft_event *found = NULL;
    for (size_t i = 0; i < EVENTS; i++) {
        const struct xft_event *e = &events[i];
        if (e->kind == XFT_EVENT_KERNEL && e->device == of->device &&
            e->start_ns <= of->start_ns + SLACK && e->end_ns + SLACK >= of->start_ns &&
            (!found || e->start_ns >= found->start_ns))
            found = e;
    }
    return found ? (uint32_t)found->src : 0;
}

static struct xfa_stack_call call_of(const struct xft_event *e)
{
    return (struct xfa_stack_call){e->stack, e->call + 1u};
}

static struct xfa_stack_line_key line_of(const struct xft_event *events, const struct xft_event *of)
{
    struct xfa_stack_line_key key = {.stack = block_at(events, of), .line = of->stack};
    for (size_t i = 0; i < EVENTS; i++) {
        const struct xft_event *e = &events[i];
        if (e->kind != XFT_EVENT_ALLOC && e->kind != XFT_EVENT_FREE)
            continue;
        if (e->start_ns <= of->start_ns)
            key.before = call_of(e);
        else if (!key.after.call)
            key.after = call_of(e);
    }
    return key;
}

struct sums {
    struct xfa_table bytes, kernels, lines;
};
struct bytes {
    uint32_t stack; /* key */
    uint64_t bytes, allocations;
};

static struct sums look_at_all(const struct xft_event *events)
{
    struct sums sums;
    xfa_table_init(&sums.bytes, sizeof(uint32_t), sizeof(struct bytes));
    xfa_table_init(&sums.kernels, sizeof(struct xfa_stack_kernel_key),
                   sizeof(struct xfa_stack_kernel));
    xfa_table_init(&sums.lines, sizeof(struct xfa_stack_line_key), sizeof(struct xfa_stack_line));
    for (size_t i = 0; i < EVENTS; i++) {
        const struct xft_event *e = &events[i];
        uint32_t stack = e->kind == XFT_EVENT_ALLOC ? e->stack : block_at(events, e);
        if (e->kind == XFT_EVENT_ALLOC) {
            ((struct bytes *)xfa_table_put(&sums.bytes, &stack))->allocations++;
        } else if (e->kind == XFT_EVENT_MIGRATION) {
            ((struct bytes *)xfa_table_put(&sums.bytes, &stack))->bytes += e->bytes;
        } else if (e->kind == XFT_EVENT_FAULT && e->device == XFT_PLACE_HOST) {
            struct xfa_stack_line_key key = line_of(events, e);
            ((struct xfa_stack_line *)xfa_table_put(&sums.lines, &key))->faults += e->count;
        } else if (e->kind == XFT_EVENT_FAULT) {
            struct xfa_stack_kernel_key key = {stack, kernel_at(events, e)};
            struct xfa_stack_kernel *kernel = xfa_table_put(&sums.kernels, &key);
            kernel->groups++;
            kernel->faults += e->count;
            kernel->ns += (double)(e->end_ns - e->start_ns);
        }
    }
    return sums;
}

static void compare(const struct sums *sums, const struct xfa_managed_process *p)
{
    assert_int_equal(p->kernels.count, sums->kernels.count);
    assert_int_equal(p->lines.count, sums->lines.count);
    for (size_t i = 0; i < sums->bytes.count; i++) {
        const struct bytes *expected = xfa_table_at(&sums->bytes, i);
        const struct xfa_stack_figures *found = xfa_table_get(&p->sites, expected);
        assert_non_null(found);
        assert_int_equal(found->figures.bytes[0], expected->bytes);
        assert_int_equal(found->figures.allocations, expected->allocations);
    }
    for (size_t i = 0; i < sums->kernels.count; i++) {
        const struct xfa_stack_kernel *expected = xfa_table_at(&sums->kernels, i);
        const struct xfa_stack_kernel *found = xfa_table_get(&p->kernels, expected);
        assert_non_null(found);
        assert_memory_equal(found, expected, sizeof *found);
    }
    for (size_t i = 0; i < sums->lines.count; i++) {
        const struct xfa_stack_line *expected = xfa_table_at(&sums->lines, i);
        const struct xfa_stack_line *found = xfa_table_get(&p->lines, expected);
        assert_non_null(found);
        assert_int_equal(found->faults, expected->faults);
    }
}

static void tell(struct xfa_managed_process *p, const struct xft_event *row)
{
    static struct xfa_process process = {.gpus = {0, 1, 2}};
    const struct xfa_event event = resolved(&process, row, 0, TID);
    xfa_managed_process_event(p, &event);
}

static void test_all_at_once(void **state)
{
    (void)state;
    static struct xft_event events[EVENTS];
    for (unsigned round = 1; round <= 100; round++) {
        seed = round * 0x9e3779b97f4a7c15u;
        make_events(events);
        struct sums sums = look_at_all(events);
        struct xfa_managed_process *p = xfa_managed_process_new();
        for (size_t i = 0; i < EVENTS; i++)
            tell(p, &events[i]);
        xfa_managed_process_end(p);
        compare(&sums, p);
        assert_int_equal(p->beyond, 0);
        assert_int_equal(p->only_tid, TID);
        assert_true(p->moves && p->used);
        xfa_managed_process_free(p);
        xfa_table_free(&sums.bytes);
        xfa_table_free(&sums.kernels);
        xfa_table_free(&sums.lines);
    }
}

/* ---- what is kept -------------------------------------------------------------------------- */

static void event(struct xfa_managed_process *p, unsigned kind, uint64_t at, uint64_t ns,
                  uint64_t address)
{
    struct xft_event e = {.kind = (uint8_t)kind,
                          .start_ns = at,
                          .end_ns = at + ns,
                          .src = kind == XFT_EVENT_KERNEL ? 7 : address,
                          .dst = address,
                          .bytes = 100,
                          .dst_mem = XFT_MEM_MANAGED,
                          .count = 1,
                          .stack = 1};
    tell(p, &e);
}

/* Of a run of any length what lives: here one allocation, the kernels of two streams, the faults of
 * the last 20 us. One kernel runs all the while. */
static void test_long(void **state)
{
    (void)state;
    enum { TIMES = 3000000, STEP = 1000 };
    struct xfa_managed_process *p = xfa_managed_process_new();
    long before_kib = peak_kib();
    size_t most = 0;
    uint64_t now = 1000;
    event(p, XFT_EVENT_KERNEL, now, (uint64_t)TIMES * STEP, 0);
    for (unsigned i = 0; i < TIMES; i++, now += STEP) {
        event(p, XFT_EVENT_ALLOC, now, 10, 1000 * (1 + i % 5));
        event(p, XFT_EVENT_KERNEL, now + 100, 700, 0);
        event(p, XFT_EVENT_FAULT, now + 300, 50, 1000 * (1 + i % 5));
        event(p, XFT_EVENT_FREE, now + 900, 10, 1000 * (1 + i % 5));
        most = xfa_managed_process_items(p) > most ? xfa_managed_process_items(p) : most;
    }
    assert_in_range(most, 20, 30);
    xfa_managed_process_end(p);
    assert_int_equal(p->kernels.count, 1);
    assert_int_equal(((struct xfa_stack_kernel *)xfa_table_at(&p->kernels, 0))->groups, TIMES);
    assert_int_equal(p->beyond, 0);
    assert_true(peak_kib() - before_kib < 8 * 1024);
    xfa_managed_process_free(p);
}

/* What does not end is kept up to the limit, and counted from there on. */
static void test_limits(void **state)
{
    (void)state;
    enum { BEYOND = 3 };
    struct xfa_managed_process *p = xfa_managed_process_new();
    for (uint64_t i = 0; i < XFA_MAX_MANAGED_ITEMS + BEYOND; i++)
        event(p, XFT_EVENT_ALLOC, 1000 + i, 1, 1000 * i);
    assert_int_equal(xfa_managed_process_items(p), XFA_MAX_MANAGED_ITEMS);
    assert_int_equal(p->beyond, BEYOND);
    xfa_managed_process_free(p);

    p = xfa_managed_process_new(); /* each within the one before */
    for (uint64_t i = 0; i < XFA_MAX_MANAGED_ITEMS + BEYOND; i++)
        event(p, XFT_EVENT_KERNEL, 1000 + i, 2 * (XFA_MAX_MANAGED_ITEMS + BEYOND - i), 0);
    assert_int_equal(xfa_managed_process_items(p), XFA_MAX_MANAGED_ITEMS);
    assert_int_equal(p->beyond, BEYOND);
    xfa_managed_process_free(p);

    p = xfa_managed_process_new(); /* faults of one ns, and of few: all are counted */
    for (uint64_t i = 0; i < XFA_MAX_MANAGED_ITEMS + 5000; i++)
        event(p, XFT_EVENT_FAULT, 1000 + i / 60, 1, 0);
    for (uint64_t i = 0; i < 5000; i++)
        event(p, XFT_EVENT_FAULT, 900000, 1, 0);
    xfa_managed_process_end(p);
    assert_int_equal(((struct xfa_stack_kernel *)xfa_table_at(&p->kernels, 0))->groups,
                     XFA_MAX_MANAGED_ITEMS + 10000);
    assert_true(p->beyond > 0);
    assert_true(peak_kib() < MOST_KIB);
    xfa_managed_process_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),      cmocka_unit_test(test_blocks_of_one_address),
        cmocka_unit_test(test_all_at_once), cmocka_unit_test(test_long),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
