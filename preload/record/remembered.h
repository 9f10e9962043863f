/*
 * Stacks that a thread had before.
 *
 * A program that calls from one place again and again has the same stack each time, and to walk it
 * takes several times as long as all the rest of a hook. So each thread remembers some of its
 * stacks, with the words that led the walk from frame to frame (struct xfs_reads): where these are
 * unchanged, the stack is the same, and its id is known. The same return address and stack pointer
 * are not enough: a caller further up may differ.
 *
 * What was remembered is forgotten when code may have been unloaded, or the thread's lane goes to
 * another thread. Not remembered: Python's frames, which change without their stack, and stacks
 * through frames that no module describes, or through signal handlers.
 *
 * For the thread alone, and not within a signal handler on top of it.
 */
#ifndef XFS_REMEMBERED_H
#define XFS_REMEMBERED_H

#include <stdint.h>

#include "preload/base/unloads.h"
#include "preload/unwind/unwind.h"

#define XFS_REMEMBERED_LOG 5

struct xfs_remembered_stack {
    uint64_t stamp; /* 0: nothing is here */
    uintptr_t sp, fp;
    uint32_t id;
    struct xfs_reads reads;
};

struct xfs_remembered {
    uint64_t owners; /* so far; 0: it was never used */
    struct xfs_remembered_stack stacks[1 << XFS_REMEMBERED_LOG];
};

/* The lane has another thread. */
static inline void xfs_remembered_forget(struct xfs_remembered *remembered)
{
    remembered->owners++;
}

/* The stamp of entries that are valid now; 0: none is, nor will be. The stamps of two owners are
 * never one unload apart. */
static inline uint64_t xfs_remembered_stamp(const struct xfs_remembered *remembered)
{
    uint64_t unloads = xfs_unloads();
    return unloads == XFS_UNLOADING ? 0 : (unloads << 24) + remembered->owners;
}

/* Where the stack of a call from there is, or would be. */
static inline struct xfs_remembered_stack *xfs_remembered_place(struct xfs_remembered *remembered,
                                                                uintptr_t called_from, uintptr_t sp)
{
    uintptr_t mixed = (called_from ^ sp << 16) * 0x9e3779b97f4a7c15u;
    return &remembered->stacks[mixed >> (64 - XFS_REMEMBERED_LOG)];
}

/* Its id; 0: it is not known, or no longer the same. */
static inline __attribute__((always_inline)) uint32_t
xfs_remembered_find(struct xfs_remembered *remembered, uintptr_t called_from, uintptr_t sp,
                    uintptr_t fp)
{
    const struct xfs_remembered_stack *place = xfs_remembered_place(remembered, called_from, sp);
    __asm__("" : "+r"(place)); /* the compiler would find the place again at every use */
    uint64_t stamp = xfs_remembered_stamp(remembered);
    bool same = stamp != 0 && place->stamp == stamp && place->sp == sp &&
                (!place->reads.of_first_fp || place->fp == fp) && xfs_reads_hold(&place->reads, sp);
    return same ? place->id : 0;
}

/* The walk that has just filled in the place's reads led to this stack. */
static inline void xfs_remember(struct xfs_remembered_stack *place,
                                const struct xfs_registers *from, uint32_t id, uint64_t stamp)
{
    if (!place->reads.whole)
        return;
    xfs_reads_round_up(&place->reads);
    place->sp = from->sp;
    place->fp = from->fp;
    place->id = id;
    place->stamp = stamp;
}

#endif
