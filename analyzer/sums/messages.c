#include "analyzer/sums/messages.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

#define MOST_EARLY 64
#define NCCL_CALLS 4096 /* whose kernels are looked for, by their correlations' lower bits */

/* A request that has begun. */
struct request {
    uint64_t request; /* key: handle, used again once it is complete */
    uint64_t began_ns;
    uint32_t row, kept;
    uint32_t communicator;
    uint32_t rank, tag; /* of a receive from any rank, which is counted once its sender is known */
    bool open, any;
};

/* The last call of a thread that waited, and the rows of what it found complete. */
struct waited {
    int32_t tid; /* key */
    uint64_t start_ns, end_ns;
    uint32_t *rows;
    size_t count, capacity;
};

struct nccl_call {
    uint32_t correlation; /* 0 = none */
    uint32_t row;
    uint64_t bytes;
    uint32_t calls; /* that have it */
    bool several;   /* they are of different rows */
};

struct xfa_message_process {
    struct xfa_process *process;
    struct xfa_communicators communicators;
    struct xfa_table channels, requests, waits;
    struct nccl_call *nccl; /* NCCL_CALLS; NULL: none was made */
    /* A call that is the first of its communicator begins before the trace has the communicator:
     * that call, and what follows it until then. */
    struct xfa_event early[MOST_EARLY];
    size_t early_count;
};

