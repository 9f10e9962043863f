#define XXH_INLINE_ALL
#include "preload/record/arguments.h"

#include <string.h>
#include <xxhash.h>

#include "preload/record/recorder.h"

struct set {
    const uint64_t *pointers;
    uint32_t count;
};

static bool write_set(struct xfs_recorder *recorder, const void *thing, uint32_t number)
{
    const struct set *set = thing;
    struct {
        struct xft_arguments arguments;
        uint64_t pointers[XFT_ARGUMENTS_MOST];
    } out;
    size_t bytes = set->count * sizeof *set->pointers;
    out.arguments = (struct xft_arguments){number, set->count};
    memcpy(out.pointers, set->pointers, bytes);
    return xfs_room_add(recorder, XFT_SEG_ARGUMENTS, &out, sizeof out.arguments + bytes);
}

static uint64_t hash_of(const uint64_t *pointers, uint32_t count)
{
    return XXH3_64bits(pointers, count * sizeof *pointers);
}

uint32_t xfs_arguments_find(struct xfs_recorder *recorder, const uint64_t *pointers, uint32_t count)
{
    return recorder->arguments.slots
               ? xfs_number_find(&recorder->arguments, hash_of(pointers, count))
               : 0;
}

uint32_t xfs_arguments_intern(struct xfs_recorder *recorder, const uint64_t *pointers,
                              uint32_t count)
{
    struct set set = {pointers, count};
    uint32_t id = 0;
    if (recorder->arguments.slots && count <= XFT_ARGUMENTS_MOST)
        id = xfs_number_of(&recorder->arguments, hash_of(pointers, count), write_set, recorder,
                           &set);
    if (id == 0)
        xfs_count_lost(recorder, XFT_LOSS_ARGUMENTS, 1);
    return id;
}
