/*
 * Page-locked memory of the program's own on the NUMA node that a plan names for its site: what is
 * allocated there, and memory of the program that is page-locked there.
 *
 * An allocation is the driver's, or of `locking`, made while the calling thread prefers the node.
 * Of memory that is page-locked the pages that lie elsewhere are moved before. What is in memory,
 * where it is mapped, and what calls return stays as it is. A thread with a memory policy of its
 * own, and memory with one, is left alone.
 *
 * Nothing is tried out: the call takes the time that it takes, and what gains are copies at other
 * sites. What is carried out is counted where the page in the middle lies on the node then, or the
 * kernel does not say.
 */
#ifndef XFS_APPLY_PLACEMENT_H
#define XFS_APPLY_PLACEMENT_H

#include "preload/apply/memory/locking.h"
#include "preload/apply/site/site.h"

#define XFS_MOVED_MOST ((size_t)4 << 30) /* bytes of the process */

/* Does the plan have such sites? */
bool xfs_placement_on(void);

/* Moves what of XFS_MOVED_MOST is left; the bytes moved. On a stack of our own. */
size_t xfs_placement_move(void *memory, size_t bytes, int node);

/* An allocation, at a planned site on its node; elsewhere as locking does it. True: it was carried
 * out, *status is what the call returns. */
bool xfs_placement_alloc(const struct xfs_locking *call, int *status);

/* Around a call that page-locks memory of the program. begin: false, and nothing is changed: it is
 * not to be placed. end: the call returned this. */
struct xfs_placing {
    void *memory;
    size_t bytes;
    struct xfs_site *site;
};
bool xfs_placement_begin(struct xfs_placing *placing);
void xfs_placement_end(const struct xfs_placing *placing, int status);

#endif
