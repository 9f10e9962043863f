#include "preload/messages/communicators.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "preload/base/brief_lock.h"
#include "preload/base/own_stack.h"
#include "preload/messages/message.h"
#include "preload/record/hot.h"

#define PLACES 1024 /* a power of two */
#define PROBED 32
#define REMOVED 1

static struct xfs_communicator table[PLACES];
static atomic_uint numbers; /* given so far */

/* ---- the table ------------------------------------------------------------------------------- */

static unsigned place_of(uintptr_t handle)
{
    return (unsigned)((uint64_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}
_Static_assert(PLACES == 1 << 10, "ten bits are taken");

static __attribute__((noinline)) struct xfs_communicator *find_beyond(uintptr_t handle)
{
    for (unsigned i = 0, at = place_of(handle); i < PROBED; i++, at = (at + 1) % PLACES) {
        uintptr_t here = atomic_load_explicit(&table[at].handle, memory_order_acquire);
        if (here == handle)
            return &table[at];
        if (here == 0)
            return NULL;
    }
    return NULL;
}

struct xfs_communicator *xfs_communicator_find(uintptr_t handle)
{
    struct xfs_communicator *home = &table[place_of(handle)];
    return __builtin_expect(atomic_load_explicit(&home->handle, memory_order_acquire) == handle, 1)
               ? home
               : find_beyond(handle);
}

void xfs_communicator_remove(uintptr_t handle)
{
    struct xfs_communicator *known = handle > REMOVED ? xfs_communicator_find(handle) : NULL;
    if (known)
        atomic_store_explicit(&known->handle, REMOVED, memory_order_release);
}

static atomic_flag adding = ATOMIC_FLAG_INIT;

/* Some 10 ms: the thread that adds one now may not be running. A communicator that is not added has
 * messages of which nobody knows the ranks. */
#define TRIES (1u << 18)

static bool take_turn(void)
{
    return xfs_brief_take(&adding, TRIES);
}

static void end_turn(void)
{
    xfs_brief_give_back(&adding);
}

static struct xfs_communicator *empty_place(uintptr_t handle)
{
    for (unsigned i = 0, at = place_of(handle); i < PROBED; i++, at = (at + 1) % PLACES)
        if (atomic_load_explicit(&table[at].handle, memory_order_relaxed) <= REMOVED)
            return &table[at];
    return NULL;
}

struct xfs_communicator *xfs_communicator_add(uintptr_t handle, const struct xfs_communicator *like)
{
    if (handle <= REMOVED || !take_turn())
        return NULL;
    xfs_communicator_remove(handle);
    struct xfs_communicator *place = empty_place(handle);
    if (place) {
        place->size = like->size;
        place->rank = like->rank;
        place->id = like->id;
        place->nameless = like->nameless;
        place->sources = like->sources;
        place->targets = like->targets;
        place->absent = like->absent;
        atomic_store_explicit(&place->persistent, 0, memory_order_relaxed);
        atomic_store_explicit(&place->number, 0, memory_order_relaxed);
        atomic_store_explicit(&place->of, atomic_load(&like->of), memory_order_relaxed);
        atomic_store_explicit(&place->handle, handle, memory_order_release);
    }
    end_turn();
    return place;
}

/* ---- its event ------------------------------------------------------------------------------- */

/* What number_anew() hands to another stack: a list of ranks takes room. */
struct telling {
    const struct xfs_communicator *known;
    uint32_t number;
    const struct xft_event *message; /* the first in it, which comes behind */
    xfs_ranks_list *ranks;
    const void *context;
};

static void tell(void *argument)
{
    const struct telling *t = argument;
    char text[XFT_NAME_MOST];
    unsigned bytes =
        t->ranks(t->context, atomic_load(&t->known->handle), t->known->size, text, sizeof text);
    xfs_event_write(&(struct xft_event){
        .kind = XFT_EVENT_COMMUNICATOR,
        .start_ns = t->message->start_ns,
        .end_ns = t->message->start_ns,
        .count = t->number,
        .width = (uint64_t)t->known->size,
        .src = (uint64_t)t->known->rank,
        .dst = bytes ? xfs_name(text, bytes) : 0,
        .aux = t->known->id,
        .call = t->message->call,
        .src_place = XFT_PLACE_UNKNOWN,
        .dst_place = XFT_PLACE_UNKNOWN,
        .device = XFT_PLACE_UNKNOWN,
    });
}

static XFS_COLD uint32_t number_anew(struct xfs_communicator *known,
                                     const struct xft_event *message, xfs_ranks_list *ranks,
                                     const void *context)
{
    uint32_t number = atomic_fetch_add(&numbers, 1) + 1, none = 0;
    struct telling telling = {known, number, message, ranks, context};
    if (number > XFT_COMMUNICATOR_MOST)
        return 0;
    if (!atomic_compare_exchange_strong(&known->number, &none, number))
        return none; /* another thread's message was the first */
    xfs_on_any_stack(tell, &telling);
    return number;
}

uint32_t xfs_communicator_number(struct xfs_communicator *known, const struct xft_event *message,
                                 xfs_ranks_list *ranks, const void *context)
{
    uint32_t number = atomic_load_explicit(&known->number, memory_order_acquire);
    if (__builtin_expect(number != 0, 1) || known->nameless)
        return number;
    return number_anew(known, message, ranks, context);
}

/* ---- lists of ranks -------------------------------------------------------------------------- */

struct list {
    char *text;
    unsigned bytes, room;
    bool cut;
    int first, last; /* of the ranks in a row that are not written yet; -1: none */
};

static void list_put(struct list *list)
{
    char piece[32];
    int bytes = list->first == list->last
                    ? snprintf(piece, sizeof piece, "%s%d", list->bytes ? "," : "", list->first)
                    : snprintf(piece, sizeof piece, "%s%d-%d", list->bytes ? "," : "", list->first,
                               list->last);
    if (list->first < 0 || list->cut)
        return;
    if (list->bytes + (unsigned)bytes + 1 > list->room) { /* cut behind a comma */
        list->cut = true;
        list->text[list->bytes++] = ',';
        return;
    }
    memcpy(list->text + list->bytes, piece, (size_t)bytes);
    list->bytes += (unsigned)bytes;
}

static void list_rank(struct list *list, int rank)
{
    if (list->first >= 0 && rank == list->last + 1) {
        list->last = rank;
        return;
    }
    list_put(list);
    list->first = list->last = rank;
}

unsigned xfs_all_ranks(const void *unused, uintptr_t handle, int size, char *text, unsigned room)
{
    struct list list = {.text = text, .room = room, .first = 0, .last = size - 1};
    list_put(&list);
    return list.bytes;
}

/* Calls `take` with each rank's number in MPI_COMM_WORLD, in order; false when one has none. */
static bool each_rank(const struct xfs_mpi *mpi, xfs_word comm, int size, void (*take)(void *, int),
                      void *taker)
{
    enum { AT_ONCE = 128 };
    int ranks[AT_ONCE], found[AT_ONCE];
    xfs_word group = 0, world = 0;
    bool good = mpi->comm_group(comm, &group) == 0 && mpi->comm_group(mpi->world, &world) == 0;
    for (int from = 0; good && from < size; from += AT_ONCE) {
        int count = size - from < AT_ONCE ? size - from : AT_ONCE;
        for (int i = 0; i < count; i++)
            ranks[i] = from + i;
        good = mpi->translate(group, count, ranks, world, found) == 0;
        for (int i = 0; good && i < count; i++) {
            good = found[i] >= 0;
            if (good)
                take(taker, found[i]);
        }
    }
    if (group)
        mpi->group_free(&group);
    if (world)
        mpi->group_free(&world);
    return good;
}

static void take_for_list(void *list, int rank)
{
    list_rank(list, rank);
}

unsigned xfs_mpi_ranks(const void *context, uintptr_t handle, int size, char *text, unsigned room)
{
    struct list list = {.text = text, .room = room, .first = -1, .last = -1};
    if (!each_rank(context, handle, size, take_for_list, &list))
        return 0;
    list_put(&list);
    return list.bytes;
}

/* ---- MPI's ----------------------------------------------------------------------------------- */

static void take_for_id(void *id, int rank)
{
    *(uint64_t *)id = xfs_id_mix(*(uint64_t *)id, (uint64_t)rank);
}

/* Ids of lists of ranks, and how many communicators with that list were made. */
#define LISTS 256
static struct {
    uint64_t id;
    uint32_t made;
} lists[LISTS];

/* 0 when the table is full. */
static uint64_t turn_of(uint64_t list_id)
{
    uint64_t turn = 0;
    if (!take_turn())
        return 0;
    for (unsigned i = 0, at = (unsigned)(list_id % LISTS); i < LISTS && turn == 0; i++) {
        if (lists[at].id == 0 || lists[at].id == list_id) {
            lists[at].id = list_id;
            turn = ++lists[at].made;
        }
        at = (at + 1) % LISTS;
    }
    end_turn();
    return turn;
}

/* In each dimension of a grid one towards its begin and one towards its end. */
static void set_grid(const struct xfs_mpi *mpi, xfs_word comm, struct xfs_communicator *made)
{
    int dimensions = 0, before, after;
    if (mpi->grid_dimensions(comm, &dimensions) != 0)
        return;
    made->sources = made->targets = 2 * dimensions;
    for (int i = 0; i < dimensions && 2 * i + 1 < XFS_ABSENT_MOST; i++) {
        if (mpi->grid_shift(comm, i, 1, &before, &after) != 0)
            continue;
        made->absent |= (uint64_t)(before == mpi->proc_null) << 2 * i;
        made->absent |= (uint64_t)(after == mpi->proc_null) << (2 * i + 1);
    }
}

static void set_neighbors(const struct xfs_mpi *mpi, xfs_word comm, struct xfs_communicator *made)
{
    int topology = 0, weighted;
    if (!mpi->topology || mpi->topology(comm, &topology) != 0)
        return;
    if (topology == mpi->of_grid && mpi->grid_dimensions && mpi->grid_shift) {
        set_grid(mpi, comm, made);
    } else if (topology == mpi->of_graph && mpi->graph_neighbors) {
        if (mpi->graph_neighbors(comm, made->rank, &made->sources) == 0)
            made->targets = made->sources;
    } else if (topology == mpi->of_dist_graph && mpi->dist_graph_neighbors) {
        mpi->dist_graph_neighbors(comm, &made->sources, &made->targets, &weighted);
    }
}

static bool describe(const struct xfs_mpi *mpi, xfs_word comm, struct xfs_communicator *made)
{
    int inter = 0;
    if (mpi->comm_is_inter(comm, &inter) != 0 || mpi->comm_size(comm, &made->size) != 0 ||
        mpi->comm_rank(comm, &made->rank) != 0)
        return false;
    made->nameless = inter != 0;
    if (!made->nameless)
        set_neighbors(mpi, comm, made);
    return true;
}

/* What is equal in all its processes; `watched`: it has just been made. */
static uint64_t id_of(const struct xfs_mpi *mpi, xfs_word comm, int size, bool watched)
{
    uint64_t id = xfs_id_mix(1, (uint64_t)size), turn = 0;
    bool given = comm == mpi->world || comm == mpi->self;
    if ((!given && !watched) || !each_rank(mpi, comm, size, take_for_id, &id))
        return 0;
    if (!given && (turn = turn_of(id)) == 0)
        return 0;
    id = xfs_id_mix(id, comm == mpi->self ? UINT64_MAX : turn);
    return id ? id : 1;
}

static struct xfs_communicator *add_mpi(const struct xfs_mpi *mpi, xfs_word comm, bool watched)
{
    struct xfs_communicator made = {0};
    if (!describe(mpi, comm, &made))
        return NULL;
    made.id = made.nameless ? 0 : id_of(mpi, comm, made.size, watched);
    return xfs_communicator_add(comm, &made);
}

struct xfs_communicator *xfs_mpi_communicator(const struct xfs_mpi *mpi, xfs_word comm)
{
    struct xfs_communicator *known = xfs_communicator_find(comm);
    if (__builtin_expect(known == NULL, 0))
        known = add_mpi(mpi, comm, false);
    return known;
}

/* MPI_COMM_NULL of both interfaces is no handle that a size could be asked of. */
static bool is_null(const struct xfs_mpi *mpi, xfs_word comm)
{
    return comm == 0 || comm == mpi->no_comm;
}

static const struct xfs_mpi *mpi_if_wanted(const void *caller)
{
    return xfs_messages_wanted() ? xfs_mpi_here(caller) : NULL;
}

void xfs_mpi_made_from(const void *made, const void *caller)
{
    int saved = errno;
    const struct xfs_mpi *mpi = mpi_if_wanted(caller);
    xfs_word comm = mpi ? xfs_mpi_handle_at(mpi, made, 0) : 0;
    if (mpi && !is_null(mpi, comm))
        add_mpi(mpi, comm, true);
    errno = saved;
}

void xfs_mpi_window_made_from(const void *window, xfs_word comm, const void *caller)
{
    int saved = errno;
    const struct xfs_mpi *mpi = mpi_if_wanted(caller);
    struct xfs_communicator *of = mpi ? xfs_mpi_communicator(mpi, xfs_mpi_handle(mpi, comm)) : NULL;
    if (of)
        xfs_communicator_add(xfs_mpi_handle_at(mpi, window, 0),
                             &(struct xfs_communicator){.of = of});
    errno = saved;
}

void xfs_mpi_gone_from(const void *gone, const void *caller)
{
    int saved = errno;
    const struct xfs_mpi *mpi = mpi_if_wanted(caller);
    if (mpi && gone)
        xfs_communicator_remove(xfs_mpi_handle_at(mpi, gone, 0));
    errno = saved;
}

/* ---- fork ------------------------------------------------------------------------------------ */

void xfs_communicators_after_fork(void)
{
    for (unsigned i = 0; i < PLACES; i++)
        atomic_store_explicit(&table[i].handle, 0, memory_order_relaxed);
    memset(lists, 0, sizeof lists);
    atomic_store(&numbers, 0);
    atomic_flag_clear(&adding);
}
