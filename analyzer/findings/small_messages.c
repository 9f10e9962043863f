/*
 * small-messages: two or more messages that a thread sends from one call site to one rank, with
 * nothing in between on which the next one could depend: it has received nothing, waited for
 * nothing (a request, a stream) and taken part in no collective. Lost: what messages of that size
 * take one by one, minus what one of all their bytes takes, by the profile's network; no more than
 * the calls but one took. Only where that is half of it at least: else the bytes take the time, and
 * not their number.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/message_items.h"

#define MOST_RUNS 64    /* of one process, that are open at one time */
#define MOST_SPOTS 4096 /* of a run; it ends there */
#define LEAST_PART 0.5

enum judged { NOT_JUDGED, MERGED };

struct run { /* of messages */
    struct xfa_message_item_key key;
    int32_t tid;
    uint64_t count, bytes;
    struct xfa_message_spot *spots;
    size_t capacity;
};

struct small_messages {
    struct xfa_message_items items; /* of runs */
    struct xfa_communicators communicators;
    struct run runs[MOST_RUNS];
    unsigned count;
    const struct xfa_process *process;
};

/* ---- runs ------------------------------------------------------------------------------------ */

static void close_run(struct small_messages *self, unsigned i)
{
    const struct run *run = &self->runs[i];
    struct xfa_message_item *item =
        run->count < 2 ? NULL
                       : xfa_message_items_add_all(&self->items, &run->key, run->spots, run->count);
    if (item) {
        item->messages += run->count;
        item->bytes = xfa_add(item->bytes, run->bytes);
    }
    free(run->spots);
    self->runs[i] = self->runs[--self->count];
}

/* Those of a thread, or of all. */
static void close_runs(struct small_messages *self, int32_t tid, bool all)
{
    for (unsigned i = self->count; i-- > 0;)
        if (all || self->runs[i].tid == tid)
            close_run(self, i);
}

static void sent(struct small_messages *self, const struct xfa_event *event)
{
    const struct xfa_known_communicator *known =
        xfa_communicators_of(&self->communicators, event->message.communicator);
    struct xfa_message_item_key key;
    unsigned i = 0;
    if (!known || !known->shared || event->message.to >= XFT_RANK_ANY || event->bytes == 0)
        return;
    memset(&key, 0, sizeof key);
    key.communicator = known->id;
    key.site = xfa_site_of(event)->number;
    key.function = xfa_function_of(event)->number;
    key.from = known->rank;
    key.to = event->message.to;
    key.size_class = xfa_size_class(event->bytes);
    while (i < self->count &&
           (self->runs[i].tid != event->tid || memcmp(&self->runs[i].key, &key, sizeof key) != 0))
        i++;
    if (i == MOST_RUNS)
        return;
    if (i == self->count)
        self->runs[self->count++] = (struct run){.key = key, .tid = event->tid};
    struct run *run = &self->runs[i];
    run->spots = xfa_room(run->spots, &run->capacity, run->count + 1, sizeof *run->spots);
    run->spots[run->count++] = (struct xfa_message_spot){.process = self->process,
                                                         .tid = event->tid,
                                                         .of = XFW_CUT_SENT,
                                                         .at_ns = event->start_ns,
                                                         .began_ns = event->start_ns,
                                                         .message_ns = xfa_event_ns(event)};
    run->bytes = xfa_add(run->bytes, event->bytes);
    if (run->count == MOST_SPOTS)
        close_run(self, i);
}

/* ---- the observer ---------------------------------------------------------------------------- */

/* Nothing can depend yet on a receive that has only begun. */
static bool ends_runs(const struct xfa_event *event)
{
    if (event->kind != XFT_EVENT_MESSAGE)
        return event->kind == XFT_EVENT_SYNC;
    return event->message.what != XFT_MESSAGE_SEND && event->message.what != XFT_MESSAGE_PUT &&
           !(event->flags & XFT_ASYNC);
}

