#include "analyzer/whatif/together.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/change.h"
#include "analyzer/whatif/kernel_links.h"
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

/* A kernel of NCCL that has begun, and ends behind those of other ranks. */
struct open_kernel {
    struct xfw_op op; /* made up, like its own */
    uint32_t stream;
    const struct xfw_kernel *kernel;
};
#define MOST_OPEN 32
#define MOST_PUT_OFF 64

struct rank {
    const struct xfa_process *process;
    struct xfw_op_reader *reader;
    struct xfw_op held[MOST_PUT_OFF]; /* ops that wait, in their order */
    unsigned held_count;
    uint32_t thread;                    /* of its first op */
    bool several;                       /* it has others */
    bool ended, over;                   /* ended: it has no more ops */
    struct open_kernel open[MOST_OPEN]; /* in the order of their beginning */
    unsigned open_count;
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
    uint64_t played, apart;
    bool *alone; /* kernels, by place: played by themselves */
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
    bool messages = count > 1 && analysis->matched.messages > 0;
    return count <= XFW_MOST_TOGETHER && (messages || analysis->matched.meetings > 0);
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

/* A part of the group begins with this op. */
static void begin(struct xfw_together *t, uint32_t number, uint8_t posts, struct xfw_op *op)
{
    struct group *group = &t->groups[number];
    if (!posts || t->links->groups[number].awaits == 0)
        return;
    bool new = !group->open;
    if (new) {
        group->open = true;
        group->slot = take_slot(t);
        group->left = t->links->groups[number].awaits;
    }
    group->posted++;
    op->slot = group->slot;
    op->of_ranks = posts | (new && group->posted == 1 ? XFW_OF_NEW : 0);
}

static bool all_have_begun(const struct xfw_together *t, uint32_t number)
{
    return t->groups[number].posted >= t->links->groups[number].posts;
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
    if (!all_have_begun(t, link->group))
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
    if (!all_have_begun(t, link->group))
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
    begin(t, link->group, link->posts, op);
    return true;
}

static void play_batch(struct xfw_together *t)
{
    if (t->batch_count > 0)
        t->turns->batch(t->turns->self, t->batch, t->batch_count);
    t->batch_count = 0;
}

/* One less waits for it. */
static void note_end(struct xfw_together *t, uint32_t number)
{
    struct group *group = &t->groups[number];
    if (--group->left == 0 && !t->keep)
        end_slot(t, group);
}

static void put(struct xfw_together *t, struct rank *rank, const struct xfw_op *op)
{
    t->batch[t->batch_count++] = *op;
    t->played++;
    rank->last_ns = fmax(rank->last_ns, rank->begun_ns + op->end_ns);
    if (t->batch_count == XFW_BATCH)
        play_batch(t);
    if (op->awaits == XFW_AWAITS_RANKS && !op->made_up)
        note_end(t, link_of(t, rank, op)->group);
}

/* ---- kernels of NCCL ------------------------------------------------------------------------- */

static const struct xfw_kernel_part *part_of(const struct xfw_together *t, uint32_t place)
{
    return xfw_kernel_part(t->links, place);
}

static bool can_end(const struct xfw_together *t, const struct xfw_kernel *kernel)
{
    const struct xfw_kernel_part *part = part_of(t, kernel->first);
    for (; part; part = part_of(t, part->next))
        if (part->awaits && !all_have_begun(t, part->group))
            return false;
    return true;
}

/* The ops that say when it ends; how many. */
static size_t ends_of(const struct xfw_together *t, const struct xfw_kernel *kernel,
                      const struct xfw_op *like, struct xfw_op ends[XFW_MOST_MEETINGS])
{
    const struct xfw_kernel_part *part = part_of(t, kernel->first);
    size_t count = 0;
    for (; part; part = part_of(t, part->next)) {
        if (!part->awaits)
            continue;
        struct xfw_op *end = &ends[count++];
        *end = *like;
        end->slot = t->groups[part->group].slot;
        end->of_ranks = part->awaits;
        end->wake_ns = part->under_way_ns - part->later_ns;
    }
    ends[count ? count - 1 : 0].last_piece = true;
    return count;
}

/* alone: it takes as long as it took. */
static void end_kernel(struct xfw_together *t, struct rank *rank, unsigned at, bool alone)
{
    const struct open_kernel open = rank->open[at];
    struct xfw_op ends[XFW_MOST_MEETINGS] = {open.op};
    size_t count = 1;
    rank->open_count--;
    memmove(&rank->open[at], &rank->open[at + 1], (rank->open_count - at) * sizeof *rank->open);
    if (!alone)
        count = ends_of(t, open.kernel, &open.op, ends);
    ends[0].last_piece = ends[0].last_piece || alone;
    t->alone[xfa_table_place(&t->links->kernels, open.kernel)] = alone;
    for (size_t i = 0; i < count; i++)
        put(t, rank, &ends[i]);
    const struct xfw_kernel_part *part = part_of(t, open.kernel->first);
    for (; part; part = part_of(t, part->next))
        if (part->awaits)
            note_end(t, part->group);
}

/* Does the op wait for the kernel, or for what comes behind it? */
static bool is_behind(const struct xfw_op *op, const struct open_kernel *open)
{
    bool same_gpu = xfw_place_of_gpu(op->gpu) == xfw_place_of_gpu(open->op.gpu);
    if (op->awaits == XFW_AWAITS_DEVICE)
        return same_gpu;
    if (op->stream == open->stream && op->stream != XFW_NONE)
        return true;
    return op->stream != XFW_NONE && same_gpu &&
           (op->stream_kind == XFW_LEGACY || open->op.stream_kind == XFW_LEGACY);
}

/* Those that this op is behind (NULL: all) end. False: others have still to begin. */
static bool end_kernels(struct xfw_together *t, struct rank *rank, const struct xfw_op *op)
{
    for (unsigned i = 0; i < rank->open_count;) {
        bool full = rank->open_count == MOST_OPEN && i == 0 && op && op->correlation;
        if (op && !full && !is_behind(op, &rank->open[i])) {
            i++;
            continue;
        }
        if (!can_end(t, rank->open[i].kernel))
            return false;
        end_kernel(t, rank, i, false);
    }
    return true;
}

/* A kernel begins, and is open until an op is behind it. */
static void put_kernel(struct xfw_together *t, struct rank *rank, struct xfw_op *op,
                       const struct xfw_kernel *kernel)
{
    struct open_kernel *open = &rank->open[rank->open_count];
    const struct xfw_kernel_part *part = part_of(t, kernel->first);
    *open = (struct open_kernel){.op = xfw_op_like(op), .stream = op->stream, .kernel = kernel};
    open->op.what = XFW_MEETING;
    open->op.stream = XFW_NONE; /* it is no work */
    op->meets = true;
    put(t, rank, op);
    for (; part; part = part_of(t, part->next)) {
        struct xfw_op begun = open->op;
        begun.begins = true;
        begun.wake_ns = part->later_ns;
        begin(t, part->group, part->posts, &begun);
        if (begun.slot != XFW_NONE)
            put(t, rank, &begun);
    }
    rank->open_count++;
    if (!kernel->waits)
        end_kernel(t, rank, rank->open_count - 1, true);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* False: it has to wait. */
static bool play_op(struct xfw_together *t, struct rank *rank, const struct xfw_op *next)
{
    struct xfw_op op = *next, wait = {.what = XFW_CALL};
    const struct xfw_kernel *kernel =
        xfw_kernel_of(t->links, rank->process->number, op.correlation);
    bool message = op.what == XFW_MESSAGE;
    if (!end_kernels(t, rank, &op))
        return false;
    if (message ? !prepare(t, rank, &op) : !wait_within(t, rank, &op, &wait))
        return false;
    if (wait.what == XFW_MESSAGE)
        put(t, rank, &wait);
    if (kernel && op.what == XFW_KERNEL && op.stream != XFW_NONE)
        put_kernel(t, rank, &op, kernel);
    else
        put(t, rank, &op);
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
    rank->over = rank->ended && rank->held_count == 0 && end_kernels(t, rank, NULL);
    play_batch(t);
    return t->played > before;
}

static double waits_since(const struct rank *rank)
{
    return rank->held_count ? rank->begun_ns + rank->held->start_ns : rank->last_ns;
}

/* The kernel for which its first op waits is over without the others. False: it is none. */
static bool let_kernel_go(struct xfw_together *t, struct rank *rank)
{
    for (unsigned i = 0; i < rank->open_count; i++) {
        if (can_end(t, rank->open[i].kernel) ||
            (rank->held_count && !is_behind(rank->held, &rank->open[i])))
            continue;
        end_kernel(t, rank, i, true);
        return true;
    }
    return false;
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
    if (!let_kernel_go(t, first) && first->held_count) {
        put(t, first, first->held);
        drop_held(first, 0);
    }
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

size_t xfw_together_again(struct xfw_together *t, uint32_t process, struct xfw_op *op,
                          struct xfw_op before[XFW_MOST_BEFORE])
{
    struct rank *rank = &t->ranks[process];
    if (op->what == XFW_MESSAGE) {
        prepare(t, rank, op);
        return 0;
    }
    wait_within(t, rank, op, before);
    size_t count = before->what == XFW_MESSAGE;
    const struct xfw_kernel *kernel = xfw_kernel_of(t->links, process, op->correlation);
    if (!kernel || op->what != XFW_KERNEL || op->stream == XFW_NONE ||
        t->alone[xfa_table_place(&t->links->kernels, kernel)])
        return count;
    struct xfw_op like = xfw_op_like(op);
    like.what = XFW_MEETING;
    like.stream = XFW_NONE;
    op->meets = like.meets = true;
    return count + ends_of(t, kernel, &like, before + count);
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
