/* What records cost graphs, by profiles made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/op/recording_cost.h"
#include "analyzer/whatif/ops/ops_queue.h"
#include "tests/analyzer/lab/hand_ops.h"

#define BOTH (XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS)

enum { NODES = 5, EXEC = 0x1000, OTHER = 0x2000 };

static struct xfa_gpu gpus[1];
static const struct xfa_run run = {.gpus = gpus, .gpu_count = 1};

static struct xfp_scalar scalar(char *name, double ns)
{
    return (struct xfp_scalar){.name = name, .unit = "ns", .cost = {.n = 1, .median = ns}};
}

static struct xfp_table calls_table(char *name, struct xfp_row *row, double ns)
{
    *row = (struct xfp_row){.at = NODES, .cost = {.n = 1, .median = ns}};
    static char nodes[] = "nodes";
    return (struct xfp_table){.name = name, .by = nodes, .rows = row, .row_count = 1};
}

/* By the profile 1100 ns of a launch of NODES are CUPTI's, and 400 the driver's. */
struct lab {
    struct xfp_scalar scalars[10];
    struct xfp_row rows[3];
    struct xfp_table tables[3];
    struct xfp_profile profile;
    struct xfa_achievable achievable;
    struct xfw_records_costs costs;
    enum xfw_behind behind;
};

static int begin(void **state)
{
    static char names[][40] = {"records/graph/launch/gpu0",
                               "records/graph/launch-node/gpu0",
                               "records/graph/update/gpu0",
                               "records/graph/update-node/gpu0",
                               "records/graph/device/gpu0",
                               "records/capture/launch/gpu0",
                               "records/launch/gpu0",
                               "records/graph/destroy/gpu0",
                               "records/graph/destroy-node/gpu0"};
    static const double ns[] = {100, 200, 50, 50, 30, 70, 999, 40, 20};
    static char launch_name[] = "graph/launch/gpu0", update_name[] = "graph/update/gpu0";
    static struct lab lab;
    lab = (struct lab){.behind = XFW_BEHIND_WAIT};
    for (size_t i = 0; i < 9; i++)
        lab.scalars[i] = scalar(names[i], ns[i]);
    lab.tables[0] = calls_table(launch_name, &lab.rows[0], 400);
    lab.tables[1] = calls_table(update_name, &lab.rows[1], 1000);
    lab.profile = (struct xfp_profile){
        .scalars = lab.scalars, .scalar_count = 9, .tables = lab.tables, .table_count = 2};
    xfa_achievable_init(&lab.achievable, &lab.profile, &run);
    lab.costs.achievable = &lab.achievable;
    *state = &lab;
    return 0;
}

static int end(void **state)
{
    struct lab *lab = *state;
    xfa_achievable_free(&lab->achievable);
    return 0;
}

/* A launch whose call took so long, and its work 1000 ns, without what recording cost. */
static struct xfw_op launched_with(struct lab *lab, uint64_t exec, double own_ns,
                                   const struct xfw_graph_parts *parts)
{
    struct xfw_op op = hand_work(XFW_GRAPH, 0, own_ns, 20000, 1000);
    op.kind = XFT_EVENT_GRAPH_LAUNCH;
    op.threads = exec;
    xfw_records_costs_add(&lab->costs, &op, false, BOTH, &lab->behind);
    xfw_records_costs_add_parts(&lab->costs, &op, parts);
    assert_true(op.records_ns == 1100);
    xfw_op_alone(&op);
    return op;
}

static struct xfw_op launched(struct lab *lab, uint64_t exec, double own_ns, double parts_ns)
{
    const struct xfw_graph_parts kernels = {NODES, NODES, parts_ns};
    return launched_with(lab, exec, own_ns, &kernels);
}

