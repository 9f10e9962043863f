/*
 * The process that measures what records cost: alone with one GPU and CUPTI, one thread.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "probe/bench/records.h"
#include "probe/bench/records_graphs.h"
#include "probe/bench/records_moves.h"
#include "probe/device/cupti.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/timed.h"

enum {
    CALLS = 32,   /* of a burst on the host's clock */
    QUEUED = 128, /* of a burst on the device's */
    BYTES = 64,
    MOST_PAIRS = XFP_RECORDS_MOST_PAIRS,
};

struct child {
    struct xfp_session s; /* of its system only */
    struct xfp_device device;
    xcu_deviceptr memory;
    unsigned char *pinned;
    bool attached;
    size_t pairs;
    double added[XFP_RECORDS_COUNT][MOST_PAIRS];
    double between[MOST_PAIRS]; /* nodes of a graph */
    bool no_kernels;            /* records did not say what kernels take */
    size_t record_bytes;        /* seen so far */
};

/* ---- the calls ------------------------------------------------------------------------------- */

static xcu_result launch(struct child *c)
{
    return xfp_launch_chase(&c->s.sys, &c->device, c->device.stream, c->memory, 0, c->memory);
}

static xcu_result sync_stream(struct child *c)
{
    return c->s.sys.cu->cuStreamSynchronize(c->device.stream);
}

static xcu_result launch_and_sync(struct child *c)
{
    xcu_result result = launch(c);

    return result ? result : sync_stream(c);
}

static xcu_result copy_h2d(struct child *c)
{
    return c->s.sys.cu->cuMemcpyHtoDAsync(c->memory, c->pinned, BYTES, c->device.stream);
}

static xcu_result copy_d2h(struct child *c)
{
    return c->s.sys.cu->cuMemcpyDtoHAsync(c->pinned, c->memory, BYTES, c->device.stream);
}

static xcu_result blocking_h2d(struct child *c)
{
    return c->s.sys.cu->cuMemcpyHtoD(c->memory, c->pinned, BYTES);
}

static xcu_result blocking_d2h(struct child *c)
{
    return c->s.sys.cu->cuMemcpyDtoH(c->pinned, c->memory, BYTES);
}

static xcu_result set(struct child *c)
{
    return c->s.sys.cu->cuMemsetD8Async(c->memory, 0, BYTES, c->device.stream);
}

static xcu_result record_event(struct child *c)
{
    return c->s.sys.cu->cuEventRecord(c->device.events[0], c->device.stream);
}

static const struct {
    xcu_result (*call)(struct child *c);
    bool kernel, on_device;
} figures[XFP_RECORDS_COUNT] = {
    [XFP_RECORDS_LAUNCH] = {launch, true, false},
    [XFP_RECORDS_LAUNCH_DEVICE] = {launch, true, true},
    [XFP_RECORDS_LAUNCH_AND_SYNC] = {launch_and_sync, true, false},
    [XFP_RECORDS_COPY_H2D] = {copy_h2d, false, false},
    [XFP_RECORDS_COPY_D2H] = {copy_d2h, false, false},
    [XFP_RECORDS_COPY_DEVICE_H2D] = {copy_h2d, false, true},
    [XFP_RECORDS_COPY_DEVICE_D2H] = {copy_d2h, false, true},
    [XFP_RECORDS_BLOCKING_H2D] = {blocking_h2d, false, false},
    [XFP_RECORDS_BLOCKING_D2H] = {blocking_d2h, false, false},
    [XFP_RECORDS_MEMSET] = {set, false, false},
    [XFP_RECORDS_MEMSET_DEVICE] = {set, false, true},
    [XFP_RECORDS_SYNC] = {sync_stream, false, false},
    [XFP_RECORDS_EVENT] = {record_event, false, false},
};

/* Without the gate the device's time would be the host's submission; without kernels there is no
 * gate. */
static bool applies(const struct child *c, int figure)
{
    if (!figures[figure].call)
        return false;
    if (figures[figure].kernel && !c->device.gate)
        return false;
    if (figures[figure].on_device && !xfp_gate_usable(&c->device))
        return false;
    return figures[figure].call != set || c->s.sys.cu->cuMemsetD8Async;
}

/* ---- bursts ---------------------------------------------------------------------------------- */

/* Untimed calls at the start of a burst: they wake what has gone idle since the last one. */
static xcu_result warm_up(struct child *c, int figure)
{
    xcu_result result = XCU_SUCCESS;

    for (int i = 0; i < 4 && !result; i++)
        result = figures[figure].call(c);
    return result ? result : sync_stream(c);
}

