/* From when it was recorded to how long it takes, and waited for: the run played again is the run.
 */
#include "analyzer/whatif/ops/ops_queue.h"
#include "analyzer/whatif/ops/recorded.h"
#include "analyzer/whatif/schedule/schedule.h"
#include "tests/analyzer/lab/hand_run.h"

static struct xfw_recorded *recorded;

static struct xfw_op *resolve(struct xfw_op op, double start, double end, double device_start,
                              double device_end, bool blocks)
{
    op.start_ns = start;
    op.end_ns = end;
    op.device_start_ns = device_start;
    op.device_end_ns = device_end;
    op.own_ns = op.latency_ns = op.space_ns = op.wake_ns = op.gap_ns = -1;
    op.duration_ns = xfw_op_is_work(&op) ? -1 : 0; /* others have none */
    xfw_recorded_resolve(recorded, &op, blocks, NULL);
    return add(op);
}

/* Who waits for a device waits for what its streams wait for, though they do nothing then. */
static void test_a_stream_that_only_waits(void **state)
{
    enum { OTHER = 1, US = 1000 };
    for (int gpu = 0; gpu < 2; gpu++) {
        kernel(0, 500)->gpu = OTHER;
        on_event(XFW_RECORD, 0, 0)->gpu = OTHER;
        if (gpu == 0)
            on_event(XFW_WAIT, 1, 0);
        add(hand_wait(WAKE));
        assert_true(played() == (gpu == 0 ? LATENCY + 500 + WAKE : CALL));
    }
    recorded = xfw_recorded_new();
    struct xfw_op work = hand_work(XFW_KERNEL, 0, 0, 0, 0), step = hand_op(XFW_RECORD, 0, 0);
    work.gpu = step.gpu = OTHER;
    step.event = step.stream = 0;
    resolve(work, 1 * US, 2 * US, 9 * US, 500 * US, false);
    resolve(step, 3 * US, 4 * US, NAN, NAN, false);
    step.what = XFW_WAIT;
    step.gpu = 0;
    step.stream = 1;
    resolve(step, 5 * US, 6 * US, NAN, NAN, false);
    struct xfw_op *wait = resolve(hand_wait(0), 7 * US, 507 * US, NAN, NAN, false);
    assert_true(wait->awaits == XFW_AWAITS_DEVICE && wait->wake_ns == 7 * US);
    assert_true(played() == 507 * US);
    xfw_recorded_free(recorded);
}

/* Whatever is found, the run played again is the run. */
static void test_what_was_recorded_comes_again(void **state)
{
    recorded = xfw_recorded_new();
    struct xfw_op up = hand_work(XFW_COPY, 0, 0, 0, 0), work = hand_work(XFW_KERNEL, 0, 0, 0, 0);
    struct xfw_op *first = resolve(up, 1000, 2000, 9000, 19000, false);
    assert_true(first->latency_ns == 8000 && first->duration_ns == 10000 && first->own_ns == 1000);
    struct xfw_op *queued = resolve(work, 2500, 3500, 20500, 50500, false);
    assert_true(queued->gap_ns == 500 && queued->space_ns == 1500);
    struct xfw_op *blocking = resolve(up, 4000, 70000, 51000, 61000, true);
    assert_true(blocking->awaits == XFW_AWAITS_ITSELF && blocking->wake_ns == 9000);
    struct xfw_op *wait = resolve(hand_wait(0), 70100, 71000, NAN, NAN, false);
    assert_true(wait->own_ns == 900); /* nothing was left to wait for */
    resolve(work, 72000, 73000, 75000, 90000, false);
    struct xfw_op *real = resolve(hand_wait(0), 73100, 93000, NAN, NAN, false);
    assert_true(real->wake_ns == 3000 && real->gap_ns == 100);
    assert_true(played() == 93000);
    xfw_recorded_free(recorded);
}

/* Who waits for a prefetch returns long behind its record, which is of its pages alone; that is not
 * usual of other waits. Who waits for what was done before returned when it did, at the latest. */
