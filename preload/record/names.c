#define XXH_INLINE_ALL
#include "preload/record/names.h"

#include <string.h>
#include <xxhash.h>

#include "preload/record/recorder.h"

struct name {
    const char *text;
    size_t bytes;
};

static bool write_name(struct xfs_recorder *recorder, const void *thing, uint32_t number)
{
    const struct name *name = thing;
    struct {
        struct xft_name name;
        char text[XFT_NAME_MOST];
    } out;
    out.name = (struct xft_name){number, (uint32_t)name->bytes};
    memcpy(out.text, name->text, name->bytes);
    return xfs_room_add(recorder, XFT_SEG_NAMES, &out, sizeof out.name + name->bytes);
}

uint32_t xfs_names_intern(struct xfs_recorder *recorder, const char *text, size_t bytes)
{
    struct name name = {text, bytes < XFT_NAME_MOST ? bytes : XFT_NAME_MOST};
    if (recorder->names.slots == NULL || bytes == 0)
        return 0;
    return xfs_number_of(&recorder->names, XXH3_64bits(text, name.bytes), write_name, recorder,
                         &name);
}

/* ---- arguments of launches ---------------------------------------------------------------- */

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