static struct xfa_message_row *row_at(const struct xfa_messages *messages, uint32_t row)
{
    return xfa_table_at(&messages->rows, row);
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* Requests that have begun know where theirs lie. */
static void move_requests(void *self, const uint32_t *moved)
{
    struct xfa_messages *messages = self;
    for (size_t i = 0; i < messages->now->requests.count; i++) {
        struct request *request = xfa_table_at(&messages->now->requests, i);
        if (request->kept != XFA_NOT_KEPT)
            request->kept = moved[request->kept];
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_gpu(const struct xfa_event *event)
{
    return event->src_mem == XFT_MEM_DEVICE || event->dst_mem == XFT_MEM_DEVICE;
}

static void set_ranks(struct xfa_message_key *key, const struct xfa_message *message,
                      const struct xfa_known_communicator *communicator)
{
    uint32_t own = xfa_communicator_rank(communicator, communicator ? communicator->rank : 0);
    key->to = xfa_communicator_rank(communicator, message->to);
    key->from = xfa_communicator_rank(communicator, message->from);
    if (message->what == XFT_MESSAGE_SEND || message->what == XFT_MESSAGE_PUT)
        key->from = own;
    if (message->what == XFT_MESSAGE_RECV || message->what == XFT_MESSAGE_GET)
        key->to = own;
    if (xft_message_is_collective(message->what))
        key->from = XFT_RANK_NONE;
    if (message->what == XFT_MESSAGE_WAIT)
        key->from = key->to = XFT_RANK_NONE;
}

/* Leaves out of a new row's key what there are too many of. */
static void fold(struct xfa_messages *messages, const struct xfa_event *event,
                 struct xfa_message_key *key)
{
    const struct xfa_table *rows = &messages->rows;
    size_t most = messages->most ? messages->most : XFA_MAX_MESSAGE_ROWS;
    size_t folded = messages->most_folded ? messages->most_folded : XFA_MAX_FOLDED_MESSAGE_ROWS;
    if (rows->count < most || xfa_table_get(rows, key))
        return;
    key->communicator = 0;
    key->from = key->to = XFT_RANK_ANY;
    if (rows->count < most + folded || xfa_table_get(rows, key)) {
        messages->without_ranks++;
        return;
    }
    key->site = xfa_process_site(event->process, 0)->number;
    messages->without_site++;
}

static uint32_t row_of(struct xfa_messages *messages, const struct xfa_event *event,
                       const struct xfa_known_communicator *communicator)
{
    struct xfa_message_key key;
    memset(&key, 0, sizeof key);
    key.site = xfa_site_of(event)->number;
    key.function = xfa_function_of(event)->number;
    key.what = event->message.what;
    key.gpu = is_gpu(event);
    key.communicator = communicator ? communicator->id : 0;
    set_ranks(&key, &event->message, communicator);
    fold(messages, event, &key);
    struct xfa_message_row *row = xfa_table_put(&messages->rows, &key);
    if (row->calls == 0)
        row->met.process = event->process->number;
    row->last = event->process->number;
    row->size = communicator ? communicator->size : 0;
    return xfa_table_place(&messages->rows, row);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct xfa_kept_message kept_of(const struct xfa_event *event, uint32_t row,
                                       const struct xfa_known_communicator *communicator)
{
    bool blocks = !(event->flags & XFT_ASYNC);
    return (struct xfa_kept_message){.row = row,
                                     .at = {.process = event->process->number,
                                            .rank = communicator->rank,
                                            .size = communicator->size,
                                            .what = event->message.what},
                                     .begin_ns = event->start_ns,
                                     .end_ns = event->end_ns,
                                     .wait_ns = event->start_ns,
                                     .bytes = event->bytes,
                                     .done = blocks,
                                     .arrival_known = blocks,
                                     .blocks = blocks};
}

static uint32_t keep_side(struct xfa_messages *messages, struct xfa_kept_message one,
                          enum xfa_message_side side, uint64_t of,
                          const struct xfa_known_communicator *communicator)
{
    one.at.channel = of;
    one.at.side = (uint8_t)side;
    struct xfa_channel *channel =
        xfa_channel_count(&messages->now->channels, &one.at, one.begin_ns);
    if (!channel) {
        messages->not_kept++;
        return XFA_NOT_KEPT;
    }
    channel->communicator = communicator->number;
    return xfa_calls_keep(&messages->kept, &one, move_requests, messages);
}

/* A receive whose sender is known. Of any tag it takes what another receive would have had. */
static uint32_t keep_receive(struct xfa_messages *messages, struct xfa_kept_message one,
                             uint32_t from, uint32_t tag,
                             struct xfa_known_communicator *communicator)
{
    if (from == XFT_RANK_NONE)
        return XFA_NOT_KEPT;
    if (from == XFT_RANK_ANY || tag > INT32_MAX) {
        communicator->unsure = true;
        messages->not_kept++;
        return XFA_NOT_KEPT;
    }
    return keep_side(messages, one, XFA_RECEIVES,
                     xfa_communicator_channel(communicator, from, communicator->rank, tag),
                     communicator);
}

/* As the profile's collectives count bytes; and whether all ranks' parts can be equal, as far as
 * this call tells. */
static void set_collective(const struct xfa_event *event, struct xfa_kept_message *one)
{
    const struct xfa_message *message = &event->message;
    uint64_t sent = event->bytes, arrives = message->arrives, size = one->at.size;
    one->bytes = sent > arrives ? sent : arrives;
    one->root = message->to;
    if (message->what == XFT_MESSAGE_ALLGATHER)
        one->unequal = arrives != sent * size;
    else if (message->what == XFT_MESSAGE_REDUCE_SCATTER)
        one->unequal = sent != arrives * size;
    else if (message->what == XFT_MESSAGE_ALLTOALL)
        one->unequal = event->flags & XFT_OWN_COUNTS ||
                       strstr(xfa_function_of(event)->name, "lltoallv") != NULL; /* no flag yet */
}

/* Where its part lies that a request waits for. */
static uint32_t keep_call(struct xfa_messages *messages, const struct xfa_event *event,
                          uint32_t row, struct xfa_known_communicator *communicator)
{
    const struct xfa_message *message = &event->message;
    struct xfa_kept_message one = kept_of(event, row, communicator);
    uint32_t kept = XFA_NOT_KEPT, tag = (uint32_t)message->tag;
    if (xft_message_is_collective(message->what)) {
        set_collective(event, &one);
        return keep_side(messages, one, XFA_TAKES_PART,
                         xfa_communicator_channel(communicator, XFT_RANK_NONE, XFT_RANK_NONE, tag),
                         communicator);
    }
    if (xfa_message_sends(message->what) && message->to < XFT_RANK_ANY)
        kept =
            keep_side(messages, one, XFA_SENDS,
                      xfa_communicator_channel(communicator, communicator->rank, message->to, tag),
                      communicator);
    one.bytes = message->arrives;
    if (xfa_message_receives(message->what) && (one.blocks || message->from != XFT_RANK_ANY))
        kept = keep_receive(messages, one, message->from, tag, communicator);
    return kept;
}

static void begin_request(struct xfa_messages *messages, const struct xfa_event *event,
                          uint32_t row, uint32_t kept)
{
    struct xfa_table *requests = &messages->now->requests;
    if (!xfa_table_get(requests, &event->stream) && requests->count >= XFA_MAX_REQUESTS)
        return;
    struct request *request = xfa_table_put(requests, &event->stream);
    request->open = true;
    request->began_ns = event->start_ns;
    request->row = row;
    request->kept = kept;
    request->communicator = event->message.communicator;
    request->any = xfa_message_receives(event->message.what) && event->message.from == XFT_RANK_ANY;
    request->tag = (uint32_t)event->message.tag;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void share_out(struct xfa_messages *messages, struct waited *waited)
{
    double ns = waited->end_ns > waited->start_ns ? (double)(waited->end_ns - waited->start_ns) : 0;
    for (size_t i = 0; i < waited->count; i++)
        xfa_exact_add(&row_at(messages, waited->rows[i])->wait_time, ns / (double)waited->count);
    waited->count = 0;
}

static struct waited *wait_of(struct xfa_messages *messages, const struct xfa_event *event)
{
    struct waited *waited = xfa_table_put(&messages->now->waits, &event->tid);
    if (waited->start_ns != event->start_ns || waited->end_ns != event->end_ns)
        share_out(messages, waited);
    waited->start_ns = event->start_ns;
    waited->end_ns = event->end_ns;
    return waited;
}

static void complete(struct xfa_messages *messages, const struct xfa_event *event,
                     struct request *request)
{
    struct xfa_known_communicator *communicator =
        xfa_communicators_of(&messages->now->communicators, request->communicator);
    if (request->any && communicator) {
        struct xfa_kept_message one = {.row = request->row,
                                       .at = {.process = event->process->number,
                                              .rank = communicator->rank,
                                              .size = communicator->size,
                                              .what = XFT_MESSAGE_RECV},
                                       .begin_ns = request->began_ns};
        request->kept =
            keep_receive(messages, one, event->message_end.from, request->tag, communicator);
    }
    if (request->kept == XFA_NOT_KEPT)
        return;
    struct xfa_kept_message *kept = (struct xfa_kept_message *)messages->kept.all + request->kept;
    kept->done = !(event->flags & XFT_FAILED);
    kept->end_ns = event->end_ns;
    kept->wait_ns = event->start_ns;
    kept->arrival_known = event->message_end.arrived > 0;
}

static void take_end(struct xfa_messages *messages, const struct xfa_event *event)
{
    struct request *request = xfa_table_get(&messages->now->requests, &event->stream);
    if (!request || !request->open || request->began_ns != event->message_end.began_ns)
        return;
    request->open = false;
    struct waited *waited = wait_of(messages, event);
    waited->rows =
        xfa_room(waited->rows, &waited->capacity, waited->count + 1, sizeof *waited->rows);
    waited->rows[waited->count++] = request->row;
    struct xfa_message_row *row = row_at(messages, request->row);
    if (event->flags & XFT_FAILED)
        row->failed++;
    else if (xfa_message_receives(row->key.what))
        row->arrived = xfa_add(row->arrived, event->message_end.arrived);
    complete(messages, event, request);
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

static void note_nccl(struct xfa_messages *messages, const struct xfa_event *event, uint32_t row)
{
    struct xfa_message_process *now = messages->now;
    uint64_t bytes = event->bytes > event->message.arrives ? event->bytes : event->message.arrives;
    if (!now->nccl)
        now->nccl = xfa_alloc(NCCL_CALLS * sizeof *now->nccl);
    struct nccl_call *call = &now->nccl[event->correlation % NCCL_CALLS];
    bool more = call->correlation == event->correlation;
    bool several = more && (call->several || call->row != row);
    *call = (struct nccl_call){event->correlation, row, more ? xfa_add(call->bytes, bytes) : bytes,
                               more ? call->calls + 1 : 1, several};
}

/* Of a call that waits for its communicator. */
static bool is_announced(const struct xfa_message_process *now, uint32_t correlation)
{
    for (size_t i = 0; i < now->early_count; i++)
        if (now->early[i].kind == XFT_EVENT_MESSAGE && now->early[i].correlation == correlation)
            return true;
    return false;
}

/* The calls whose kernel this is; NULL: not known. */
static struct nccl_call *calls_of(const struct xfa_message_process *now, uint32_t correlation)
{
    struct nccl_call *call = now->nccl && correlation ? &now->nccl[correlation % NCCL_CALLS] : NULL;
    return call && call->correlation == correlation ? call : NULL;
}

static void take_kernel(struct xfa_messages *messages, const struct xfa_event *event)
{
    struct nccl_call *call = calls_of(messages->now, event->correlation);
    bool of_one_row = call && !call->several;
    const struct xfa_nccl_kernel of = {.announced = is_announced(messages->now, event->correlation),
                                       .row = of_one_row ? call->row : XFA_NO_MESSAGE_ROW,
                                       .calls = call ? call->calls : 0,
                                       .bytes = of_one_row ? call->bytes : 0};
    xfa_nccl_kernel(&messages->nccl, event, &of);
    if (!of_one_row)
        return;
    struct xfa_message_row *row = row_at(messages, call->row);
    row->kernel_bytes = xfa_add(row->kernel_bytes, call->bytes);
    xfa_exact_add(&row->kernel_time, xfa_event_ns(event));
    call->bytes = 0; /* of further kernels of the call */
}

/* ---- the observer ---------------------------------------------------------------------------- */

static void take_message(struct xfa_messages *messages, const struct xfa_event *event)
{
    const struct xfa_message *message = &event->message;
    struct xfa_known_communicator *communicator =
        xfa_communicators_of(&messages->now->communicators, message->communicator);
    uint32_t at = row_of(messages, event, communicator);
    struct xfa_message_row *row = row_at(messages, at);
    bool failed = event->flags & XFT_FAILED || event->status != 0;
    double ns = xfa_event_ns(event);
    row->calls++;
    row->failed += failed;
    xfa_exact_add(&row->time, ns);
    messages->calls++;
    xfa_exact_add(&messages->time, ns);
    if (message->what == XFT_MESSAGE_WAIT) {
        wait_of(messages, event);
        return;
    }
    if (failed)
        return;
    bool nccl = message->level == XFT_LEVEL_NCCL;
    bool ends_later = !nccl && event->flags & XFT_ASYNC && xfa_message_receives(message->what);
    row->sent = xfa_add(row->sent, event->bytes);
    row->arrived = xfa_add(row->arrived, ends_later ? 0 : message->arrives);
    messages->all_sent = xfa_add(messages->all_sent, event->bytes);
    bool may_match = communicator && communicator->shared && communicator->rank < XFT_RANK_ANY;
    if (nccl) {
        if (event->correlation)
            note_nccl(messages, event, at);
        if (may_match && communicator->size != 1)
            xfa_nccl_call(&messages->nccl, event, communicator, at);
        return;
    }
    uint32_t kept = may_match ? keep_call(messages, event, at, communicator) : XFA_NOT_KEPT;
    if (event->flags & XFT_ASYNC)
        begin_request(messages, event, at, kept);
}

static bool is_known(const struct xfa_messages *messages, const struct xfa_event *event)
{
    return event->kind != XFT_EVENT_MESSAGE || event->message.communicator == 0 ||
           xfa_communicators_of(&messages->now->communicators, event->message.communicator);
}

static void take_now(struct xfa_messages *messages, const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_MESSAGE)
        take_message(messages, event);
    else
        take_end(messages, event);
}

/* Those that waited for their communicator, in order; all: they wait no longer. */
static void take_early(struct xfa_messages *messages, bool all)
{
    struct xfa_message_process *now = messages->now;
    size_t taken = 0;
    while (taken < now->early_count && (all || is_known(messages, &now->early[taken])))
        take_now(messages, &now->early[taken++]);
    now->early_count -= taken;
    memmove(now->early, now->early + taken, now->early_count * sizeof *now->early);
}

static void take_in_turn(struct xfa_messages *messages, const struct xfa_event *event)
{
    struct xfa_message_process *now = messages->now;
    if (now->early_count == MOST_EARLY)
        take_early(messages, true);
    if (now->early_count == 0 && is_known(messages, event))
        take_now(messages, event);
    else
        now->early[now->early_count++] = *event;
}

static void take_communicator(struct xfa_messages *messages, const struct xfa_event *event)
{
    struct xfa_message_member_key key = {.id = event->communicator.id};
    xfa_communicators_add(&messages->now->communicators, event);
    take_early(messages, false);
    if (key.id == 0 || event->communicator.rank >= XFT_RANK_ANY ||
        messages->members.count >= XFA_MAX_MEMBERS_KNOWN)
        return;
    key.rank = (uint32_t)event->communicator.rank;
    struct xfa_message_member *member = xfa_table_put(&messages->members, &key);
    member->process = event->process->number;
}

static void take_event(void *self, const struct xfa_event *event)
{
    struct xfa_messages *messages = self;
    switch (event->kind) {
    case XFT_EVENT_MESSAGE:
    case XFT_EVENT_MESSAGE_END:
        take_in_turn(messages, event);
        break;
    case XFT_EVENT_COMMUNICATOR:
        take_communicator(messages, event);
        break;
    default: /* KERNEL */
        take_kernel(messages, event);
        break;
    }
}

static uint64_t begin(void *self, struct xfa_process *process)
{
    struct xfa_messages *messages = self;
    struct xfa_message_process *now = messages->now = xfa_alloc(sizeof *now);
    now->process = process;
    xfa_communicators_begin(&now->communicators);
    xfa_channels_init(&now->channels);
    xfa_table_init(&now->requests, sizeof(uint64_t), sizeof(struct request));
    xfa_table_init(&now->waits, sizeof(int32_t), sizeof(struct waited));
    xfa_nccl_begin(&messages->nccl, process);
    return XFA_ALL_KINDS;
}

static void forget(struct xfa_messages *messages)
{
    struct xfa_message_process *now = messages->now;
    if (!now)
        return;
    for (size_t i = 0; i < now->waits.count; i++)
        free(((struct waited *)xfa_table_at(&now->waits, i))->rows);
    xfa_communicators_end(&now->communicators);
    xfa_table_free(&now->channels);
    xfa_table_free(&now->requests);
    xfa_table_free(&now->waits);
    free(now->nccl);
    free(now);
    messages->now = NULL;
}

/* How many calls each channel had, which both sides must have had. */
static void count_channels(struct xfa_messages *messages)
{
    const struct xfa_message_process *now = messages->now;
    struct xfa_kept_message *kept = messages->kept.all;
    for (size_t i = messages->kept.count; i-- > 0 && kept[i].at.process == now->process->number;) {
        struct xfa_kept_message *one = &kept[i];
        const struct xfa_channel *channel = xfa_channel_of(&now->channels, &one->at);
        const struct xfa_known_communicator *communicator =
            xfa_communicators_of(&now->communicators, channel->communicator);
        bool unsure = channel->unsure ||
                      (one->at.side == XFA_RECEIVES && (!communicator || communicator->unsure));
        one->at.of = unsure ? 0 : channel->count;
    }
}

static void end(void *self, struct xfa_process *process)
{
    struct xfa_messages *messages = self;
    take_early(messages, true);
    for (size_t i = 0; i < messages->now->waits.count; i++)
        share_out(messages, xfa_table_at(&messages->now->waits, i));
    count_channels(messages);
    xfa_nccl_end(&messages->nccl);
    forget(messages);
}

struct xfa_observer xfa_messages_observer(struct xfa_messages *messages)
{
    xfa_table_init(&messages->rows, sizeof(struct xfa_message_key), sizeof(struct xfa_message_row));
    xfa_table_init(&messages->members, sizeof(struct xfa_message_member_key),
                   sizeof(struct xfa_message_member));
    xfa_nccl_init(&messages->nccl);
    messages->kept.bytes = sizeof(struct xfa_kept_message);
    messages->kept.most = XFA_MAX_MESSAGES;
    return (struct xfa_observer){.name = "messages",
                                 .kinds = XFA_KINDS_OF_MESSAGES | XFA_KIND(XFT_EVENT_KERNEL),
                                 .self = messages,
                                 .divided = true,
                                 .process = begin,
                                 .event = take_event,
                                 .end = end,
                                 .filled = xfa_messages_filled};
}

void xfa_messages_free(struct xfa_messages *messages)
{
    forget(messages);
    xfa_table_free(&messages->rows);
    xfa_table_free(&messages->members);
    xfa_nccl_free(&messages->nccl);
    free(messages->kept.all);
}

const struct xfa_process *xfa_messages_process(const struct xfa_messages *messages, uint64_t id,
                                               uint32_t rank)
{
    const struct xfa_message_member_key key = {.id = id, .rank = rank};
    const struct xfa_message_member *member = xfa_table_get(&messages->members, &key);
    return member ? messages->run->processes[member->process] : NULL;
}