static void test_waits_behind_prefetches(void **state)
{
    recorded = xfw_recorded_new();
    struct xfw_op moves = hand_work(XFW_PREFETCH, 0, 0, 0, 0),
                  work = hand_work(XFW_KERNEL, 0, 0, 0, 0);
    moves.engine = XFW_TO_HOST;
    resolve(moves, 1000, 2000, 10000, 20000, false);
    assert_true(resolve(hand_wait(0), 2100, 80000, NAN, NAN, false)->wake_ns == 60000);
    resolve(work, 81000, 82000, 83000, 90000, false);
    assert_true(resolve(hand_wait(0), 110000, 111000, NAN, NAN, false)->wake_ns == 2000);
    resolve(work, 112000, 113000, 114000, 115000, false);
    assert_true(resolve(hand_wait(0), 115500, 116000, NAN, NAN, false)->wake_ns == 1000);
    resolve(moves, 117000, 118000, 119000, 120000, false);
    assert_true(resolve(hand_wait(0), 180000, 190000, NAN, NAN, false)->wake_ns == 60000);
    xfw_recorded_free(recorded);
    count = 0;
}

/* A thread that asks right behind the end has asked until then; one that asks long after it has
 * done something else meanwhile, which stays whatever the device takes. */
static void test_queries(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct xfw_op work = hand_work(XFW_KERNEL, 0, 0, 0, 0);
        struct xfw_op query = hand_op(XFW_QUERY, XFT_EVENT_QUERY, 0);
        query.awaits = XFW_AWAITS_DEVICE;
        recorded = xfw_recorded_new();
        resolve(work, 1000, 2000, 3000, 13000, false);
        double asks = late ? 63500 : 62000;
        struct xfw_op *asked = resolve(query, asks, asks + 500, NAN, NAN, false);
        assert_int_equal(asked->awaits, late ? XFW_AWAITS_NOTHING : XFW_AWAITS_DEVICE);
        if (!late)
            assert_true(asked->wake_ns == asks - 13000);
        xfw_recorded_free(recorded);
        count = 0;
    }
}

/* What was done before the query waited for nothing: it asks like the thread's last polled wait of
 * the same kind. Without one that counts its queries, it may have asked since its call before. */
static void test_queries_at_once(void **state)
{
    (void)state;
    for (int counts = 0; counts < 2; counts++) {
        struct xfw_op work = hand_work(XFW_KERNEL, 0, 0, 0, 0);
        struct xfw_op query = hand_op(XFW_QUERY, XFT_EVENT_QUERY, 0);
        query.awaits = XFW_AWAITS_STREAM;
        query.stream = 0;
        recorded = xfw_recorded_new();
        resolve(work, 1000, 2000, 3000, 13000, false);
        query.polled_ns = counts ? 9000 : 0;
        query.since_ns = counts ? 4000 : 0;
        query.queries = counts ? 3 : 0;
        query.stack = 77;
        struct xfw_op *polled = resolve(query, 14000, 14500, NAN, NAN, false);
        assert_true(!polled->at_once && polled->awaits == XFW_AWAITS_STREAM);
        query.polled_ns = query.since_ns = query.queries = query.stack = 0;
        resolve(work, 15000, 16000, 17000, 27000, false);
        const struct xfw_op *now = resolve(query, 30000, 30500, NAN, NAN, false);
        assert_int_equal(now->at_once, counts);
        assert_true(now->awaits == XFW_AWAITS_STREAM && now->wake_ns == (counts ? 0 : 3000));
        assert_true(!counts || (now->since_ns == 4000 && now->stack == 77));
        now = resolve(query, 32000, 32500, NAN, NAN, false); /* done before the call before */
        assert_true(now->at_once && now->awaits == XFW_AWAITS_STREAM);
        assert_true(played() == 32500);
        xfw_recorded_free(recorded);
        count = 0;
    }
}

/* The first launch of a kernel loads it; later ones, which all find the stream busy, do not take as
 * long to submit. */
