/* Which ranges are open: beginnings and ends matched, in all that a trace may say of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/pass/event.h"

enum { LANE = 3, TID = 10, OURS = 7 /* a domain */ };

/* What came without an end, one after the other. */
struct heard {
    struct {
        uint64_t number, end_ns;
        enum xfa_unended why;
    } unended[64];
    size_t count;
};

static void hear(void *self, const struct xfa_range *range, enum xfa_unended why, uint64_t end_ns)
{
    struct heard *heard = self;
    assert_true(heard->count < 64);
    heard->unended[heard->count].number = range->number;
    heard->unended[heard->count].end_ns = end_ns;
    heard->unended[heard->count++].why = why;
}

static uint64_t now_ns;

static const struct xfa_range *take(struct xfa_ranges *ranges, unsigned kind, uint64_t domain,
                                    uint64_t id, uint32_t lane, int32_t tid)
{
    now_ns += 10;
    const struct xfa_event event = {.kind = (uint8_t)kind,
                                    .start_ns = now_ns,
                                    .end_ns = now_ns,
                                    .lane = lane,
                                    .tid = tid,
                                    .nvtx = {.id = id, .domain = domain, .name = now_ns}};
    return xfa_ranges_take(ranges, &event);
}

static const struct xfa_range *around(struct xfa_ranges *ranges, uint32_t lane, int32_t tid,
                                      uint64_t end_ns)
{
    const struct xfa_event call = {.lane = lane, .tid = tid, .end_ns = end_ns};
    return xfa_ranges_around(ranges, &call);
}

/* The number of the range that began, or ended; -1: none. */
static long number(const struct xfa_range *range)
{
    return range ? (long)range->number : -1;
}

static long push(struct xfa_ranges *ranges, uint64_t domain)
{
    return number(take(ranges, XFT_EVENT_RANGE_BEGIN, domain, 0, LANE, TID));
}

static long pop(struct xfa_ranges *ranges, uint64_t domain)
{
    return number(take(ranges, XFT_EVENT_RANGE_END, domain, 0, LANE, TID));
}

static long start(struct xfa_ranges *ranges, uint64_t id, int32_t tid)
{
    return number(take(ranges, XFT_EVENT_RANGE_BEGIN, 0, id, (uint32_t)tid, tid));
}

static long end(struct xfa_ranges *ranges, uint64_t id, int32_t tid)
{
    return number(take(ranges, XFT_EVENT_RANGE_END, 0, id, (uint32_t)tid, tid));
}

static void expect_counts(const struct xfa_ranges *ranges, uint64_t stray_ends, uint64_t unended,
                          uint64_t beyond)
{
    struct xfa_range_counts counts = xfa_ranges_counts(ranges);
    assert_int_equal(counts.stray_ends, stray_ends);
    assert_int_equal(counts.unended, unended);
    assert_int_equal(counts.beyond, beyond);
}

/* A thread nests per domain; what is around a range, and how deep it is, is the thread's. */
static void test_nested(void **state)
{
    (void)state;
    struct xfa_ranges *ranges = xfa_ranges_new(NULL, NULL);
    now_ns = 0;
    assert_int_equal(push(ranges, 0), 0);
    assert_int_equal(push(ranges, OURS), 1);
    const struct xfa_range *inner = take(ranges, XFT_EVENT_RANGE_BEGIN, 0, 0, LANE, TID);
    assert_int_equal(inner->depth, 2);
    assert_int_equal(inner->outer, 2); /* slot 1 */
    assert_int_equal(inner->start_ns, 30);
    assert_int_equal(pop(ranges, OURS), 1); /* from the middle */
    assert_int_equal(number(around(ranges, LANE, TID, 35)), 2);
    assert_int_equal(pop(ranges, OURS), -1);
    assert_int_equal(pop(ranges, 0), 2);
    assert_int_equal(number(around(ranges, LANE, TID, 60)), 0);
    assert_int_equal(pop(ranges, 0), 0);
    assert_null(around(ranges, LANE, TID, 70));
    expect_counts(ranges, 1, 0, 0);
    xfa_ranges_free(ranges);
}

