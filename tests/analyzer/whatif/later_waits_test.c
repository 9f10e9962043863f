/* What overlaps, and which of the host's waits come later then, played by hand: not later than what
 * they are for, where the host seems to need results, or where another stage begins. Copies and
 * kernels take 100 ns each, calls nothing, unless it is said otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { MOST = 64, NS = 100, BYTES = 1 << 20, POINTERS = 32, READS = 1, WRITES };
enum { HOST = 0x10000000, DEVICE = 0x50000000, MAPPED = 0x70000000 };

struct run {
    struct xfa_analysis analysis;
    struct xfa_trace trace;
    struct xfa_process process;
    struct xfa_run of_machine;
    uint64_t given[POINTERS];
    uint32_t given_count;
    struct xfw_op ops[MOST];
    size_t count;
};

static void name_kernel(struct run *run, uint32_t id, const char *name)
{
    struct xfa_text *text = xfa_table_put(&run->trace.names.texts, &id);
    text->text = name;
    text->bytes = (uint32_t)strlen(name);
}

static void start(struct run *run)
{
    const struct xfa_class_key up = {
        .row = {.direction = XFT_DIR_H2D, .src_mem = XFT_MEM_PINNED, .dst_mem = XFT_MEM_DEVICE}};
    *run = (struct run){.count = 0};
    run->process.trace = &run->trace;
    run->analysis.achievable.run = &run->of_machine;
    xfa_table_init(&run->trace.names.arguments, sizeof(uint32_t), sizeof(struct xfa_arguments));
    xfa_table_init(&run->trace.names.texts, sizeof(uint32_t), sizeof(struct xfa_text));
    name_kernel(run, READS, "_Z6k_readPKc");
    name_kernel(run, WRITES, "_Z7k_writePc");
    xfa_classes_init(&run->analysis.classes, NULL, NULL);
    xfa_class_put(&run->analysis.classes, &up);
    struct xfa_class_key rows = up;
    rows.shape = XFA_STRIDED;
    xfa_class_put(&run->analysis.classes, &rows);
    const struct xfa_class_key down = {
        .row = {.direction = XFT_DIR_D2H, .src_mem = XFT_MEM_DEVICE, .dst_mem = XFT_MEM_PINNED}};
    xfa_class_put(&run->analysis.classes, &down);
}

static void finish(struct run *run)
{
    xfa_table_free(&run->trace.names.arguments);
    xfa_table_free(&run->trace.names.texts);
    xfa_classes_free(&run->analysis.classes);
}

static struct xfw_op *add(struct run *run, struct xfw_op op)
{
    run->ops[run->count] = op;
    return &run->ops[run->count++];
}

static struct xfw_op *up(struct run *run, uint32_t stream, unsigned buffer)
{
    struct xfw_op *op = add(run, hand_work(XFW_COPY, stream, 0, 0, NS));
    op->class = 0;
    op->src = HOST + (uint64_t)buffer * BYTES;
    op->dst = DEVICE + (uint64_t)buffer * BYTES;
    op->bytes = BYTES;
    return op;
}

static struct xfw_op *kernel(struct run *run, uint32_t stream, uint64_t pointer, uint32_t name)
{
    struct xfw_op *op = add(run, hand_work(XFW_KERNEL, stream, 0, 0, NS));
    uint32_t id = run->given_count + 1;
    struct xfa_arguments *arguments = xfa_table_put(&run->trace.names.arguments, &id);
    run->given[run->given_count] = pointer;
    arguments->count = 1;
    arguments->pointers = (const unsigned char *)&run->given[run->given_count++];
    op->arguments = id;
    op->name = name;
    return op;
}

/* A buffer is sent and used. */
static void part(struct run *run, uint32_t stream, unsigned buffer)
{
    up(run, stream, buffer);
    kernel(run, stream, DEVICE + (uint64_t)buffer * BYTES, READS);
}

static double before(struct run *run)
{
    return hand_play_in(&run->process, run->ops, run->count, NULL, XFW_LIKELY);
}