static void test_a_launch_that_loads(void **state)
{
    recorded = xfw_recorded_new();
    struct xfw_op work = hand_work(XFW_KERNEL, 0, 0, 0, 0);
    struct xfw_op *loads = resolve(work, 1000, 101000, 103000, 203000, false);
    assert_true(loads->latency_ns == 102000);
    struct xfw_op *next = resolve(work, 102000, 104000, 204000, 205000, false);
    assert_true(next->latency_ns == 2000 + 3000 && next->space_ns == 1000);
    assert_true(played() == 104000);
    xfw_recorded_free(recorded);
}

/* Calls follow each other faster than one reaches the device, and slower than the device works: the
 * work before ends shortly before the next one arrives, which did not queue all the same. Without
 * what recording added to the calls each comes as much earlier, until the device is the slower one.
 */
static void test_calls_faster_than_they_reach_the_device(void **state)
{
    enum { LAUNCHES = 50, EACH = 6200, CALL_NS = 5800, WAY = 2000, TAKES = 3600, ADDED = 1000 };
    recorded = xfw_recorded_new();
    for (int i = 0; i < LAUNCHES; i++) {
        double start = 1000 + i * EACH, device = start + CALL_NS + WAY;
        resolve(hand_work(XFW_KERNEL, 0, 0, 0, 0), start, start + CALL_NS, device, device + TAKES,
                false);
    }
    double end = 1000 + (LAUNCHES - 1) * EACH + CALL_NS + WAY + TAKES + 5000;
    resolve(hand_wait(0), end - 8000, end, NAN, NAN, false);
    assert_true(hand_play(ops, count, NULL, XFW_LIKELY) == end);
    for (size_t i = 0; i < LAUNCHES; i++) {
        ops[i].records_ns = ADDED;
        xfw_op_alone(&ops[i]);
    }
    assert_true(played() == end - LAUNCHES * ADDED);
    xfw_recorded_free(recorded);
}

/* Two threads take turns, each with one long call, 100 us to hand over and 1000 us of idleness: who
 * makes the calls of one shorter makes the run shorter by as much. */
static void test_threads_that_take_turns(void **state)
{
    enum { ROUNDS = 10, US = 1000, TURN = 700 * US, WAY = 100 * US };
    recorded = xfw_recorded_new();
    double now = 5000;
    for (unsigned i = 0; i < 2 * ROUNDS; i++, now += TURN + WAY) {
        struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ALLOC, 0);
        op.thread = i % 2;
        struct xfw_op *resolved = resolve(op, now, now + TURN, NAN, NAN, false);
        bool begins = i == 1, known = i >= 10; /* of each, four turns only show it */
        assert_true((resolved->woken_by == 1 - op.thread) == (begins || known));
        assert_true(resolved->woken_by == XFW_NONE || resolved->woken_after_ns == WAY);
    }
    for (size_t i = 0; i < count; i++)
        if (ops[i].thread == 1 && i >= 12)
            ops[i].own_ns -= 200 * US;
    size_t shorter = (count - 12) / 2; /* the last of them comes after thread 0 is done */
    assert_true(played() == now - TURN - WAY - WAY - (double)(shorter - 1) * 200 * US);
    xfw_recorded_free(recorded);
}

/* Three threads make their first calls while others' are under way, and one behind these: which is
 * behind the last of them, and no thread waits for one that had not ended. */
static void test_threads_that_begin_at_once(void **state)
{
    enum { US = 1000, FIRST = 500 * US };
    static const double starts[] = {1000, 1200, 1500, 1200 + FIRST + 40 * US};
    recorded = xfw_recorded_new();
    for (unsigned i = 0; i < 4; i++) {
        struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ALLOC, 0);
        op.thread = i;
        struct xfw_op *resolved =
            resolve(op, starts[i], starts[i] + FIRST + 100 * i, NAN, NAN, false);
        assert_true(resolved->first == (i == 0));
        if (i == 0)
            continue;
        assert_true(resolved->woken_by == i - 1 && resolved->within_call == (i < 3));
        double from = i < 3 ? starts[i - 1] : starts[i - 1] + FIRST + 200;
        assert_true(resolved->woken_after_ns == starts[i] - from);
    }
    for (uint32_t longer = 0; longer < 2; longer++) {
        ops[1].own_ns += longer * 1000 * US; /* the second thread's */
        struct xfw_schedule *schedule = xfw_schedule_new();
        for (unsigned i = 0; i < 4; i++)
            xfw_schedule_op(schedule, &ops[i]);
        for (unsigned i = 0; i < 4; i++)
            assert_true(xfw_schedule_thread_now(schedule, i) ==
                        starts[i] + FIRST + 100 * i + (i == 1 ? longer * 1000 * US : 0));
        xfw_schedule_free(schedule);
    }
    count = 0;
    xfw_recorded_free(recorded);
}

