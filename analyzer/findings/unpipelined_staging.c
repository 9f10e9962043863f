/*
 * Bytes of a GPU that a thread takes to the host, waits for, and only then sends to another rank
 * whole; or receives whole, and then copies to a GPU and waits for that. Two kinds, by what the
 * profile's network has between the two hosts (`probe --net`) at that size:
 * - unpipelined-staging: in pieces, through rings of pinned buffers on both sides (rCUDA's versions
 *   3B and 4B, Reano and Silla, section 4), it takes less than whole (2B). Lost: the copies and
 * their waits, as far as the way from GPU to GPU took longer than it does in pieces.
 * - host-staged-mpi: MPI takes device buffers there, which is faster still. Lost: copies and
 * message, as far as they took longer than such a message. The way from GPU to GPU is the copy of
 * one rank, the message since both ranks had begun it, and the other rank's copy. Of a message that
 * only one side stages its own copy counts alone. Sizes that were not measured take the bandwidth
 * of the largest one that is not above. Without these figures the first kind is named, and its loss
 * is not known.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/message_items.h"

#define KEPT 32 /* copies, and messages, that may be half of a piece: the last of a process */

enum judged { NOT_JUDGED, IN_PIECES, BY_DEVICE, NOT_KNOWN };

/* A copy to the host that may be sent, or a message that may be copied to a GPU. */
struct half {
    uint64_t first, end; /* host memory */
    uint64_t start_ns, end_ns;
    int32_t tid;
    bool used, done;                 /* done: a copy that was waited for */
    bool of_two;                     /* a message of a call that also sends */
    double ns;                       /* of copy and wait; of the message */
    uint64_t at_ns;                  /* where the message's time lies */
    uint64_t began_ns;               /* when the message began */
    struct xfa_message_item_key key; /* of a message */
};

/* A copy to the GPU of what was received, which is still to be waited for. */
struct upload {
    struct half half; /* the message */
    uint64_t start_ns;
    bool open;
};

/* A message under way. */
struct request {
    uint64_t request; /* key */
    struct half half; /* receives: of the message; sends: of the copy before */
    struct xfa_message_item_key key;
    uint64_t start_ns;
    bool open, sends;
};

struct staging {
    struct xfa_message_items items;
    struct xfa_communicators communicators;
    struct xfa_table requests;
    struct half downs[KEPT], received[KEPT];
    struct upload uploads[KEPT];
    unsigned next_down, next_received, next_upload;
    bool any; /* the process has sent or received something: before, and in most, nothing is kept */
    const struct xfa_process *process;
};

