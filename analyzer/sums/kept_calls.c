#include "analyzer/sums/kept_calls.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/met.h"
#include "analyzer/sums/communicators.h"

/* ---- channels of one process ----------------------------------------------------------------- */

void xfa_channels_init(struct xfa_table *channels)
{
    xfa_table_init(channels, sizeof(struct xfa_channel_key), sizeof(struct xfa_channel));
}

static struct xfa_channel_key key_of(const struct xfa_channel_place *at)
{
    return (struct xfa_channel_key){at->channel, at->side, at->rank};
}

struct xfa_channel *xfa_channel_count(struct xfa_table *channels, struct xfa_channel_place *at,
                                      uint64_t begin_ns)
{
    const struct xfa_channel_key key = key_of(at);
    if (channels->count >= XFA_MAX_CHANNELS && !xfa_table_get(channels, &key))
        return NULL;
    struct xfa_channel *channel = xfa_table_put(channels, &key);
    channel->unsure = channel->unsure || begin_ns < channel->last_ns;
    channel->last_ns = begin_ns;
    at->n = ++channel->count;
    return channel;
}

const struct xfa_channel *xfa_channel_of(const struct xfa_table *channels,
                                         const struct xfa_channel_place *at)
{
    const struct xfa_channel_key key = key_of(at);
    return xfa_table_get(channels, &key);
}

/* ---- keeping --------------------------------------------------------------------------------- */

static struct xfa_channel_place *place(const struct xfa_kept_calls *calls, size_t i)
{
    return (struct xfa_channel_place *)((char *)calls->all + i * calls->bytes);
}

static bool is_chosen(const struct xfa_kept_calls *calls, const struct xfa_channel_place *at)
{
    return (xfa_communicator_mixed(at->channel, at->n) & calls->mask) == 0;
}

/* Those go that the mask does not choose. */
static void drop(struct xfa_kept_calls *calls, xfa_moved_fn *tell, void *self)
{
    uint32_t *moved = xfa_alloc_unset((calls->count + 1) * sizeof *moved);
    size_t count = 0;
    for (size_t i = 0; i < calls->count; i++) {
        bool stays = is_chosen(calls, place(calls, i));
        moved[i] = stays ? (uint32_t)count : XFA_NOT_KEPT;
        if (stays)
            memmove(place(calls, count++), place(calls, i), calls->bytes);
    }
    calls->count = count;
    if (tell)
        tell(self, moved);
    free(moved);
}

/* Half of them go. */
static void thin_out(struct xfa_kept_calls *calls, xfa_moved_fn *tell, void *self)
{
    calls->mask = 2 * calls->mask + 1;
    drop(calls, tell, self);
}

uint32_t xfa_calls_keep(struct xfa_kept_calls *calls, const void *one, xfa_moved_fn *moved,
                        void *self)
{
    if (!is_chosen(calls, one))
        return XFA_NOT_KEPT;
    if (calls->count >= calls->most)
        thin_out(calls, moved, self);
    if (!is_chosen(calls, one) || calls->count >= calls->most)
        return XFA_NOT_KEPT;
    calls->all = xfa_room(calls->all, &calls->capacity, calls->count + 1, calls->bytes);
    memcpy(place(calls, calls->count), one, calls->bytes);
    return (uint32_t)calls->count++;
}

/* ---- members of a team ----------------------------------------------------------------------- */

void xfa_calls_give(const struct xfa_kept_calls *calls, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, calls->mask);
    xfa_list_give(calls->all, calls->count, calls->bytes, parcel);
}

void xfa_calls_take(struct xfa_kept_calls *calls, struct xfa_unpacking *from, size_t processes)
{
    uint64_t mask = xfa_unpack_number(from);
    size_t before = calls->count;
    calls->mask |= mask;
    calls->all = xfa_list_take(calls->all, &calls->capacity, &calls->count, calls->bytes, from);
    for (size_t i = before; i < calls->count; i++)
        from->bad = from->bad || place(calls, i)->process >= processes;
}

/* The mask grows with the number of calls that it chooses: whoever has fewer of them has none that
 * is longer than that of one process. */
void xfa_calls_taken(struct xfa_kept_calls *calls)
{
    xfa_list_sort(calls->all, calls->count, calls->bytes,
                  offsetof(struct xfa_channel_place, process));
    drop(calls, NULL, NULL);
    while (calls->count > calls->most && calls->mask != UINT64_MAX)
        thin_out(calls, NULL, NULL);
}

/* ---- who belongs together -------------------------------------------------------------------- */

static int by_channel(const void *a, const void *b)
{
    const struct xfa_channel_place *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel < y->channel ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

void xfa_calls_sort(struct xfa_kept_calls *calls)
{
    if (calls->count)
        qsort(calls->all, calls->count, calls->bytes, by_channel);
}

size_t xfa_calls_next(const struct xfa_kept_calls *calls, size_t at)
{
    const struct xfa_channel_place *first = place(calls, at);
    size_t next = at + 1;
    while (next < calls->count && place(calls, next)->n == first->n &&
           place(calls, next)->channel == first->channel)
        next++;
    return next;
}

bool xfa_calls_are_pair(const struct xfa_kept_calls *calls, size_t at, size_t count)
{
    if (count != 2)
        return false;
    const struct xfa_channel_place *sent = place(calls, at), *got = place(calls, at + 1);
    return sent->side == XFA_SENDS && got->side == XFA_RECEIVES && sent->of == got->of &&
           sent->of > 0;
}

bool xfa_calls_are_collective(const struct xfa_kept_calls *calls, size_t at, size_t count)
{
    const struct xfa_channel_place *first = place(calls, at);
    if (count < 2 || count != first->size || first->side != XFA_TAKES_PART || first->of == 0)
        return false;
    for (size_t i = at + 1; i < at + count; i++) {
        const struct xfa_channel_place *one = place(calls, i);
        if (one->side != first->side || one->what != first->what || one->of != first->of ||
            one->rank == place(calls, i - 1)->rank)
            return false;
    }
    return true;
}
