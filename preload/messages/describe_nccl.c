#include "preload/messages/describe_nccl.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "preload/intercept/captures.h"
#include "preload/intercept/classify.h"
#include "preload/lookup/runtime.h"
#include "preload/messages/communicators.h"
#include "preload/record/clock.h"
#include "preload/record/hot.h"

/* ---- communicators --------------------------------------------------------------------------- */

/* Where NCCL does what was asked in the background, this is its answer. */
#define NCCL_IN_PROGRESS 7

static bool is_made(int status, void *const *comm)
{
    return (status == 0 || status == NCCL_IN_PROGRESS) && comm && *comm && xfs_messages_wanted();
}

static void keep(void *comm, int size, int rank, uint64_t id)
{
    xfs_communicator_add((uintptr_t)comm,
                         &(struct xfs_communicator){.size = size, .rank = rank, .id = id});
}

void xfs_nccl_made(int status, void *const *comm, int ranks, int rank, const struct xfs_nccl_id *id)
{
    uint64_t mixed = 2;
    int saved = errno;
    if (is_made(status, comm)) {
        for (size_t i = 0; i < sizeof id->bytes; i += sizeof(uint64_t)) {
            uint64_t part;
            memcpy(&part, id->bytes + i, sizeof part);
            mixed = xfs_id_mix(mixed, part);
        }
        keep(*comm, ranks, rank, mixed ? mixed : 1);
    }
    errno = saved;
}

/* All ranks are this process. */
void xfs_nccl_all_made(int status, void *const *comms, int count)
{
    int saved = errno;
    uint64_t id = xfs_id_mix(xfs_id_mix(3, (uint64_t)getpid()), xfs_now_apart_ns());
    for (int i = 0; i < count && is_made(status, comms + i); i++)
        keep(comms[i], count, i, id ? id : 1);
    errno = saved;
}

/* A communicator with what NCCL says of it; false when it says nothing. */
static bool ask(void *comm, const void *caller, struct xfs_communicator *made)
{
    int (*count)(void *, int *) =
        (__typeof__(count))xfs_real_runtime_special("ncclCommCount", NULL, caller);
    int (*rank)(void *, int *) =
        (__typeof__(rank))xfs_real_runtime_special("ncclCommUserRank", NULL, caller);
    return count && rank && count(comm, &made->size) == 0 && rank(comm, &made->rank) == 0;
}

/* All ranks count splits in the same order, also those that are then in no part. */
void xfs_nccl_split(int status, void *from, int color, void *const *made, const void *caller)
{
    int saved = errno;
    struct xfs_communicator *parent = xfs_communicator_find((uintptr_t)from), part = {0};
    uint64_t id = parent && parent->id ? xfs_id_mix(parent->id, ++parent->parts) : 0;
    if (status == 0 && is_made(status, made) && ask(*made, caller, &part))
        keep(*made, part.size, part.rank, id ? xfs_id_mix(id, (uint64_t)color) : 0);
    errno = saved;
}

void xfs_nccl_gone(void *comm)
{
    xfs_communicator_remove((uintptr_t)comm);
}

static struct xfs_communicator *known_comm(const struct xfs_message *m, void *comm)
{
    struct xfs_communicator *known = xfs_communicator_find((uintptr_t)comm), made = {0};
    if (known == NULL && ask(comm, m->called_from, &made))
        known = xfs_communicator_add((uintptr_t)comm, &made);
    return known;
}

size_t xfs_nccl_ranks(const struct xfs_message *m, void *comm)
{
    const struct xfs_communicator *known = known_comm(m, comm);
    return known ? (size_t)known->size : 0;
}

static int set_comm(struct xfs_message *m, void *comm)
{
    struct xfs_communicator *known = known_comm(m, comm);
    if (known == NULL)
        return -1;
    uint32_t number = xfs_communicator_number(known, &m->event, xfs_all_ranks, NULL);
    m->event.count = xft_message_count(xft_message_of(m->event.count), number);
    return known->rank;
}

/* ---- what a call moves ----------------------------------------------------------------------- */

