/*
 * Changes: page-locked memory that the program makes itself, or has xferscope apply make.
 */
#ifndef XFW_LOCKED_H
#define XFW_LOCKED_H

#include <stdbool.h>

#include "analyzer/whatif/schedule/change.h"
#include "xferscope/terms.h"

/*
 * Page-locked memory that these sites have the driver allocate is mapped by the program, touched by
 * threads and page-locked: each such call takes the time of that, by the profile, where that is
 * shorter; and so does the call that frees it. What the calls wait for stays. As with calls that
 * go, what a call took beyond what the profile has is not promised, and at worst a quarter less is
 * saved. It has to save XFW_LOCK_PART of the run, since it takes more than another call.
 */
#define XFW_LOCK_PART 0.05
struct xfw_change *xfw_change_lock_by_hand(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites);

/*
 * The same as `xferscope apply` does it: allocations without flags of XFW_APPLIED_LOCKED and more
 * in processes of one GPU, by the trials of each site (trials.h), which begin with apply's way.
 * Memory that is allocated again and again is kept from the second of a size on, up to
 * XFW_APPLIED_KEPT together, and then cleared alone.
 */
#define XFW_APPLIED_LOCKED ((uint64_t)32 << 20)
#define XFW_APPLIED_KEPT ((uint64_t)128 << 20)
struct xfw_change *xfw_change_lock_by_apply(const struct xfa_analysis *analysis,
                                            struct xfw_set *sites);

/* Could the program make such memory (enum xft_memory) itself? Not if it is write-combined. */
static inline bool xfw_is_lockable_by_hand(unsigned memory)
{
    return memory == XFT_MEM_PINNED || memory == XFT_MEM_MAPPED;
}

#endif