/* A thread begins where the others were as long before its first call as it has been at work,
 * whatever they did meanwhile, and however much longer that takes. One that was at work before all
 * of them is put off with the first call. */
static void test_a_thread_that_had_been_at_work(void **state)
{
    enum { CALLS = 3, FIRST = 6500, LATER = 10000 };
    static const struct {
        double worked;
        unsigned call;
        bool within;
    } runs[] = {{0, 2, false}, {4000, 0, false}, {3200, 1, true}, {9000, 0, true}};
    for (unsigned run = 0; run < 4; run++) {
        recorded = xfw_recorded_new();
        struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ALLOC, 0);
        for (unsigned i = 0; i <= CALLS; i++) {
            double start = i < CALLS ? 1000 + 2000 * i : FIRST;
            op.number = i;
            op.thread = i == CALLS;
            op.worked_ns = i == CALLS ? runs[run].worked : 0;
            resolve(op, start, start + 1000, NAN, NAN, false);
        }
        const struct xfw_op *first = &ops[CALLS];
        double from = 1000 + 2000.0 * runs[run].call + (runs[run].within ? 0 : 1000);
        assert_true(!first->first && first->woken_by_call == runs[run].call + 1);
        assert_true(first->within_call == runs[run].within);
        assert_true(first->woken_after_ns == FIRST - from);
        ops[1].own_ns += LATER;
        struct xfw_schedule *schedule = xfw_schedule_new();
        for (unsigned i = 0; i <= CALLS; i++)
            xfw_schedule_op(schedule, &ops[i]);
        bool waits = runs[run].call == 2;
        assert_true(xfw_schedule_thread_now(schedule, 1) == FIRST + 1000 + (waits ? LATER : 0));
        xfw_schedule_free(schedule);
        xfw_recorded_free(recorded);
        count = 0;
    }
}

/* Two threads copy through one stream; the one that began first was kept from it for long. */
static void test_a_thread_that_overtakes_another(void **state)
{
    recorded = xfw_recorded_new();
    struct xfw_op up = hand_work(XFW_COPY, 0, 0, 0, 0);
    resolve(up, 1000, 90000, 80000, 89000, true);
    up.thread = 1;
    struct xfw_op *ahead = resolve(up, 2000, 9000, 5000, 8000, true);
    assert_true(ahead->overtook && ahead->latency_ns == 3000);
    struct xfw_op *behind = resolve(up, 10000, 99000, 90000, 98000, true);
    assert_true(!behind->overtook && behind->latency_ns == 1000);
    struct xfw_schedule *schedule = xfw_schedule_new();
    static const double ends[] = {90000, 9000, 99000};
    for (unsigned i = 0; i < 3; i++) {
        xfw_schedule_op(schedule, &ops[i]);
        assert_true(xfw_schedule_thread_now(schedule, i > 0) == ends[i]);
    }
    xfw_schedule_free(schedule);
    xfw_recorded_free(recorded);
    count = 0;
}

