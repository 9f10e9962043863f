#include "analyzer/whatif/together/together_ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/together/kernel_links.h"
#include "analyzer/whatif/together/message_links.h"

/* ---- life ------------------------------------------------------------------------------------ */

static double common_ns(const struct xfw_together *t, size_t process, uint64_t real_ns)
{
    const struct xfa_process *of = t->analysis->run->processes[process];
    return xfa_host_clocks_ns(&t->analysis->matched.clocks, of->host, real_ns);
}

bool xfw_together_is_asked(const struct xfa_analysis *analysis)
{
    size_t count = analysis->run->process_count;
    bool messages = count > 1 && analysis->matched.messages > 0;
    return count <= XFW_MOST_TOGETHER && (messages || analysis->matched.meetings > 0);
}

/* NULL: nothing was matched. */
static struct xfw_links *links_of(const struct xfa_analysis *analysis)
{
    if (!xfw_together_is_asked(analysis) ||
        analysis->matched.messages + analysis->matched.meetings == 0)
        return NULL;
    struct xfw_links *links = xfw_links_new();
    xfw_message_links_add(links, analysis);
    xfw_kernel_links_add(links, analysis);
    return links;
}

struct xfw_together *xfw_together_new(const struct xfa_analysis *analysis)
{
    size_t count = analysis->run->process_count;
    struct xfw_links *links = links_of(analysis);
    if (!links)
        return NULL;
    struct xfw_together *t = xfa_alloc(sizeof *t);
    t->analysis = analysis;
    t->links = links;
    t->count = count;
    t->ranks = xfa_alloc(count * sizeof *t->ranks);
    t->groups = xfa_alloc((links->count + 1) * sizeof *t->groups);
    t->alone = xfa_alloc(links->kernels.count + 1);
    t->first_ns = INFINITY;
    for (size_t i = 0; i < count; i++)
        t->first_ns =
            fmin(t->first_ns, common_ns(t, i, analysis->run->processes[i]->start_real_ns));
    return t;
}

void xfw_together_free(struct xfw_together *t)
{
    if (!t)
        return;
    xfw_links_free(t->links);
    free(t->groups);
    free(t->alone);
    free(t->ranks);
    free(t->free_slots);
    free(t);
}

double xfw_together_begun_ns(const struct xfw_together *t, uint32_t process)
{
    return common_ns(t, process, t->analysis->run->processes[process]->start_real_ns) - t->first_ns;
}

bool xfw_together_has(const struct xfw_together *t, uint32_t process)
{
    return t->ranks[process].linked;
}

