/*
 * HOST_ACCESS events: what the host did with the memory of large copies (record --host-access; a
 * diagnostic run, which is slower).
 *
 *     of a copy to the host     whether the host read what it brought, before the next copy wrote
 *                               there, the memory was freed by CUDA, or the end
 *     of a copy to the device   whether the host wrote its source since the copy before, either
 *                               way, of just this memory
 *
 * The kernel's page bits show it (pages.h): they include accesses by any thread of the process, and
 * by system calls. Pages that are shared with neighbours count as read and written when the
 * neighbours are: memory that is reported as unread or unwritten was not accessed. Devices leave no
 * trace in pages: copies to the host are seen by their calls; after graphs and batches that copy,
 * nothing is known of the watched memory. The analyzer knows from the arguments of kernels what
 * they do with page-locked memory; accesses by other devices (network, disk) are not known.
 *
 * Copies of one contiguous piece of at least XFS_ACCESS_LEAST bytes of host memory that is neither
 * managed nor write-combined are watched, at most XFS_ACCESS_MOST pieces at a time. A new piece
 * replaces those that overlap with it, or the one that was copied longest ago.
 *
 * Cost is bounded: own work, and 2 us for each page that the program wrote while it was watched,
 * take at most XFERSCOPE_HOST_ACCESS_SHARE percent of the time since recording began, and 50 ms.
 * Beyond that copies are not watched, and counted.
 *
 * The functions keep errno. They are called only while it is on.
 */
#ifndef XFS_ACCESS_H
#define XFS_ACCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/content/hash.h"
#include "xferscope/trace.h"

#define XFS_ACCESS_LEAST 65536u
#define XFS_ACCESS_MOST 64

extern atomic_bool xfs_access_watching;

static inline bool xfs_access_on(void)
{
    return __builtin_expect(atomic_load_explicit(&xfs_access_watching, memory_order_relaxed), 0);
}

/* A copy is about to be made; the event is complete but for its end, stack and status. It begins
 * when this returns: start_ns. */
void xfs_access_before(struct xft_event *event);
/* It was made: to the device, when the call has returned; to the host, when the bytes are there. */
void xfs_access_sent(const struct xft_event *event, const struct xfs_rows *src);
void xfs_access_arrived(const struct xft_event *event, const struct xfs_rows *dst);
/* A copy that is not described well enough was made. */
void xfs_access_unseen(void);
/* The memory is about to be freed or unregistered. */
void xfs_access_forget(uint64_t start, uint64_t end);

void xfs_access_session_start(
    bool seen);               /* seen: the copies are reported, as contents are hashed */
void xfs_access_finish(void); /* says what is known at the end, and writes counts to META */
void xfs_access_after_fork(void);

#endif
