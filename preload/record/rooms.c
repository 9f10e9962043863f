#include "preload/record/rooms.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/record/lanes.h"
#include "preload/record/recorder.h"
#include "preload/base/check.h"
#include "preload/format/segments.h"

#define ROOMS_READY 4
#define MOST_ROOMS_AT_ONCE 256
#define META_TRIES 100000000
#define SUPPLY 4 /* times what was taken since the last time */

static bool make_rooms(struct xfs_recorder *recorder, size_t count)
{
    struct xfs_room *rooms = mmap(NULL, count * sizeof *rooms, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (rooms == MAP_FAILED)
        return false;
    unsigned char *shared = xfs_file_append_rooms(&recorder->file, count);
    if (shared == NULL) {
        munmap(rooms, count * sizeof *rooms);
        return false;
    }
    madvise(shared, count * XFT_ROOM_BYTES, MADV_DONTFORK);
    for (size_t i = 0; i < count; i++) {
        rooms[i].shared = shared + i * XFT_ROOM_BYTES;
        xfs_pool_put(&recorder->rooms.free, &rooms[i].node);
    }
    return true;
}

static bool enter_room(struct xfs_recorder *recorder, struct xfs_room_place *place)
{
    struct xfs_rooms *rooms = &recorder->rooms;
    struct xfs_pool_node *node = xfs_pool_take(&rooms->free);
    uint64_t since = 0;
    if (node == NULL)
        xfs_writer_wake(recorder);
    while (node == NULL && xfs_writer_wait(recorder, &since))
        node = xfs_pool_take(&rooms->free);
    if (node == NULL)
        return false;
    unsigned char *shared = ((struct xfs_room *)node)->shared;
    struct xft_room *room = (struct xft_room *)(shared + sizeof(struct xft_segment));
    atomic_fetch_add_explicit(&rooms->taken, 1, memory_order_relaxed);
    place->cut = atomic_load(&rooms->cut);
    place->at = (unsigned char *)(room + 1);
    place->left = XFT_ROOM_BYTES - sizeof(struct xft_segment) - sizeof *room;
    place->committed = &room->committed;
    return true;
}

static bool put(struct xfs_recorder *recorder, struct xfs_room_place *place,
                enum xft_segment_type type, const void *payload, size_t bytes)
{
    struct xft_segment head = xft_segment_make(type, 0, payload, bytes, bytes);
    size_t span = xft_segment_span(bytes);
    bool left = place->at == NULL ||
                place->cut != atomic_load_explicit(&recorder->rooms.cut, memory_order_relaxed);
    if ((left || span > place->left) && !enter_room(recorder, place))
        return false;
    if (span > place->left)
        return false;
    XFS_EXPECT((uintptr_t)place->at + place->left - (uintptr_t)place->committed ==
                   XFT_ROOM_BYTES - sizeof(struct xft_segment),
               "a thread is not where its room ends");
    memcpy(place->at, &head, sizeof head);
    memcpy(place->at + sizeof head, payload, bytes); /* and zeros, as the file has them */
    place->at += span;
    place->left -= span;
    __atomic_store_n(place->committed, *place->committed + span, __ATOMIC_RELEASE);
    return true;
}

/* A spin lock, held for the length of a copy. What does not fit is appended to the file, and so
 * comes after all that is in the room. */
static bool add_meta(struct xfs_recorder *recorder, const void *payload, size_t bytes)
{
    struct xfs_rooms *rooms = &recorder->rooms;
    struct xfs_room_place *place = &rooms->meta;
    int tries = META_TRIES;
    while (atomic_flag_test_and_set_explicit(&rooms->meta_busy, memory_order_acquire))
        if (--tries == 0)
            return false;
    bool fits = place->at == NULL || xft_segment_span(bytes) <= place->left;
    bool good = fits && put(recorder, place, XFT_SEG_META, payload, bytes);
    atomic_flag_clear_explicit(&rooms->meta_busy, memory_order_release);
    return good || xfs_write_list(recorder, XFT_SEG_META, payload, bytes);
}

/* A reader takes no more than XFT_LISTS_RECORDED_MOST bytes of lists. META is short. */
static bool is_one_too_many(struct xfs_recorder *recorder, enum xft_segment_type type, size_t bytes)
{
    if (type == XFT_SEG_META ||
        atomic_fetch_add_explicit(&recorder->list_bytes, bytes, memory_order_relaxed) + bytes <=
            XFT_LISTS_RECORDED_MOST)
        return false;
    atomic_fetch_sub_explicit(&recorder->list_bytes, bytes, memory_order_relaxed);
    return true;
}

bool xfs_room_add(struct xfs_recorder *recorder, enum xft_segment_type type, const void *payload,
                  size_t bytes)
{
    if (is_one_too_many(recorder, type, bytes))
        return false;
    struct xfs_lane *lane = xfs_self;
    if (type == XFT_SEG_META && atomic_load(&recorder->writer_runs) &&
        atomic_load(&recorder->ending) < XFS_ENDING_ASKED)
        return add_meta(recorder, payload, bytes);
    if (lane == NULL || lane->recorder != recorder || !atomic_load(&recorder->writer_runs) ||
        atomic_load(&recorder->ending) >= XFS_ENDING_ASKED)
        return xfs_write_list(recorder, type, payload, bytes);
    if (lane->place.busy)
        return false;
    lane->place.busy = true;
    bool good = put(recorder, &lane->place, type, payload, bytes);
    lane->place.busy = false;
    return good;
}

void xfs_rooms_leave(struct xfs_recorder *recorder)
{
    while (xfs_pool_take(&recorder->rooms.free))
        ;
    atomic_fetch_add(&recorder->rooms.cut, 1);
    xfs_rooms_supply(recorder);
}

bool xfs_rooms_supply(struct xfs_recorder *recorder)
{
    struct xfs_rooms *rooms = &recorder->rooms;
    unsigned taken = atomic_load(&rooms->taken), lately = taken - rooms->taken_before;
    int ready = atomic_load(&rooms->free.count);
    unsigned wanted = lately * SUPPLY < MOST_ROOMS_AT_ONCE ? lately * SUPPLY : MOST_ROOMS_AT_ONCE;
    rooms->taken_before = taken;
    if (wanted < ROOMS_READY)
        wanted = ROOMS_READY;
    if (ready >= (int)wanted)
        return true;
    return make_rooms(recorder, wanted - (ready > 0 ? (unsigned)ready : 0)) || ready > 0;
}

bool xfs_write_meta(struct xfs_recorder *recorder, const char *key, const char *value)
{
    char pair[8192];
    size_t a = strlen(key) + 1, b = strlen(value) + 1;
    if (a > sizeof pair - 1)
        return false;
    if (b > sizeof pair - a)
        b = sizeof pair - a;
    memcpy(pair, key, a);
    memcpy(pair + a, value, b);
    pair[a + b - 1] = '\0';
    return xfs_room_add(recorder, XFT_SEG_META, pair, a + b);
}
