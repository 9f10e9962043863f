/*
 * Copies inside CUDA graphs.
 *
 * A copy added to or captured into a graph moves nothing until the graph is launched, and then
 * once per launch. When a graph is instantiated, its nodes are walked (child graphs too) and its
 * copies stored under the executable graph's handle; updates of an executable graph are followed; a
 * launch becomes one event for itself and one transfer per enabled copy. Conditional nodes run any
 * number of times, or not at all: their content is not known.
 *
 * Called by the driver-level functions of the table, at whatever level the program works. The
 * driver is only queried for a graph's content, which is allowed during capture.
 */
#ifndef XFS_GRAPH_H
#define XFS_GRAPH_H

#include "preload/intercept/describe.h"

/* Behind the real call of a row XFS_GRAPH: its status, and where it is the outermost call the end
 * of its time. */
void xfs_graph_call_returned(struct xfs_frame *f, int status, bool outermost);

/* Verbs of such rows: what is known of the executable graph, where the call succeeded, and the
 * event. An update that failed is one, too. */
void xfs_graph_made(struct xfs_frame *f, xcu_graph_exec exec, xcu_graph graph,
                    enum xft_graph_call what);
void xfs_graph_gone(struct xfs_frame *f, xcu_graph_exec exec);

void xfs_graph_copy_changed(xcu_graph_exec exec, xcu_graph_node node,
                            const struct xcu_memcpy3d *copy);
void xfs_graph_node_changed(xcu_graph_exec exec, xcu_graph_node node,
                            const struct xcu_node_params *params);
void xfs_graph_child_changed(xcu_graph_exec exec, xcu_graph_node node, xcu_graph child);
void xfs_graph_node_enabled(xcu_graph_exec exec, xcu_graph_node node, unsigned enabled);

/* Verb of the table: describes the launch. */
void xfs_graph_launch(struct xfs_frame *f, xcu_graph_exec exec);

/* The transfers of a launch, in node order: calls `publish` for each with an event that carries the
 * launch's call, times, stream, stack and correlation. */
void xfs_graph_transfers(const struct xfs_frame *launch, void (*publish)(const struct xft_event *));

/* In a forked child: the parent's graphs are not its own. */
void xfs_graph_after_fork(void);

#endif
