/*
 * Kernels that are given managed memory of planned sites (prefetch.h): where their parameters lie,
 * and whether prefetching gains.
 *
 * A trial compares two times of the GPU's clock, by events in the launch's stream that nobody waits
 * for:
 *
 *     begin   [prefetch]   kernel   end   ...   begin of the next launch of this kernel
 *     |------------- work ----------|
 *     |----------------------- round -----------|
 *
 * The round has what the host does in between, with memory that it may have to fetch back. It gains
 * where the work is shorter, as proof.h decides, and the round is no longer. It is not tried where
 * the work as asked takes less time than the bytes would on any link: then it does not wait for
 * them.
 *
 * A kernel is one handle; when a module may be unloaded all of them are asked for again. One thread
 * at a time has a kernel; it is another's launch that goes on as the program asked.
 */
#ifndef XFS_APPLY_KERNELS_H
#define XFS_APPLY_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/site/proof.h"
#include "xferscope/cuda_abi.h"

#define XFS_KERNEL_WORDS 64 /* that may be pointers; kernels with more are left alone */

struct xfs_kernel;

/* Of what is launched in the current context. NULL: it is not known where its parameters lie,
 * another thread has it, or there are too many. Calls the driver. */
struct xfs_kernel *xfs_kernel_hold(const void *function);
void xfs_kernel_release(struct xfs_kernel *kernel);

/* What may be pointers among the values of a launch; their number. */
unsigned xfs_kernel_words(const struct xfs_kernel *kernel, void **values,
                          uint64_t words[XFS_KERNEL_WORDS]);

/* How the next launch is to be made, which is given so many bytes. A trial begins, if it is one. */
enum xfs_way xfs_kernel_begins(struct xfs_kernel *kernel, xcu_stream stream, uint64_t bytes);

/* After the launch: the way that it was made in fact. `made` false: it failed, and the kernel is
 * left alone from then on. */
void xfs_kernel_ends(struct xfs_kernel *kernel, xcu_stream stream, enum xfs_way way, bool made);

/* What a launch our way takes, and what it would take; false: not known yet. */
bool xfs_kernel_times(const struct xfs_kernel *kernel, uint64_t *done_ns, uint64_t *instead_ns);
enum xfs_verdict xfs_kernel_verdict(const struct xfs_kernel *kernel);

/* Modules may be unloaded; contexts may end. */
void xfs_kernels_forget(bool contexts);

void xfs_kernels_after_fork(void);

#endif
