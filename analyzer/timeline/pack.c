#include "analyzer/timeline/pack.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/timeline/labels.h"

#define MOST_KINDS 65536

struct kind {
    uint64_t count, bytes, name; /* key */
    uint64_t number;
};

static void put(struct xfa_packed *packed, uint64_t number)
{
    packed->bytes = xfa_room(packed->bytes, &packed->capacity, packed->count + 10, 1);
    for (; number >= 0x80; number >>= 7)
        packed->bytes[packed->count++] = (unsigned char)(number | 0x80);
    packed->bytes[packed->count++] = (unsigned char)number;
}

static void put_kind(struct xfa_packed *packed, struct xfa_table *kinds, const struct kind *kind,
                     bool busy)
{
    struct kind *known = xfa_table_get(kinds, kind);
    put(packed, 2 * (known ? known->number : 0) + busy);
    if (known)
        return;
    put(packed, kind->count);
    put(packed, kind->bytes);
    put(packed, kind->name);
    if (kinds->count == MOST_KINDS)
        return;
    known = xfa_table_put(kinds, kind);
    known->number = kinds->count;
}

void xfa_pack_track(struct xfa_packed *packed, const struct xfa_track *track, uint64_t begun,
                    const uint32_t *names)
{
    struct xfa_table kinds;
    uint64_t before = 0;
    xfa_table_init(&kinds, offsetof(struct kind, number), sizeof(struct kind));
    for (size_t i = 0; i < track->count; i++) {
        const struct xfa_slice *slice = &track->slices[i];
        uint64_t start = slice->start + begun, ns = slice->end - slice->start;
        struct kind kind = {.count = slice->count, .bytes = slice->bytes};
        if (slice->name != XFA_NO_NAME)
            kind.name = names ? names[slice->name] : (uint64_t)slice->name + 1;
        put(packed, start - before);
        put(packed, ns);
        put_kind(packed, &kinds, &kind, slice->busy != ns);
        if (slice->busy != ns)
            put(packed, slice->busy);
        before = start;
    }
    xfa_table_free(&kinds);
}

/* Packs those of whose slices some were merged since the time before. */
static size_t packed_bytes(const struct xfa_tracks *tracks)
{
    struct xfa_packed packed = {0};
    size_t bytes = 0;
    for (size_t i = 0; i < tracks->table.count; i++) {
        struct xfa_track *track = xfa_tracks_at(tracks, i);
        if (track->packed_count != track->count) {
            packed.count = 0;
            xfa_pack_track(&packed, track, 0, NULL);
            track->packed_bytes = packed.count;
            track->packed_count = track->count;
        }
        bytes += track->packed_bytes;
    }
    free(packed.bytes);
    return bytes;
}

void xfa_tracks_fit(struct xfa_tracks *tracks, size_t bytes)
{
    for (size_t now = packed_bytes(tracks); now > bytes; now = packed_bytes(tracks)) {
        size_t most = (size_t)((double)tracks->slices * (double)bytes / (double)now);
        if (!xfa_tracks_merge(tracks, most < tracks->slices ? most : tracks->slices - 1))
            return;
    }
}
