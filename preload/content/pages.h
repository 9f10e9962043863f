/*
 * What the kernel knows of the pages of a range of memory: were they read or written since they
 * were armed? Needs no privilege, and changes nothing that the program can see but its speed: the
 * first write to an armed page takes a fault in the kernel, and huge pages are split.
 *
 *     written   asynchronous write protection by userfaultfd (UFFD_FEATURE_WP_ASYNC), read and set
 *               again at once by PAGEMAP_SCAN: both of Linux 6.7. Faults are resolved in the
 *               kernel; no thread waits for another
 *     read      MADV_COLD takes the accessed bits of the range away and flushes the TLB (by
 *               /proc/self/clear_refs they would go without a flush, so that reads through entries
 *               that are still in the TLB left no trace); later `Referenced` of the mapping in
 * /proc/self/smaps shows them. It is the range's own value, because a range that is registered with
 * a userfaultfd is a mapping of its own; neighbours get other userfaultfds
 *
 * Reads are known only of private anonymous memory, or what CUDA page-locked as it allocated it
 * (a shared mapping, of which a forked child has another); of the former, when all pages are there,
 * when no page stayed accessed as it was armed, and when the kernel has not looked for memory to
 * reclaim since (pgscan_* of /proc/vmstat), as that takes accessed bits away, too. A device that
 * reads or writes pages leaves no trace in them.
 *
 * Everything here runs in the thread that called xfs_pages_start(), whose descriptors it uses;
 * elsewhere it answers that nothing is known. Not reentrant.
 */
#ifndef XFS_PAGES_H
#define XFS_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define XFS_PAGE 4096u
#define XFS_PAGES_CONTEXTS 8 /* userfaultfds */

struct xfs_pages {
    uint64_t start, end; /* of whole pages */
    int context;         /* the userfaultfd with which they are registered */
    bool of_driver;      /* CUDA allocated it: its mapping is shared, but has no other user */
    bool reads_known;    /* armed for reads, and none stayed accessed */
    uint64_t scanned;    /* pages that the kernel had looked at for reclaim by then */
};

struct xfs_pages_seen {
    bool reads_known, read;
    bool writes_known, written;
    uint64_t pages_written;
};

/* NULL, or why this kernel cannot answer; static. */
const char *xfs_pages_start(void);

/* Begins to watch the range with this context. False: it cannot be. */
bool xfs_pages_watch(struct xfs_pages *pages);
void xfs_pages_leave(const struct xfs_pages *pages);

/* What was written since the last call, and, with `again`, watches for writes from now on. */
void xfs_pages_written(const struct xfs_pages *pages, bool again, struct xfs_pages_seen *seen);

/* From now on reads are watched for. */
void xfs_pages_unread(struct xfs_pages *pages);
/* Was it read since? */
void xfs_pages_read(const struct xfs_pages *pages, struct xfs_pages_seen *seen);

#endif
