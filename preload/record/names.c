#define XXH_INLINE_ALL
#define _GNU_SOURCE
#include "names.h"

#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "recorder.h"
#include "segments.h"

/* The slot that has this hash, or the empty one where it belongs. */
static struct xfs_name_slot *find(const struct xfs_names *names, uint64_t hash, uint64_t *found)
{
    uint32_t i = (uint32_t)hash & (XFS_NAME_SLOTS - 1);
    while ((*found = __atomic_load_n(&names->slots[i].hash, __ATOMIC_ACQUIRE)) != 0 &&
           *found != hash)
        i = (i + 1) & (XFS_NAME_SLOTS - 1);
    return &names->slots[i];
}

static bool write_name(struct xfs_recorder *recorder, uint32_t id, const char *text, size_t bytes)
{
    struct {
        struct xft_segment head;
        struct xft_name name;
        char text[XFT_NAME_MOST + 8];
    } out;
    size_t payload = sizeof out.name + bytes;
    out.name = (struct xft_name){id, (uint32_t)bytes};
    memcpy(out.text, text, bytes);
    memset(out.text + bytes, 0, 8); /* segments start at multiples of 8 */
    out.head = xft_segment_make(XFT_SEG_NAMES, 0, &out.name, payload, payload);
    return xfs_file_append(&recorder->file, &out, xft_segment_span(payload));
}

/* Under the lock: another thread may have been here since. */
static uint32_t insert(struct xfs_recorder *recorder, uint64_t hash, const char *text, size_t bytes)
{
    struct xfs_names *names = &recorder->names;
    uint64_t found;
    struct xfs_name_slot *slot = find(names, hash, &found);
    if (found == hash)
        return slot->id;
    if (names->count >= XFS_NAME_SLOTS / 4 * 3 ||
        !write_name(recorder, names->count + 1, text, bytes))
        return 0;
    slot->id = ++names->count;
    __atomic_store_n(&slot->hash, hash, __ATOMIC_RELEASE);
    return slot->id;
}

uint32_t xfs_names_intern(struct xfs_recorder *recorder, const char *text, size_t bytes)
{
    struct xfs_names *names = &recorder->names;
    if (names->slots == NULL || bytes == 0)
        return 0;
    bytes = bytes < XFT_NAME_MOST ? bytes : XFT_NAME_MOST;
    uint64_t found, hash = XXH3_64bits(text, bytes) | 1;
    const struct xfs_name_slot *slot = find(names, hash, &found);
    if (found == hash)
        return slot->id;
    pthread_mutex_lock(&names->lock);
    uint32_t id = insert(recorder, hash, text, bytes);
    pthread_mutex_unlock(&names->lock);
    return id;
}

void xfs_names_init(struct xfs_names *names)
{
    pthread_mutex_init(&names->lock, NULL);
    void *memory = mmap(NULL, XFS_NAME_SLOTS * sizeof *names->slots, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    names->slots = memory == MAP_FAILED ? NULL : memory;
}
