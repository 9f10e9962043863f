/* Nodes of graphs, as the interface describes them. */
#ifndef SIM_GRAPH_NODES_H
#define SIM_GRAPH_NODES_H

#include "tools/simgpu/gpu/op.h"

/* What a copy node does; an error when node is NULL or the copy is refused. */
xcu_result sim_node_set_copy(struct sim_node *node, const struct xcu_memcpy3d *what);

#endif