static double overlapped_as(struct run *run, enum xfw_certainty certainty)
{
    struct xfw_change *change = xfw_change_dataflow(
        &run->analysis, &(struct xfw_dataflow_terms){.buffers = 2, .to_device = true});
    double end = hand_play_in(&run->process, run->ops, run->count, change, certainty);
    xfw_change_free(change);
    return end;
}

static double overlapped(struct run *run)
{
    return overlapped_as(run, XFW_LIKELY);
}

/* A wait for an event comes no later than what the event recorded, though the streams' other work
 * goes on. */
static void test_event(void **state)
{
    struct run run;
    (void)state;
    start(&run);
    part(&run, 0, 0);
    kernel(&run, 1, MAPPED, READS);
    struct xfw_op *record = add(&run, hand_op(XFW_RECORD, XFT_EVENT_RECORD, 0));
    record->event = 0;
    record->stream = 1;
    kernel(&run, 1, MAPPED, READS)->duration_ns = 10 * NS;
    struct xfw_op *wait = add(&run, hand_op(XFW_CALL, XFT_EVENT_SYNC, 0));
    wait->awaits = XFW_AWAITS_EVENT;
    wait->event = 0;
    assert_true(before(&run) == NS);
    assert_true(overlapped(&run) == NS);
    finish(&run);
}

static void wait_for_event(struct run *run, uint32_t stream)
{
    struct xfw_op *record = add(run, hand_op(XFW_RECORD, XFT_EVENT_RECORD, 0));
    record->event = 0;
    record->stream = stream;
    struct xfw_op *wait = add(run, hand_op(XFW_CALL, XFT_EVENT_SYNC, 0));
    wait->awaits = XFW_AWAITS_EVENT;
    wait->event = 0;
}

/* A thread that waits for an event of its stream's waits for no part of another thread's, unless
 * the event is of that one's stream. */
static void test_event_of_a_thread(void **state)
{
    enum { LONG = 10 * NS, OWN = 100 * NS };
    (void)state;
    for (uint32_t of = 0; of < 2; of++) {
        struct run run;
        start(&run);
        for (unsigned i = 0; i < 3; i++) {
            part(&run, 0, i);
            run.ops[run.count - 1].duration_ns = LONG;
        }
        for (size_t i = 0; i < run.count; i++)
            run.ops[i].thread = 1;
        part(&run, 1, 4);
        wait_for_event(&run, of);
        add(&run, hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0))->gap_ns = OWN;
        assert_true(overlapped(&run) == (of == 0 ? NS + 2 * LONG : 0) + OWN);
        finish(&run);
    }
}

/* Two streams in turns, each part waited for. As recorded one of them was busy at a time, or both:
 * then the program has what it needs, but for its waits. */
static void test_streams_in_turns(void **state)
{
    (void)state;
    for (int both = 0; both < 2; both++) {
        struct run run;
        start(&run);
        for (unsigned i = 0; i < 4; i++) {
            size_t first = run.count;
            part(&run, i % 2, i);
            for (size_t k = first; k < run.count; k++)
                run.ops[k].device_end_ns = 1000 * (i + 1);
            add(&run, hand_wait(0))->start_ns = both ? 0 : 1000 * i + 500;
        }
        assert_true(before(&run) == 4 * 2 * NS);
        if (both)
            assert_true(overlapped(&run) > (4 + 1) * NS);
        else
            assert_true(overlapped(&run) == (4 + 1) * NS);
        finish(&run);
    }
}

/* Work of call sites that gave none before waits for all of the stage before it; the same stage
 * again is a part as any other. */
static void test_stages(void **state)
{
    (void)state;
    for (int another = 0; another < 2; another++) {
        struct run run;
        start(&run);
        for (unsigned i = 0; i < 3; i++) {
            size_t first = run.count;
            part(&run, 0, i);
            for (size_t k = first; k < run.count; k++)
                run.ops[k].from = (uint32_t)(k - first + 1) + (another && i == 2 ? 2 : 0);
            add(&run, hand_wait(0));
        }
        assert_true(before(&run) == 3 * 2 * NS);
        assert_true(overlapped(&run) == (another ? 5 : 4) * NS);
        finish(&run);
    }
}