/* A thread's pop ends nothing of another's, and ids are of the process. */
static void test_threads(void **state)
{
    (void)state;
    struct xfa_ranges *ranges = xfa_ranges_new(NULL, NULL);
    assert_int_equal(push(ranges, 0), 0);
    assert_int_equal(start(ranges, 1, 20), 1);
    assert_int_equal(start(ranges, 2, 20), 2);
    assert_int_equal(number(take(ranges, XFT_EVENT_RANGE_END, 0, 0, 20, 20)), -1);
    assert_null(around(ranges, 20, 20, now_ns)); /* of the process, not the thread's */
    assert_int_equal(end(ranges, 1, 30), 1);
    assert_int_equal(end(ranges, 1, 30), -1);
    assert_int_equal(pop(ranges, 0), 0);
    assert_int_equal(end(ranges, 2, 20), 2);
    expect_counts(ranges, 2, 0, 0);
    assert_int_equal(xfa_ranges_open(ranges), 0);
    xfa_ranges_free(ranges);
}

/* Another thread goes on with the lane, an id begins again, the process ends. */
static void test_without_an_end(void **state)
{
    (void)state;
    struct heard heard = {.count = 0};
    struct xfa_ranges *ranges = xfa_ranges_new(hear, &heard);
    now_ns = 0;
    push(ranges, 0);    /* 0 */
    push(ranges, OURS); /* 1 */
    assert_int_equal(number(around(ranges, LANE, TID, 25)), 1);
    assert_null(around(ranges, LANE, TID + 1, 100));
    assert_int_equal(heard.count, 2); /* the innermost first, with the last that it did */
    assert_int_equal(heard.unended[0].number, 1);
    assert_int_equal(heard.unended[1].number, 0);
    assert_int_equal(heard.unended[1].end_ns, 25);
    assert_int_equal(heard.unended[1].why, XFA_THREAD_ENDED);
    assert_int_equal(start(ranges, 5, 20), 2);
    assert_int_equal(start(ranges, 5, 20), 3); /* at 40 */
    assert_int_equal(heard.unended[2].number, 2);
    assert_int_equal(heard.unended[2].end_ns, 40);
    assert_int_equal(heard.unended[2].why, XFA_BEGUN_AGAIN);
    push(ranges, 0); /* 4 */
    xfa_ranges_end(ranges, 1000);
    assert_int_equal(heard.count, 5); /* the latest first */
    assert_int_equal(heard.unended[3].number, 4);
    assert_int_equal(heard.unended[4].number, 3);
    assert_int_equal(heard.unended[4].end_ns, 1000);
    assert_int_equal(heard.unended[4].why, XFA_PROCESS_ENDED);
    assert_int_equal(push(ranges, 0), 0); /* of another process */
    assert_int_equal(pop(ranges, 0), 0);
    assert_int_equal(end(ranges, 5, 20), -1);
    expect_counts(ranges, 1, 5, 0);
    xfa_ranges_free(ranges);
}

/* More than there is room for: ends are matched as if all were followed. */
static void test_beyond_nested(void **state)
{
    (void)state;
    struct xfa_ranges *ranges = xfa_ranges_within(3, NULL, NULL);
    assert_int_equal(push(ranges, 0), 0);
    assert_int_equal(push(ranges, OURS), 1);
    assert_int_equal(start(ranges, 9, 20), 2);
    assert_int_equal(push(ranges, 0), -1);
    assert_int_equal(push(ranges, 8), -1);   /* a domain of which nothing is open */
    assert_int_equal(end(ranges, 9, 20), 2); /* there is room */
    assert_int_equal(push(ranges, 0), -1);   /* but within one that is not followed */
    assert_int_equal(push(ranges, 8), 3);
    assert_int_equal(pop(ranges, 8), 3);
    assert_int_equal(pop(ranges, 8), -1);
    assert_int_equal(pop(ranges, OURS), 1);
    assert_int_equal(pop(ranges, 0), -1);
    assert_int_equal(pop(ranges, 0), -1);
    expect_counts(ranges, 0, 0, 3);
    assert_int_equal(pop(ranges, 0), 0);
    assert_int_equal(pop(ranges, 0), -1);
    expect_counts(ranges, 1, 0, 3);
    xfa_ranges_free(ranges);
}

