#include "preload/messages/straight.h"

#include "preload/messages/around.h"
#include "preload/messages/communicators.h"
#include "preload/messages/describe_mpi.h"
#include "preload/messages/requests.h"
#include "preload/messages/statuses.h"
#include "preload/messages/types.h"
#include "preload/nvtx/early.h"
#include "preload/record/hot.h"

#define INLINE static inline __attribute__((always_inline))

/* What the events need. */
struct facts {
    struct xfs_lane *lane;
    uint64_t end_ns, bytes, arrived;
    uint32_t number, stack, to, from;
    struct xfs_place place;
};

/* ---- what is known --------------------------------------------------------------------------- */

INLINE bool can_be(const struct facts *f, int returned)
{
    return returned == 0 && f->lane &&
           atomic_load_explicit(&xfs_nvtx_waiting, memory_order_relaxed) == 0;
}

/* One function for all of these calls: it is as long as all the rest. */
static __attribute__((hot, noinline)) uint32_t
find_stack(struct xfs_lane *lane, uintptr_t called_from, uintptr_t sp, uintptr_t fp)
{
    return xfs_stack_known(lane, called_from, sp, fp);
}

INLINE bool know_stack(const struct xfs_message *m, struct facts *f)
{
    struct xfs_registers from = xfs_registers_here();
    f->stack = 0;
    if (!f->lane->stacks)
        return true;
    f->stack = find_stack(f->lane, (uintptr_t)m->called_from, from.sp, from.fp);
    return f->stack != 0;
}

/* Where the event's stack begins that a call looks for which goes the straight way. Taken from here
 * in any case, so that the next call finds it. */
INLINE void keep_start(struct xfs_message *m)
{
    m->from = xfs_registers_here();
    m->from_known = true;
}

INLINE bool know_number(const struct xfs_message *m, struct facts *f)
{
    struct xfs_communicator *known = xfs_communicator_find(xfs_mpi_handle(m->mpi, m->one.comm));
    f->number = known ? atomic_load_explicit(&known->number, memory_order_acquire) : 0;
    return f->number != 0;
}

INLINE bool know_memory(const struct xfs_message *m, struct facts *f)
{
    uint64_t each = xfs_mpi_type_known(xfs_mpi_handle(m->mpi, m->one.type));
    if (each == 0 || m->one.count <= 0 || m->one.buffer == NULL)
        return false;
    f->bytes = each * (uint64_t)m->one.count;
    f->place = xfs_classify_in_line((uintptr_t)m->one.buffer);
    return true;
}

/* The bytes and the sender that the status at `given` says; where the program asks for none, what
 * is there already stands. */
INLINE bool know_arrived(const struct xfs_message *m, struct facts *f, const void *given)
{
    const char *status = xfs_mpi_status_at(m->mpi, given, 0);
    if (status == NULL)
        return true;
    int64_t bytes = xfs_mpi_bytes_at_once(m->mpi, status);
    int source = xfs_mpi_source_of(m->mpi, status);
    if (bytes < 0)
        return false;
    f->arrived = (uint64_t)bytes;
    if (source >= 0)
        f->from = (uint32_t)source;
    return true;
}