/* Mapped or managed memory that kernels write needs no copy to be read, and of a few bytes may be a
 * flag; what kernels only read tells the host nothing. */
static void test_mapped(void **state)
{
    static const struct {
        uint32_t name;
        uint64_t bytes;
        double less;
        enum xft_memory memory;
    } cases[] = {
        {READS, BYTES, 2 * NS, XFT_MEM_MAPPED}, {WRITES, BYTES, 0, XFT_MEM_MAPPED},
        {READS, 4, 0, XFT_MEM_MAPPED},          {READS, BYTES, 2 * NS, XFT_MEM_MANAGED},
        {WRITES, BYTES, 0, XFT_MEM_MANAGED},
    };
    (void)state;
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct run run;
        start(&run);
        struct xfw_op *taken = add(&run, hand_op(XFW_CALL, XFT_EVENT_ALLOC, 0));
        taken->memory = cases[c].memory;
        taken->dst = MAPPED;
        taken->bytes = cases[c].bytes;
        for (unsigned i = 0; i < 3; i++) {
            part(&run, 0, i);
            kernel(&run, 0, MAPPED, cases[c].name);
            add(&run, hand_wait(0));
        }
        assert_true(before(&run) == 9 * NS);
        assert_true(overlapped(&run) == before(&run) - cases[c].less);
        finish(&run);
    }
}

/* What a graph writes is not known: results in managed memory are looked at behind the wait for it,
 * such in mapped memory at any time from then on. */
static void test_graphs_of_another_stage(void **state)
{
    static const struct {
        enum xft_memory memory;
        bool each;
        double less;
    } cases[] = {
        {XFT_MEM_MANAGED, false, 2 * NS}, {XFT_MEM_MANAGED, true, 0}, {XFT_MEM_MAPPED, false, 0}};
    (void)state;
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct run run;
        start(&run);
        struct xfw_op *taken = add(&run, hand_op(XFW_CALL, XFT_EVENT_ALLOC, 0));
        taken->memory = cases[c].memory;
        taken->dst = MAPPED;
        taken->bytes = BYTES;
        for (unsigned i = 0; i < 4; i++) {
            if (i > 0)
                part(&run, 0, i);
            if (i == 0 || cases[c].each)
                add(&run, hand_work(XFW_GRAPH, 0, 0, 0, NS));
            add(&run, hand_wait(0));
        }
        assert_true(overlapped(&run) == before(&run) - cases[c].less);
        finish(&run);
    }
}

/* A graph of which all kernels were seen as they were captured writes what these were given: where
 * it has other nodes, another thread captured, or making it failed, that is not known. */
