#include "analyzer/pass/join.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

#define CLOCK_SLACK_NS 1000000u /* device timestamps are converted to the host's clock */
#define PLACES 65536u           /* where calls and copies are looked for, by their id */
#define MOST_LOOKED_AT 1024

/*
 * Two queues, of what waits and of early copies. Entries have ever growing numbers; the entry is at
 * its number modulo the queue's room. Those of one place form a chain, oldest first: what leaves a
 * queue is its oldest, and so the first of its chain.
 */
struct chain {
    uint64_t first, last; /* numbers + 1; 0 = none */
};

struct waiting {
    struct xfa_event event; /* of a call, transfer.device: of its copies, those that have come */
    bool wants;             /* a call without all its copies */
    uint64_t wanted;        /* bytes of all of them */
    uint64_t next;          /* the next call that is looked for in the same place */
};

struct early {
    struct xfa_device_copy copy;
    uint64_t id;
    uint64_t next;
    bool taken;
};

struct xfa_join {
    struct waiting *waiting;
    size_t room, window;
    uint64_t head, tail; /* numbers of the oldest, and of the next to come */
    struct chain *calls;

    struct early *early;
    uint64_t early_head, early_tail;
    struct chain *copies;

    struct xfa_device_copy previous; /* the copy that came last */
    uint64_t previous_id;
    struct xfa_unjoined unjoined;
};

struct xfa_join *xfa_join_within(size_t window)
{
    struct xfa_join *join = xfa_alloc(sizeof *join);
    join->window = window;
    join->room = window < 256 ? window : 256;
    join->waiting = xfa_alloc(join->room * sizeof *join->waiting);
    join->calls = xfa_alloc(PLACES * sizeof *join->calls);
    join->copies = xfa_alloc(PLACES * sizeof *join->copies);
    return join;
}

struct xfa_join *xfa_join_new(void)
{
    return xfa_join_within(XFA_WINDOW);
}

void xfa_join_free(struct xfa_join *join)
{
    free(join->waiting);
    free(join->calls);
    free(join->early);
    free(join->copies);
    free(join);
}

static uint64_t id_of(const struct xfa_event *event)
{
    return (uint64_t)event->process->number << 32 | event->correlation;
}

static size_t place_of(uint64_t id)
{
    return (size_t)((id ^ id >> 32) % PLACES);
}

static struct waiting *waiting_at(const struct xfa_join *join, uint64_t number)
{
    return &join->waiting[number & (join->room - 1)];
}

static struct early *early_at(const struct xfa_join *join, uint64_t number)
{
    return &join->early[number % XFA_EARLY_COPIES];
}

/* ---- a call and one of its copies ----------------------------------------------------------- */

/* One half of a copy between devices without peer access: the driver stages it in host memory. */
static bool is_half(const struct xfa_device_copy *copy)
{
    return copy->src_mem == XFT_MEM_DEVICE && copy->dst_mem == XFT_MEM_DEVICE &&
           (copy->direction == XFT_DIR_D2H || copy->direction == XFT_DIR_H2D);
}

/* What the copies of a call add up to, if this is one of them. */
static uint64_t wanted_with(const struct waiting *call, const struct xfa_device_copy *copy)
{
    bool halves = call->event.direction == XFT_DIR_P2P && is_half(copy);
    return halves ? xfa_add(call->event.bytes, call->event.bytes) : call->event.bytes;
}

/* Is it all of what the call asked for? */
static bool is_whole(const struct waiting *call, const struct xfa_device_copy *copy)
{
    return copy->bytes == wanted_with(call, copy);
}

static bool comes_after(const struct xfa_device_copy *copy, const struct waiting *call)
{
    return xfa_add(copy->end_ns, CLOCK_SLACK_NS) >= call->event.start_ns;
}

static void give(struct xfa_join *join, struct waiting *call, const struct xfa_device_copy *copy)
{
    struct xfa_device_copy *sum = &call->event.transfer.device;
    if (is_whole(call, copy) || sum->count == 0) {
        join->unjoined.copies += sum->count; /* parts of something else, then */
        join->unjoined.bytes = xfa_add(join->unjoined.bytes, sum->bytes);
        *sum = *copy;
        call->wanted = wanted_with(call, copy);
    } else {
        sum->bytes = xfa_add(sum->bytes, copy->bytes);
        sum->start_ns = copy->start_ns < sum->start_ns ? copy->start_ns : sum->start_ns;
        sum->end_ns = copy->end_ns > sum->end_ns ? copy->end_ns : sum->end_ns;
        sum->count++;
    }
    call->wants = sum->bytes < call->wanted;
}

/* ---- early copies --------------------------------------------------------------------------- */

static void drop_early(struct xfa_join *join)
{
    const struct early *early = early_at(join, join->early_head);
    struct chain *chain = &join->copies[place_of(early->id)];
    if (!early->taken) {
        join->unjoined.copies++;
        join->unjoined.bytes = xfa_add(join->unjoined.bytes, early->copy.bytes);
    }
    if (chain->first == join->early_head + 1)
        chain->first = early->next;
    if (chain->first == 0)
        chain->last = 0;
    join->early_head++;
}

static void keep_early(struct xfa_join *join, uint64_t id, const struct xfa_device_copy *copy)
{
    if (!join->early)
        join->early = xfa_alloc(XFA_EARLY_COPIES * sizeof *join->early);
    while (
        join->early_head < join->early_tail &&
        (join->early_tail - join->early_head == XFA_EARLY_COPIES ||
         xfa_add(early_at(join, join->early_head)->copy.end_ns, CLOCK_SLACK_NS) < copy->start_ns))
        drop_early(join);
    struct chain *chain = &join->copies[place_of(id)];
    *early_at(join, join->early_tail) = (struct early){.copy = *copy, .id = id};
    if (chain->last)
        early_at(join, chain->last - 1)->next = join->early_tail + 1;
    else
        chain->first = join->early_tail + 1;
    chain->last = ++join->early_tail;
}

