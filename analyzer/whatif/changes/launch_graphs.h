/*
 * A change: calls that only submit work, and come again in one order (sequences.h), become graphs
 * that are captured once and launched.
 *
 * The first call of a graph takes what launching one takes, the others nothing, and the thread's
 * own time between them goes: as likely where it is short, at best also where it is longer, at
 * worst it stays. What a node is given and that changes is updated before the launch; at worst
 * each node is, since only pointers are recorded; at best none is: what varies lies in memory of
 * the device. Each node of the longest graph that begins with a call is instantiated once.
 *
 * On the device work that waited for its launch begins right behind the node before it. Work that
 * queued keeps the distance that was recorded.
 */
#ifndef XFW_LAUNCH_GRAPHS_H
#define XFW_LAUNCH_GRAPHS_H

#include "analyzer/whatif/changes/changes.h"

struct xfw_change *xfw_change_launch_graphs(const struct xfa_analysis *analysis);

#endif