static void test_captured_graphs(void **state)
{
    enum { EXEC = 0x1000, COPIES = 2 };
    static const struct {
        enum xft_memory memory;
        enum xft_graph_call made;
        uint64_t pointer;
        uint32_t name;
        unsigned nodes;
        uint32_t thread;
        double less;
    } cases[] = {
        {XFT_MEM_MANAGED, XFT_GRAPH_INSTANTIATED, DEVICE, WRITES, COPIES + 1, 0, 2 * NS},
        {XFT_MEM_MANAGED, XFT_GRAPH_UPDATED, DEVICE, WRITES, COPIES + 1, 0, 2 * NS},
        {XFT_MEM_MANAGED, XFT_GRAPH_INSTANTIATED, MAPPED, READS, COPIES + 1, 0, 2 * NS},
        {XFT_MEM_MAPPED, XFT_GRAPH_INSTANTIATED, DEVICE, WRITES, COPIES + 1, 0, 2 * NS},
        {XFT_MEM_MANAGED, XFT_GRAPH_INSTANTIATED, MAPPED, WRITES, COPIES + 1, 0, 0},
        {XFT_MEM_MAPPED, XFT_GRAPH_INSTANTIATED, MAPPED, WRITES, COPIES + 1, 0, 0},
        {XFT_MEM_MANAGED, XFT_GRAPH_INSTANTIATED, DEVICE, WRITES, COPIES + 2, 0, 0},
        {XFT_MEM_MANAGED, XFT_GRAPH_INSTANTIATED, DEVICE, WRITES, COPIES + 1, 1, 0},
        {XFT_MEM_MANAGED, 0, DEVICE, WRITES, COPIES + 1, 0, 0},
        {XFT_MEM_MANAGED, XFT_GRAPH_DESTROYED, DEVICE, WRITES, COPIES + 1, 0, 0},
    };
    (void)state;
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct run run;
        start(&run);
        struct xfw_op *taken = add(&run, hand_op(XFW_CALL, XFT_EVENT_ALLOC, 0));
        taken->memory = cases[c].memory;
        taken->dst = MAPPED;
        taken->bytes = BYTES;
        struct xfw_op *captured = kernel(&run, XFW_NONE, cases[c].pointer, cases[c].name);
        const uint32_t arguments = captured->arguments;
        *captured = hand_op(XFW_CALL, XFT_EVENT_LAUNCH, 0);
        captured->arguments = arguments;
        captured->name = cases[c].name;
        struct xfw_op *made = add(&run, hand_op(XFW_CALL, XFT_EVENT_GRAPH_CALL, 0));
        made->thread = cases[c].thread;
        made->dst = EXEC;
        made->threads = cases[c].nodes;
        made->memory = cases[c].made;
        for (unsigned i = 0; i < 3; i++) {
            part(&run, 0, i);
            struct xfw_op *graph = add(&run, hand_work(XFW_GRAPH, 0, 0, 0, NS));
            graph->threads = EXEC;
            graph->arguments = COPIES;
            add(&run, hand_wait(0));
        }
        assert_true(overlapped(&run) == before(&run) - cases[c].less);
        finish(&run);
    }
}

/* What another change has the other GPU send is not sent by the host: a few bytes that come back
 * may decide what follows, not where the host has sent many. */
static void test_few_beside_a_peer(void **state)
{
    (void)state;
    for (int peer = 0; peer < 2; peer++) {
        struct run run;
        start(&run);
        for (unsigned i = 0; i < 3; i++) {
            up(&run, 1, 8 + i)->engine = peer ? XFW_PEER : XFW_TO_DEVICE;
            part(&run, 0, i);
            run.ops[run.count - 2].bytes = 4096;
            struct xfw_op *few = add(&run, hand_work(XFW_COPY, 0, 0, 0, 0));
            few->engine = XFW_TO_HOST;
            few->class = 2;
            few->src = DEVICE;
            few->dst = HOST + 16 * (uint64_t)BYTES;
            few->bytes = 4;
            add(&run, hand_wait(0));
        }
        assert_true(overlapped(&run) == before(&run) - (peer ? 0 : 2 * NS));
        finish(&run);
    }
}

/* A prefetch is of its own memory: other copies need not wait for it, nor it for them. */
static void test_prefetches(void **state)
{
    for (int own = 0; own < 2; own++)
        for (int first = 0; first < 2; first++) {
            struct run run;
            (void)state;
            start(&run);
            for (int i = 0; i < 2; i++) {
                if ((i == 0) == first) {
                    struct xfw_op *op = add(&run, hand_work(XFW_PREFETCH, 1, 0, 0, NS));
                    op->engine = XFW_TO_DEVICE;
                    op->src = own ? HOST : MAPPED;
                    op->bytes = BYTES;
                } else {
                    up(&run, 0, 0);
                }
            }
            add(&run, hand_wait(0));
            assert_true(before(&run) == NS);
            assert_true(overlapped(&run) == (own && !first ? 2 : 1) * NS);
            finish(&run);
        }
}

/* A copy that another change makes says by its source what the kernel names: the one after it does
 * not send what it brought, and queues behind it. */
static void test_sent_anew(void **state)
{
    const double lead = 20;
    struct run run;
    (void)state;
    start(&run);
    for (unsigned i = 0; i < 2; i++) {
        struct xfw_op *copy = up(&run, 0, 0);
        copy->class = XFW_NONE;
        copy->made_up = true;
        copy->src = copy->dst;
        copy->lead_ns = lead;
    }
    add(&run, hand_wait(0));
    assert_true(overlapped(&run) == 2 * NS - lead);
    finish(&run);
}

