/*
 * Page faults of threads that copy large pageable memory: in such a call, and since the one before.
 * Memory that nobody has touched before takes them; a buffer that is used again takes none.
 *
 * A count is a call of the kernel's (getrusage(), 0.2 to 0.5 us). It is made behind each such copy,
 * of XFS_FAULTS_LEAST bytes and more, and before the thread's next copies of as much,
 * XFS_FAULTS_LOOKS of them, as which memory a call is going to copy is not known before. Where more
 * of them lie between two such copies it is made before twice as many the next time, up to
 * XFS_FAULTS_MOST_LOOKS; where these do not do either, before the few again, from then on. Behind
 * XFS_FAULTS_MOST_OTHERS other copies none is made before the next. In threads without such copies
 * none is made. Keeps errno.
 *
 * At its next XFS_FAULTS_LAUNCHES launches, before its next XFS_FAULTS_ASKED other copies, and with
 * those counts, the thread asks whether the memory of its last such copy is still mapped (mincore()
 * of one page, 0.1 to 0.3 us). If not, what the next one copies at that address is new.
 */
#ifndef XFS_FAULTS_H
#define XFS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/attributes.h"
#include "xferscope/trace.h"

#define XFS_FAULTS_LEAST ((uint64_t)1 << 20)
#define XFS_FAULTS_LOOKS 4
#define XFS_FAULTS_MOST_LOOKS 16
#define XFS_FAULTS_LAUNCHES 2
#define XFS_FAULTS_ASKED 4
#define XFS_FAULTS_MOST_OTHERS 4096

struct xfs_faults {
    uint64_t before, behind; /* counts of the thread: before the call, and behind the last one */
    uint8_t looks;           /* large copies to come before which it is counted, and one; 0: none */
    uint16_t others;         /* other copies since */
    uint8_t reach;           /* how many these are behind a large copy; 0: as many as at first */
    bool in_vain;            /* there were too many others even for XFS_FAULTS_MOST_LOOKS */
    uint8_t launches;        /* to come at which it is asked whether `page` is mapped */
    bool known;              /* before: of this call */
    bool gone;               /* page was not mapped at one time since */
    uint64_t page;           /* in the middle of what the last one copied; 0: none */
};
extern XFS_TLS struct xfs_faults xfs_faults;

/* Whether xfs_faults_before_copy() has to be called. */
static inline bool xfs_faults_wanted(void)
{
    return __builtin_expect(xfs_faults.looks != 0, 0);
}

XFS_COLD void xfs_faults_look(uint64_t bytes);

/* Before a copy of so many contiguous bytes; 0: not known, or not contiguous. */
static inline void xfs_faults_before_copy(uint64_t bytes)
{
    if (xfs_faults_wanted())
        xfs_faults_look(bytes);
}

XFS_COLD void xfs_faults_ask(void);

/* Behind a launch. */
static inline void xfs_faults_launched(void)
{
    if (__builtin_expect(xfs_faults.launches != 0, 0))
        xfs_faults_ask();
}

XFS_COLD void xfs_faults_count(struct xft_event *copy);

/* Behind a contiguous copy that succeeded: sets its aux and XFT_NEW_MEMORY, if it is one of these.
 */
static inline void xfs_faults_behind(struct xft_event *copy)
{
    bool from = copy->direction == XFT_DIR_H2D && copy->src_mem == XFT_MEM_PAGEABLE;
    bool to = copy->direction == XFT_DIR_D2H && copy->dst_mem == XFT_MEM_PAGEABLE;
    if (__builtin_expect(copy->bytes >= XFS_FAULTS_LEAST, 0) && (from || to))
        xfs_faults_count(copy);
}

#endif