/* The device tells of the last of a staged copy's pieces, records cost each. */
static void test_records_of_pieces(void **state)
{
    enum { US = 1000 };
    recorded = xfw_recorded_new();
    for (int costly = 0; costly < 2; costly++) {
        struct xfw_op work = hand_work(XFW_COPY, 0, 0, 0, 0);
        work.engine = XFW_PEER;
        work.exclusive = false;
        work.last_piece = true;
        work.records_device_ns = costly ? 15 * US : 2 * US;
        double begun = costly * 2000 * US;
        struct xfw_op *op =
            resolve(work, begun, begun + US, begun + 950 * US, begun + 1000 * US, false);
        assert_true(op->duration_ns == 1000 * US && op->records_device_ns == 0);
        xfw_op_alone(op); /* 40 pieces of 25 us; never more than a fifth */
        assert_true(op->duration_ns == (costly ? 800 : 920) * US);
    }
    count = 0;
    xfw_recorded_free(recorded);
}

/* A copy that was submitted first and ran last: they took turns all the same. */
static void test_turns_in_another_order(void **state)
{
    static const double ran[][2] = {{2e6, 3e6}, {0, 1e6}, {1e6, 2e6}, {2.5e6, 3.5e6}};
    recorded = xfw_recorded_new();
    for (unsigned i = 0; i < 4; i++) {
        struct xfw_op op = *copy(i, XFW_TO_DEVICE, 0);
        op.start_ns = i * 10;
        op.end_ns = i * 10 + 10;
        op.device_start_ns = ran[i][0] + 100;
        op.device_end_ns = ran[i][1] + 100;
        xfw_recorded_resolve(recorded, &op, false, NULL);
        assert_true(op.exclusive == (i < 3)); /* the last one ran beside the first */
    }
    xfw_recorded_free(recorded);
    count = 0;
}

/* What others of the link added to a kernel's time goes, a copy behind it is ready when the link
 * is; a kernel that was done before it can have read all does not have the link. */
static void test_what_sharing_added(void **state)
{
    enum { ALONE = REACH + LINK + AFTER, MORE = LINK - 20 };
    recorded = xfw_recorded_new();
    struct xfw_op *first = resolve(reading_kernel(0), 0, 10, 10, 10 + ALONE, false);
    assert_true(first->duration_ns == ALONE && first->link_ns == LINK);
    struct xfw_op *second = resolve(reading_kernel(1), 20, 30, 30, 30 + ALONE + MORE, false);
    assert_true(second->duration_ns == ALONE);
    double free = 30 + ALONE + MORE - AFTER;
    struct xfw_op up = hand_work(XFW_COPY, 2, 0, 0, 0);
    up.engine = XFW_TO_DEVICE;
    assert_true(resolve(up, 40, 50, free, free + 9000, false)->space_ns == 0);
    struct xfw_op *longer = resolve(reading_kernel(0), 4000000, 4000010, 4000010, 4200010, false);
    assert_true(longer->duration_ns == 200000); /* nobody else had it */
    struct xfw_op *less = resolve(reading_kernel(0), 5000000, 5000010, 5000010, 5050010, false);
    assert_true(less->duration_ns == 50000 && less->link_ns == 0);
    xfw_recorded_free(recorded);
    count = 0;
}

/* The same of what a graph sends; a kernel that is given less memory is another kind. */
static void test_graphs_share_the_link(void **state)
{
    enum { ALONE = REACH + LINK + AFTER, HALF = LINK / 2, MORE = 5000 };
    (void)state;
    for (int sends = 0; sends < 2; sends++) {
        recorded = xfw_recorded_new();
        resolve(reading_kernel(0), 0, 10, 10, 10 + ALONE, false);
        struct xfw_op less = reading_kernel(1);
        less.link_ns = HALF;
        double at = 1000000;
        resolve(less, at, at + 10, at + 10, at + 10 + REACH + HALF + AFTER, false);
        at = 2000000;
        struct xfw_op graph = hand_work(XFW_GRAPH, 2, 0, 0, 0);
        graph.engine = XFW_COMPUTE;
        graph.exclusive = false;
        graph.up_ns = sends ? REACH + 2 * MORE : 0;
        resolve(graph, at, at + 10, at + 10, at + 10 + REACH + 3 * MORE, false);
        struct xfw_op *beside =
            resolve(reading_kernel(0), at, at + 20, at + 20, at + 20 + ALONE + MORE, false);
        assert_true(beside->duration_ns == ALONE + (sends ? 0 : MORE));
        xfw_recorded_free(recorded);
        count = 0;
    }
}