/* What another call about a graph, which took so long, takes without what recording cost. */
static double called(struct lab *lab, enum xft_graph_call what, uint64_t exec, double own_ns)
{
    struct xfw_op op = xfw_op_none();
    op.what = XFW_CALL;
    op.kind = XFT_EVENT_GRAPH_CALL;
    op.memory = (uint8_t)what;
    op.dst = exec;
    op.threads = what == XFT_GRAPH_DESTROYED ? 0 : NODES;
    op.own_ns = own_ns;
    xfw_records_costs_add(&lab->costs, &op, false, BOTH, &lab->behind);
    xfw_op_alone(&op);
    return op.own_ns;
}

static bool is_near(double ns, double expected)
{
    return fabs(ns - expected) < 1e-6;
}

/* A graph pays for the record of each of its parts. */
static void test_profile_without_graphs(void **state)
{
    static char name[] = "records/launch/gpu0";
    struct xfp_scalar scalars[] = {scalar(name, 3)};
    const struct xfp_profile profile = {.scalars = scalars, .scalar_count = 1};
    struct xfa_achievable achievable;
    xfa_achievable_init(&achievable, &profile, &run);
    struct xfw_records_costs costs = {.achievable = &achievable};
    struct xfw_op graph = {.what = XFW_GRAPH, .bare_known = true};
    const struct xfw_graph_parts kernels = {NODES, NODES, 0};
    xfw_records_costs_add_parts(&costs, &graph, &kernels);
    assert_true(graph.records_ns == 3 * NODES && !graph.bare_known);
    xfa_achievable_free(&achievable);
}

/* The first launch uploads the graph: of what is beyond the profile's figures a third is CUPTI's.
 * Of the others nothing is beyond what a launch takes, but that CUPTI takes at most three times the
 * usual. */
static void test_launches(void **state)
{
    struct lab *lab = *state;
    assert_true(is_near(launched(lab, EXEC, 4500, 0).own_ns, 400 + 2.0 / 3 * 3000));
    assert_true(is_near(launched(lab, EXEC, 1500, 0).own_ns, 400));
    assert_true(is_near(launched(lab, EXEC, 2600, 0).own_ns, 400));
    assert_true(is_near(launched(lab, EXEC, 9000, 0).own_ns, 9000 - 3300));
    assert_true(is_near(launched(lab, EXEC, 300, 0).own_ns, 300));
    assert_true(is_near(launched(lab, OTHER, 4500, 0).own_ns, 2400));
}

/* Of copies and memsets the driver takes half a launch each, by the figures here 500 ns. They are
 * less certain than kernels: a third of what is beyond the profile's figures is CUPTI's. */
static void test_with_copies(void **state)
{
    struct lab *lab = *state;
    static char launch[] = "launch/by-process/gpu0";
    lab->scalars[lab->profile.scalar_count++] = scalar(launch, 1000);
    const struct xfw_graph_parts parts = {NODES, NODES - 2, 0};
    for (int i = 0; i < 2; i++) {
        assert_true(is_near(launched_with(lab, EXEC, 5500, &parts).own_ns, 1400 + 2.0 / 3 * 3000));
        assert_true(is_near(launched_with(lab, EXEC, 2000, &parts).own_ns, 1400));
    }
}

/* Behind an update, and where another graph has the handle, it is uploaded again; behind an update
 * that failed it is not. */
static void test_uploaded_again(void **state)
{
    struct lab *lab = *state;
    launched(lab, EXEC, 4500, 0);
    called(lab, XFT_GRAPH_UPDATED, EXEC, 450);
    assert_true(is_near(launched(lab, EXEC, 4500, 0).own_ns, 2400));
    assert_true(is_near(launched(lab, EXEC, 4500, 0).own_ns, 1200));
    called(lab, (enum xft_graph_call)0, EXEC, 450);
    assert_true(is_near(launched(lab, EXEC, 4500, 0).own_ns, 1200));
    called(lab, XFT_GRAPH_DESTROYED, EXEC, 450);
    called(lab, XFT_GRAPH_INSTANTIATED, EXEC, 450);
    assert_true(is_near(launched(lab, EXEC, 4500, 0).own_ns, 2400));
}