static int host_burst(struct child *c, int figure, double *ns)
{
    const struct xfp_driver *cu = c->s.sys.cu;
    xcu_result result = warm_up(c, figure);
    uint64_t before = xfp_driver_now_ns(cu), after;

    for (int i = 0; i < CALLS && !result; i++)
        result = figures[figure].call(c);
    after = xfp_driver_now_ns(cu);
    if (!result)
        result = sync_stream(c);
    *ns = (double)(after - before) / CALLS;
    return xfp_check(&c->s.sys, result, "calling");
}

struct burst {
    struct child *child;
    int figure;
};

/* The first one of its kind takes the stream from the gate's engine to its own. */
static xcu_result queue_burst(struct xfp_session *s, void *state)
{
    const struct burst *b = state;
    struct child *c = b->child;
    const struct xfp_driver *cu = s->sys.cu;
    xcu_result result = figures[b->figure].call(c);

    if (!result)
        result = cu->cuEventRecord(c->device.events[0], c->device.stream);
    for (int i = 0; i < QUEUED && !result; i++)
        result = figures[b->figure].call(c);
    return result ? result : cu->cuEventRecord(c->device.events[1], c->device.stream);
}

/* When the gate has timed out too often these figures do not apply any more and are left out. */
static int device_burst(struct child *c, int figure, double *ns)
{
    struct burst b = {c, figure};
    struct xfp_queued queued = {
        .device = &c->device, .gated = true, .queue = queue_burst, .state = &b, .what = "queueing"};
    int state;

    do
        state = xfp_run_queued(&c->s, &queued);
    while (state > 0 && xfp_gate_usable(&c->device));
    if (state > 0)
        return 0;
    if (state || xfp_elapsed(&c->s, c->device.events[0], c->device.events[1], ns))
        return -1;
    *ns /= QUEUED;
    return 0;
}

/* A launch, a small copy back and a wait, again and again: each call on its own. */
static int turns(struct child *c, double ns[XFP_RECORDS_COUNT])
{
    const struct xfp_driver *cu = c->s.sys.cu;
    uint64_t launches = 0, copies = 0;
    xcu_result result = warm_up(c, XFP_RECORDS_LAUNCH_AND_SYNC);

    for (int i = 0; i < CALLS && !result; i++) {
        uint64_t begin = xfp_driver_now_ns(cu), between;

        result = launch(c);
        between = xfp_driver_now_ns(cu);
        if (!result)
            result = copy_d2h(c);
        launches += between - begin;
        copies += xfp_driver_now_ns(cu) - between;
        if (!result)
            result = sync_stream(c);
    }
    ns[XFP_RECORDS_AFTER_WAIT] = (double)launches / CALLS;
    ns[XFP_RECORDS_AFTER_LAUNCH] = (double)copies / CALLS;
    return xfp_check(&c->s.sys, result, "calling in turn");
}

/* Every figure of the host or of the device once, in the state that records are in. */
static int measure_all(struct child *c, bool on_device, double ns[XFP_RECORDS_COUNT])
{
    int bad = 0;

    for (int f = 0; f < XFP_RECORDS_COUNT && !bad; f++)
        if (applies(c, f) && figures[f].on_device == on_device)
            bad = on_device ? device_burst(c, f, &ns[f]) : host_burst(c, f, &ns[f]);
    if (!bad && !on_device && c->device.gate)
        bad = turns(c, ns);
    if (!bad && !on_device && xfp_records_graphs_apply(&c->s, &c->device))
        bad = xfp_records_graphs(&c->s, &c->device, c->memory, ns);
    if (!bad)
        bad = xfp_check(&c->s.sys, c->s.sys.cu->cuCtxSynchronize(), "synchronising");
    if (c->attached)
        c->record_bytes += xfp_cupti_collect();
    return bad;
}

/* ---- nodes of a graph ------------------------------------------------------------------------ */

/* What a kernel takes by its record: the median, as the first one may wait for its code. */
static int kernel_alone(struct child *c, double *ns)
{
    double each[CALLS];
    xcu_result result = XCU_SUCCESS;
    struct xfp_stats stats;

    xfp_cupti_kernels(NULL, 0);
    for (int i = 0; i < CALLS && !result; i++)
        result = launch(c);
    if (!result)
        result = sync_stream(c);
    stats = xfp_stats_of(each, xfp_cupti_kernels(each, CALLS));
    c->no_kernels |= !stats.n;
    *ns = stats.median;
    return xfp_check(&c->s.sys, result, "launching");
}

static bool graphs_apply(const struct child *c)
{
    return xfp_records_graphs_apply(&c->s, &c->device) && xfp_gate_usable(&c->device);
}