static void event(void *of, const struct xfa_event *event)
{
    struct small_messages *self = of;
    if (event->kind == XFT_EVENT_COMMUNICATOR)
        xfa_communicators_add(&self->communicators, event);
    else if (ends_runs(event))
        close_runs(self, event->tid, false);
    else if (event->kind == XFT_EVENT_MESSAGE && event->message.what == XFT_MESSAGE_SEND &&
             event->message.level == XFT_LEVEL_MPI && !(event->flags & XFT_FAILED) &&
             event->status == 0)
        sent(self, event);
}

/* What a copy brings to the host can be sent only then. */
static void transfer(void *of, const struct xfa_event *event)
{
    struct small_messages *self = of;
    if (self->count && event->transfer.class->key.row.direction == XFT_DIR_D2H)
        close_runs(self, event->tid, false);
}

static void end(void *of, struct xfa_process *process)
{
    struct small_messages *self = of;
    close_runs(self, 0, true);
    xfa_communicators_end(&self->communicators);
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct small_messages *self = of;
    self->process = process;
    xfa_communicators_begin(&self->communicators);
    return XFA_ALL_KINDS;
}

static double filled(const void *of)
{
    return xfa_message_items_filled(&((const struct small_messages *)of)->items);
}

static struct xfa_observer observe(void *self)
{
    struct small_messages *small = self;
    xfa_message_items_init(&small->items);
    return (struct xfa_observer){
        .name = "small messages",
        .kinds = XFA_KINDS_OF_MESSAGES | XFA_KIND(XFT_EVENT_SYNC),
        .self = self,
        .divided = true,
        .process = process,
        .event = event,
        .transfer = transfer,
        .end = end,
        .filled = filled,
    };
}

static void release(void *of)
{
    struct small_messages *self = of;
    close_runs(self, 0, true); /* of a walk that was broken off */
    xfa_message_items_free(&self->items);
}

/* ---- divided --------------------------------------------------------------------------------- */

static void give(const void *of, struct xfa_parcel *parcel)
{
    xfa_message_items_give(&((const struct small_messages *)of)->items, parcel);
}

static void take(void *of, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    xfa_message_items_take(&((struct small_messages *)of)->items, analysis, from);
}

static void taken(void *of)
{
    xfa_message_items_taken(&((struct small_messages *)of)->items);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static double takes_ns(const struct xfa_message_path *path, double bytes)
{
    struct xfp_estimate time = xfa_achievable_message(path, (uint64_t)bytes, false);
    return time.basis == XFP_UNKNOWN ? NAN : time.ns;
}

/* What a run of the item would save. */
static void judge(const struct xfa_analysis *analysis, struct xfa_message_item *item)
{
    struct xfa_message_path path = xfa_message_item_path(analysis, item);
    double count = (double)item->messages / (double)item->times;
    double each = count * takes_ns(&path, (double)item->bytes / (double)item->messages);
    double saved = each - takes_ns(&path, (double)item->bytes / (double)item->times);
    double calls = xfa_exact_value(&item->message_time) / (double)item->times * (count - 1) / count;
    item->judged = saved >= LEAST_PART * each ? MERGED : NOT_JUDGED; /* not for NAN */
    item->saved_ns = item->likely_ns = item->judged ? fmin(saved, calls) : NAN;
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_SMALL_MESSAGES,
        .remedy = {.kind = XFA_REMEDY_MERGE_MESSAGES, .node = -1},
        .reckoning = XFA_RECKONED_MERGED,
        .assumed = "the rank that receives them can take them all at once",
    };
    const struct small_messages *self = sums;
    for (size_t i = 0; i < self->items.all.count; i++)
        judge(analysis, xfa_message_item(&self->items, i));
    xfa_message_items_report(analysis, &self->items, MERGED, &like, findings);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    return xfa_message_items_change(analysis, &((const struct small_messages *)sums)->items, MERGED,
                                    finding);
}

const struct xfa_finding_kind xfa_kind_small_messages = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct small_messages),
    .observe = observe,
    .free = release,
    .give = give,
    .take = take,
    .taken = taken,
};
