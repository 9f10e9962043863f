#include "analyzer/whatif/together.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/change.h"
#include "analyzer/whatif/sample.h"

struct group {
    uint32_t posted, left; /* links that have begun; that wait and have not ended */
    uint32_t slot;
    bool open; /* it has the slot */
};

/* A call of MPI that a thread is in. */
struct within {
    uint32_t thread;
    const struct xfw_link *link; /* what it waits for; NULL: it is over, or waits for nothing */
};
#define MOST_WITHIN 16

struct rank {
    const struct xfa_process *process;
    struct xfw_op_reader *reader;
    struct xfw_op next; /* it waits with this one */
    bool waits, over;
    struct within within[MOST_WITHIN]; /* by thread */
    bool linked;                       /* it has a message that was matched */
    double begun_ns;                   /* xfw_together_begun_ns() */
    double last_ns;                    /* end of its last call, by the same clock */
};

struct xfw_together {
    const struct xfa_analysis *analysis;
    struct xfw_links *links;
    struct group *groups;
    struct rank *ranks;
    size_t count;
    double first_ns; /* when the first process began */
    uint32_t *free_slots;
    size_t free_count, free_capacity;
    uint32_t slots; /* so far */
    bool keep;
    const struct xfw_rank_turns *turns;
    struct xfw_op batch[XFW_BATCH];
    size_t batch_count;
    uint64_t apart;
};

/* ---- life ------------------------------------------------------------------------------------ */

static double common_ns(const struct xfw_together *t, size_t process, uint64_t real_ns)
{
    const struct xfa_process *of = t->analysis->run->processes[process];
    return xfa_host_clocks_ns(&t->analysis->matched.clocks, of->host, real_ns);
}

bool xfw_together_is_asked(const struct xfa_analysis *analysis)
{
    size_t count = analysis->run->process_count;
    return count > 1 && count <= XFW_MOST_TOGETHER && analysis->matched.messages > 0;
}

struct xfw_together *xfw_together_new(const struct xfa_analysis *analysis)
{
    size_t count = analysis->run->process_count;
    struct xfw_links *links = xfw_together_is_asked(analysis) ? xfw_links_new(analysis) : NULL;
    if (!links)
        return NULL;
    struct xfw_together *t = xfa_alloc(sizeof *t);
    t->analysis = analysis;
    t->links = links;
    t->count = count;
    t->ranks = xfa_alloc(count * sizeof *t->ranks);
    t->groups = xfa_alloc((links->count + 1) * sizeof *t->groups);
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

uint64_t xfw_together_count(const struct xfw_together *t)
{
    return t->links->messages;
}

uint64_t xfw_together_apart(const struct xfw_together *t)
{
    return t->apart;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static uint32_t take_slot(struct xfw_together *t)
{
    return t->free_count && !t->keep ? t->free_slots[--t->free_count] : t->slots++;
}

/* Nobody asks for it any more: those who did come before whoever has it next. */
static void end_slot(struct xfw_together *t, struct group *group)
{
    group->open = false;
    t->free_slots =
        xfa_room(t->free_slots, &t->free_capacity, t->free_count + 1, sizeof *t->free_slots);
    t->free_slots[t->free_count++] = group->slot;
}

/* ---- messages -------------------------------------------------------------------------------- */

static const struct xfw_link *link_of(const struct xfw_together *t, const struct rank *rank,
                                      const struct xfw_op *op)
{
    const struct xfa_process *process = rank->process;
    const double most = 9e18; /* of an int64_t; a file may say anything */
    if (!(fabs(op->began_ns) < most))
        return NULL;
    uint64_t began = process->start_mono_ns + (uint64_t)(int64_t)op->began_ns;
    return xfw_link_of(t->links, process->number, began, op->side);
}

static void begin(struct xfw_together *t, const struct xfw_link *link, struct xfw_op *op)
{
    struct group *group = &t->groups[link->group];
    if (!link->posts || t->links->groups[link->group].awaits == 0)
        return;
    bool new = !group->open;
    if (new) {
        group->open = true;
        group->slot = take_slot(t);
        group->left = t->links->groups[link->group].awaits;
    }
    group->posted++;
    op->slot = group->slot;
    op->of_ranks = link->posts | (new && group->posted == 1 ? XFW_OF_NEW : 0);
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
    if (group->posted < t->links->groups[link->group].posts)
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
    if (group->posted < t->links->groups[link->group].posts)
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
    const struct xfw_link *link = op->what == XFW_MESSAGE ? link_of(t, rank, op) : NULL;
    if (!link)
        return true;
    rank->linked = true;
    note_within(rank, link, op);
    if (!op->begins)
        return end(t, link, op);
    begin(t, link, op);
    return true;
}

static void play_batch(struct xfw_together *t)
{
    if (t->batch_count > 0)
        t->turns->batch(t->turns->self, t->batch, t->batch_count);
    t->batch_count = 0;
}

static void put(struct xfw_together *t, struct rank *rank, const struct xfw_op *op)
{
    t->batch[t->batch_count++] = *op;
    rank->last_ns = fmax(rank->last_ns, rank->begun_ns + op->end_ns);
    if (t->batch_count == XFW_BATCH)
        play_batch(t);
    struct group *group = NULL;
    if (op->awaits == XFW_AWAITS_RANKS && !op->made_up)
        group = &t->groups[link_of(t, rank, op)->group];
    if (group && --group->left == 0 && !t->keep)
        end_slot(t, group);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Its ops until it has to wait, or is over. False: it has played none. */
static bool play_turn(struct xfw_together *t, size_t at)
{
    struct rank *rank = &t->ranks[at];
    bool any = false;
    t->turns->turn(t->turns->self, at);
    while (!rank->over) {
        if (!rank->waits && !xfw_op_reader_next(rank->reader, &rank->next)) {
            rank->over = true;
            break;
        }
        struct xfw_op op = rank->next, wait = {.what = XFW_CALL};
        bool message = op.what == XFW_MESSAGE;
        rank->waits = message ? !prepare(t, rank, &op) : !wait_within(t, rank, &op, &wait);
        if (rank->waits)
            break;
        if (wait.what == XFW_MESSAGE)
            put(t, rank, &wait);
        put(t, rank, &op);
        any = true;
    }
    play_batch(t);
    return any;
}

static double waits_since(const struct xfw_together *t, const struct rank *rank)
{
    return rank->begun_ns + rank->next.start_ns;
}

/* All wait: the first one does so no longer. */
static bool let_one_go(struct xfw_together *t)
{
    struct rank *first = NULL;
    for (size_t i = 0; i < t->count; i++) {
        struct rank *rank = &t->ranks[i];
        if (rank->waits && (!first || waits_since(t, rank) < waits_since(t, first)))
            first = rank;
    }
    if (!first)
        return false;
    first->waits = false;
    t->apart++;
    t->turns->turn(t->turns->self, (size_t)(first - t->ranks));
    put(t, first, &first->next);
    play_batch(t);
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

bool xfw_together_again(struct xfw_together *t, uint32_t process, struct xfw_op *op,
                        struct xfw_op *wait)
{
    struct rank *rank = &t->ranks[process];
    if (op->what == XFW_MESSAGE) {
        prepare(t, rank, op);
        return false;
    }
    wait_within(t, rank, op, wait);
    return wait->what == XFW_MESSAGE;
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
