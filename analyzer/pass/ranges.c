#include "analyzer/pass/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/table.h"
#include "analyzer/pass/event.h"

/* Entries of a table that nothing is open for may be as many as those that are in use, and so many
 * more, before it is made anew. */
#define CLOSED_KEPT 64

/* Slots + 1; 0 = none. */
struct open {
    struct xfa_range range;
    uint32_t outer, inner; /* of the thread, now; inner: of a free slot the next free one */
    uint32_t below;        /* of the thread and domain */
    bool used;
};

struct lane {
    uint32_t id; /* key */
    int32_t tid;
    uint64_t thread;     /* a number of its own for each thread of each lane */
    uint32_t innermost;  /* slot + 1 */
    uint64_t unfollowed; /* of domains in which nothing was followed */
    uint64_t last_ns;
};

/* A thread and a domain. */
struct nest {
    struct nest_key {
        uint64_t thread, domain;
    } key;
    uint32_t top;        /* slot + 1; 0: nothing is open, and the entry is in use no more */
    uint64_t unfollowed; /* within the top one */
};

struct started {
    uint64_t id;   /* key */
    uint32_t slot; /* + 1; 0 as of nests */
};

struct xfa_ranges {
    xfa_unended_fn *unended;
    void *self;
    struct open *open;
    size_t most, count, capacity; /* count: slots that were ever used */
    uint32_t free;                /* slot + 1 */
    size_t open_count;
    struct xfa_table lanes, nests, started;
    size_t nests_used, started_used;
    uint64_t started_unfollowed;
    uint64_t threads, numbers;
    struct xfa_range ended; /* the last one */
    struct xfa_range_counts counts;
};

/* ---- slots ----------------------------------------------------------------------------------- */

static struct open *at(const struct xfa_ranges *ranges, uint32_t slot_1)
{
    return &ranges->open[slot_1 - 1];
}

static bool is_full(const struct xfa_ranges *ranges)
{
    return ranges->open_count == ranges->most;
}

static struct open *take_slot(struct xfa_ranges *ranges)
{
    uint32_t slot = ranges->free;
    if (slot) {
        ranges->free = at(ranges, slot)->inner;
    } else {
        ranges->open =
            xfa_room(ranges->open, &ranges->capacity, ranges->count + 1, sizeof *ranges->open);
        slot = (uint32_t)++ranges->count;
    }
    ranges->open_count++;
    struct open *open = at(ranges, slot);
    *open = (struct open){.range.slot = slot - 1, .used = true};
    return open;
}

/* Hands out a copy: the slot is free from now on. */
static const struct xfa_range *give_slot_back(struct xfa_ranges *ranges, struct open *open)
{
    ranges->ended = open->range;
    open->used = false;
    open->inner = ranges->free;
    ranges->free = open->range.slot + 1;
    ranges->open_count--;
    return &ranges->ended;
}

static struct open *begin(struct xfa_ranges *ranges, const struct xfa_event *event)
{
    struct open *open = take_slot(ranges);
    open->range.number = ranges->numbers++;
    open->range.id = event->nvtx.id;
    open->range.domain = event->nvtx.domain;
    open->range.name = event->nvtx.name;
    open->range.start_ns = event->start_ns;
    open->range.lane = event->lane;
    open->range.tid = event->tid;
    return open;
}

static void end_without_end(struct xfa_ranges *ranges, const struct xfa_range *range,
                            enum xfa_unended why, uint64_t end_ns)
{
    ranges->counts.unended++;
    if (ranges->unended)
        ranges->unended(ranges->self, range, why, end_ns);
}

/* Tables do not forget: what is in use goes to another one when most is not. `used` lies at that
 * place of an item. */
static void forget_closed(struct xfa_table *table, size_t in_use, size_t used)
{
    if (table->count < 2 * in_use + CLOSED_KEPT)
        return;
    struct xfa_table kept;
    xfa_table_init(&kept, table->key_bytes, table->item_bytes);
    for (size_t i = 0; i < table->count; i++) {
        const unsigned char *item = xfa_table_at(table, i);
        if (*(const uint32_t *)(const void *)(item + used))
            memcpy(xfa_table_put(&kept, item), item, table->item_bytes);
    }
    xfa_table_free(table);
    *table = kept;
}

