#include "analyzer/whatif/schedule/handovers.h"

#include "analyzer/whatif/schedule/callers.h"

static struct xfw_turn_thread *thread_of(struct xfw_handovers *handovers,
                                         const struct xfw_turn_call *call)
{
    for (unsigned i = 0; i < handovers->count; i++)
        if (handovers->threads[i].tid == call->tid)
            return &handovers->threads[i];
    if (handovers->count == XFW_HANDOVER_THREADS)
        return NULL;
    struct xfw_turn_thread *thread = &handovers->threads[handovers->count++];
    *thread = (struct xfw_turn_thread){
        .tid = call->tid,
        .called_ns = call->start_ns,
        .first_own_ns = call->work ? call->worked_ns : 0,
    };
    return thread;
}

static bool is_under_way(const struct xfw_turn_thread *thread, double now)
{
    return thread->open || (thread->worked && thread->ended_ns > now);
}

/* The other thread whose turn was over last; none while one is under way. */
static const struct xfw_turn_thread *last_over(const struct xfw_handovers *handovers,
                                               const struct xfw_turn_thread *own, double now,
                                               bool *beside)
{
    const struct xfw_turn_thread *last = NULL;
    *beside = false;
    for (unsigned i = 0; i < handovers->count; i++) {
        const struct xfw_turn_thread *other = &handovers->threads[i];
        if (other == own || !other->worked)
            continue;
        *beside = *beside || is_under_way(other, now);
        if (!last || other->ended_ns > last->ended_ns)
            last = other;
    }
    return *beside ? NULL : last;
}

/* The thread had no turn of its own under way: has it waited for another one's? */
static void look_behind(struct xfw_handovers *handovers, struct xfw_turn_thread *thread,
                        const struct xfw_turn_call *call, struct xfw_handover *found)
{
    const struct xfw_turn_thread *last =
        last_over(handovers, thread, call->start_ns, &found->beside);
    double idle = call->start_ns - thread->called_ns;
    double behind = last ? call->start_ns - last->ended_ns : 0;
    if (!last || !(behind > 0))
        return;
    found->gap_ns = thread->worked ? behind : 0;
    found->other_ns = last->ended_ns - last->begun_ns;
    found->idle_ns = idle;
    if (last->ended_ns <= thread->called_ns || behind >= idle / 2 || behind >= handovers->most_ns)
        return;
    found->behind_ns = behind;
    found->likely_ns = thread->first_own_ns > 0 ? xfw_max(behind, thread->first_own_ns)
                                                : behind + found->other_ns / 2;
    found->from = (unsigned)(last - handovers->threads);
    thread->waited_ns = behind;
    /* Had it waited then, it would have begun in place of the other one. */
    if (handovers->free_until_ns - handovers->free_ns > 2 * behind)
        found->least_ns = xfw_max(0, handovers->free_until_ns - thread->called_ns);
}

static void note_free(struct xfw_handovers *handovers, double now)
{
    handovers->free_ns = 0;
    handovers->free_until_ns = now;
    for (unsigned i = 0; i < handovers->count; i++)
        if (handovers->threads[i].worked)
            handovers->free_ns = xfw_max(handovers->free_ns, handovers->threads[i].ended_ns);
}

struct xfw_handover xfw_handovers_call(struct xfw_handovers *handovers,
                                       const struct xfw_turn_call *call)
{
    struct xfw_turn_thread *thread = thread_of(handovers, call);
    struct xfw_handover found = {.followed = thread != NULL};
    if (!thread)
        return found;
    found.thread = (unsigned)(thread - handovers->threads);
    if (!thread->open)
        look_behind(handovers, thread, call, &found);
    found.begins = call->work && !thread->open;
    if (found.begins)
        thread->begun_ns = call->start_ns;
    if (found.begins && !(thread->waited_ns > 0) && !found.beside)
        note_free(handovers, call->start_ns);
    thread->open = thread->open || call->work;
    found.ends = thread->open && call->waits;
    found.waited_ns = thread->waited_ns;
    thread->worked = thread->worked || call->work;
    thread->called_ns = xfw_max(thread->called_ns, call->end_ns);
    if (!found.ends)
        return found;
    thread->open = false;
    thread->waited_ns = 0;
    thread->ended_ns = call->end_ns;
    return found;
}

void xfw_handovers_meet(struct xfw_handovers *handovers, struct xfw_op *op)
{
    if (!xfw_op_is_call(op))
        return;
    const struct xfw_turn_call call = {
        .tid = op->tid,
        .work = xfw_op_is_work(op),
        .waits = op->kind == XFT_EVENT_SYNC || op->what == XFW_QUERY ||
                 (op->what == XFW_COPY && op->awaits == XFW_AWAITS_ITSELF),
        .start_ns = op->start_ns,
        .end_ns = op->end_ns,
        .worked_ns = op->worked_ns,
    };
    struct xfw_handover found = xfw_handovers_call(handovers, &call);
    op->behind_ns = (float)(found.behind_ns + found.least_ns);
    op->likely_ns = (float)xfw_max(found.likely_ns, found.behind_ns + found.least_ns);
}