struct xfw_ranks xfw_together_ranks(const struct xfw_together *t)
{
    return (struct xfw_ranks){.processes = t->count,
                              .messages = t->links->messages,
                              .meetings = t->links->meetings,
                              .apart = t->apart,
                              .unmet = t->links->unmet};
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Those of lower rank in a scan, too. */
static bool all_below_have_begun(const struct xfw_together *t, const struct xfw_link *link)
{
    for (uint32_t below = 0; below <= link->below; below++)
        if (!xfw_group_has_begun(t, link->group - below))
            return false;
    return true;
}

/* The ops behind the end of a call that waits for several groups; how many. */
static size_t waits_below(const struct xfw_together *t, const struct xfw_link *link,
                          const struct xfw_op *op, struct xfw_op *waits)
{
    uint32_t count = link && !op->begins && op->awaits == XFW_AWAITS_RANKS ? link->below : 0;
    for (uint32_t i = 0; i < count; i++) {
        waits[i] = xfw_op_like(op);
        waits[i].what = XFW_MESSAGE;
        waits[i].awaits = XFW_AWAITS_RANKS;
        waits[i].side = op->side;
        waits[i].of_ranks = op->of_ranks;
        waits[i].slot = t->groups[link->group - 1 - i].slot;
        waits[i].wake_ns = op->wake_ns;
    }
    return count;
}

/* False: it has to wait until others have begun. */
static bool end(struct xfw_together *t, const struct xfw_link *link, struct xfw_op *op)
{
    struct group *group = &t->groups[link->group];
    op->side = (uint8_t)link->key.side;
    if (!isnan(link->own_ns))
        op->own_ns = xfw_min(op->own_ns, link->own_ns);
    if (!link->awaits)
        return true;
    if (!all_below_have_begun(t, link))
        return false;
    op->slot = group->slot;
    op->of_ranks = link->awaits;
    op->awaits = XFW_AWAITS_RANKS;
    op->wake_ns = link->under_way_ns;
    return true;
}

static struct within *within_of(struct rank *rank, uint32_t thread)
{
    struct within *within = &rank->within[thread % MOST_WITHIN];
    if (within->thread != thread)
        *within = (struct within){.thread = thread};
    return within;
}

static void note_within(struct rank *rank, const struct xfw_link *link, const struct xfw_op *op)
{
    if (op->in_one_call && (link->awaits || !op->begins))
        within_of(rank, op->thread)->link = op->begins ? link : NULL;
}

/* The first call that MPI makes once the other side had begun: the time before was to wait. False:
 * the other side has still to begin. */
static bool wait_within(struct xfw_together *t, struct rank *rank, struct xfw_op *op,
                        struct xfw_op *wait)
{
    struct within *within = within_of(rank, op->thread);
    const struct xfw_link *link = within->link;
    wait->what = XFW_CALL;
    if (!link)
        return true;
    double since = t->first_ns + rank->begun_ns + op->start_ns - link->ready_ns;
    if (since < 0)
        return true;
    const struct group *group = &t->groups[link->group];
    if (!xfw_group_has_begun(t, link->group))
        return false;
    *wait = xfw_op_like(op);
    wait->what = XFW_MESSAGE;
    wait->awaits = XFW_AWAITS_RANKS;
    wait->side = (uint8_t)link->key.side;
    wait->of_ranks = link->awaits;
    wait->slot = group->slot;
    wait->wake_ns = since;
    op->gap_ns = 0;
    within->link = NULL;
    return true;
}

static bool prepare(struct xfw_together *t, struct rank *rank, struct xfw_op *op)
{
    const struct xfw_link *link = op->what == XFW_MESSAGE ? xfw_rank_link(t, rank, op) : NULL;
    if (!link)
        return true;
    rank->linked = true;
    note_within(rank, link, op);
    if (!op->begins)
        return end(t, link, op);
    xfw_group_begin(t, link->group, link->posts, op);
    return true;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void put_waits_below(struct xfw_together *t, struct rank *rank, const struct xfw_op *op)
{
    struct xfw_op waits[XFW_MOST_BELOW];
    const struct xfw_link *link = xfw_rank_link(t, rank, op);
    size_t count = waits_below(t, link, op, waits);
    for (size_t i = 0; i < count; i++) {
        xfw_rank_put(t, rank, &waits[i]);
        xfw_group_note_end(t, link->group - 1 - (uint32_t)i);
    }
}

/* False: it has to wait. */
static bool play_op(struct xfw_together *t, struct rank *rank, const struct xfw_op *next)
{
    struct xfw_op op = *next, wait = {.what = XFW_CALL};
    const struct xfw_kernel *kernel =
        xfw_kernel_of(t->links, rank->process->number, op.correlation);
    bool message = op.what == XFW_MESSAGE;
    if (!xfw_rank_end_kernels(t, rank, &op))
        return false;
    if (message ? !prepare(t, rank, &op) : !wait_within(t, rank, &op, &wait))
        return false;
    if (wait.what == XFW_MESSAGE)
        xfw_rank_put(t, rank, &wait);
    if (kernel && op.what == XFW_KERNEL && op.stream != XFW_NONE)
        xfw_rank_put_kernel(t, rank, &op, kernel);
    else
        xfw_rank_put(t, rank, &op);
    if (message)
        put_waits_below(t, rank, &op);
    return true;
}

/* Does it come behind one that waits: of its thread, stream or event? */
static bool comes_behind(const struct xfw_op *op, const struct xfw_op *held)
{
    bool streams = op->stream != XFW_NONE && held->stream != XFW_NONE;
    bool device = op->awaits == XFW_AWAITS_DEVICE || held->awaits == XFW_AWAITS_DEVICE;
    bool legacy = op->stream_kind == XFW_LEGACY || held->stream_kind == XFW_LEGACY;
    if (op->thread == held->thread || op->woken_by == held->thread ||
        op->woken_by_stream == held->number + 1)
        return true;
    if ((streams && op->stream == held->stream) ||
        (op->event != XFW_NONE && op->event == held->event))
        return true;
    return (device || (streams && legacy)) &&
           xfw_place_of_gpu(op->gpu) == xfw_place_of_gpu(held->gpu);
}

static bool can_pass(const struct rank *rank, const struct xfw_op *op, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (comes_behind(op, &rank->held[i]))
            return false;
    return true;
}

static void drop_held(struct rank *rank, unsigned at)
{
    rank->held_count--;
    memmove(&rank->held[at], &rank->held[at + 1], (rank->held_count - at) * sizeof *rank->held);
}

/* Those that waited, as far as they can go on now. */
static void play_held(struct xfw_together *t, struct rank *rank)
{
    uint64_t before;
    do {
        before = t->played;
        for (unsigned i = 0; i < rank->held_count;) {
            if (can_pass(rank, &rank->held[i], i) && play_op(t, rank, &rank->held[i]))
                drop_held(rank, i);
            else
                i++;
        }
    } while (t->played > before && rank->held_count > 0);
}

/* The next op; where its thread has to wait it is put off, and those of other threads go on. */
static void play_next(struct xfw_together *t, struct rank *rank)
{
    struct xfw_op *next = &rank->held[rank->held_count];
    rank->ended = !xfw_op_reader_next(rank->reader, next);
    if (rank->ended)
        return;
    rank->thread = rank->thread == XFW_NONE ? next->thread : rank->thread;
    rank->several = rank->several || next->thread != rank->thread;
    if (!can_pass(rank, next, rank->held_count) || !play_op(t, rank, next))
        rank->held_count++;
    else if (rank->held_count > 0 && (next->begins || next->correlation))
        play_held(t, rank);
}

/* Its ops until it has to wait, or is over. False: it has played none. */
static bool play_turn(struct xfw_together *t, size_t at)
{
    struct rank *rank = &t->ranks[at];
    uint64_t before = t->played;
    t->turns->turn(t->turns->self, at);
    play_held(t, rank);
    while (!rank->ended &&
           (rank->held_count == 0 || (rank->several && rank->held_count < MOST_PUT_OFF)))
        play_next(t, rank);
    rank->over = rank->ended && rank->held_count == 0 && xfw_rank_end_kernels(t, rank, NULL);
    xfw_rank_play_batch(t);
    return t->played > before;
}

static double waits_since(const struct rank *rank)
{
    return rank->held_count ? rank->begun_ns + rank->held->start_ns : rank->last_ns;
}

/* All wait: the first one does so no longer. */
static bool let_one_go(struct xfw_together *t)
{
    struct rank *first = NULL;
    for (size_t i = 0; i < t->count; i++) {
        struct rank *rank = &t->ranks[i];
        if (!rank->over && (!first || waits_since(rank) < waits_since(first)))
            first = rank;
    }
    if (!first)
        return false;
    t->apart++;
    t->turns->turn(t->turns->self, (size_t)(first - t->ranks));
    if (!xfw_rank_let_kernel_go(t, first) && first->held_count) {
        xfw_rank_put(t, first, first->held);
        drop_held(first, 0);
    }
    xfw_rank_play_batch(t);
    return true;
}

static void start(struct xfw_together *t, const struct xfw_op_store *store)
{
    t->free_count = 0;
    t->slots = 0;
    t->apart = 0;
    for (size_t i = 0; i < t->links->count; i++)
        t->groups[i] = (struct group){0};
    for (size_t i = 0; i < t->count; i++)
        t->ranks[i] = (struct rank){.process = t->analysis->run->processes[i],
                                    .begun_ns = xfw_together_begun_ns(t, (uint32_t)i),
                                    .thread = XFW_NONE,
                                    .reader = xfw_op_reader_new(store, i)};
}

void xfw_together_play(struct xfw_together *t, const struct xfw_op_store *store, bool keep,
                       const struct xfw_rank_turns *turns)
{
    bool any = true;
    t->keep = keep;
    t->turns = turns;
    start(t, store);
    while (any) {
        any = false;
        for (size_t i = 0; i < t->count; i++)
            any = (!t->ranks[i].over && play_turn(t, i)) || any;
        any = any || let_one_go(t);
    }
    for (size_t i = 0; i < t->count; i++) {
        xfw_op_reader_free(t->ranks[i].reader);
        t->ranks[i].reader = NULL;
    }
}

size_t xfw_together_again(struct xfw_together *t, uint32_t process, const struct xfw_op *given,
                          struct xfw_op all[XFW_MOST_AGAIN])
{
    struct rank *rank = &t->ranks[process];
    struct xfw_op op = *given;
    size_t count = 0;
    if (op.what == XFW_MESSAGE) {
        prepare(t, rank, &op);
        all[count++] = op;
        return count + waits_below(t, xfw_rank_link(t, rank, &op), &op, all + count);
    }
    wait_within(t, rank, &op, all);
    count = all->what == XFW_MESSAGE;
    count += xfw_kernel_again(t, process, &op, all + count);
    all[count++] = op;
    return count;
}

double xfw_together_rest_ns(const struct xfw_together *t, const struct xfw_op_store *store,
                            uint32_t process)
{
    double last = 0, end_ns;
    if (!t->ranks[process].linked)
        return -1;
    struct xfw_op_reader *reader = xfw_op_reader_new(store, process);
    xfw_op_reader_over(reader, &end_ns);
    xfw_op_reader_free(reader);
    for (size_t i = 0; i < t->count; i++)
        if (t->ranks[i].linked)
            last = fmax(last, t->ranks[i].last_ns);
    return xfw_together_begun_ns(t, process) + end_ns - last;
}