/* A graph's copy that queued takes as long as the others with what had passed by then, but the
 * engine was free again when its record says: the next one did not queue. */
static void test_graphs_that_queue(void **state)
{
    enum { ALONE = 5000, LEAD = 2000, REST = 2000, LAUNCH = 2000 };
    static const struct {
        double called, start, up;
    } graphs[] = {{0, LAUNCH, ALONE}, {2500, 7000, ALONE - LEAD}, {9000, 11000, ALONE}};
    recorded = xfw_recorded_new();
    for (unsigned i = 0; i < 3; i++) {
        struct xfw_op op = hand_work(XFW_GRAPH, i % 2, 0, 0, 0);
        op.exclusive = false;
        op.engine = XFW_COMPUTE;
        op.up_ns = graphs[i].up;
        op.lead_ns = LEAD;
        op.paced_ns = ALONE - LEAD;
        struct xfw_op *resolved =
            resolve(op, graphs[i].called, graphs[i].called + LAUNCH, graphs[i].start,
                    graphs[i].start + graphs[i].up + REST, false);
        assert_true(resolved->duration_ns == ALONE + REST && resolved->up_ns == ALONE);
        assert_true(resolved->lead_ns == LEAD);
    }
    xfw_recorded_free(recorded);
    count = 0;
}

static void collect(void *self, const struct xfw_op *op)
{
    add(*op);
}

/* The engine was not idle before a copy that a later one, of another stream, overtook. */
static void test_overtaken(void **state)
{
    enum { US = 1000 };
    static const double ran[][2] = {{5, 700}, {1405, 2100}, {705, 1400}};
    const struct xfw_sink sink = {.op = collect};
    for (int known = 0; known < 2; known++) {
        struct xfw_records_costs costs = {0};
        struct xfw_ops_queue *queue = xfw_ops_queue_new(&sink, &costs);
        xfw_ops_queue_begin(queue, 0);
        for (unsigned i = 0; i < 3; i++) {
            struct xfw_op op = hand_work(XFW_COPY, i, 0, 0, 0);
            op.start_ns = i * US;
            op.end_ns = i * US + 500;
            op.device_start_ns = ran[i][0] * US;
            op.device_end_ns = ran[i][1] * US;
            xfw_ops_queue_at(queue, known ? i * US : 3000 * US);
            xfw_ops_queue_push(queue, &op);
            xfw_ops_queue_release(queue, false);
        }
        assert_int_equal(count, known ? 0 : 3);
        xfw_ops_queue_release(queue, true);
        assert_true(ops[1].exclusive);
        assert_true(ops[1].space_ns == (known ? 5 : 705) * US);
        xfw_ops_queue_free(queue);
        count = 0;
    }
}

/* A thread's blocking copy in the default stream began when a kernel and a copy of another thread
 * were done, which were called later: it comes behind these, and has waited for them. The latter
 * waited for that kernel alone. first: both ran behind it, so that it keeps its place. */
static void late_in(bool legacy, bool first)
{
    enum { US = 1000 };
    static const double orders[][3][4] = {
        {{0, 1320, 705, 1310}, {20, 30, 35, 335}, {40, 700, 340, 690}},
        {{0, 660, 50, 650}, {20, 30, 655, 955}, {40, 1320, 960, 1310}}};
    const double(*ran)[4] = orders[first];
    const struct xfw_sink sink = {.op = collect};
    struct xfw_records_costs costs = {0};
    struct xfw_ops_queue *queue = xfw_ops_queue_new(&sink, &costs);
    xfw_ops_queue_begin(queue, 0);
    for (unsigned i = 0; i < 3; i++) {
        struct xfw_op op = hand_work(i == 1 ? XFW_KERNEL : XFW_COPY, 0, 0, 0, 0);
        op.thread = i == 0;
        op.stream_kind = legacy ? XFW_LEGACY : XFW_BLOCKING;
        op.engine = i == 2 ? XFW_TO_HOST : op.engine;
        op.start_ns = ran[i][0] * US;
        op.end_ns = ran[i][1] * US;
        op.device_start_ns = ran[i][2] * US;
        op.device_end_ns = ran[i][3] * US;
        xfw_ops_queue_push(queue, &op)->blocks = i != 1;
    }
    xfw_ops_queue_release(queue, true);
    xfw_ops_queue_free(queue);
    assert_int_equal(count, 3);
    bool late = legacy && !first;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ops[i].number, late ? (i + 1) % 3 : i);
        assert_int_equal(ops[i].late_in, late && i == 2);
    }
    assert_true(!late || (ops[1].latency_ns == 5 * US && ops[2].latency_ns == 15 * US));
    count = 0;
}

