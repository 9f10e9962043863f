/*
 * Rooms: the segments that threads of the program add to the file (stacks, names, symbols, modules,
 * META) without calling the kernel.
 *
 * Each lane has a room, a piece of the file that is mapped shared (XFT_SEG_ROOM), and puts its
 * segments there one behind the other; the background thread keeps rooms ready. A segment counts
 * once the room's `committed` includes it, and outlives SIGKILL from then on. What threads without
 * a lane add, the background thread appends to the file, or they themselves where there is none.
 *
 * META has one room for all threads: a later pair replaces an earlier one, so their order counts.
 */
#ifndef XFS_ROOMS_H
#define XFS_ROOMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/pool.h"
#include "xferscope/trace.h"

struct xfs_recorder;

struct xfs_room {
    struct xfs_pool_node node;
    unsigned char *shared; /* segment header, struct xft_room, segments */
} __attribute__((aligned(16)));

/* Of a lane; goes with it from thread to thread. */
struct xfs_room_place {
    unsigned char *at;
    size_t left;
    uint64_t *committed;
    unsigned cut; /* struct xfs_rooms.cut when the room was taken */
    bool busy;    /* a signal handler that interrupts adds nothing */
};

struct xfs_rooms {
    struct xfs_pool free;
    atomic_uint taken;
    atomic_uint cut; /* how often the file was cut: older rooms are not used */
    unsigned taken_before;
    atomic_flag meta_busy;
    struct xfs_room_place meta;
};

/* Adds a list segment; false when it could not be added. */
bool xfs_room_add(struct xfs_recorder *recorder, enum xft_segment_type type, const void *payload,
                  size_t bytes);

/* Adds a META pair. */
bool xfs_write_meta(struct xfs_recorder *recorder, const char *key, const char *value);

/* The file was cut: its rooms are used no more. */
void xfs_rooms_leave(struct xfs_recorder *recorder);

/* The background thread's: as xfs_lanes_supply(). */
bool xfs_rooms_supply(struct xfs_recorder *recorder);

#endif
