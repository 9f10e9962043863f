#include "analyzer/whatif/ops/ops_overhead.h"

#include "analyzer/pass/class.h"

#define WITHOUT_HASH_NS 500 /* what a transfer costs at most: 190 to 450 ns were measured */

static void add_unusual(const struct xfa_process *process, struct xfw_thread *thread,
                        const struct xfa_event *event)
{
    uint64_t start = event->start_ns, usual = 0;
    if (event->overhead.worked_ns)
        thread->worked_ns = event->overhead.worked_ns;
    if (start < thread->overhead_until_ns)
        start = thread->overhead_until_ns;
    if (event->end_ns <= start)
        return;
    thread->overhead_until_ns = event->end_ns;
    if (event->overhead.behind < XFA_EVENT_KINDS)
        usual = process->costs[event->overhead.behind].ns;
    if (event->end_ns - start <= usual)
        return;
    thread->overhead_ns += event->end_ns - start - usual;
    thread->opening_ns += event->overhead.opens ? event->end_ns - start - usual : 0;
}

/* Where most transfers are hashed, their usual cost has a hash in it. */
static void add_hash(const struct xfa_process *process, struct xfw_thread *thread,
                     const struct xfa_event *event)
{
    uint64_t ns = event->content.ns;
    uint64_t usual = process->costs[XFT_EVENT_TRANSFER].ns;
    uint64_t counted = usual > WITHOUT_HASH_NS ? usual - WITHOUT_HASH_NS : 0;
    thread->hash_ns += ns > counted ? ns - counted : 0;
    thread->hashed_ns = event->start_ns;
}

void xfw_overhead_event(const struct xfa_process *process, struct xfw_thread *thread,
                        const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_CONTENT)
        add_hash(process, thread, event);
    else
        add_unusual(process, thread, event);
}

/* Is what was hashed there when the call returns? */
static bool has_it(const struct xfw_thread *thread, const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_SYNC || event->kind == XFT_EVENT_QUERY)
        return true;
    if (event->kind != XFT_EVENT_TRANSFER || event->start_ns != thread->hashed_ns)
        return false;
    const struct xfa_row_key *row = &event->transfer.class->key.row;
    return !row->async || row->direction == XFT_DIR_H2D;
}

uint64_t xfw_overhead_before(struct xfw_thread *thread, const struct xfa_event *event)
{
    uint64_t ns = thread->overhead_ns;
    thread->overhead_ns = 0;
    if (thread->hash_ns && has_it(thread, event)) {
        thread->overhead_ns = thread->hash_ns;
        thread->hash_ns = 0;
    }
    return ns;
}