static void test_late_in(void **state)
{
    (void)state;
    late_in(true, false);
    late_in(true, true);
    late_in(false, false); /* streams that wait for no others */
}

/* A copy that ran alone says how much of its time it hides; one that queued took less on the device
 * than it takes alone. */
static void test_leads_as_recorded(void **state)
{
    static const struct {
        double start, end, takes, lead; /* on the device, as recorded; as resolved */
    } runs[] = {{1005, 2005, 1000, 40},
                {2005, 2965, 1000, 40},
                {2965, 3925, 1000, 40},
                {20000, 21000, 1000, 40},
                {21000, 21985, 1000, 40}};
    recorded = xfw_recorded_new();
    for (unsigned i = 0; i < 5; i++) {
        struct xfw_op op = hand_work(XFW_COPY, i == 4 ? 1 : 0, 0, 0, 0);
        op.paced_ns = 960;
        op.lead_ns = 90; /* the most */
        double start = i < 3 ? 1000 + i : i == 3 ? 19995 : 20980;
        struct xfw_op *resolved = resolve(op, start, start + 1, runs[i].start, runs[i].end, false);
        assert_float_equal(resolved->duration_ns, runs[i].takes, 1e-6);
        assert_float_equal(resolved->lead_ns, runs[i].lead, 1e-6);
    }
    xfw_recorded_free(recorded);
    count = 0;
}

/* A copy that had long been submitted, and that the engine began late, keeps that time; one that
 * was submitted when the engine was idle would have followed the one before at the usual pace. */
static void test_an_engine_that_takes_its_time(void **state)
{
    for (int queued = 0; queued < 2; queued++) {
        recorded = xfw_recorded_new();
        for (unsigned i = 0; i < 2; i++) {
            struct xfw_op op = hand_work(XFW_COPY, 0, 0, 0, 0);
            op.paced_ns = 960;
            op.lead_ns = 90;
            double start = i == 0 ? 1000 : queued ? 1001 : 10000;
            double begins = i == 0 ? 1005 : 11005;
            struct xfw_op *resolved = resolve(op, start, start + 1, begins, begins + 1000, false);
            if (i == 1)
                assert_true(resolved->space_ns == (queued ? 9000 : 0));
            if (i == 1)
                assert_true(resolved->lead_ns == (queued ? 0 : 40));
        }
        xfw_recorded_free(recorded);
        count = 0;
    }
}

/* A copy that began long behind the kernel before it in its stream keeps that time, however closely
 * copies follow each other; one that was submitted later would not have had it. */
static void test_a_copy_behind_a_kernel(void **state)
{
    for (int late = 0; late < 2; late++) {
        recorded = xfw_recorded_new();
        resolve(hand_work(XFW_KERNEL, 0, 0, 0, 0), 1000, 2000, 5000, late ? 20000 : 50000, false);
        struct xfw_op copy = hand_work(XFW_COPY, 0, 0, 0, 0);
        copy.engine = XFW_TO_HOST;
        copy.paced_ns = 1600;
        copy.lead_ns = 90;
        double start = late ? 52000 : 2500;
        struct xfw_op *op = resolve(copy, start, start + 1000, 56000, 57500, false);
        assert_true(op->space_ns == (late ? 100 : 6000) && op->paced_ns == (late ? 1600 : 0));
        resolve(hand_wait(0), start + 1000, 60000, NAN, NAN, false);
        assert_true(played() == 60000);
        xfw_recorded_free(recorded);
        count = 0;
    }
}

