/* Executable graphs: which copies a launch makes, after it was made and after changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/check.h"
#include "preload/base/own_stack.h"
#include "preload/content/verify.h"
#include "preload/intercept/graph.h"
#include "preload/intercept/hook.h"
#include "preload/lookup/driver.h"
#include "preload/record/clock.h"
#include "preload/record/cost.h"
#include "xferscope/trace.h"

/* ---- a driver with graphs of copies and of children ------------------------------------------ */

enum { MOST = 4 };
struct node {
    int type;
    size_t bytes;
    xcu_graph child;
};
struct source {
    size_t count;
    struct node nodes[MOST];
};

static xcu_result nodes_of(xcu_graph graph, xcu_graph_node *nodes, size_t *count)
{
    struct source *source = graph;
    for (size_t i = 0; nodes && i < source->count; i++)
        nodes[i] = &source->nodes[i];
    *count = source->count;
    return XCU_SUCCESS;
}

static uint64_t now; /* each question takes 100 ns */
static uint64_t reported_ns;

uint64_t xfs_now_apart_ns(void)
{
    return now;
}

atomic_bool xfs_verify_watching;
static unsigned not_known;

void xfs_verify_unknown(void)
{
    not_known++;
}

void xfs_returned(struct xfs_frame *f, int status)
{
    f->event.status = status;
}

static unsigned unusual;

void xfs_cost_unusual(unsigned why)
{
    unusual |= why;
}

void xfs_cost_took(unsigned why, uint64_t from_ns)
{
    assert_int_equal(why, XFT_OVERHEAD_GRAPH);
    reported_ns += now - from_ns;
}

static xcu_result type_of(xcu_graph_node node, int *type)
{
    now += 100;
    *type = ((struct node *)node)->type;
    return XCU_SUCCESS;
}

static xcu_result copy_of(xcu_graph_node node, struct xcu_memcpy3d *copy)
{
    *copy = (struct xcu_memcpy3d){.width = ((struct node *)node)->bytes};
    return XCU_SUCCESS;
}

static xcu_result child_of(xcu_graph_node node, xcu_graph *child)
{
    *child = ((struct node *)node)->child;
    return XCU_SUCCESS;
}

void xfs_check_failed(int *said, const char *words)
{
    (void)said;
    fail_msg("%s", words);
}

void *xfs_driver_symbol(const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } known[] = {
        {"cuGraphGetNodes", (void *)nodes_of},
        {"cuGraphNodeGetType", (void *)type_of},
        {"cuGraphMemcpyNodeGetParams", (void *)copy_of},
        {"cuGraphChildGraphNodeGetGraph", (void *)child_of},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i].name))
            return known[i].function;
    return NULL;
}

bool xfs_on_own_stack(void (*work)(void *), void *argument)
{
    work(argument);
    return true;
}

void xfs_copy_3d(struct xfs_frame *frame, const struct xcu_memcpy3d *copy)
{
    frame->event.bytes = copy->width;
}

void xfs_copy_in_memory(struct xft_event *event, const struct xfs_range *range)
{
}

/* ---- launches -------------------------------------------------------------------------------- */

#define EXEC ((xcu_graph_exec)0x7000)
static size_t launched;
static uint64_t bytes[2 * MOST];

static void publish(const struct xft_event *event)
{
    assert_true(event->flags & XFT_GRAPH);
    bytes[launched++] = event->bytes;
}

