#include "analyzer/whatif/schedule/handovers.h"

#include "analyzer/whatif/schedule/callers.h"

/* Sleep that begins and ends with another's turn is as long but for that (a guess). */
#define WOKEN_NS 10000

/* What comes behind calls that end turns: not known yet; the thread's own next turn; or another's,
 * at least once. */
enum end { END_UNKNOWN, END_OWN, END_OTHERS };

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

/* Of the time since its last call the thread slept until the other's turn was over: its own work
 * lay behind that, or but a little of it before. */
static bool slept_until(const struct xfw_turn_call *call, double idle_ns, double behind_ns)
{
    const double until = idle_ns - behind_ns;
    return call->slept_ns >= until / 2 && call->slept_ns <= until + WOKEN_NS &&
           call->slept_ns > 2 * WOKEN_NS;
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
    if (last->ended_ns <= thread->called_ns || behind >= handovers->most_ns ||
        (behind >= idle / 2 && !slept_until(call, idle, behind)))
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

static uint8_t *end_at(struct xfw_handovers *handovers, uint32_t place)
{
    return &handovers->ends[(place * 2654435761u >> 16) % XFW_TURN_ENDS];
}

/* A thread that begins a turn has let go of nothing since its last one, unless another one has had
 * a turn meanwhile. */
static void note_behind_end(struct xfw_handovers *handovers, struct xfw_turn_thread *thread,
                            const struct xfw_handover *found)
{
    uint8_t *own = end_at(handovers, thread->end_place);
    if (found->behind_ns > 0)
        *end_at(handovers, handovers->threads[found->from].end_place) = END_OTHERS;
    if (!found->begins)
        return;
    if (thread->alone && *own == END_UNKNOWN)
        *own = END_OWN;
    for (unsigned i = 0; i < handovers->count; i++)
        handovers->threads[i].alone = false;
}

static void end_turn(struct xfw_handovers *handovers, struct xfw_turn_thread *thread,
                     const struct xfw_turn_call *call, struct xfw_handover *found)
{
    found->released = *end_at(handovers, call->place) != END_OWN;
    thread->open = false;
    thread->waited_ns = 0;
    thread->ended_ns = call->end_ns;
    thread->end_place = call->place;
    thread->alone = true;
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
    if (found.begins || found.behind_ns > 0)
        note_behind_end(handovers, thread, &found);
    if (found.begins && !(thread->waited_ns > 0) && !found.beside)
        note_free(handovers, call->start_ns);
    thread->open = thread->open || call->work;
    found.ends = thread->open && call->waits;
    found.waited_ns = thread->waited_ns;
    thread->worked = thread->worked || call->work;
    thread->called_ns = xfw_max(thread->called_ns, call->end_ns);
    if (found.ends)
        end_turn(handovers, thread, call, &found);
    return found;
}

static double slept_before(const struct xfw_op *op)
{
    return op->gap_ns * op->slept_parts / XFW_OF_ALL;
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
        .slept_ns = slept_before(op),
        .place = op->site * XFW_KINDS + op->kind,
    };
    struct xfw_handover found = xfw_handovers_call(handovers, &call);
    op->behind_ns = (float)(found.behind_ns + found.least_ns);
    op->likely_ns = (float)xfw_max(found.likely_ns, found.behind_ns + found.least_ns);
    op->begins_turn = found.begins && !found.beside;
    op->ends_turn = found.ends && found.released;
}
