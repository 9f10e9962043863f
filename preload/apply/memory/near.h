/*
 * Where memory lies: on the NUMA node that a GPU hangs on, so that copies between both do not cross
 * the link between sockets. Memory of our own, and, of a plan, what the program page-locks.
 */
#ifndef XFS_APPLY_NEAR_H
#define XFS_APPLY_NEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "xferscope/cuda_abi.h"

/* For pages that nothing has touched yet: they are taken from the device's node while it has some.
 * They are left to the kernel where the driver does not know the node (before CUDA 12.2 it never
 * does), where the process may not have its memory, and where the calling thread has a policy of
 * its own (numactl, set_mempolicy). Keeps errno. */
void xfs_near_place(void *memory, size_t bytes, xcu_device device);

/* The same on a node that the caller may have, whatever policy its thread has. */
void xfs_near_place_on(void *memory, size_t bytes, int node);

/* May the calling thread be given memory of the node? Not with a policy of its own. Keeps errno. */
bool xfs_near_may(int node);

/* From here until xfs_near_end() what the calling thread has the kernel give it comes from the node
 * while that has some. False, and nothing is changed: the process may not have its memory, or the
 * thread has a policy of its own. Both keep errno. */
bool xfs_near_begin(int node);
void xfs_near_end(void);

/* Moves whole pages that are there, that this process alone has mapped, and for which the program
 * has no policy; what is in them stays. Returns the bytes moved, at most `most`. Keeps errno. */
size_t xfs_near_move(void *memory, size_t bytes, int node, size_t most);

/* The node of the page at an address; -1: it is not known. Keeps errno. */
int xfs_near_node_of(const void *memory);

#endif
