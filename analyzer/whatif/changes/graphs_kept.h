/*
 * A change: executable graphs are kept and updated, in place of being instantiated again.
 */
#ifndef XFW_GRAPHS_KEPT_H
#define XFW_GRAPHS_KEPT_H

#include "analyzer/whatif/changes/changes.h"

/* What is left of the time to instantiate a graph of so many nodes and launch it for the first time
 * where an executable graph is updated from it and launched: by the profile; at best nothing is to
 * be updated. Where that was not measured half is left as likely (a guess), all at worst. */
struct xfw_graph_parts {
    bool known;
    double left; /* a part, 0 to 1 */
};
struct xfw_graph_parts xfw_graph_parts(const struct xfa_achievable *achievable, int gpu,
                                       uint64_t nodes, enum xfw_certainty certainty);

/* Graphs of one form, which a call site instantiates, as calls that take memory: what they take is
 * executable graphs. `memory` is the number of nodes. */
struct xfw_once_key xfw_graph_key(uint32_t process, uint32_t site, uint64_t form, uint64_t nodes);

/*
 * Of graphs that are alike as many are instantiated as are there at the same time. In place of
 * others an executable graph is updated that would have been destroyed, and its end goes. calls,
 * chosen: as of xfw_change_calls_once().
 */
struct xfw_change *xfw_change_keep_graphs(const struct xfa_analysis *analysis,
                                          const struct xfa_table *calls, struct xfw_set *chosen);

#endif