/* Those that came before the call, the one that is all of it before any others. */
static void take_early(struct xfa_join *join, struct waiting *call, uint64_t id)
{
    uint64_t first = join->copies[place_of(id)].first, looked = 0;
    struct early *whole = NULL;
    for (uint64_t i = first; i && !whole && looked < MOST_LOOKED_AT; looked++) {
        struct early *early = early_at(join, i - 1);
        bool fits = !early->taken && early->id == id && comes_after(&early->copy, call);
        whole = fits && is_whole(call, &early->copy) ? early : NULL;
        i = early->next;
    }
    if (whole) {
        whole->taken = true;
        give(join, call, &whole->copy);
        return;
    }
    looked = 0;
    for (uint64_t i = first; i && call->wants && looked < MOST_LOOKED_AT; looked++) {
        struct early *early = early_at(join, i - 1);
        if (!early->taken && early->id == id && comes_after(&early->copy, call)) {
            early->taken = true;
            give(join, call, &early->copy);
        }
        i = early->next;
    }
}

/* ---- what waits ----------------------------------------------------------------------------- */

static void grow(struct xfa_join *join)
{
    size_t room = join->room * 2;
    struct waiting *waiting = xfa_alloc(room * sizeof *waiting);
    for (uint64_t i = join->head; i < join->tail; i++)
        waiting[i & (room - 1)] = *waiting_at(join, i);
    free(join->waiting);
    join->waiting = waiting;
    join->room = room;
}

bool xfa_join_waits(const struct xfa_join *join)
{
    return join->head < join->tail;
}

struct xfa_event *xfa_join_room(struct xfa_join *join)
{
    if (join->tail - join->head == join->room)
        grow(join);
    return &waiting_at(join, join->tail)->event;
}

void xfa_join_push(struct xfa_join *join)
{
    struct waiting *waiting = waiting_at(join, join->tail++);
    waiting->wants = xfa_event_moves(&waiting->event) && waiting->event.correlation != 0;
    waiting->next = 0;
    if (!waiting->wants)
        return;
    uint64_t id = id_of(&waiting->event);
    if (join->early_head < join->early_tail)
        take_early(join, waiting, id);
    if (!waiting->wants)
        return;
    struct chain *chain = &join->calls[place_of(id)];
    if (chain->last)
        waiting_at(join, chain->last - 1)->next = join->tail;
    else
        chain->first = join->tail;
    chain->last = join->tail;
}

/* Those of a chain's first calls that want nothing any more need not be looked at again. */
static void trim(struct xfa_join *join, struct chain *chain)
{
    while (chain->first && !waiting_at(join, chain->first - 1)->wants)
        chain->first = waiting_at(join, chain->first - 1)->next;
    if (chain->first == 0)
        chain->last = 0;
}

/* The call of which the copy is all, else the first of its id. */
static struct waiting *call_of(struct xfa_join *join, uint64_t id,
                               const struct xfa_device_copy *copy)
{
    struct chain *chain = &join->calls[place_of(id)];
    struct waiting *first = NULL;
    unsigned looked = 0;
    trim(join, chain);
    for (uint64_t i = chain->first; i && looked < MOST_LOOKED_AT; looked++) {
        struct waiting *call = waiting_at(join, i - 1);
        if (call->wants && id_of(&call->event) == id && comes_after(copy, call)) {
            if (is_whole(call, copy))
                return call;
            first = first ? first : call;
        }
        i = call->next;
    }
    return first;
}

static bool same(const struct xfa_device_copy *a, const struct xfa_device_copy *b)
{
    return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->bytes == b->bytes;
}

void xfa_join_copy(struct xfa_join *join, const struct xfa_event *event)
{
    if (event->bytes == 0 || event->start_ns == 0 || event->end_ns <= event->start_ns)
        return;
    struct xfa_device_copy copy = {
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .bytes = event->bytes,
        .count = 1,
        .src_place = event->src_place,
        .dst_place = event->dst_place,
        .direction = event->direction,
        .src_mem = event->src_mem,
        .dst_mem = event->dst_mem,
        .by_events = (event->flags & XFT_BY_EVENTS) != 0,
    };
    uint64_t id = id_of(event);
    if (id == join->previous_id && same(&copy, &join->previous))
        return; /* the record came twice */
    join->previous = copy;
    join->previous_id = id;
    struct waiting *call = call_of(join, id, &copy);
    if (call)
        give(join, call, &copy);
    else
        keep_early(join, id, &copy);
}

struct xfa_event *xfa_join_pop(struct xfa_join *join, bool last)
{
    if (join->head == join->tail)
        return NULL;
    struct waiting *waiting = waiting_at(join, join->head);
    bool full = join->tail - join->head == join->window;
    if (waiting->wants && !full && !last)
        return NULL;
    join->unjoined.late += waiting->wants && !last;
    waiting->wants = false;
    struct chain *chain = &join->calls[place_of(id_of(&waiting->event))];
    if (chain->first == join->head + 1)
        trim(join, chain);
    join->head++;
    return &waiting->event;
}

void xfa_join_end(struct xfa_join *join)
{
    while (join->early_head < join->early_tail)
        drop_early(join);
}

const struct xfa_unjoined *xfa_join_unjoined(const struct xfa_join *join)
{
    return &join->unjoined;
}