INLINE bool know_peer(const struct xfs_message *m, struct facts *f, bool receives)
{
    int peer = m->one.peer;
    bool any = receives && peer == m->mpi->any_source;
    f->to = receives ? XFT_RANK_NONE : (uint32_t)peer;
    f->from = !receives ? XFT_RANK_NONE : any ? XFT_RANK_ANY : (uint32_t)peer;
    return peer >= 0 || any;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Every field by itself: a structure as a whole would be cleared by a string instruction. */
INLINE void fill(struct xft_event *row, const struct xfs_message *m, const struct facts *f,
                 uint16_t call)
{
    row->start_ns = m->start_ns;
    row->end_ns = f->end_ns;
    row->stack = f->stack;
    row->status = 0;
    row->call = call;
    row->device = XFT_PLACE_UNKNOWN;
    row->direction = row->reserved[0] = row->reserved[1] = 0;
}

INLINE void fill_one(struct xft_event *row, const struct xfs_message *m, const struct facts *f,
                     uint16_t call, bool receives, bool begun, xfs_word request)
{
    uintptr_t buffer = (uintptr_t)m->one.buffer;
    fill(row, m, f, call);
    row->kind = XFT_EVENT_MESSAGE;
    row->count = xft_message_count(receives ? XFT_MESSAGE_RECV : XFT_MESSAGE_SEND, f->number);
    row->aux = xft_message_peers(f->to, f->from);
    row->correlation = (uint32_t)m->one.tag;
    row->stream = request;
    row->flags = begun ? XFT_ASYNC : 0;
    row->bytes = receives ? 0 : f->bytes;
    row->src = receives ? 0 : buffer;
    row->src_mem = receives ? 0 : f->place.memory;
    row->src_place = (int16_t)(receives ? XFT_PLACE_UNKNOWN : f->place.place);
    row->width = receives ? f->arrived : 0;
    row->dst = receives ? buffer : 0;
    row->dst_mem = receives ? f->place.memory : 0;
    row->dst_place = (int16_t)(receives ? f->place.place : XFT_PLACE_UNKNOWN);
}

/* ---- one message ----------------------------------------------------------------------------- */

static XFS_COLD void one_slowly(struct xfs_message *m, int returned, uint16_t call, bool receives,
                                bool begun, uint64_t end_ns)
{
    const struct xfs_one *o = &m->one;
    unsigned op = receives ? XFT_MESSAGE_RECV : XFT_MESSAGE_SEND;
    if (xfs_message_returned_at(m, returned, call, op, end_ns)) {
        if (receives)
            xfs_mpi_recv(m, o->buffer, o->count, o->type, o->peer, o->tag, o->comm);
        else
            xfs_mpi_send(m, o->buffer, o->count, o->type, o->peer, o->tag, o->comm);
        if (begun)
            xfs_mpi_begun(m, o->more);
        else if (receives)
            xfs_mpi_arrived(m, o->more);
    }
    xfs_message_over(m);
}

/* The request is under way once its message is written, which cannot fail any more. */
INLINE void begin_request(const struct xfs_message *m, const struct facts *f, bool receives,
                          xfs_word request)
{
    struct xfs_request what = {m->start_ns, f->end_ns, receives};
    if (request != m->mpi->no_request && !xfs_request_begun_at_home(request, what))
        xfs_request_begun(request, xfs_mpi_is_shared(m->mpi, request), &what);
}

INLINE bool one_straight(struct xfs_message *m, struct facts *f, uint16_t call, bool receives,
                         bool begun)
{
    if (!know_stack(m, f) || !know_peer(m, f, receives) || !know_number(m, f) || !know_memory(m, f))
        return false;
    f->arrived = f->bytes;
    if (receives && !begun && !know_arrived(m, f, m->one.more))
        return false;
    struct xft_event *row = xfs_call_rows_open(f->lane, 1);
    if (row == NULL)
        return false;
    xfs_word request = begun ? xfs_mpi_handle_at(m->mpi, m->one.more, 0) : 0;
    fill_one(row, m, f, call, receives, begun, request);
    xfs_call_rows_close(f->lane, 1);
    xfs_call_rows_counted(f->lane, m->from_ns, row);
    if (begun)
        begin_request(m, f, receives, request);
    return true;
}

INLINE int one(struct xfs_message *m, int returned, uint16_t call, bool receives, bool begun)
{
    struct facts f = {.end_ns = xfs_now_ns(), .lane = xfs_self};
    if (__builtin_expect(can_be(&f, returned) && one_straight(m, &f, call, receives, begun), 1)) {
        xfs_message_outermost = 0;
        return 0;
    }
    keep_start(m);
    one_slowly(m, returned, call, receives, begun, f.end_ns);
    return returned;
}

int xfs_message_sent_one(struct xfs_message *m, int returned, uint16_t call)
{
    return one(m, returned, call, false, false);
}

int xfs_message_received_one(struct xfs_message *m, int returned, uint16_t call)
{
    return one(m, returned, call, true, false);
}

int xfs_message_send_begun(struct xfs_message *m, int returned, uint16_t call)
{
    return one(m, returned, call, false, true);
}

int xfs_message_receive_begun(struct xfs_message *m, int returned, uint16_t call)
{
    return one(m, returned, call, true, true);
}

/* ---- a wait for one request ------------------------------------------------------------------ */

static XFS_COLD void waited_slowly(struct xfs_message *m, int returned, uint16_t call, bool done,
                                   uint64_t end_ns)
{
    if (xfs_message_returned_at(m, returned, call, XFT_MESSAGE_WAIT, end_ns)) {
        if (done)
            xfs_mpi_all_done(m, m->wait.status);
        else
            xfs_mpi_none_done(m);
    }
    xfs_message_over(m);
}

INLINE void fill_memoryless(struct xft_event *row)
{
    row->bytes = row->dst = 0;
    row->src_mem = row->dst_mem = 0;
    row->src_place = row->dst_place = XFT_PLACE_UNKNOWN;
    row->correlation = 0;
    row->flags = 0;
}

INLINE void fill_wait(struct xft_event *row, const struct xfs_message *m, const struct facts *f,
                      uint16_t call)
{
    fill(row, m, f, call);
    fill_memoryless(row);
    row->kind = XFT_EVENT_MESSAGE;
    row->count = XFT_MESSAGE_WAIT;
    row->src = row->width = row->stream = row->aux = 0;
}

INLINE void fill_end(struct xft_event *row, const struct xfs_message *m, const struct facts *f,
                     uint16_t call, xfs_word request, uint64_t began_ns)
{
    fill(row, m, f, call);
    fill_memoryless(row);
    row->kind = XFT_EVENT_MESSAGE_END;
    row->count = row->stack = 0;
    row->src = f->from == XFT_RANK_NONE ? 0 : (uint64_t)f->from + 1;
    row->width = f->arrived;
    row->stream = request;
    row->aux = began_ns;
}

INLINE bool wait_straight(struct xfs_message *m, struct facts *f, uint16_t call)
{
    struct xfs_request what;
    xfs_word request = m->few[0];
    if (!know_stack(m, f))
        return false;
    struct xfs_request_slot *slot = m->taken == 1 && !xfs_mpi_is_shared(m->mpi, request)
                                        ? xfs_request_alone(request, m->start_ns, &what)
                                        : NULL;
    f->arrived = 0;
    f->from = XFT_RANK_NONE;
    if (slot == NULL || (what.receives && !know_arrived(m, f, m->wait.status)))
        return false;
    struct xft_event *rows = xfs_call_rows_open(f->lane, 2);
    if (rows == NULL)
        return false;
    fill_wait(rows, m, f, call);
    fill_end(rows + 1, m, f, call, request, what.start_ns);
    xfs_call_rows_close(f->lane, 2);
    xfs_call_rows_counted(f->lane, m->from_ns, rows);
    xfs_request_take(slot, request);
    return true;
}

INLINE int wait(struct xfs_message *m, int returned, uint16_t call)
{
    struct facts f = {.end_ns = xfs_now_ns(), .lane = xfs_self};
    if (__builtin_expect(can_be(&f, returned) && wait_straight(m, &f, call), 1)) {
        xfs_message_outermost = 0;
        return 0;
    }
    keep_start(m);
    waited_slowly(m, returned, call, true, f.end_ns);
    return returned;
}

int xfs_message_waited(struct xfs_message *m, int returned, uint16_t call)
{
    return wait(m, returned, call);
}

/* One that found nothing is no event. */
int xfs_message_tested(struct xfs_message *m, int returned, uint16_t call)
{
    if (returned != 0 || *m->wait.flag)
        return wait(m, returned, call);
    xfs_message_outermost = 0;
    return returned;
}
