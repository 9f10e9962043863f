/*
 * NCCL's kernels that meet (sums/nccl_calls.h): which other ranks' kernels each waits for, and how
 * long it takes from when they have begun, found from what was recorded. Private to whatif/.
 *
 * A kernel's time is divided where the last one of those that it waits for began: what comes behind
 * is the transfer, which stays. A kernel that had ended before another one began did not wait for
 * that one: data are given to buffers. So what a rank waits for is, as the record shows it,
 * - all others; else
 * - of a broadcast or scatter the root, of a message its sender; else
 * - nobody. Where each rank needs what all others gave, no kernel ends before all have begun: if
 *   the record says so, clocks or the order of calls are not known, and the kernels are not linked.
 *
 * Between hosts, whose clocks are not known to microseconds, kernels that need what all gave are
 * taken to end together: the shortest of them is the transfer.
 *
 * A kernel of a group of calls (ncclGroupEnd) has a part in each of their meetings; of more than
 * XFW_MOST_MEETINGS it waits for nobody.
 *
 * Times are ns, on the clock that all hosts have in common.
 */
#ifndef XFW_KERNEL_LINKS_H
#define XFW_KERNEL_LINKS_H

#include "analyzer/whatif/together/links.h"

#define XFW_MOST_MEETINGS 64

/* Adds the run's meetings to what is linked. */
void xfw_kernel_links_add(struct xfw_links *links, const struct xfa_analysis *analysis);

/* NULL: it meets no other. */
const struct xfw_kernel *xfw_kernel_of(const struct xfw_links *links, uint32_t process,
                                       uint32_t correlation);
static inline const struct xfw_meeting_part *xfw_meeting_part(const struct xfw_links *links,
                                                              uint32_t place)
{
    return place ? &links->parts[place - 1] : NULL;
}

#endif
