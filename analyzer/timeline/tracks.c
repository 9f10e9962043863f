#include "analyzer/timeline/tracks.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/timeline/labels.h"

#define DERIVED_PART 16   /* derived slices are no more than one in so many, */
#define MOST_COARSER 1024 /* unless they would be so much coarser than the events, */
#define FINEST 64         /* or than so many ns */

void xfa_tracks_init(struct xfa_tracks *tracks, size_t budget)
{
    *tracks = (struct xfa_tracks){.budget = budget};
    xfa_table_init(&tracks->table, sizeof(struct xfa_track_key), sizeof(struct xfa_track));
}

void xfa_tracks_free(struct xfa_tracks *tracks)
{
    for (size_t i = 0; i < tracks->table.count; i++)
        free(xfa_tracks_at(tracks, i)->slices);
    xfa_table_free(&tracks->table);
}

static struct xfa_track *track_of(struct xfa_tracks *tracks, const struct xfa_track_key *key)
{
    struct xfa_track *track = xfa_table_get(&tracks->table, key);
    if (track)
        return track;
    if (tracks->table.count < XFA_MOST_TRACKS)
        return xfa_table_put(&tracks->table, key);
    struct xfa_track_key further = {.process = XFA_OF_ALL, .gpu = -1, .kind = key->kind};
    return xfa_table_put(&tracks->table, &further);
}

/* True: the second is in the first now. */
static bool merge(struct xfa_slice *into, const struct xfa_slice *slice, uint64_t resolution)
{
    uint64_t start = slice->start < into->start ? slice->start : into->start;
    uint64_t end = slice->end > into->end ? slice->end : into->end;
    if (resolution == 0 || end - start > resolution)
        return false;
    into->start = start;
    into->end = end;
    into->count = xfa_add(into->count, slice->count);
    into->bytes = xfa_add(into->bytes, slice->bytes);
    into->busy = xfa_add(into->busy, slice->busy);
    into->name = into->name == slice->name ? into->name : XFA_NO_NAME;
    return true;
}

static uint64_t *resolution_of(struct xfa_tracks *tracks, bool derived)
{
    return derived ? &tracks->derived_resolution : &tracks->resolution;
}

static void merge_track(struct xfa_track *track, uint64_t resolution)
{
    size_t kept = 0;
    for (size_t k = 0; k < track->count; k++)
        if (kept == 0 || !merge(&track->slices[kept - 1], &track->slices[k], resolution))
            track->slices[kept++] = track->slices[k];
    track->count = kept;
}

static void merge_all(struct xfa_tracks *tracks, bool derived)
{
    tracks->slices = tracks->derived = 0;
    for (size_t i = 0; i < tracks->table.count; i++) {
        struct xfa_track *track = xfa_tracks_at(tracks, i);
        bool is_derived = xfa_track_is_derived(&track->key);
        if (is_derived == derived)
            merge_track(track, *resolution_of(tracks, derived));
        tracks->slices += track->count;
        tracks->derived += is_derived ? track->count : 0;
    }
}

/* Which tracks are to be merged next: derived ones, as long as they are many and not much coarser
 * than the events that they are derived from. */
static bool derived_first(const struct xfa_tracks *tracks)
{
    uint64_t finest = tracks->resolution > FINEST ? tracks->resolution : FINEST;
    return tracks->derived > tracks->slices / DERIVED_PART &&
           tracks->derived_resolution / MOST_COARSER < finest;
}

bool xfa_tracks_merge(struct xfa_tracks *tracks, size_t most)
{
    size_t before = tracks->slices;
    while (tracks->slices > most && tracks->resolution <= UINT64_MAX / 2) {
        bool derived = derived_first(tracks) && tracks->derived_resolution <= UINT64_MAX / 2;
        uint64_t *resolution = resolution_of(tracks, derived);
        *resolution = *resolution ? 2 * *resolution : 1;
        merge_all(tracks, derived);
    }
    return tracks->slices < before;
}

void xfa_tracks_add(struct xfa_tracks *tracks, const struct xfa_track_key *key,
                    const struct xfa_slice *slice)
{
    struct xfa_track *track = track_of(tracks, key);
    bool derived = xfa_track_is_derived(&track->key);
    if (track->count > 0 &&
        merge(&track->slices[track->count - 1], slice, *resolution_of(tracks, derived)))
        return;
    track->slices =
        xfa_room(track->slices, &track->capacity, track->count + 1, sizeof *track->slices);
    track->slices[track->count++] = *slice;
    tracks->slices++;
    tracks->derived += derived;
    xfa_tracks_merge(tracks, tracks->budget);
}

static int by_start(const void *a, const void *b)
{
    const struct xfa_slice *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1)
                                : (x->end > y->end) - (x->end < y->end);
}

void xfa_tracks_finish(struct xfa_tracks *tracks)
{
    for (size_t i = 0; i < tracks->table.count; i++) {
        struct xfa_track *track = xfa_tracks_at(tracks, i);
        if (track->count > 1)
            qsort(track->slices, track->count, sizeof *track->slices, by_start);
    }
}
