#include "preload/messages/describe_mpi.h"

#include "preload/messages/requests.h"
#include "preload/messages/statuses.h"
#include "preload/messages/types.h"

/* ---- what is asked of MPI -------------------------------------------------------------------- */

/* Bytes of `count` elements of a type; 0 when MPI does not say. */
static uint64_t bytes_of(const struct xfs_message *m, int64_t count, xfs_word type)
{
    int64_t each = count > 0 ? xfs_mpi_type_bytes(m->mpi, type) : 0;
    return each > 0 ? (uint64_t)count * (uint64_t)each : 0;
}

static int64_t part_count(const struct xfs_parts *parts, int i)
{
    if (parts->counts == NULL)
        return parts->count;
    return parts->large ? ((const int64_t *)parts->counts)[i] : ((const int *)parts->counts)[i];
}

static int present(int ranks, uint64_t absent)
{
    return absent == 0 ? ranks : ranks - __builtin_popcountll(absent);
}

/* Of parts for so many ranks, but those that are absent. A type that all have is asked for once. */
static uint64_t bytes_of_parts(const struct xfs_message *m, const struct xfs_parts *parts,
                               int ranks, uint64_t absent)
{
    int64_t elements = 0;
    uint64_t bytes = 0;
    if (parts->counts == NULL)
        return bytes_of(m, parts->count * present(ranks, absent), parts->type);
    for (int i = 0; i < ranks; i++) {
        if (i < XFS_ABSENT_MOST && absent >> i & 1)
            continue;
        if (parts->types)
            bytes += bytes_of(m, part_count(parts, i), xfs_mpi_handle_at(m->mpi, parts->types, i));
        else
            elements += part_count(parts, i);
    }
    return parts->types ? bytes : bytes_of(m, elements, parts->type);
}

static bool is_in_place(const struct xfs_message *m, const void *buffer)
{
    return buffer == m->mpi->in_place;
}

/* MPI_COMM_WORLD's and others' sizes and ranks where they are not known. */
static const struct xfs_communicator nobody = {.size = 0, .rank = -1};

/* The communicator, whose number it adds to the event. In line where messages are short and many.
 */
static inline __attribute__((always_inline)) const struct xfs_communicator *
set_comm_here(struct xfs_message *m, xfs_word comm)
{
    struct xfs_communicator *known = xfs_mpi_communicator(m->mpi, xfs_mpi_handle(m->mpi, comm));
    if (known == NULL)
        return &nobody;
    uint32_t number = xfs_communicator_number(known, &m->event, xfs_mpi_ranks, m->mpi);
    m->event.count = xft_message_count(xft_message_of(m->event.count), number);
    return known;
}

static const struct xfs_communicator *set_comm(struct xfs_message *m, xfs_word comm)
{
    return set_comm_here(m, comm);
}

static uint32_t rank_of(const struct xfs_message *m, int rank)
{
    if (rank >= 0)
        return (uint32_t)rank;
    return rank == m->mpi->any_source ? XFT_RANK_ANY : XFT_RANK_NONE;
}

static void set_peers(struct xfs_message *m, uint32_t to, uint32_t from)
{
    m->event.aux = xft_message_peers(to, from);
}

/* ---- one rank to another --------------------------------------------------------------------- */

/* What a receive that came before has set stays. */
void xfs_mpi_send(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type, int dest,
                  int tag, xfs_word comm)
{
    bool also_receives = xft_message_of(m->event.count) == XFT_MESSAGE_SENDRECV;
    uint32_t from = also_receives ? xft_message_from(m->event.aux) : XFT_RANK_NONE;
    set_comm_here(m, comm);
    set_peers(m, rank_of(m, dest), from);
    m->event.correlation = (uint32_t)tag;
    if (dest != m->mpi->proc_null)
        xfs_message_sent(m, buffer, bytes_of(m, count, type));
}

void xfs_mpi_recv(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type,
                  int source, int tag, xfs_word comm)
{
    set_comm_here(m, comm);
    set_peers(m, XFT_RANK_NONE, rank_of(m, source));
    m->event.correlation = (uint32_t)tag;
    if (source != m->mpi->proc_null)
        xfs_message_received(m, buffer, bytes_of(m, count, type));
}

