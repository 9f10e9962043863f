/*
 * Which NUMA node's memory is best for a GPU, by a profile that has copies from (or to) several
 * nodes. Nodes are measured apart for each kind of memory and direction; GPUs are the profile's
 * ordinals.
 */
#ifndef XFA_NEAR_H
#define XFA_NEAR_H

#include "xferscope/profile.h"

/* Host memory of one kind and node, and a GPU: where the same would be copied faster. */
struct xfa_near {
    int node;                           /* the best one; -1 = it is there, or nothing is known */
    const struct xfp_path *here, *near; /* copies with memory where it is, and on that node */
};

/*
 * The node from which the largest copy was fastest; the GPU's own one when none was faster by more
 * than the errors of both. -1 when not two nodes were measured.
 */
int xfa_near_node(const struct xfp_profile *profile, enum xft_direction direction,
                  enum xft_memory memory, int gpu);

/* node: where the memory is, -1 = not known. */
struct xfa_near xfa_near_of(const struct xfp_profile *profile, enum xft_direction direction,
                            enum xft_memory memory, int node, int gpu);

#endif
