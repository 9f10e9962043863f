#include "analyzer/whatif/changes/feedback.h"

#include "analyzer/whatif/changes/waits.h"
#include "xferscope/trace.h"

/* Results up to this size are taken for what a program decides by, and mapped memory for a flag
 * that kernels may reach in ways that no launch shows (guesses). */
#define FLAG_BYTES 4096

#define MOST_LAUNCHES 4096 /* kinds of them: of others it is not known what they write */

struct launch {
    struct launch_key {
        uint32_t name, arguments;
    } key;
    bool writes, writes_managed;
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

static void note_kernel(struct xfw_feedback *feedback, const struct xfa_process *process,
                        const struct xfw_op *op)
{
    const struct launch_key key = {op->name, op->arguments};
    if (feedback->launches.count == 0)
        xfa_table_init(&feedback->launches, sizeof key, sizeof(struct launch));
    struct launch *launch = xfa_table_get(&feedback->launches, &key);
    if (!launch && feedback->launches.count == MOST_LAUNCHES) {
        feedback->always = true;
        return;
    }
    if (!launch) {
        launch = xfa_table_put(&feedback->launches, &key);
        launch->writes = writes_to(&feedback->mapped, process, op);
        launch->writes_managed = writes_to(&feedback->managed, process, op);
    }
    feedback->always = feedback->always || launch->writes;
    feedback->decides = feedback->decides || launch->writes_managed;
}

/* As a kernel of unknown arguments. */
static void note_graph(struct xfw_feedback *feedback)
{
    feedback->always = feedback->always || feedback->mapped.count > 0;
    feedback->decides = feedback->decides || feedback->managed.count > 0;
}

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
        note_graph(feedback);
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
}
