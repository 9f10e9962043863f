/*
 * Which threads sleep between their calls: for data that another thread makes, for a lock, on
 * purpose. PROCESSOR events say so, and what the other threads of the process do meanwhile.
 *
 * A reading is the thread's processor time and how often it gave up its processor by itself, two
 * calls of the kernel's (docs/interception.md has what they take). It is made where a call begins
 * or returns that goes the usual way (hook.h) and XFS_SLEEPS_OFTEN_NS have passed since the last
 * one; steps (work.h) make none. Where a call begins, a thread has slept that was without a
 * processor for XFS_SLEEPS_LEAST_NS longer than it was in calls since the last reading, steps and
 * polled waits included (the lane's last XFS_SLEEPS_ROWS events say how long that was), and that
 * gave the processor up by itself: else others had it.
 *
 * A thread that has slept has an event for each reading from then on, so that what others do while
 * it sleeps can be compared with what they do else. For that the processor time of the process is
 * read as well, which the kernel adds up over all threads: where that takes more than
 * XFS_SLEEPS_DEAR_NS twice at once, never again. XFS_SLEEPS_MANY readings without sleep, and
 * XFS_SLEEPS_SELDOM_NS have to pass, until there is some again. Else the next one is not made
 * before XFS_SLEEPS_PART times what this one took, its event included, XFS_SLEEPS_SELDOM_NS at
 * most.
 *
 * A handler's calls on top of a reading are inner calls; where it leaves the call by a jump, the
 * thread begins anew, as it does in a forked child and with another lane. Calls outside of periods
 * make no reading, and what began before a period has no event.
 */
#ifndef XFS_SLEEPS_H
#define XFS_SLEEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/attributes.h"

#define XFS_SLEEPS_OFTEN_NS 50000u
#define XFS_SLEEPS_SELDOM_NS 1000000u
#define XFS_SLEEPS_LEAST_NS 20000u
#define XFS_SLEEPS_PART 64
#define XFS_SLEEPS_MANY 64
#define XFS_SLEEPS_ROWS 1024 /* 96 KiB: some 10 us, of a thread that has slept */
#define XFS_SLEEPS_DEAR_NS 2000u

struct xfs_lane;

struct xfs_sleeps {
    uint64_t last_ns;            /* the last reading, by the trace's clock */
    uint64_t least_ns;           /* until the next one; 0: there was none */
    const struct xfs_lane *lane; /* in which it was made; NULL: nothing is known of it */
    uint64_t seq;                /* events that the lane had at it */
    uint64_t worked_ns;          /* the thread's processor time at it */
    uint64_t process_ns;         /* the process's; 0: not known */
    uint64_t gave_up;            /* how often the thread had given up its processor by itself */
    uint8_t awake;               /* readings in a row that showed no sleep */
    bool slept;                  /* at some time */
};
extern XFS_TLS struct xfs_sleeps xfs_sleeps;

/* A reading is due; also where the clock has gone backwards, as where it was exchanged. */
static inline __attribute__((always_inline)) bool xfs_sleeps_due(uint64_t now)
{
    return __builtin_expect(now - xfs_sleeps.last_ns >= xfs_sleeps.least_ns, 0);
}

/* A reading, as a call begins; none for one that is early (describe.h). Returns the time at which
 * it begins now. All keep errno. */
XFS_COLD uint64_t xfs_sleeps_until_call(uint64_t now, uint8_t early);

/* The same as it has returned. */
XFS_COLD void xfs_sleeps_until_return(uint64_t now, uint8_t early);

/* What comes now has nothing before it. */
XFS_COLD void xfs_sleeps_forget(void);

void xfs_sleeps_after_fork(void);

#endif