/* ---- of threads ------------------------------------------------------------------------------ */

static struct nest *nest_of(const struct xfa_ranges *ranges, uint64_t thread, uint64_t domain)
{
    const struct nest_key key = {thread, domain};
    struct nest *nest = xfa_table_get(&ranges->nests, &key);
    return nest && nest->top ? nest : NULL;
}

static const struct xfa_range *pop(struct xfa_ranges *ranges, struct lane *lane, struct nest *nest)
{
    struct open *open = at(ranges, nest->top);
    nest->top = open->below;
    ranges->nests_used -= nest->top == 0;
    if (open->inner)
        at(ranges, open->inner)->outer = open->outer;
    else
        lane->innermost = open->outer;
    if (open->outer)
        at(ranges, open->outer)->inner = open->inner;
    return give_slot_back(ranges, open);
}

static void end_thread(struct xfa_ranges *ranges, struct lane *lane)
{
    while (lane->innermost) {
        uint64_t domain = at(ranges, lane->innermost)->range.domain;
        struct nest *nest = nest_of(ranges, lane->thread, domain);
        nest->unfollowed = 0;
        end_without_end(ranges, pop(ranges, lane, nest), XFA_THREAD_ENDED, lane->last_ns);
    }
}

/* make: else NULL where it never had a range. */
static struct lane *lane_of(struct xfa_ranges *ranges, uint32_t id, int32_t tid, bool make)
{
    struct lane *lane = xfa_table_get(&ranges->lanes, &id);
    if (lane && lane->tid == tid)
        return lane;
    if (lane)
        end_thread(ranges, lane);
    else if (make)
        lane = xfa_table_put(&ranges->lanes, &id);
    if (lane) {
        lane->tid = tid;
        lane->thread = ranges->threads++;
        lane->unfollowed = 0;
    }
    return lane;
}

static const struct xfa_range *push(struct xfa_ranges *ranges, struct lane *lane,
                                    const struct xfa_event *event)
{
    struct nest *nest = nest_of(ranges, lane->thread, event->nvtx.domain);
    if (is_full(ranges) || (nest && nest->unfollowed)) {
        ++*(nest ? &nest->unfollowed : &lane->unfollowed);
        ranges->counts.beyond++;
        return NULL;
    }
    if (!nest) {
        const struct nest_key key = {lane->thread, event->nvtx.domain};
        forget_closed(&ranges->nests, ranges->nests_used, offsetof(struct nest, top));
        nest = xfa_table_put(&ranges->nests, &key);
        nest->unfollowed = 0;
        ranges->nests_used++;
    }
    struct open *open = begin(ranges, event);
    uint32_t slot = open->range.slot + 1;
    open->below = nest->top;
    open->outer = open->range.outer = lane->innermost;
    if (open->outer) {
        at(ranges, open->outer)->inner = slot;
        open->range.depth = at(ranges, open->outer)->range.depth + 1;
    }
    lane->innermost = nest->top = slot;
    return &open->range;
}

static const struct xfa_range *end_pushed(struct xfa_ranges *ranges, struct lane *lane,
                                          const struct xfa_event *event)
{
    struct nest *nest = nest_of(ranges, lane->thread, event->nvtx.domain);
    uint64_t *unfollowed = nest ? &nest->unfollowed : &lane->unfollowed;
    if (*unfollowed)
        --*unfollowed;
    else if (nest)
        return pop(ranges, lane, nest);
    else
        ranges->counts.stray_ends++;
    return NULL;
}

static const struct xfa_range *of_thread(struct xfa_ranges *ranges, const struct xfa_event *event)
{
    struct lane *lane = lane_of(ranges, event->lane, event->tid, true);
    lane->last_ns = event->start_ns;
    return event->kind == XFT_EVENT_RANGE_BEGIN ? push(ranges, lane, event)
                                                : end_pushed(ranges, lane, event);
}

/* ---- of the process -------------------------------------------------------------------------- */

static const struct xfa_range *end_started(struct xfa_ranges *ranges, struct started *started)
{
    struct open *open = at(ranges, started->slot);
    started->slot = 0;
    ranges->started_used--;
    return give_slot_back(ranges, open);
}