/* The copies of one launch, in order. */
static void assert_launch(const uint64_t *wanted, size_t count)
{
    struct xfs_frame frame = {0};
    unsigned before = not_known;
    launched = 0;
    atomic_store(&xfs_verify_watching, true);
    xfs_graph_launch(&frame, EXEC);
    assert_int_equal(not_known, before + 1); /* its kernels may change anything */
    assert_int_equal(frame.event.count, count);
    xfs_graph_transfers(&frame, publish);
    assert_int_equal(launched, count);
    assert_memory_equal(bytes, wanted, count * sizeof *wanted);
}
#define LAUNCHES(...)                                                                              \
    assert_launch((uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static struct source inner = {3, {{XCU_NODE_MEMCPY, 10, NULL}, {XCU_NODE_MEMCPY, 20, NULL}}};
static struct source grandchild = {1, {{XCU_NODE_MEMCPY, 30, NULL}}};
static struct source outer = {4,
                              {{XCU_NODE_MEMCPY, 1, NULL},
                               {XCU_NODE_GRAPH, 0, &inner},
                               {XCU_NODE_MEMCPY, 2, NULL},
                               {XCU_NODE_GRAPH, 0, &grandchild}}};

static int make(void **state)
{
    inner.nodes[2] = (struct node){XCU_NODE_GRAPH, 0, &grandchild};
    struct xfs_frame frame = {.early = XFS_INNER};
    xfs_graph_made(&frame, EXEC, &outer, XFT_GRAPH_INSTANTIATED);
    return 0;
}

static int gone(void **state)
{
    struct xfs_frame frame = {.early = XFS_INNER};
    xfs_graph_gone(&frame, EXEC);
    return 0;
}

static void children_are_launched_with_it(void **state)
{
    LAUNCHES(1, 10, 20, 30, 2, 30);
}

/* Its copies are others now, one by one; those outside and of another child are as they were. */
static void a_child_is_exchanged(void **state)
{
    struct source fresh_grandchild = {1, {{XCU_NODE_MEMCPY, 300, NULL}}};
    struct source fresh = {3,
                           {{XCU_NODE_MEMCPY, 100, NULL},
                            {XCU_NODE_MEMCPY, 200, NULL},
                            {XCU_NODE_GRAPH, 0, &fresh_grandchild}}};

    xfs_graph_child_changed(EXEC, &outer.nodes[1], &fresh);
    LAUNCHES(1, 100, 200, 300, 2, 30);
    xfs_graph_child_changed(EXEC, &outer.nodes[3], &fresh_grandchild);
    LAUNCHES(1, 100, 200, 300, 2, 300);
}

static void a_copy_is_exchanged(void **state)
{
    xfs_graph_copy_changed(EXEC, &outer.nodes[2], &(struct xcu_memcpy3d){.width = 7});
    LAUNCHES(1, 10, 20, 30, 7, 30);
    xfs_graph_node_changed(
        EXEC, &outer.nodes[0],
        &(struct xcu_node_params){.type = XCU_NODE_MEMCPY, .u.memcpy.copy.width = 8});
    LAUNCHES(8, 10, 20, 30, 7, 30);
}

static void a_copy_is_left_out(void **state)
{
    xfs_graph_node_enabled(EXEC, &outer.nodes[0], 0);
    LAUNCHES(10, 20, 30, 2, 30);
    xfs_graph_node_enabled(EXEC, &outer.nodes[0], 1);
    LAUNCHES(1, 10, 20, 30, 2, 30);
}

static void after_it_is_gone(void **state)
{
    struct xfs_frame frame = {0};
    xfs_graph_gone(&frame, EXEC);
    assert_int_equal(frame.event.kind, XFT_EVENT_GRAPH_CALL);
    assert_int_equal(frame.event.aux, XFT_GRAPH_DESTROYED);
    frame = (struct xfs_frame){0};
    launched = 0;
    xfs_graph_launch(&frame, EXEC);
    xfs_graph_transfers(&frame, publish);
    assert_int_equal(frame.event.count + launched, 0);
}

/* Its types were asked for twice: for memory, and for copies; five nodes in all. */
static void what_it_took_is_reported(void **state)
{
    struct xfs_frame frame = {.early = XFS_INNER};
    (void)state;
    now = reported_ns = 0;
    xfs_graph_made(&frame, EXEC, &outer, XFT_GRAPH_INSTANTIATED);
    assert_int_equal(reported_ns, now);
    assert_int_equal(frame.event.kind, XFT_EVENT_NONE);
    assert_true(now >= 500);
}

/* The outermost call is an event, and its overhead goes with that. */
static struct xft_event made_of(const struct source *source, enum xft_graph_call what, int status)
{
    struct xfs_frame frame = {0};
    xfs_graph_call_returned(&frame, status, true);
    xfs_graph_made(&frame, EXEC, (xcu_graph)(uintptr_t)source, what);
    return frame.event;
}

static void calls_are_events(void **state)
{
    (void)state;
    struct xft_event first = made_of(&outer, XFT_GRAPH_INSTANTIATED, 0);
    struct xft_event same = made_of(&outer, XFT_GRAPH_UPDATED, 0);
    struct xft_event other = made_of(&inner, XFT_GRAPH_INSTANTIATED, 0);
    assert_int_equal(first.kind, XFT_EVENT_GRAPH_CALL);
    assert_int_equal(first.src, XFS_ADDR(EXEC));
    assert_int_equal(first.count, 9); /* four, three of the child, and one of a child of either */
    assert_true(first.width != 0 && first.width == same.width && first.width != other.width);
    assert_int_equal(same.aux, XFT_GRAPH_UPDATED);
    assert_true(unusual & XFT_OVERHEAD_GRAPH);
    assert_int_equal(made_of(&outer, XFT_GRAPH_INSTANTIATED, 2).kind, XFT_EVENT_NONE);
    struct xft_event failed = made_of(&outer, XFT_GRAPH_UPDATED, 910);
    assert_int_equal(failed.kind, XFT_EVENT_GRAPH_CALL);
    assert_true(failed.flags & XFT_FAILED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, gone)
    const struct CMUnitTest tests[] = {
        TEST(children_are_launched_with_it),
        TEST(a_child_is_exchanged),
        TEST(a_copy_is_exchanged),
        TEST(a_copy_is_left_out),
        TEST(after_it_is_gone),
        TEST(calls_are_events),
        TEST(what_it_took_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