/* By the profile 2000 ns are to instantiate and upload it, 300 to record that it is instantiated.
 * Half each: what is beyond that is CUPTI's, three times the usual at most; where recording costs
 * nothing by the profile, the call stays as it is. */
static void test_made(void **state)
{
    static char records[] = "records/graph/instantiate/gpu0", name[] = "graph/instantiate/gpu0";
    struct lab *lab = *state;
    lab->scalars[lab->profile.scalar_count++] = scalar(records, 300);
    lab->tables[lab->profile.table_count++] = calls_table(name, &lab->rows[2], 2400);
    xfa_achievable_free(&lab->achievable);
    xfa_achievable_init(&lab->achievable, &lab->profile, &run);
    assert_true(is_near(called(lab, XFT_GRAPH_INSTANTIATED, EXEC, 900), 900));
    assert_true(is_near(called(lab, XFT_GRAPH_INSTANTIATED, EXEC, 1300), 1000));
    assert_true(is_near(called(lab, XFT_GRAPH_INSTANTIATED, EXEC, 2600), 2600 - 3 * 300));
    assert_true(is_near(launched(lab, EXEC, 2500, 0).own_ns, 1400));
    assert_true(is_near(launched(lab, EXEC, 2500, 0).own_ns, 400)); /* it is there */
    called(lab, XFT_GRAPH_INSTANTIATED, EXEC, 900);
    assert_true(is_near(launched(lab, EXEC, 4500, 0).own_ns, 1400 + 2.0 / 3 * 2000));
    lab->costs.of_gpus[0].instantiate.graph = 0;
    assert_true(is_near(called(lab, XFT_GRAPH_INSTANTIATED, OTHER, 2600), 2600));
    called(lab, XFT_GRAPH_UPDATED, EXEC, 450); /* uploads less than all of it */
    assert_true(is_near(launched(lab, EXEC, 4500, 0).own_ns, 2400));
}

/* Kernels take longer where they are recorded: those that run while another one does cost no time.
 * Half of the graph's time stays. */
static void test_on_the_device(void **state)
{
    struct lab *lab = *state;
    assert_true(is_near(launched(lab, EXEC, 1500, 4 * 30).duration_ns, 1000 - 4 * 30));
    assert_true(is_near(launched(lab, EXEC, 1500, 0).duration_ns, 1000));
    assert_true(is_near(launched(lab, EXEC, 1500, 99 * 30).duration_ns, 500));
}

/* What records add is in the space before a part, but where that is as short as an empty kernel. */
static void test_of_part(void **state)
{
    struct lab *lab = *state;
    assert_true(xfw_records_of_part(&lab->costs, 0, 1300, 400) == 30);
    assert_true(xfw_records_of_part(&lab->costs, 0, 1300, 10) == 10);
    assert_true(xfw_records_of_part(&lab->costs, 0, 1300, -5) == 0);
    assert_true(xfw_records_of_part(&lab->costs, 0, 700, 10) == 30);
}

/* Of staged copies the figures of both directions count, where copies were recorded at all. */
static void test_staged(void **state)
{
    (void)state;
    static char up[] = "records/copy-device/h2d/gpu0", down[] = "records/copy-device/d2h/gpu0";
    struct xfp_scalar scalars[] = {scalar(up, 600), scalar(down, 1400)};
    const struct xfp_profile profile = {.scalars = scalars, .scalar_count = 2};
    struct xfa_achievable achievable;
    xfa_achievable_init(&achievable, &profile, &run);
    struct xfw_records_costs costs = {.achievable = &achievable};
    enum xfw_behind behind = XFW_BEHIND_OTHER;
    struct xfw_op copy = {.what = XFW_COPY, .engine = XFW_TO_DEVICE};
    xfw_records_costs_add(&costs, &copy, false, BOTH, &behind);
    assert_true(copy.records_device_ns == 600);
    xfw_records_costs_staged(&costs, &copy);
    assert_true(copy.records_device_ns == 1000);
    copy = (struct xfw_op){.what = XFW_COPY, .engine = XFW_TO_DEVICE};
    xfw_records_costs_add(&costs, &copy, false, 0, &behind);
    xfw_records_costs_staged(&costs, &copy);
    assert_true(copy.records_device_ns == 0);
    xfa_achievable_free(&achievable);
}

