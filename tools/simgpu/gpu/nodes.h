/*
 * NUMA nodes of host memory: nodes.c, or host_nodes.c where the driver is built to have the nodes
 * of the machine that it runs on.
 */
#ifndef SIM_NODES_H
#define SIM_NODES_H

#include <stddef.h>

/* The node of the calling thread's pageable memory at that address (NULL: of what it allocates). */
int sim_host_numa(const void *address);
/* The node of memory that the calling thread page-locks. */
int sim_locked_numa(void *address, size_t bytes);

#endif
