/*
 * What the program's threads without calls of CUDA work, whoever calls: PROCESSOR events
 * (XFT_PROCESSOR_OF_OTHERS). A thread that calls may wait for them one day, if not yet: it cannot
 * become faster than the busiest of them is.
 *
 * A sample is the processor time of each of these threads, one call of the kernel's for each
 * (docs/interception.md has what it takes). It is made where a thread has its own processor time
 * read at the edge of a call (sleeps.h), by the first that comes when XFS_OTHERS_NS have passed
 * since the last one, and XFS_OTHERS_PART times what the shorter of the last two took; others go
 * on meanwhile. An event has what came between two samples; none where no thread worked for more
 * than an XFS_OTHERS_IDLE-th of that. Samples are short, so that who works, or spins, for some ms
 * at a time is seen to do it all of the time between some of them.
 *
 * Which threads there are the background thread lists, as long as samples are made: every
 * XFS_OTHERS_LIST_NS, or PART times what that takes; where a thread is gone, after XFS_OTHERS_NS,
 * or XFS_OTHERS_SOON times that, for others often take its place. Left out are threads that make
 * calls, the library's own (base/apart.h), and the driver's, by their names. Of a thread that was
 * not there when they were last listed all its time counts as of the last sample, as far as it fits
 * in. Where there are more than XFS_OTHERS_MOST, where the process has set up a sandbox, and where
 * there is no background thread with descriptors of its own, there are no samples.
 *
 * The simulated GPU has threads with clocks of their own, which it lists with their times.
 */
#ifndef XFS_OTHERS_H
#define XFS_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/attributes.h"

#define XFS_OTHERS_NS 5000000u
#define XFS_OTHERS_PART 512
#define XFS_OTHERS_IDLE 64
#define XFS_OTHERS_LIST_NS 50000000u
#define XFS_OTHERS_SOON 64
#define XFS_OTHERS_MOST 256
#define XFS_OTHERS_SIMULATED 64

struct xfs_other {
    int tid;
    uint64_t ns; /* its processor time */
};

/* In a thread that may call the kernel and write an event, at the edge of a call: a sample, if one
 * is due. begins: of the call. */
XFS_COLD void xfs_others_look(uint64_t now, bool begins);

/* In the background thread, as often as it likes; now_ns: of a monotonic clock. */
void xfs_others_list(uint64_t now_ns);

/* Another clock is in use: this lists threads, and says how many; NULL: it knows of none. */
typedef unsigned xfs_others_function(struct xfs_other *list, unsigned most);
void xfs_others_use(xfs_others_function *list);

/* In a forked child, which has none of these threads. */
void xfs_others_after_fork(void);

#endif