static void take(void *self, const struct xfw_op *op)
{
    *(struct xfw_op *)self = *op;
}

/* Of four kernels that the records have two ran beside the one before. */
static void test_branches(void **state)
{
    static const uint64_t ran[][2] = {{100, 200}, {150, 300}, {210, 250}, {300, 400}};
    struct lab *lab = *state;
    struct xfw_op graph = hand_work(XFW_GRAPH, 0, 50, 0, 0), taken = {0};
    const struct xfw_sink sink = {.self = &taken, .op = take};
    struct xfw_ops_queue *queue = xfw_ops_queue_new(&sink, &lab->costs);
    xfw_ops_queue_begin(queue, 0);
    xfw_ops_queue_expect(queue, xfw_ops_queue_push(queue, &graph), 7, true);
    for (size_t i = 0; i < 4; i++) {
        struct xfa_event record = {
            .kind = XFT_EVENT_KERNEL, .correlation = 7, .start_ns = ran[i][0], .end_ns = ran[i][1]};
        xfw_ops_queue_record(queue, &record);
    }
    xfw_ops_queue_release(queue, true);
    xfw_ops_queue_free(queue);
    assert_true(taken.records_pieces_ns == 30 && taken.records_ns == 100 + 4 * 200);
}

/* Of an update a part in proportion; of a graph that is destroyed for the nodes that it was made
 * with, where that is known, and no more than 0.4 of the call; a launch that is captured. */
static void test_other_calls(void **state)
{
    struct lab *lab = *state;
    struct xfw_op captured = xfw_op_none();
    captured.what = XFW_CALL;
    captured.kind = XFT_EVENT_LAUNCH;
    captured.own_ns = 450;
    xfw_records_costs_add(&lab->costs, &captured, false, BOTH, &lab->behind);
    xfw_op_alone(&captured);
    assert_true(captured.own_ns == 380);
    /* 300 of 900 are CUPTI's by the profile */
    assert_true(is_near(called(lab, XFT_GRAPH_UPDATED, EXEC, 450), 300));
    assert_true(is_near(called(lab, XFT_GRAPH_DESTROYED, EXEC, 1000), 1000 - 40 - NODES * 20));
    assert_true(is_near(called(lab, XFT_GRAPH_DESTROYED, EXEC, 1000), 1000 - 40));
    called(lab, XFT_GRAPH_INSTANTIATED, EXEC, 450);
    assert_true(is_near(called(lab, XFT_GRAPH_DESTROYED, EXEC, 200), 120));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile_without_graphs),
        cmocka_unit_test_setup_teardown(test_launches, begin, end),
        cmocka_unit_test_setup_teardown(test_with_copies, begin, end),
        cmocka_unit_test_setup_teardown(test_uploaded_again, begin, end),
        cmocka_unit_test_setup_teardown(test_made, begin, end),
        cmocka_unit_test_setup_teardown(test_on_the_device, begin, end),
        cmocka_unit_test_setup_teardown(test_of_part, begin, end),
        cmocka_unit_test(test_staged),
        cmocka_unit_test_setup_teardown(test_branches, begin, end),
        cmocka_unit_test_setup_teardown(test_other_calls, begin, end),
    };
    return cmocka_run_group_tests_name("what-if: records of graphs", tests, NULL, NULL);
}
