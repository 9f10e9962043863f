#include "analyzer/whatif/changes/feedback.h"

#include "analyzer/whatif/changes/waits.h"
#include "xferscope/trace.h"

/* Results up to this size are taken for what a program decides by, and mapped memory for a flag
 * that kernels may reach in ways that no launch shows (guesses). */
#define FLAG_BYTES 4096

#define MOST_LAUNCHES 4096 /* kinds of them: of others it is not known what they write */
#define MOST_GRAPHS 4096   /* that are there: of others, too */

struct launch {
    struct launch_key {
        uint32_t name, arguments;
    } key;
    struct xfw_written writes;
};

/* An executable graph, and what its thread had captured since the last one. */
struct graph {
    uint64_t exec;   /* key */
    uint64_t copies; /* so many of its nodes are not among these: copies, as it should be */
    bool unknown;    /* what the others write is not known */
    struct xfw_written writes;
};

/* The kernel may write to such memory. */
static bool writes_to(const struct xfw_buffers *buffers, const struct xfa_process *process,
                      const struct xfw_op *op)
{
    uint64_t pointer;
    if (buffers->count == 0 || op->arguments == 0)
        return buffers->count > 0;
    for (uint32_t k = 0; xfw_launch_pointer(process, op->arguments, k, &pointer); k++)
        if (xfw_buffers_find(buffers, 0, pointer) != SIZE_MAX &&
            xfw_writes(process, op->name, op->arguments, k) != XFW_READS)
            return true;
    return false;
}

/* What such a kernel, given that, may write; false: too many kinds of them are known. */
static bool written_by(struct xfw_feedback *feedback, const struct xfa_process *process,
                       const struct xfw_op *op, struct xfw_written *writes)
{
    const struct launch_key key = {op->name, op->arguments};
    if (feedback->launches.count == 0)
        xfa_table_init(&feedback->launches, sizeof key, sizeof(struct launch));
    struct launch *launch = xfa_table_get(&feedback->launches, &key);
    if (!launch && feedback->launches.count == MOST_LAUNCHES)
        return false;
    if (!launch) {
        launch = xfa_table_put(&feedback->launches, &key);
        launch->writes.mapped = writes_to(&feedback->mapped, process, op);
        launch->writes.managed = writes_to(&feedback->managed, process, op);
    }
    *writes = launch->writes;
    return true;
}

static void note_written(struct xfw_feedback *feedback, struct xfw_written writes)
{
    feedback->always = feedback->always || writes.mapped;
    feedback->decides = feedback->decides || writes.managed;
}

