/*
 * Bytes of a GPU that a thread takes to the host, waits for, and only then sends to another rank
 * whole; or receives whole, and then copies to a GPU and waits for that. Two kinds, by the
 * profile's network between the two hosts; staging_judge.h says which, and what it lost:
 * - unpipelined-staging: it takes less in pieces than whole.
 * - host-staged-mpi: MPI takes device buffers there, which is faster still.
 */
#include "analyzer/findings/finding.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/message_items.h"
#include "analyzer/findings/staging_judge.h"

#define KEPT 32    /* copies, and messages, that may be half of a piece: the last of a process */
#define CALLERS 16 /* threads that call MPI: the last of a process */

/* A copy to the host that may be sent, or a message that may be copied to a GPU. */
struct half {
    uint64_t first, end; /* host memory */
    uint64_t start_ns, end_ns;
    int32_t tid;
    bool used, done;                 /* done: a copy that was waited for */
    bool of_two;                     /* a message of a call that also sends */
    bool among;                      /* another thread was waiting in MPI, too */
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

/* A thread's last call of MPI that waited. */
struct caller {
    int32_t tid;
    uint64_t end_ns;
    bool among; /* another thread was in such a call when it began */
};

struct staging {
    struct xfa_message_items items;
    struct xfa_communicators communicators;
    struct xfa_table requests;
    struct half downs[KEPT], received[KEPT];
    struct upload uploads[KEPT];
    struct caller callers[CALLERS];
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
                                     .of_two = received->of_two,
                                     .among = received->among};
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

/* Notes a call that waited, and whether another thread was in one as it began. */
static void note_caller(struct staging *self, const struct xfa_event *event)
{
    struct caller *own = &self->callers[0];
    bool among = false;
    for (unsigned i = 0; i < CALLERS; i++) {
        struct caller *caller = &self->callers[i];
        if (caller->tid == event->tid || (own->tid != event->tid && caller->end_ns < own->end_ns))
            own = caller;
        among = among || (caller->tid != event->tid && caller->end_ns > event->start_ns);
    }
    *own = (struct caller){event->tid, event->end_ns, among};
}

static bool is_among(const struct staging *self, int32_t tid)
{
    for (unsigned i = 0; i < CALLERS; i++)
        if (self->callers[i].tid == tid)
            return self->callers[i].among;
    return false;
}

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
                                            .of_two = message->what == XFT_MESSAGE_SENDRECV,
                                            .among = is_among(self, event->tid)},
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
                        .among = is_among(self, event->tid),
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
                                            .message_ns = waited,
                                            .among = is_among(self, event->tid)},
                  request->half.end - request->half.first, request->half.ns);
        return;
    }
    struct half half = request->half;
    half.tid = event->tid;
    half.ns = waited;
    half.at_ns = event->start_ns;
    half.among = is_among(self, event->tid);
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
        if (!(event->flags & XFT_ASYNC))
            note_caller(self, event);
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
    memset(self->callers, 0, sizeof self->callers);
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
    xfa_judge_staging(analysis, &self->items);
    xfa_message_items_report(analysis, &self->items, XFA_STAGED_IN_PIECES, &like, findings);
    xfa_message_items_report(analysis, &self->items, XFA_STAGED_NOT_KNOWN, &unknown, findings);
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
    xfa_judge_staging(analysis, &self->items);
    xfa_message_items_report(analysis, &self->items, XFA_STAGED_BY_DEVICE, &like, findings);
}

static struct xfw_change *change_unpipelined(const struct xfa_analysis *analysis, const void *sums,
                                             const struct xfa_finding *finding)
{
    const struct staging *self = sums;
    struct xfw_change *change =
        xfa_message_items_change(analysis, &self->items, XFA_STAGED_IN_PIECES, finding);
    if (change)
        change->at_best = xfa_staging_at_best(&self->items, finding);
    return change;
}

static struct xfw_change *change_host_staged(const struct xfa_analysis *analysis, const void *sums,
                                             const struct xfa_finding *finding)
{
    const struct staging *self = sums;
    return xfa_message_items_change(analysis, &self->items, XFA_STAGED_BY_DEVICE, finding);
}

/* Both find in the same sums, of which each has its own. */
#define STAGING_KIND(finds, changes)                                                               \
    {                                                                                              \
        .find = (finds), .change = (changes), .self_bytes = sizeof(struct staging),                \
        .observe = observe, .free = release, .give = give, .take = take, .taken = taken,           \
    }
const struct xfa_finding_kind xfa_kind_unpipelined =
    STAGING_KIND(find_unpipelined, change_unpipelined);
const struct xfa_finding_kind xfa_kind_host_staged =
    STAGING_KIND(find_host_staged, change_host_staged);