static bool is_host(unsigned memory)
{
    return memory != XFT_MEM_DEVICE && memory != XFT_MEM_ARRAY && memory != XFT_MEM_MANAGED;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void add_piece(struct staging *self, const struct xfa_message_item_key *key,
                      struct xfa_message_spot spot, uint64_t bytes, double copy_ns)
{
    struct xfa_message_item_key side = *key;
    side.of = spot.of;
    spot.process = self->process;
    struct xfa_message_item *item = xfa_message_items_add(&self->items, &side, &spot);
    if (!item)
        return;
    item->messages++;
    item->bytes = xfa_add(item->bytes, bytes);
    xfa_exact_add(&item->copy_time, copy_ns);
}

static struct xfa_message_spot spot_of(const struct half *received, uint64_t copy_at_ns)
{
    return (struct xfa_message_spot){.tid = received->tid,
                                     .of = XFW_CUT_GOT,
                                     .at_ns = received->at_ns,
                                     .began_ns = received->began_ns,
                                     .copy_at_ns = copy_at_ns,
                                     .message_ns = received->ns,
                                     .of_two = received->of_two};
}

/* The last one of the thread that the range lies in; NULL: none. It is used then. */
static struct half *take_half(struct half halves[KEPT], unsigned next, int32_t tid, uint64_t first,
                              uint64_t bytes)
{
    for (unsigned i = 0; i < KEPT; i++) {
        struct half *half = &halves[(next + KEPT - 1 - i) % KEPT];
        if (half->tid != tid || first < half->first || first >= half->end ||
            bytes > half->end - first)
            continue;
        bool fresh = !half->used && half->done;
        half->used = true;
        return fresh ? half : NULL;
    }
    return NULL;
}

static struct xfa_message_item_key key_of(const struct staging *self, const struct xfa_event *event,
                                          uint32_t from, uint32_t to, uint64_t bytes)
{
    struct xfa_message_item_key key;
    const struct xfa_known_communicator *known =
        xfa_communicators_of(&self->communicators, event->message.communicator);
    memset(&key, 0, sizeof key);
    key.communicator = known && known->shared ? known->id : 0;
    key.site = xfa_site_of(event)->number;
    key.function = xfa_function_of(event)->number;
    key.from = from == XFT_RANK_NONE && known ? known->rank : from;
    key.to = to == XFT_RANK_NONE && known ? known->rank : to;
    key.size_class = xfa_size_class(bytes);
    return key;
}

static void note_received(struct staging *self, const struct half *half)
{
    self->received[self->next_received] = *half;
    self->next_received = (self->next_received + 1) % KEPT;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void begin_request(struct staging *self, const struct xfa_event *event,
                          const struct half *half, bool is_send)
{
    if (!xfa_table_get(&self->requests, &event->stream) && self->requests.count >= XFA_MAX_REQUESTS)
        return;
    struct request *request = xfa_table_put(&self->requests, &event->stream);
    request->half = *half;
    request->key = half->key;
    request->start_ns = event->start_ns;
    request->open = true;
    request->sends = is_send;
}

static void sent(struct staging *self, const struct xfa_event *event)
{
    const struct xfa_message *message = &event->message;
    const struct half *down =
        is_host(event->src_mem) && event->bytes
            ? take_half(self->downs, self->next_down, event->tid, message->src, event->bytes)
            : NULL;
    if (!down || message->to >= XFT_RANK_ANY)
        return;
    struct half half = *down;
    half.key = key_of(self, event, XFT_RANK_NONE, message->to, event->bytes);
    half.first = message->src;
    half.end = message->src + event->bytes;
    if (event->flags & XFT_ASYNC)
        begin_request(self, event, &half, true);
    else
        add_piece(self, &half.key,
                  (struct xfa_message_spot){.tid = event->tid,
                                            .of = XFW_CUT_SENT,
                                            .at_ns = event->start_ns,
                                            .began_ns = event->start_ns,
                                            .copy_at_ns = half.start_ns,
                                            .message_ns = xfa_event_ns(event),
                                            .of_two = message->what == XFT_MESSAGE_SENDRECV},
                  event->bytes, half.ns);
}

static void received(struct staging *self, const struct xfa_event *event)
{
    const struct xfa_message *message = &event->message;
    uint64_t bytes = message->arrives;
    if (!is_host(event->dst_mem) || bytes == 0 || message->from == XFT_RANK_NONE ||
        bytes > UINT64_MAX - message->dst)
        return;
    struct half half = {.first = message->dst,
                        .end = message->dst + bytes,
                        .start_ns = event->start_ns,
                        .end_ns = event->end_ns,
                        .tid = event->tid,
                        .done = true,
                        .ns = xfa_event_ns(event),
                        .at_ns = event->start_ns,
                        .began_ns = event->start_ns,
                        .of_two = message->what == XFT_MESSAGE_SENDRECV,
                        .key = key_of(self, event, message->from, XFT_RANK_NONE, bytes)};
    if (event->flags & XFT_ASYNC)
        begin_request(self, event, &half, false);
    else
        note_received(self, &half);
}

static void ended(struct staging *self, const struct xfa_event *event)
{
    struct request *request = xfa_table_get(&self->requests, &event->stream);
    if (!request || !request->open || request->start_ns != event->message_end.began_ns)
        return;
    request->open = false;
    double waited = xfa_event_ns(event);
    if (request->sends) {
        add_piece(self, &request->key,
                  (struct xfa_message_spot){.tid = event->tid,
                                            .of = XFW_CUT_SENT,
                                            .at_ns = event->start_ns,
                                            .began_ns = request->start_ns,
                                            .copy_at_ns = request->half.start_ns,
                                            .message_ns = waited},
                  request->half.end - request->half.first, request->half.ns);
        return;
    }
    struct half half = request->half;
    half.tid = event->tid;
    half.ns = waited;
    half.at_ns = event->start_ns;
    if (half.key.from == XFT_RANK_ANY)
        half.key.from = event->message_end.from;
    note_received(self, &half);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void copied_down(struct staging *self, const struct xfa_event *event)
{
    self->downs[self->next_down] = (struct half){
        .first = event->transfer.dst,
        .end = event->transfer.dst + event->bytes,
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .tid = event->tid,
        .done = event->transfer.blocks,
        .ns = xfa_event_ns(event),
    };
    self->next_down = (self->next_down + 1) % KEPT;
}

static void copied_up(struct staging *self, const struct xfa_event *event)
{
    const struct half *half = take_half(self->received, self->next_received, event->tid,
                                        event->transfer.src, event->bytes);
    if (!half)
        return;
    if (event->transfer.blocks) {
        add_piece(self, &half->key, spot_of(half, event->start_ns), event->bytes,
                  xfa_event_ns(event));
        return;
    }
    self->uploads[self->next_upload] = (struct upload){*half, event->start_ns, true};
    self->next_upload = (self->next_upload + 1) % KEPT;
}

static void transfer(void *of, const struct xfa_event *event)
{
    struct staging *self = of;
    const struct xfa_row_key *row = &event->transfer.class->key.row;
    if (!self->any || event->flags & XFT_GRAPH || xfa_site_of(event)->within ||
        event->transfer.class->key.shape != XFA_LINEAR)
        return;
    if (row->direction == XFT_DIR_D2H && is_host(row->dst_mem) &&
        event->bytes <= UINT64_MAX - event->transfer.dst)
        copied_down(self, event);
    else if (row->direction == XFT_DIR_H2D && is_host(row->src_mem))
        copied_up(self, event);
}

/* The thread waited: its copies are done. */
static void waited(struct staging *self, const struct xfa_event *event)
{
    for (unsigned i = 0; i < KEPT; i++) {
        struct half *down = &self->downs[i];
        struct upload *up = &self->uploads[i];
        if (down->tid == event->tid && !down->done && down->end) {
            down->done = true;
            down->ns = (double)(event->end_ns - down->start_ns);
        }
        if (up->open && up->half.tid == event->tid) {
            up->open = false;
            add_piece(self, &up->half.key, spot_of(&up->half, up->start_ns),
                      up->half.end - up->half.first, (double)(event->end_ns - up->start_ns));
        }
    }
}

/* ---- the observer ---------------------------------------------------------------------------- */

static void event(void *of, const struct xfa_event *event)
{
    struct staging *self = of;
    bool failed = event->flags & XFT_FAILED || event->status != 0;
    self->any = self->any || event->kind != XFT_EVENT_SYNC;
    switch (event->kind) {
    case XFT_EVENT_COMMUNICATOR:
        xfa_communicators_add(&self->communicators, event);
        break;
    case XFT_EVENT_SYNC:
        if (self->any && !xfa_site_of(event)->within)
            waited(self, event);
        break;
    case XFT_EVENT_MESSAGE_END:
        if (!failed)
            ended(self, event);
        break;
    default: /* MESSAGE */
        if (xfa_message_sends(event->message.what) && !failed)
            sent(self, event);
        if (xfa_message_receives(event->message.what) && !failed)
            received(self, event);
    }
}

static void forget(struct staging *self)
{
    xfa_communicators_end(&self->communicators);
    xfa_table_free(&self->requests);
    memset(self->downs, 0, sizeof self->downs);
    memset(self->received, 0, sizeof self->received);
    memset(self->uploads, 0, sizeof self->uploads);
    self->any = false;
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct staging *self = of;
    forget(self);
    self->process = process;
    xfa_communicators_begin(&self->communicators);
    xfa_table_init(&self->requests, sizeof(uint64_t), sizeof(struct request));
    return XFA_ALL_KINDS;
}

static double filled(const void *of)
{
    return xfa_message_items_filled(&((const struct staging *)of)->items);
}

static struct xfa_observer observe(void *self)
{
    struct staging *staging = self;
    xfa_message_items_init(&staging->items);
    return (struct xfa_observer){
        .name = "staging of messages",
        .kinds = XFA_KINDS_OF_MESSAGES | XFA_KIND(XFT_EVENT_SYNC),
        .self = self,
        .divided = true,
        .process = process,
        .event = event,
        .transfer = transfer,
        .filled = filled,
    };
}

static void release(void *of)
{
    struct staging *self = of;
    forget(self);
    xfa_message_items_free(&self->items);
}

/* ---- divided --------------------------------------------------------------------------------- */

static void give(const void *of, struct xfa_parcel *parcel)
{
    xfa_message_items_give(&((const struct staging *)of)->items, parcel);
}

static void take(void *of, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    xfa_message_items_take(&((struct staging *)of)->items, analysis, from);
}

static void taken(void *of)
{
    xfa_message_items_taken(&((struct staging *)of)->items);
}

/* ---- the findings ---------------------------------------------------------------------------- */

static double at_size(double ns, uint64_t measured, double bytes)
{
    return ns > 0 ? ns * bytes / (double)measured : NAN;
}

/* What is known of a way from GPU to GPU: both its copies. */
struct way {
    struct way_key { /* key; zeroed before it is filled in */
        uint64_t communicator;
        uint32_t from, to, size_class, reserved;
    } key;
    uint64_t times[2];
    double copy_ns[2]; /* of the sender, of the receiver, added up */
};

/* What the messages of a call site took since both sides had begun. */
struct rate {
    struct rate_key { /* key */
        uint32_t site, function;
    } key;
    uint64_t bytes;
    double ns;
};

static struct way_key way_of(const struct xfa_message_item *item)
{
    struct way_key key;
    memset(&key, 0, sizeof key);
    key.communicator = item->key.communicator;
    key.from = item->key.from;
    key.to = item->key.to;
    key.size_class = item->key.size_class;
    return key;
}

static void add_ways(const struct xfa_message_items *items, struct xfa_table *ways)
{
    xfa_table_init(ways, sizeof(struct way_key), sizeof(struct way));
    for (size_t i = 0; i < items->all.count; i++) {
        const struct xfa_message_item *item = xfa_message_item(items, i);
        struct way_key key = way_of(item);
        struct way *way = xfa_table_put(ways, &key);
        unsigned side = item->key.of == XFW_CUT_GOT;
        way->times[side] += item->times;
        way->copy_ns[side] += xfa_exact_value(&item->copy_time);
    }
}

static void add_rates(const struct xfa_messages *messages, struct xfa_table *rates)
{
    xfa_table_init(rates, sizeof(struct rate_key), sizeof(struct rate));
    for (size_t i = 0; i < messages->rows.count; i++) {
        const struct xfa_message_row *row = xfa_message_row(messages, i);
        struct rate_key key = {row->key.site, row->key.function};
        if (row->timed == 0)
            continue;
        struct rate *rate = xfa_table_put(rates, &key);
        rate->bytes = xfa_add(rate->bytes, row->timed_bytes);
        rate->ns += row->timed_ns;
    }
}

/* Without what was waited for a late rank, where that is known. */
static double message_ns(const struct xfa_message_item *item, const struct xfa_table *rates)
{
    struct rate_key key = {item->key.site, item->key.function};
    const struct rate *rate = xfa_table_get(rates, &key);
    double mean = xfa_exact_value(&item->message_time) / (double)item->times;
    double bytes = (double)item->bytes / (double)item->messages;
    return rate && rate->bytes ? fmin(mean, rate->ns * bytes / (double)rate->bytes) : mean;
}

/* What one piece of the item took, of which it has `share`. */
struct took {
    double copy_ns, message_ns;
    double way_ns; /* all of its way, as far as it is known */
    double share;
};

static struct took took_by(const struct xfa_message_item *item, const struct xfa_table *ways,
                           const struct xfa_table *rates)
{
    struct way_key key = way_of(item);
    const struct way *way = xfa_table_get(ways, &key);
    struct took took = {.copy_ns = xfa_exact_value(&item->copy_time) / (double)item->times,
                        .message_ns = message_ns(item, rates),
                        .share = 1};
    took.way_ns = took.copy_ns + took.message_ns;
    if (way->times[0] == 0 || way->times[1] == 0)
        return took;
    double copies_ns =
        way->copy_ns[0] / (double)way->times[0] + way->copy_ns[1] / (double)way->times[1];
    took.way_ns = copies_ns + took.message_ns;
    took.share = copies_ns > 0 ? took.copy_ns / copies_ns : 0.5;
    return took;
}

/* What one piece of the item would save, and by what. */
static void judge(const struct xfa_analysis *analysis, struct xfa_message_item *item,
                  const struct took *took)
{
    struct xfa_message_path path = xfa_message_item_path(analysis, item);
    double bytes = (double)item->bytes / (double)item->messages;
    const struct xfp_net_staged_point *at =
        path.staged ? xfp_net_staged_at(path.staged, (uint64_t)bytes) : NULL;
    item->judged = NOT_KNOWN;
    item->saved_ns = item->direct_ns = NAN;
    if (!at || (double)at->bytes > bytes)
        return;
    double pieces = at_size(fmin(at->pipelined_ns > 0 ? at->pipelined_ns : INFINITY,
                                 at->adaptive_ns > 0 ? at->adaptive_ns : INFINITY),
                            at->bytes, bytes);
    double direct = at_size(at->direct_ns, at->bytes, bytes);
    double whole = at_size(at->unpipelined_ns, at->bytes, bytes);
    item->judged = NOT_JUDGED;
    if (direct < fmin(pieces, whole)) {
        item->judged = BY_DEVICE;
        item->saved_ns = fmax(0, took->way_ns - direct) * took->share;
        item->direct_ns = direct;
    } else if (pieces < whole) {
        item->judged = IN_PIECES;
        item->saved_ns = fmin(took->copy_ns, fmax(0, took->way_ns - pieces) * took->share);
    }
}

static void judge_all(const struct xfa_analysis *analysis, const struct staging *self)
{
    struct xfa_table ways, rates;
    add_ways(&self->items, &ways);
    add_rates(&analysis->messages, &rates);
    for (size_t i = 0; i < self->items.all.count; i++) {
        struct xfa_message_item *item = xfa_message_item(&self->items, i);
        struct took took = took_by(item, &ways, &rates);
        judge(analysis, item, &took);
    }
    xfa_table_free(&ways);
    xfa_table_free(&rates);
}

static void find_unpipelined(const struct xfa_analysis *analysis, const void *sums,
                             struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_UNPIPELINED,
        .remedy = {.kind = XFA_REMEDY_PIPELINE_MESSAGES, .node = -1},
        .reckoning = XFA_RECKONED_STAGING,
        .assumed = "the rank on the other side sends or receives in the same pieces",
    };
    const struct staging *self = sums;
    struct xfa_finding unknown = like;
    unknown.reckoning = XFA_RECKONED_STAGING_UNKNOWN;
    judge_all(analysis, self);
    xfa_message_items_report(analysis, &self->items, IN_PIECES, &like, findings);
    xfa_message_items_report(analysis, &self->items, NOT_KNOWN, &unknown, findings);
}

static void find_host_staged(const struct xfa_analysis *analysis, const void *sums,
                             struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_HOST_STAGED,
        .remedy = {.kind = XFA_REMEDY_DEVICE_BUFFERS, .node = -1},
        .reckoning = XFA_RECKONED_DEVICE_BUFFERS,
        .assumed = "the host has no other use for these bytes, and no rank keeps the other waiting",
    };
    const struct staging *self = sums;
    judge_all(analysis, self);
    xfa_message_items_report(analysis, &self->items, BY_DEVICE, &like, findings);
}

static struct xfw_change *change_unpipelined(const struct xfa_analysis *analysis, const void *sums,
                                             const struct xfa_finding *finding)
{
    const struct staging *self = sums;
    return xfa_message_items_change(analysis, &self->items, IN_PIECES, finding);
}

static struct xfw_change *change_host_staged(const struct xfa_analysis *analysis, const void *sums,
                                             const struct xfa_finding *finding)
{
    const struct staging *self = sums;
    return xfa_message_items_change(analysis, &self->items, BY_DEVICE, finding);
}

const struct xfa_finding_kind xfa_kind_unpipelined = {
    .find = find_unpipelined,
    .change = change_unpipelined,
    .self_bytes = sizeof(struct staging),
    .observe = observe,
    .free = release,
    .give = give,
    .take = take,
    .taken = taken,
};

const struct xfa_finding_kind xfa_kind_host_staged = {
    .find = find_host_staged,
    .change = change_host_staged,
    .self_bytes = sizeof(struct staging),
    .observe = observe,
    .free = release,
    .give = give,
    .take = take,
    .taken = taken,
};