static uint64_t bytes_of(size_t count, int type)
{
    static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && (size_t)type < sizeof bytes ? count * bytes[type] : 0;
}

/* The stream, as in a LAUNCH; in a group the message waits for its end. */
static void submitted(struct xfs_message *m, void *stream)
{
    struct xft_event *e = &m->event;
    e->stream = (uintptr_t)stream;
    e->flags |= XFT_STREAM_KNOWN | XFT_ASYNC;
    if (xfs_stream_is_default(e->stream))
        e->device = xfs_default_device();
    if (xfs_captures_now() > 0 && xfs_stream_captured(stream, 0))
        e->flags |= XFT_CAPTURED;
    e->correlation = xfs_in_group() ? 0 : xfs_launched_since(m->first_row, e->stream);
    xfs_message_stack(m);
    if (!xfs_group_add(e))
        return;
    if (xfs_self && xfs_call_is_timed(xfs_self))
        xfs_cost_ends(xfs_self, e->kind, e->start_ns, e->end_ns);
    e->kind = XFT_EVENT_NONE;
}

void xfs_nccl_all(struct xfs_message *m, const void *sent, size_t count, const void *received,
                  size_t count2, int type, void *comm, void *stream)
{
    set_comm(m, comm);
    m->event.aux = xft_message_peers(XFT_RANK_NONE, XFT_RANK_NONE);
    xfs_message_sent(m, sent, bytes_of(count, type));
    xfs_message_received(m, received, bytes_of(count2, type));
    submitted(m, stream);
}

void xfs_nccl_bcast(struct xfs_message *m, const void *sent, const void *received, size_t count,
                    int type, int root, void *comm, void *stream)
{
    m->event.aux = xft_message_peers((uint32_t)root, XFT_RANK_NONE);
    if (set_comm(m, comm) == root)
        xfs_message_sent(m, sent, bytes_of(count, type));
    else
        xfs_message_received(m, received, bytes_of(count, type));
    submitted(m, stream);
}

void xfs_nccl_reduce(struct xfs_message *m, const void *sent, const void *received, size_t count,
                     int type, int root, void *comm, void *stream)
{
    m->event.aux = xft_message_peers((uint32_t)root, XFT_RANK_NONE);
    if (set_comm(m, comm) == root)
        xfs_message_received(m, received, bytes_of(count, type));
    xfs_message_sent(m, sent, bytes_of(count, type));
    submitted(m, stream);
}

void xfs_nccl_gather(struct xfs_message *m, const void *sent, const void *received, size_t count,
                     int type, int root, void *comm, void *stream)
{
    m->event.aux = xft_message_peers((uint32_t)root, XFT_RANK_NONE);
    if (set_comm(m, comm) == root)
        xfs_message_received(m, received, bytes_of(count * xfs_nccl_ranks(m, comm), type));
    xfs_message_sent(m, sent, bytes_of(count, type));
    submitted(m, stream);
}

void xfs_nccl_scatter(struct xfs_message *m, const void *sent, const void *received, size_t count,
                      int type, int root, void *comm, void *stream)
{
    m->event.aux = xft_message_peers((uint32_t)root, XFT_RANK_NONE);
    if (set_comm(m, comm) == root)
        xfs_message_sent(m, sent, bytes_of(count * xfs_nccl_ranks(m, comm), type));
    xfs_message_received(m, received, bytes_of(count, type));
    submitted(m, stream);
}

void xfs_nccl_send(struct xfs_message *m, const void *sent, size_t count, int type, int peer,
                   void *comm, void *stream)
{
    set_comm(m, comm);
    m->event.aux = xft_message_peers((uint32_t)peer, XFT_RANK_NONE);
    xfs_message_sent(m, sent, bytes_of(count, type));
    submitted(m, stream);
}

void xfs_nccl_recv(struct xfs_message *m, const void *received, size_t count, int type, int peer,
                   void *comm, void *stream)
{
    set_comm(m, comm);
    m->event.aux = xft_message_peers(XFT_RANK_NONE, (uint32_t)peer);
    xfs_message_received(m, received, bytes_of(count, type));
    submitted(m, stream);
}
