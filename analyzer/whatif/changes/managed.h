/* Managed memory is prefetched, or stays with the host. A part of changes.h. */
#ifndef XFW_CHANGE_MANAGED_H
#define XFW_CHANGE_MANAGED_H

#include "analyzer/whatif/schedule/change.h"

/*
 * Managed memory is where it is needed before it is touched: what moved on a kernel's demand is
 * prefetched before it, in its stream; what moved when the host touched it is prefetched back and
 * waited for, before the thread goes on.
 *
 * A kernel loses the time in which it waited for pages, the thread what its faults take by the
 * profile (demand/...: that is not recorded), or at worst the time in which pages moved. The
 * prefetch's call takes half of the prefetch's time; at worst all of it, at best nothing. Where
 * prefetching would take longer than the faults all stays as it is. At worst nothing is saved where
 * the profile does not say what recording moves costs: it may be that alone.
 */
struct xfw_change *xfw_change_prefetch(const struct xfa_analysis *analysis);

/*
 * The same as `xferscope apply` does it: to the GPU alone, where its trials say that it gains
 * (changes/prefetch_trials.h).
 */
struct xfw_change *xfw_change_prefetch_by_apply(const struct xfa_analysis *analysis);

/*
 * Managed memory of which kernels touch a little stays with the host, and the kernels reach it over
 * the link: preferred location and accessed by. Nothing moves to such a kernel, and nothing has to
 * come back from it.
 *
 * The time in which a kernel did not wait for pages says how much it touches at most: what can be
 * read on the device meanwhile. Kernels that may have touched a quarter of what moved stay as they
 * are. As likely that much is read over the link, at best hardly anything; at worst half of all
 * that moved is read and written there. The host's faults are as with xfw_change_prefetch().
 */
struct xfw_change *xfw_change_stay(const struct xfa_analysis *analysis);

/*
 * Managed memory that never moved, since the host never touches it, is memory of the device: a
 * kernel loses the time in which its faults were served, for which the driver finds and clears
 * pages. At worst half of it, since the kernel may have worked beside that (a guess). Allocating
 * and freeing it takes what it took.
 */
struct xfw_change *xfw_change_device_memory(const struct xfa_analysis *analysis);

/*
 * The GPU does what the host does with managed memory between kernels, or gets it by a copy: of a
 * wait behind which the host touches such memory again and again, all but the first one go, with
 * the thread's own time behind it. Nothing moves to the host then, and as many bytes need not come
 * back to kernels. No record shows whether it can: at worst and as likely nothing changes.
 * (managed_turns.c)
 */
struct xfw_change *xfw_change_managed_turns(const struct xfa_analysis *analysis);

/*
 * The little of managed memory that host and kernels both touch, turn by turn, lies apart from what
 * kernels use: it is copied to them before the first kernel behind a wait, and back before the next
 * wait, as page-locked memory is, and no page moves for it. Little is what moved to the host in a
 * turn, of XFW_APART_BYTES at most.
 *
 * A page that goes to and fro the driver at last leaves with the host, for a while: kernels reach
 * it over the link, access by access, and nothing is recorded of that. A kernel to which it had
 * come back, turn by turn, and which takes much longer now that it does not, though the host had it
 * last, takes what such kernels took without waiting for it. At worst only where it has come back
 * since, twice, to kernels that were as short as before; and twice as long. (managed_apart.c)
 */
#define XFW_APART_BYTES ((uint64_t)64 << 10) /* as much as a fault moves at first: a guess */
struct xfw_change *xfw_change_apart(const struct xfa_analysis *analysis);

/* What the thread's faults took before the call. */
double xfw_fetched_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                      enum xfw_certainty certainty);

#endif