void xfs_mpi_arrived(struct xfs_message *m, const void *statuses)
{
    const char *status = xfs_mpi_status_at(m->mpi, statuses, 0);
    if (status == NULL || xft_message_from(m->event.aux) == XFT_RANK_NONE)
        return;
    int source = xfs_mpi_source_of(m->mpi, status);
    int64_t bytes = xfs_mpi_bytes_arrived(m->mpi, status);
    if (source >= 0)
        set_peers(m, xft_message_to(m->event.aux), (uint32_t)source);
    if (bytes >= 0)
        m->event.width = (uint64_t)bytes;
}

void xfs_mpi_probed(struct xfs_message *m, int source, int tag, xfs_word comm, const void *message,
                    const void *statuses)
{
    const char *status = xfs_mpi_status_at(m->mpi, statuses, 0);
    set_comm(m, comm);
    m->event.count = xft_message_count(XFT_MESSAGE_RECV, xft_message_communicator(m->event.count));
    set_peers(m, XFT_RANK_NONE, rank_of(m, status ? xfs_mpi_source_of(m->mpi, status) : source));
    m->event.correlation = (uint32_t)(status ? xfs_mpi_tag_of(m->mpi, status) : tag);
    xfs_request_keep(xfs_mpi_handle_at(m->mpi, message, 0), &m->event);
}

/* Of one that was found before recording began nothing is known but what its status says. */
void xfs_mpi_matched(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type)
{
    struct xft_event probed = {.aux = xft_message_peers(XFT_RANK_NONE, XFT_RANK_ANY),
                               .count = XFT_MESSAGE_RECV};
    if (m->taken == 1 && xfs_request_kept(m->requests[0], &probed))
        xfs_request_forget(m->requests[0]);
    m->event.aux = probed.aux;
    m->event.count = probed.count;
    m->event.correlation = probed.correlation;
    if (xft_message_from(probed.aux) != XFT_RANK_NONE)
        xfs_message_received(m, buffer, bytes_of(m, count, type));
}

/* The communicator of a window is known if its making was seen. */
static void set_window(struct xfs_message *m, xfs_word window)
{
    struct xfs_communicator *known = xfs_communicator_find(xfs_mpi_handle(m->mpi, window));
    struct xfs_communicator *of = known ? atomic_load(&known->of) : NULL;
    uint32_t number = of ? xfs_communicator_number(of, &m->event, xfs_mpi_ranks, m->mpi) : 0;
    m->event.count = xft_message_count(xft_message_of(m->event.count), number);
}

void xfs_mpi_put(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type,
                 int target, xfs_word window)
{
    set_window(m, window);
    set_peers(m, rank_of(m, target), XFT_RANK_NONE);
    if (target != m->mpi->proc_null)
        xfs_message_sent(m, buffer, bytes_of(m, count, type));
}

