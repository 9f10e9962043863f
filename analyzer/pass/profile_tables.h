/*
 * The tables of a machine profile by their names, "WHAT/PLACE": they are asked for with each op of
 * a replay, of profiles that have some hundred. The place is a GPU (gpu0), a NUMA node and a GPU
 * (node1-gpu0), the host, or two nodes (node0-node0).
 */
#ifndef XFA_PROFILE_TABLES_H
#define XFA_PROFILE_TABLES_H

#include "xferscope/profile.h"

struct xfa_profile_tables;

/* NULL of NULL. The profile is borrowed, and keeps its tables as long. */
struct xfa_profile_tables *xfa_profile_tables_new(const struct xfp_profile *profile);
void xfa_profile_tables_free(struct xfa_profile_tables *tables);

/* Of a GPU, by its ordinal in the profile. Where the profile has it by NUMA node, that of the node;
 * node -1: of the lowest one. NULL: not measured. */
const struct xfp_table *xfa_profile_gpu_table(const struct xfa_profile_tables *tables,
                                              const char *what, int node, int gpu);
/* Of the host; where the profile has it by NUMA node, of the lowest node by itself. */
const struct xfp_table *xfa_profile_host_table(const struct xfa_profile_tables *tables,
                                               const char *what);

#endif