/* Without records how far apart kernels of a graph begin, with them what one takes. */
static int measure_nodes(struct child *c, bool on, double *ns)
{
    if (!graphs_apply(c))
        return 0;
    return on ? kernel_alone(c, ns) : xfp_records_graph_pitch(&c->s, &c->device, c->memory, ns);
}

/* ---- without and with ------------------------------------------------------------------------ */

/* The two halves are measured one after the other, so that drift cancels out; every second pair
 * begins in the state in which the one before ended, which saves half of the switches. */
static int measure_pair(struct child *c, bool first_on)
{
    double ns[2][XFP_RECORDS_COUNT] = {{0}}, nodes[2] = {0};

    for (int half = 0; half < 2; half++) {
        bool on = first_on != (half == 1);

        if (half && xfp_cupti_switch(&c->s.sys, on))
            return -1;
        if (measure_all(c, true, ns[on]) || measure_nodes(c, on, &nodes[on]))
            return -1;
    }
    for (int f = 0; f < XFP_RECORDS_COUNT; f++)
        c->added[f][c->pairs] = ns[1][f] - ns[0][f];
    c->between[c->pairs] = nodes[0] - nodes[1];
    return 0;
}

/* A virtual clock is exact: the fewest samples suffice. */
static bool enough(const struct child *c, uint64_t until_ns)
{
    if (c->pairs < XFP_FEWEST_SAMPLES)
        return false;
    return c->pairs == MOST_PAIRS || c->s.sys.cu->simulated_now_ns || xfp_wall_ns() >= until_ns;
}

/* The first pair warms up. */
static int measure(struct child *c, uint64_t budget_ns)
{
    bool on = false;
    uint64_t until = 0;

    do {
        bool first = !until;

        if (measure_pair(c, on))
            return -1;
        on = !on;
        if (first)
            until = xfp_wall_ns() + budget_ns;
        else
            c->pairs++;
    } while (!enough(c, until));
    return on ? xfp_cupti_switch(&c->s.sys, false) : 0;
}

/* ---- the process ----------------------------------------------------------------------------- */

/* CUPTI before the first context; records are on then. */
static int attach(struct child *c, int gpu)
{
    struct xfp_system *sys = &c->s.sys;

    c->device.ordinal = gpu;
    sys->cu = xfp_driver_open(sys->error, sizeof(sys->error));
    if (!sys->cu || xfp_cupti_subscribe(sys) || xfp_device_open(sys, &c->device) ||
        xfp_cupti_prepare(sys))
        return -1;
    c->attached = true;
    return xfp_cupti_switch(sys, true);
}

static int open_bare(struct child *c, int gpu)
{
    struct xfp_system *sys = &c->s.sys;

    c->device.ordinal = gpu;
    sys->cu = xfp_driver_open(sys->error, sizeof(sys->error));
    return sys->cu ? xfp_device_open(sys, &c->device) : -1;
}

static int make_memory(struct child *c)
{
    struct xfp_system *sys = &c->s.sys;
    void *pinned = NULL;
    xcu_result result = sys->cu->cuMemAlloc(&c->memory, BYTES);

    if (!result)
        result = sys->cu->cuMemHostAlloc(&pinned, BYTES, 0);
    if (!result)
        memset(pinned, 0, BYTES);
    c->pinned = pinned;
    return xfp_check(sys, result, "allocating");
}

static enum xfp_records_state work(struct child *c, int gpu, uint64_t budget_ns)
{
    if (attach(c, gpu))
        return XFP_RECORDS_ABSENT;
    if (make_memory(c) || xfp_check(&c->s.sys, blocking_h2d(c), "copying"))
        return XFP_RECORDS_FAILED;
    c->record_bytes += xfp_cupti_collect();
    if (xfp_cupti_switch(&c->s.sys, false))
        return XFP_RECORDS_ABSENT;
    if (measure(c, budget_ns))
        return XFP_RECORDS_FAILED;
    if (!c->record_bytes) {
        xfp_fail(&c->s.sys, "CUPTI hands over no records");
        return XFP_RECORDS_ABSENT;
    }
    return XFP_RECORDS_MEASURED;
}

/* ---- one of a pair --------------------------------------------------------------------------- */

static int first_call(struct child *c, int figure, xcu_result (*call)(struct child *c))
{
    const struct xfp_driver *cu = c->s.sys.cu;
    uint64_t before = xfp_driver_now_ns(cu);
    xcu_result result = call(c);

    c->added[figure][0] = (double)(xfp_driver_now_ns(cu) - before);
    return xfp_check(&c->s.sys, result ? result : sync_stream(c), "calling");
}