void xfs_mpi_get(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type,
                 int target, xfs_word window)
{
    set_window(m, window);
    set_peers(m, XFT_RANK_NONE, rank_of(m, target));
    if (target != m->mpi->proc_null)
        xfs_message_received(m, buffer, bytes_of(m, count, type));
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool receives(const struct xft_event *event)
{
    return xft_message_of(event->count) == XFT_MESSAGE_RECV;
}

static void begun(const struct xfs_message *m, xfs_word request)
{
    const struct xft_event *e = &m->event;
    xfs_request_begun(request, xfs_mpi_is_shared(m->mpi, request),
                      &(struct xfs_request){e->start_ns, e->end_ns, receives(e)});
}

void xfs_mpi_begun(struct xfs_message *m, const void *requests)
{
    xfs_word request = xfs_mpi_handle_at(m->mpi, requests, 0);
    m->event.stream = request;
    m->event.flags |= XFT_ASYNC;
    if (request != m->mpi->no_request)
        begun(m, request);
}

void xfs_mpi_kept(struct xfs_message *m, unsigned op, const void *requests)
{
    m->event.stream = xfs_mpi_handle_at(m->mpi, requests, 0);
    m->event.flags |= XFT_ASYNC;
    m->event.count = xft_message_count(op, xft_message_communicator(m->event.count));
    xfs_request_keep(m->event.stream, &m->event);
}

void xfs_mpi_kept_by_all(struct xfs_message *m, unsigned op, xfs_word comm, const void *requests)
{
    struct xfs_communicator *known = xfs_mpi_communicator(m->mpi, xfs_mpi_handle(m->mpi, comm));
    if (known)
        m->event.correlation = atomic_fetch_add(&known->persistent, 1) + 1;
    xfs_mpi_kept(m, op, requests);
}

void xfs_mpi_take(struct xfs_message *m, int count, const void *requests)
{
    xfs_requests_take(m, count, requests);
}

/* Each of them is a message of this call, with its times and its stack; a nanosecond behind the one
 * before, so that each end names one. */
void xfs_mpi_started(struct xfs_message *m)
{
    const uint16_t call = m->event.call;
    const uint64_t end_ns = m->event.end_ns;
    uint64_t start_ns = m->event.start_ns;
    uint32_t stack = 0;
    for (int i = 0; i < m->taken; i++) {
        if (!xfs_request_kept(m->requests[i], &m->event))
            continue;
        m->event.kind = XFT_EVENT_MESSAGE;
        m->event.call = call;
        m->event.start_ns = start_ns;
        m->event.end_ns = end_ns;
        m->event.stack = stack;
        begun(m, m->requests[i]);
        xfs_message_write(m);
        stack = m->event.stack;
        start_ns += start_ns < end_ns;
    }
    m->written = true;
}

/* The end of an operation whose request was freed is not seen. */
void xfs_mpi_freed(struct xfs_message *m)
{
    struct xfs_request what;
    for (int i = 0; i < m->taken; i++) {
        xfs_request_forget(m->requests[i]);
        xfs_requests_take_out(m, i, &what);
    }
}

void xfs_mpi_all_done(struct xfs_message *m, const void *statuses)
{
    xfs_message_write(m);
    for (int i = 0; i < m->taken; i++)
        xfs_requests_end(m, i, xfs_mpi_status_at(m->mpi, statuses, i), 0);
}

/* No request was active: MPI_UNDEFINED, as index or as count. */
void xfs_mpi_some_done(struct xfs_message *m, int count, const int *indices, const void *statuses)
{
    xfs_message_write(m);
    for (int i = 0; i < count; i++)
        xfs_requests_end(m, indices[i], xfs_mpi_status_at(m->mpi, statuses, i), 0);
}

void xfs_mpi_none_done(struct xfs_message *m)
{
    m->event.kind = XFT_EVENT_NONE;
}

/* ---- all ranks ------------------------------------------------------------------------------- */

static const struct xfs_communicator *set_all(struct xfs_message *m, xfs_word comm)
{
    set_peers(m, XFT_RANK_NONE, XFT_RANK_NONE);
    return set_comm(m, comm);
}

/* The same with a root; true in it. */
static const struct xfs_communicator *set_root(struct xfs_message *m, int root, xfs_word comm,
                                               bool *is_root)
{
    const struct xfs_communicator *all = set_comm(m, comm);
    set_peers(m, rank_of(m, root), XFT_RANK_NONE);
    *is_root = all->rank == root;
    return all;
}

void xfs_mpi_barrier(struct xfs_message *m, xfs_word comm)
{
    set_all(m, comm);
}

void xfs_mpi_bcast(struct xfs_message *m, const void *buffer, int64_t count, xfs_word type,
                   int root, xfs_word comm)
{
    bool is_root;
    set_root(m, root, comm, &is_root);
    if (is_root)
        xfs_message_sent(m, buffer, bytes_of(m, count, type));
    else
        xfs_message_received(m, buffer, bytes_of(m, count, type));
}

void xfs_mpi_reduce(struct xfs_message *m, const void *sent, const void *received, int64_t count,
                    xfs_word type, int root, xfs_word comm)
{
    bool is_root;
    uint64_t bytes = bytes_of(m, count, type);
    set_root(m, root, comm, &is_root);
    xfs_message_sent(m, is_in_place(m, sent) ? received : sent, bytes);
    if (is_root)
        xfs_message_received(m, received, bytes);
}

void xfs_mpi_equal(struct xfs_message *m, const void *sent, const void *received, int64_t count,
                   xfs_word type, xfs_word comm)
{
    uint64_t bytes = bytes_of(m, count, type);
    set_all(m, comm);
    xfs_message_sent(m, is_in_place(m, sent) ? received : sent, bytes);
    xfs_message_received(m, received, bytes);
}

/* What a rank sends whose data is in place: its part of what arrives. */
static uint64_t own_part(const struct xfs_message *m, const struct xfs_communicator *all,
                         const struct xfs_parts *parts)
{
    if (parts->counts && all->rank < 0)
        return 0;
    return bytes_of(m, part_count(parts, all->rank), parts->type);
}

void xfs_mpi_gather(struct xfs_message *m, const void *sent, int64_t count, xfs_word type,
                    const void *received, const struct xfs_parts *arrive, int root, xfs_word comm)
{
    bool is_root;
    const struct xfs_communicator *all = set_root(m, root, comm, &is_root);
    if (is_root)
        xfs_message_received(m, received, bytes_of_parts(m, arrive, all->size, 0));
    if (is_root && is_in_place(m, sent))
        xfs_message_sent(m, received, own_part(m, all, arrive));
    else
        xfs_message_sent(m, sent, bytes_of(m, count, type));
}

void xfs_mpi_scatter(struct xfs_message *m, const void *sent, const struct xfs_parts *leave,
                     const void *received, int64_t count2, xfs_word type2, int root, xfs_word comm)
{
    bool is_root;
    const struct xfs_communicator *all = set_root(m, root, comm, &is_root);
    if (is_root)
        xfs_message_sent(m, sent, bytes_of_parts(m, leave, all->size, 0));
    if (!is_in_place(m, received))
        xfs_message_received(m, received, bytes_of(m, count2, type2));
}

void xfs_mpi_reduce_scatter(struct xfs_message *m, const void *sent, const void *received,
                            const struct xfs_parts *of_all, xfs_word comm)
{
    const struct xfs_communicator *all = set_all(m, comm);
    xfs_message_sent(m, is_in_place(m, sent) ? received : sent,
                     bytes_of_parts(m, of_all, all->size, 0));
    xfs_message_received(m, received, own_part(m, all, of_all));
}

/* ---- all ranks, or the neighbors ------------------------------------------------------------- */

/* From how many ranks something comes, and to how many it goes. */
struct ends {
    int sources, targets;
    uint64_t absent; /* of the first ones: MPI_PROC_NULL */
};

static struct ends ends_of(const struct xfs_communicator *all, enum xfs_whom whom)
{
    return whom == XFS_NEIGHBORS_ONLY ? (struct ends){all->sources, all->targets, all->absent}
                                      : (struct ends){all->size, all->size, 0};
}

void xfs_mpi_allgather(struct xfs_message *m, enum xfs_whom whom, const void *sent, int64_t count,
                       xfs_word type, const void *received, const struct xfs_parts *arrive,
                       xfs_word comm)
{
    const struct xfs_communicator *all = set_all(m, comm);
    struct ends ends = ends_of(all, whom);
    xfs_message_received(m, received, bytes_of_parts(m, arrive, ends.sources, ends.absent));
    if (is_in_place(m, sent))
        xfs_message_sent(m, received, own_part(m, all, arrive));
    else if (whom == XFS_ALL_RANKS || present(ends.targets, ends.absent) > 0)
        xfs_message_sent(m, sent, bytes_of(m, count, type));
}

void xfs_mpi_alltoall(struct xfs_message *m, enum xfs_whom whom, const void *sent,
                      const struct xfs_parts *leave, const void *received,
                      const struct xfs_parts *arrive, xfs_word comm)
{
    struct ends ends = ends_of(set_all(m, comm), whom);
    uint64_t arrives = bytes_of_parts(m, arrive, ends.sources, ends.absent);
    m->event.flags |= arrive->counts ? XFT_OWN_COUNTS : 0;
    xfs_message_received(m, received, arrives);
    if (is_in_place(m, sent))
        xfs_message_sent(m, received, arrives);
    else
        xfs_message_sent(m, sent, bytes_of_parts(m, leave, ends.targets, ends.absent));
}