/* Copies of rows leave as others do; at worst they stay. */
static void test_rows(void **state)
{
    struct run run;
    (void)state;
    start(&run);
    for (unsigned i = 0; i < 3; i++) {
        part(&run, 0, i);
        run.ops[run.count - 2].class = 1;
    }
    add(&run, hand_wait(0));
    assert_true(before(&run) == 6 * NS);
    assert_true(overlapped(&run) == 4 * NS);
    assert_true(overlapped_as(&run, XFW_LOW) == before(&run));
    finish(&run);
}

/* A graph that is cut takes no longer than in one piece. */
static void test_cut_graph(void **state)
{
    struct run run;
    (void)state;
    start(&run);
    struct xfw_op *graph = add(&run, hand_work(XFW_GRAPH, 0, 0, 0, 2 * NS));
    graph->up_ns = NS;
    graph->space_ns = NS / 2.0;
    add(&run, hand_wait(0));
    assert_true(before(&run) == NS / 2.0 + 2 * NS);
    assert_true(overlapped(&run) == 2 * NS);
    finish(&run);
}

/* ---- copies that block ----------------------------------------------------------------------- */

enum { LONG = 20000, SUBMITTED = 2000, USES = 200000 }; /* ns; of what the profile does not know */

/* A result is fetched by a copy that blocks, and the host has the time to use it. */
static void fetch(struct run *run, unsigned buffer)
{
    struct xfw_op *op = add(run, hand_work(XFW_COPY, 0, 0, 0, LONG));
    op->class = 2;
    op->engine = XFW_TO_HOST;
    op->awaits = XFW_AWAITS_ITSELF;
    op->src = DEVICE + (uint64_t)buffer * BYTES;
    op->dst = MAPPED + (uint64_t)buffer * BYTES;
    op->bytes = BYTES;
    add(run, hand_op(XFW_CALL, XFT_EVENT_NONE, 0))->gap_ns = USES;
}

/* Such a copy is as good as a wait behind it: the data that the host uses is that of the part
 * before, unless it sends what it has fetched. */
static void test_fetched_data(void **state)
{
    enum { PARTS = 4 };
    (void)state;
    for (int sends = 0; sends < 2; sends++) {
        struct run run;
        start(&run);
        for (unsigned i = 0; i < PARTS; i++) {
            part(&run, 0, i);
            if (sends && i > 0)
                run.ops[run.count - 2].src = MAPPED + (uint64_t)(i - 1) * BYTES;
            fetch(&run, i);
        }
        assert_true(before(&run) == PARTS * (2 * NS + LONG + USES));
        double later = SUBMITTED + USES, at_once = 2 * NS + LONG + USES;
        assert_true(overlapped(&run) == (sends ? later + (PARTS - 1) * at_once : PARTS * later));
        assert_true(overlapped_as(&run, XFW_LOW) >= before(&run));
        finish(&run);
    }
}

/* What is fetched once more in the same part is the data at hand. */
static void test_fetched_again(void **state)
{
    enum { PARTS = 3 };
    struct run run;
    (void)state;
    start(&run);
    for (unsigned i = 0; i < PARTS; i++) {
        part(&run, 0, i);
        fetch(&run, i);
        fetch(&run, i);
    }
    assert_true(before(&run) == PARTS * (2 * NS + 2 * (LONG + USES)));
    assert_true(overlapped(&run) == PARTS * (SUBMITTED + USES + LONG + USES));
    finish(&run);
}

/* ---- threads that share the default stream --------------------------------------------------- */

static double with_both(struct run *run, struct xfw_change *own, struct xfw_change *flow)
{
    struct xfw_change *both[] = {own, flow};
    struct xfw_player *player = xfw_player_new(&run->process, both, flow ? 2 : 1, XFW_LIKELY);
    for (size_t i = 0; i < run->count; i++)
        xfw_player_op(player, &run->ops[i]);
    xfw_player_finish(player, NULL);
    double end = xfw_schedule_now(xfw_player_schedule(player));
    xfw_player_free(player);
    return end;
}