/* The calls of the host, some rounds of them; a virtual clock needs one. */
static int rounds(struct child *c)
{
    const int most = c->s.sys.cu->simulated_now_ns ? 1 : MOST_PAIRS / 4;
    double ns[XFP_RECORDS_COUNT] = {0};

    for (; c->pairs < (size_t)most; c->pairs++) {
        if (measure_all(c, false, ns))
            return -1;
        for (int f = 0; f < XFP_RECORDS_FIRST_COPY; f++)
            c->added[f][c->pairs] = ns[f];
    }
    return 0;
}

/* The first calls come before all others of their kind. */
static enum xfp_records_state one_of_a_pair(struct child *c, int gpu, bool with)
{
    if (with ? attach(c, gpu) : open_bare(c, gpu))
        return XFP_RECORDS_ABSENT;
    if (make_memory(c) || first_call(c, XFP_RECORDS_FIRST_COPY, copy_h2d) ||
        (c->device.gate && first_call(c, XFP_RECORDS_FIRST_LAUNCH, launch)) || rounds(c))
        return XFP_RECORDS_FAILED;
    return XFP_RECORDS_MEASURED;
}

static bool is_of_a_pair(const struct child *c, int figure)
{
    if (figure >= XFP_RECORDS_CAPTURE_LAUNCH && figure <= XFP_RECORDS_GRAPH_DEVICE)
        return xfp_records_graphs_apply(&c->s, &c->device) &&
               (figure != XFP_RECORDS_GRAPH_DEVICE || xfp_gate_usable(&c->device));
    if (figure == XFP_RECORDS_AFTER_WAIT || figure == XFP_RECORDS_AFTER_LAUNCH ||
        figure == XFP_RECORDS_FIRST_LAUNCH)
        return c->device.gate;
    return figure == XFP_RECORDS_FIRST_COPY || (applies(c, figure) && !figures[figure].on_device);
}

static void fill_pair_reply(struct xfp_records_reply *reply, struct child *c)
{
    for (int f = 0; f < XFP_RECORDS_COUNT && reply->state == XFP_RECORDS_MEASURED; f++)
        if (is_of_a_pair(c, f))
            reply->figures[f] =
                xfp_stats_of(c->added[f], f < XFP_RECORDS_FIRST_COPY ? c->pairs : 1);
}

/* ---- the reply ------------------------------------------------------------------------------- */

static void fill_reply(struct xfp_records_reply *reply, struct child *c)
{
    snprintf(reply->why, sizeof(reply->why), "%s", c->s.sys.error);
    for (int f = 0; f < XFP_RECORDS_COUNT && reply->state == XFP_RECORDS_MEASURED; f++)
        if (applies(c, f) && figures[f].on_device)
            reply->figures[f] = xfp_stats_of(c->added[f], c->pairs);
    if (reply->state == XFP_RECORDS_MEASURED && graphs_apply(c) && !c->no_kernels)
        reply->between_nodes = xfp_stats_of(c->between, c->pairs);
}

/* Ends by _exit(), without exit handlers: what CUPTI does at the end of a process is not measured.
 */
int xfp_records_child(int argc, char **argv)
{
    static const char argument[] = XFP_RECORDS_ARGUMENT;
    static struct xfp_records_reply reply;
    static struct child child;
    size_t length = sizeof(argument) - 1;
    uint64_t budget_ns;
    char *end;
    long gpu;
    int out;

    if (argc < 2 || strncmp(argv[argc - 1], argument, length) != 0)
        return -1;
    gpu = strtol(argv[argc - 1] + length, &end, 10);
    if (*end != ':' || gpu < 0)
        return -1;
    budget_ns = strtoull(end + 1, &end, 10) / 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    out = dup(STDOUT_FILENO); /* output of libraries must not mix with the reply */
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (*end) {
        reply.state = one_of_a_pair(&child, (int)gpu, strcmp(end, XFP_RECORDS_WITH) == 0);
        fill_pair_reply(&reply, &child);
        _exit(write(out, &reply, sizeof(reply)) != sizeof(reply));
    }
    reply.state = work(&child, (int)gpu, budget_ns);
    fill_reply(&reply, &child);
    if (write(out, &reply, sizeof(reply)) != sizeof(reply) || reply.state != XFP_RECORDS_MEASURED)
        _exit(0);
    if (xfp_records_moves(&child.s, &child.device, child.memory, budget_ns, reply.figures))
        _exit(0);
    _exit(write(out, &reply, sizeof(reply)) != sizeof(reply));
}
