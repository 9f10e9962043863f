#include "preload/process/room.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_ROOMS 32
#define LEAST_BYTES ((size_t)64 << 10)

/* At the start of a mapping. Never unmapped: other threads may be reading it. */
struct room {
    struct room *next;
    size_t bytes;      /* of the mapping */
    atomic_uint owner; /* thread id; 0 or FUTEX_OWNER_DIED: free */
    bool watched;      /* `head` is the owner's robust list */
    struct robust_list_head head;
    struct robust_list entry;
    _Alignas(16) char memory[];
};

static _Atomic(struct room *) rooms;
static atomic_uint room_count;

/* ---- the kernel's word ------------------------------------------------------------------ */

/* Only where the thread has no robust list: one with the program's locks must stay. */
static void watch(struct room *room)
{
    struct robust_list_head *now = NULL;
    size_t bytes = 0;
    if (syscall(SYS_get_robust_list, 0, &now, &bytes) != 0 || now != NULL)
        return;
    room->entry.next = &room->head.list;
    room->head = (struct robust_list_head){
        .list = {&room->entry},
        .futex_offset = (char *)&room->owner - (char *)&room->entry,
    };
    room->watched = syscall(SYS_set_robust_list, &room->head, sizeof room->head) == 0;
}

static void watch_no_more(struct room *room)
{
    if (room->watched)
        syscall(SYS_set_robust_list, NULL, sizeof room->head);
    room->watched = false;
}

/* ---- rooms ------------------------------------------------------------------------------- */

static bool claim(struct room *room, unsigned thread)
{
    unsigned owner = atomic_load(&room->owner);
    if (owner != 0 && !(owner & FUTEX_OWNER_DIED))
        return false;
    return atomic_compare_exchange_strong(&room->owner, &owner, thread);
}

static struct room *find_room(size_t bytes, unsigned thread)
{
    for (struct room *room = atomic_load(&rooms); room; room = room->next)
        if (room->bytes >= bytes && claim(room, thread))
            return room;
    return NULL;
}

static struct room *make_room(size_t bytes, unsigned thread)
{
    if (atomic_fetch_add(&room_count, 1) >= MOST_ROOMS) {
        atomic_fetch_sub(&room_count, 1);
        return NULL;
    }
    size_t size = LEAST_BYTES;
    while (size < bytes)
        size *= 2;
    struct room *room =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        atomic_fetch_sub(&room_count, 1);
        return NULL;
    }
    room->bytes = size;
    atomic_init(&room->owner, thread);
    room->next = atomic_load(&rooms);
    while (!atomic_compare_exchange_weak(&rooms, &room->next, room))
        ;
    return room;
}

void *xfs_room_take(size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    int saved = errno;
    size_t whole = bytes + sizeof(struct room);
    unsigned thread = (unsigned)syscall(SYS_gettid);
    struct room *room = find_room(whole, thread);
    if (room == NULL)
        room = make_room(whole, thread);
    if (room) {
        room->watched = false; /* of an owner that died */
        watch(room);
    }
    errno = saved;
    return room ? room->memory : NULL;
}

void xfs_room_give(void *memory)
{
    int saved = errno;
    struct room *room = (struct room *)((char *)memory - offsetof(struct room, memory));
    watch_no_more(room);
    atomic_store(&room->owner, 0);
    errno = saved;
}