/* Streams of their own are streams as any others: copies leave them, too. */
static void test_own_streams(void **state)
{
    enum { ROUNDS = 3, KERNEL = 3 };
    struct run run;
    (void)state;
    start(&run);
    add(&run, hand_op(XFW_CALL, XFT_EVENT_NONE, 0))->thread = 1; /* both begin at once */
    for (unsigned i = 0; i < 2 * ROUNDS; i++) {
        size_t first = run.count;
        part(&run, 0, i);
        run.ops[run.count - 1].duration_ns = KERNEL * NS;
        struct xfw_op *wait = add(&run, hand_op(XFW_CALL, XFT_EVENT_SYNC, 0));
        wait->awaits = XFW_AWAITS_STREAM;
        wait->stream = 0;
        for (size_t k = first; k < run.count; k++) {
            run.ops[k].stream_kind = XFW_LEGACY;
            run.ops[k].thread = i % 2;
        }
    }
    struct xfw_change *own = xfw_change_own_streams(&run.analysis, true);
    struct xfw_change *flow = xfw_change_dataflow(
        &run.analysis, &(struct xfw_dataflow_terms){.buffers = 2, .to_device = true});
    assert_true(own->first);
    assert_true(with_both(&run, flow, NULL) >= 2 * ROUNDS * KERNEL * NS);
    assert_true(with_both(&run, own, NULL) == (1 + ROUNDS * (1 + KERNEL)) * NS);
    assert_true(with_both(&run, own, flow) == (1 + 1 + ROUNDS * KERNEL) * NS);
    xfw_change_free(own);
    xfw_change_free(flow);
    finish(&run);
}

static void note_stream(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
                        const struct xfw_schedule *schedule)
{
    (void)recorded, (void)schedule;
    if (op->what == XFW_COPY)
        *(uint32_t *)self = op->stream;
}

static void note_after(void *self, uint32_t stream, double ns)
{
    (void)self, (void)stream, (void)ns;
}

/* A copy of the default stream that becomes asynchronous goes to the stream of its work, also where
 * another change has taken it out of the default stream before. */
static void test_of_default_stream(void **state)
{
    enum { WORK = 2 };
    struct run run;
    struct xfw_set fetches = {0};
    uint32_t copied = XFW_NONE;
    const struct xfw_tap tap = {.self = &copied, .op = note_stream, .after = note_after};
    (void)state;
    start(&run);
    kernel(&run, WORK, DEVICE, WRITES)->stream_kind = XFW_BLOCKING;
    fetch(&run, 0);
    run.ops[1].stream_kind = XFW_LEGACY;
    xfw_set_add(&fetches, 2);
    struct xfw_change *own = xfw_change_own_streams(&run.analysis, false);
    struct xfw_change *both[] = {own, xfw_change_async(&run.analysis, &fetches)};
    struct xfw_player *player = xfw_player_new(&run.process, both, 2, XFW_LIKELY);
    xfw_player_tap(player, &tap);
    for (size_t i = 0; i < run.count; i++)
        xfw_player_op(player, &run.ops[i]);
    xfw_player_free(player);
    assert_int_equal(copied, WORK);
    xfw_change_free(both[0]);
    xfw_change_free(both[1]);
    finish(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event),
        cmocka_unit_test(test_event_of_a_thread),
        cmocka_unit_test(test_streams_in_turns),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_mapped),
        cmocka_unit_test(test_graphs_of_another_stage),
        cmocka_unit_test(test_captured_graphs),
        cmocka_unit_test(test_few_beside_a_peer),
        cmocka_unit_test(test_prefetches),
        cmocka_unit_test(test_sent_anew),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_cut_graph),
        cmocka_unit_test(test_fetched_data),
        cmocka_unit_test(test_fetched_again),
        cmocka_unit_test(test_own_streams),
        cmocka_unit_test(test_of_default_stream),
    };
    return cmocka_run_group_tests_name("what if: waits that come later", tests, NULL, NULL);
}