static const struct xfa_range *start(struct xfa_ranges *ranges, const struct xfa_event *event)
{
    struct started *started = xfa_table_get(&ranges->started, &event->nvtx.id);
    if (started && started->slot)
        end_without_end(ranges, end_started(ranges, started), XFA_BEGUN_AGAIN, event->start_ns);
    if (is_full(ranges)) {
        ranges->started_unfollowed++;
        ranges->counts.beyond++;
        return NULL;
    }
    forget_closed(&ranges->started, ranges->started_used, offsetof(struct started, slot));
    struct open *open = begin(ranges, event);
    started = xfa_table_put(&ranges->started, &event->nvtx.id);
    started->slot = open->range.slot + 1;
    ranges->started_used++;
    return &open->range;
}

static const struct xfa_range *of_process(struct xfa_ranges *ranges, const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_RANGE_BEGIN)
        return start(ranges, event);
    struct started *started = xfa_table_get(&ranges->started, &event->nvtx.id);
    if (started && started->slot)
        return end_started(ranges, started);
    if (ranges->started_unfollowed)
        ranges->started_unfollowed--;
    else
        ranges->counts.stray_ends++;
    return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

const struct xfa_range *xfa_ranges_take(struct xfa_ranges *ranges, const struct xfa_event *event)
{
    return event->nvtx.id ? of_process(ranges, event) : of_thread(ranges, event);
}

const struct xfa_range *xfa_ranges_around(struct xfa_ranges *ranges, const struct xfa_event *event)
{
    struct lane *lane =
        ranges->lanes.count ? lane_of(ranges, event->lane, event->tid, false) : NULL;
    if (!lane)
        return NULL;
    lane->last_ns = event->end_ns;
    return lane->innermost ? &at(ranges, lane->innermost)->range : NULL;
}

static int latest_first(const void *a, const void *b)
{
    const struct open *x = a, *y = b;
    if (x->used != y->used)
        return y->used - x->used;
    return (x->range.number < y->range.number) - (x->range.number > y->range.number);
}

static void begin_process(struct xfa_ranges *ranges)
{
    xfa_table_init(&ranges->lanes, sizeof(uint32_t), sizeof(struct lane));
    xfa_table_init(&ranges->nests, sizeof(struct nest_key), sizeof(struct nest));
    xfa_table_init(&ranges->started, sizeof(uint64_t), sizeof(struct started));
    ranges->count = ranges->open_count = ranges->nests_used = ranges->started_used = 0;
    ranges->free = 0;
    ranges->started_unfollowed = ranges->threads = ranges->numbers = 0;
}

static void end_process(struct xfa_ranges *ranges)
{
    xfa_table_free(&ranges->lanes);
    xfa_table_free(&ranges->nests);
    xfa_table_free(&ranges->started);
}

void xfa_ranges_end(struct xfa_ranges *ranges, uint64_t end_ns)
{
    if (ranges->count)
        qsort(ranges->open, ranges->count, sizeof *ranges->open, latest_first);
    for (size_t i = 0; i < ranges->count && ranges->open[i].used; i++)
        end_without_end(ranges, &ranges->open[i].range, XFA_PROCESS_ENDED, end_ns);
    end_process(ranges);
    begin_process(ranges);
}

struct xfa_ranges *xfa_ranges_within(size_t most, xfa_unended_fn *unended, void *self)
{
    struct xfa_ranges *ranges = xfa_alloc(sizeof *ranges);
    ranges->most = most;
    ranges->unended = unended;
    ranges->self = self;
    begin_process(ranges);
    return ranges;
}

struct xfa_ranges *xfa_ranges_new(xfa_unended_fn *unended, void *self)
{
    return xfa_ranges_within(XFA_OPEN_RANGES, unended, self);
}

void xfa_ranges_free(struct xfa_ranges *ranges)
{
    if (!ranges)
        return;
    end_process(ranges);
    free(ranges->open);
    free(ranges);
}

size_t xfa_ranges_open(const struct xfa_ranges *ranges)
{
    return ranges->open_count;
}

struct xfa_range_counts xfa_ranges_counts(const struct xfa_ranges *ranges)
{
    return ranges->counts;
}
