#define XXH_INLINE_ALL
#include "preload/record/names.h"

#include <string.h>
#include <xxhash.h>

#include "preload/record/recorder.h"
#include "preload/format/segments.h"

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
