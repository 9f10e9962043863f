/*
 * Tracks of slices, in bounded memory however long the run is. A slice is one operation or several
 * neighbours of a track in one.
 *
 * All tracks together hold at most `budget` slices. Whenever there are more, a resolution is
 * doubled, and neighbours that fit into one resolution's time are merged: number, bytes and busy
 * time are summed up, so that a track's sums are the same whatever the budget. What is longer than
 * the resolution stays by itself. Derived tracks (exposed transfers, the host) follow from the
 * others: they have a resolution of their own and are merged first, so that single events stay. At
 * most XFA_MOST_TRACKS tracks are kept; what belongs to others is in one further track per
 * kind.
 */
#ifndef XFA_TIMELINE_TRACKS_H
#define XFA_TIMELINE_TRACKS_H

#include <stdbool.h>

#include "analyzer/base/table.h"

#define XFA_MOST_TRACKS 400

enum xfa_track_kind {
    XFA_TRACK_COPIES,     /* of a GPU, by direction: gpu -1: host to host */
    XFA_TRACK_KERNELS,    /* and memsets */
    XFA_TRACK_EXPOSED,    /* of a GPU: transfers while no kernel ran there */
    XFA_TRACK_WAITS,      /* of a thread */
    XFA_TRACK_HOST,       /* nothing on any GPU of the process, and none of its threads waits */
    XFA_TRACK_MIGRATIONS, /* of a GPU, by direction and cause */
    XFA_TRACK_RANGES,     /* NVTX, of a thread by level; thread 0: of the process */
    XFA_TRACK_KINDS
};

#define XFA_OF_ALL UINT32_MAX /* process: the track holds what is in no other */

struct xfa_track_key {
    uint32_t process; /* number */
    int32_t thread;   /* tid; 0: of none */
    int16_t gpu;      /* the run's number; -1: of none */
    uint8_t kind;
    uint8_t direction; /* enum xft_direction */
    uint8_t cause;     /* of migrations: enum xft_migration_cause */
    uint8_t level;     /* of ranges: so many are open around it */
    uint8_t reserved[2];
};

/* Times are ns since the process's start. */
struct xfa_slice {
    uint64_t start, end;
    uint64_t count, bytes;
    uint64_t busy; /* durations added up: more than end - start where several ran at once */
    uint32_t name; /* labels.h; XFA_NO_NAME: none, or several */
};

struct xfa_track {
    struct xfa_track_key key;
    struct xfa_slice *slices; /* in the order of start once xfa_tracks_finish() was called */
    size_t count, capacity;
    size_t packed_bytes, packed_count; /* xfa_tracks_fit(): what so many slices took */
};

struct xfa_tracks {
    struct xfa_table table;                  /* struct xfa_track */
    size_t budget;                           /* slices; no less than there are tracks */
    size_t slices, derived;                  /* derived: of `slices`, those of such tracks */
    uint64_t resolution, derived_resolution; /* ns; 0: nothing was merged */
};

static inline bool xfa_track_is_derived(const struct xfa_track_key *key)
{
    return key->kind == XFA_TRACK_EXPOSED || key->kind == XFA_TRACK_HOST;
}

void xfa_tracks_init(struct xfa_tracks *tracks, size_t budget);
void xfa_tracks_free(struct xfa_tracks *tracks);

/* Slices of a track come in the order of start, or nearly so. */
void xfa_tracks_add(struct xfa_tracks *tracks, const struct xfa_track_key *key,
                    const struct xfa_slice *slice);
void xfa_tracks_finish(struct xfa_tracks *tracks);

/* Until there are at most so many slices. False: they are more than can be merged, none was. */
bool xfa_tracks_merge(struct xfa_tracks *tracks, size_t most);

static inline struct xfa_track *xfa_tracks_at(const struct xfa_tracks *tracks, size_t i)
{
    return xfa_table_at(&tracks->table, i);
}

#endif