static void test_beyond_started(void **state)
{
    (void)state;
    struct xfa_ranges *ranges = xfa_ranges_within(2, NULL, NULL);
    for (uint64_t id = 1; id <= 4; id++)
        assert_int_equal(start(ranges, id, 20), id <= 2 ? (long)id - 1 : -1);
    assert_int_equal(end(ranges, 4, 20), -1);
    assert_int_equal(end(ranges, 1, 20), 0);
    assert_int_equal(end(ranges, 3, 20), -1);
    expect_counts(ranges, 0, 0, 2);
    assert_int_equal(end(ranges, 3, 20), -1);
    assert_int_equal(end(ranges, 2, 20), 1);
    expect_counts(ranges, 1, 0, 2);
    xfa_ranges_free(ranges);
}

/* Against a list of what is open, searched from its end: threads, domains, ids, slots. */
struct listed {
    bool open;
    uint64_t domain, id;
    int32_t tid;
    uint32_t slot;
};

static long search(const struct listed *all, size_t count, uint64_t domain, uint64_t id,
                   int32_t tid)
{
    for (size_t i = count; i-- > 0;)
        if (all[i].open && all[i].id == id &&
            (id || (all[i].domain == domain && all[i].tid == tid)))
            return (long)i;
    return -1;
}

static void test_at_random(void **state)
{
    (void)state;
    enum { STEPS = 20000, THREADS = 3, DOMAINS = 3, IDS = 40 };
    struct listed *all = calloc(STEPS, sizeof *all);
    struct xfa_ranges *ranges = xfa_ranges_new(NULL, NULL);
    size_t count = 0, open = 0, most = 0;
    uint64_t seed = 5, stray = 0;
    assert_non_null(all);
    for (unsigned n = 0; n < STEPS; n++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int32_t tid = 1 + (int32_t)(seed >> 33) % THREADS;
        uint64_t domain = (seed >> 40) % DOMAINS,
                 id = (seed >> 44) % 3 ? 0 : 1 + (seed >> 48) % IDS;
        long found = search(all, count, domain, id, tid);
        bool begins = id ? found < 0 : (seed >> 56) % 100 < (n < STEPS / 2 ? 60 : 40);
        const struct xfa_range *range =
            take(ranges, begins ? XFT_EVENT_RANGE_BEGIN : XFT_EVENT_RANGE_END, domain, id,
                 (uint32_t)tid, tid);
        if (begins) {
            assert_non_null(range);
            for (size_t i = 0; i < count; i++)
                assert_true(!all[i].open || all[i].slot != range->slot);
            all[count] = (struct listed){true, domain, id, tid, range->slot};
            assert_int_equal(number(range), count++);
            open++;
        } else {
            assert_int_equal(number(range), found);
            stray += found < 0;
            open -= found >= 0;
            if (found >= 0)
                all[found].open = false;
        }
        most = open > most ? open : most;
        assert_int_equal(xfa_ranges_open(ranges), open);
    }
    assert_true(most > 1100 && stray > 0); /* deep enough to matter */
    expect_counts(ranges, stray, 0, 0);
    xfa_ranges_free(ranges);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested),         cmocka_unit_test(test_threads),
        cmocka_unit_test(test_without_an_end), cmocka_unit_test(test_beyond_nested),
        cmocka_unit_test(test_beyond_started), cmocka_unit_test(test_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