static void note_kernel(struct xfw_feedback *feedback, const struct xfa_process *process,
                        const struct xfw_op *op)
{
    struct xfw_written writes;
    if (written_by(feedback, process, op, &writes))
        note_written(feedback, writes);
    else
        feedback->always = true;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* But for copies, which are no ops. */
static bool is_captured(const struct xfw_op *op)
{
    return op->what == XFW_CALL && (op->kind == XFT_EVENT_LAUNCH || op->kind == XFT_EVENT_SET ||
                                    op->kind == XFT_EVENT_HOST_FUNCTION);
}

/* A graph's node to be. Where there is no mapped or managed memory yet, it writes to none. */
static void note_captured(struct xfw_feedback *feedback, const struct xfa_process *process,
                          const struct xfw_op *op)
{
    struct xfw_captured *captured = &feedback->captured;
    struct xfw_written writes = {false, false};
    if (captured->thread != op->thread + 1)
        *captured = (struct xfw_captured){.thread = op->thread + 1};
    captured->nodes++;
    if (op->kind == XFT_EVENT_LAUNCH && feedback->maps &&
        !written_by(feedback, process, op, &writes))
        captured->unknown = true;
    captured->writes.mapped = captured->writes.mapped || writes.mapped;
    captured->writes.managed = captured->writes.managed || writes.managed;
}

static void note_made(struct xfw_feedback *feedback, const struct xfw_op *op)
{
    const struct xfw_captured captured = feedback->captured;
    bool by_it = captured.thread == op->thread + 1 && captured.nodes <= op->threads;
    feedback->captured = (struct xfw_captured){0};
    if (op->memory != XFT_GRAPH_INSTANTIATED && op->memory != XFT_GRAPH_UPDATED)
        return; /* it failed */
    if (feedback->graphs.count == 0)
        xfa_table_init(&feedback->graphs, sizeof(uint64_t), sizeof(struct graph));
    struct graph *graph = xfa_table_get(&feedback->graphs, &op->dst);
    if (!graph && feedback->graphs.count == MOST_GRAPHS)
        return;
    if (!graph)
        graph = xfa_table_put(&feedback->graphs, &op->dst);
    graph->unknown = !by_it || captured.unknown;
    graph->copies = by_it ? op->threads - captured.nodes : 0;
    graph->writes = captured.writes;
}

/* With other nodes than were seen to be captured it counts as a kernel of unknown arguments. */
static void note_graph(struct xfw_feedback *feedback, const struct xfw_op *op)
{
    const struct graph *graph =
        feedback->graphs.count > 0 ? xfa_table_get(&feedback->graphs, &op->threads) : NULL;
    const struct xfw_written any = {feedback->mapped.count > 0, feedback->managed.count > 0};
    bool known = graph && !graph->unknown && graph->copies == op->arguments;
    note_written(feedback, known ? graph->writes : any);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* What was asked about launches is asked anew: they may have been given this memory before it was
 * mapped. */
static void note_mapped(struct xfw_feedback *feedback, const struct xfw_op *op)
{
    bool managed = op->memory == XFT_MEM_MANAGED;
    feedback->always = feedback->always || op->bytes <= FLAG_BYTES;
    xfw_buffers_add(managed ? &feedback->managed : &feedback->mapped, 0, 0, op->dst, op->bytes);
    feedback->maps = true;
    if (feedback->launches.count > 0)
        xfa_table_free(&feedback->launches);
}

void xfw_feedback_note(struct xfw_feedback *feedback, const struct xfa_analysis *analysis,
                       const struct xfa_process *process, const struct xfw_op *op)
{
    struct xfw_host_memory host;
    if (feedback->always) /* nothing else counts */
        return;
    if (op->what == XFW_GRAPH && feedback->maps)
        note_graph(feedback, op);
    else if (is_captured(op))
        note_captured(feedback, process, op);
    else if (op->kind == XFT_EVENT_GRAPH_CALL && op->memory != XFT_GRAPH_DESTROYED)
        note_made(feedback, op);
    else if (op->kind == XFT_EVENT_ALLOC &&
             (op->memory == XFT_MEM_MAPPED || op->memory == XFT_MEM_MANAGED))
        note_mapped(feedback, op);
    else if (op->what == XFW_KERNEL && feedback->maps)
        note_kernel(feedback, process, op);
    if (!xfw_host_memory(analysis, op, &host))
        return;
    if (!host.to_host) {
        feedback->always =
            feedback->always || xfw_buffers_find(&feedback->fetched, 0, host.first) != SIZE_MAX;
        feedback->sent = xfa_add(feedback->sent, host.bytes);
    } else if (host.bytes <= FLAG_BYTES) {
        feedback->few = true;
    } else {
        xfw_buffers_add(&feedback->fetched, 0, 0, host.first, host.bytes);
    }
}

bool xfw_feedback_looks(struct xfw_feedback *feedback)
{
    bool few = feedback->few && feedback->sent < XFW_TURN_BYTES;
    bool looks = feedback->always || feedback->decides || few;
    feedback->decides = feedback->few = false;
    feedback->sent = 0;
    return looks;
}

void xfw_feedback_free(struct xfw_feedback *feedback)
{
    xfw_buffers_free(&feedback->fetched);
    xfw_buffers_free(&feedback->mapped);
    xfw_buffers_free(&feedback->managed);
    if (feedback->launches.count > 0)
        xfa_table_free(&feedback->launches);
    if (feedback->graphs.count > 0)
        xfa_table_free(&feedback->graphs);
}