enum { SERVED = 50000, PAGES = 8000 };

/* What a kernel waited for other kernels' faults to be served goes. */
static void test_faults_of_several_kernels(void **state)
{
    const double called[] = {0, 20, 500000}, waits[] = {0, SERVED - 20, 0};
    recorded = xfw_recorded_new();
    for (uint32_t i = 0; i < 3; i++) {
        struct xfw_op op = hand_work(XFW_KERNEL, i, 0, 0, 0);
        op.demanded.bytes = op.demanded.records = 1;
        op.demanded.stalled_ns = SERVED + waits[i];
        op.link_ns = PAGES;
        double begins = called[i] + 10;
        struct xfw_op *resolved =
            resolve(op, called[i], begins, begins, begins + SERVED + waits[i] + AFTER, false);
        assert_true(resolved->demanded.stalled_ns == SERVED);
        assert_true(resolved->duration_ns == SERVED + AFTER && resolved->link_ns == PAGES);
    }
    xfw_recorded_free(recorded);
    count = 0;
}

/* A prefetch's record is of its pages. It began when the driver did: as long before as the profile
 * says, behind the work of its stream, and behind what the driver did before. */
static void test_prefetches(void **state)
{
    static const struct {
        uint32_t stream;
        double called, start, takes; /* record; as resolved */
    } runs[] = {{0, 1000, 1000 + SERVED - PAGES, SERVED},
                {1, 1020, 1000 + 2 * SERVED - PAGES, SERVED},
                {1, 500000, 500100, PAGES + 100}, /* the profile has more than there was */
                {1, 600000, 600000 + SERVED - PAGES + 4000, SERVED}};
    recorded = xfw_recorded_new();
    for (unsigned i = 0; i < 4; i++) {
        struct xfw_op op = hand_work(XFW_COPY, runs[i].stream, 0, 0, 0);
        op.what = XFW_PREFETCH;
        op.reach_ns = SERVED;
        struct xfw_op *resolved = resolve(op, runs[i].called, runs[i].called + 10, runs[i].start,
                                          runs[i].start + PAGES, false);
        assert_true(resolved->duration_ns == runs[i].takes);
        assert_true(resolved->link_ns == PAGES && resolved->reach_ns == 0);
        assert_true(resolved->exclusive);
        assert_true(resolved->latency_ns == (i == 3 ? 4000 : 0));
    }
    xfw_recorded_free(recorded);
    count = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_that_only_waits),
        cmocka_unit_test(test_what_was_recorded_comes_again),
        cmocka_unit_test(test_waits_behind_prefetches),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_queries_at_once),
        cmocka_unit_test(test_a_launch_that_loads),
        cmocka_unit_test(test_calls_faster_than_they_reach_the_device),
        cmocka_unit_test(test_threads_that_take_turns),
        cmocka_unit_test(test_threads_that_begin_at_once),
        cmocka_unit_test(test_a_thread_that_had_been_at_work),
        cmocka_unit_test(test_a_thread_that_overtakes_another),
        cmocka_unit_test(test_records_of_pieces),
        cmocka_unit_test(test_turns_in_another_order),
        cmocka_unit_test(test_what_sharing_added),
        cmocka_unit_test(test_graphs_share_the_link),
        cmocka_unit_test(test_faults_of_several_kernels),
        cmocka_unit_test(test_prefetches),
        cmocka_unit_test(test_graphs_that_queue),
        cmocka_unit_test(test_overtaken),
        cmocka_unit_test(test_late_in),
        cmocka_unit_test(test_leads_as_recorded),
        cmocka_unit_test(test_an_engine_that_takes_its_time),
        cmocka_unit_test(test_a_copy_behind_a_kernel),
    };
    return cmocka_run_group_tests_name("recorded times", tests, NULL, NULL);
}
