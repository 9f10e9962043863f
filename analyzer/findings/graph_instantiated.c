/*
 * graph-instantiated-again: graphs of the same form (as many nodes, of the same kinds in the same
 * order) that the same call site instantiates again and again, and whose executable graphs are
 * destroyed in between. Instantiating looks at and allocates everything; cudaGraphExecUpdate() only
 * writes what the nodes are given into the executable graph that is there.
 * Lost: the host's time in the calls that could go, without what an update takes in their place,
 * which the profile says (what it takes with the first launch, of what instantiating takes with
 * it); where that was not measured half is taken, and at worst nothing is saved.
 *
 * That equal forms have the same topology, as an update needs, is taken for granted: edges are not
 * recorded. A graph whose form has changed is another one. Not found where the executable graphs
 * are kept, all of them alive at the same time.
 */
#include "analyzer/findings/finding.h"
#include "analyzer/findings/taken.h"
#include "analyzer/whatif/changes/graphs_kept.h"

#include <math.h>

static void event(void *self, const struct xfa_event *event)
{
    struct xfa_taken *taken = self;
    const struct xfa_graph_call *call = &event->graph;
    double ns = xfa_event_ns(event);
    if (event->flags & XFT_FAILED || call->exec == 0)
        return;
    if (call->what == XFT_GRAPH_DESTROYED)
        xfw_once_give(&taken->book, call->exec, ns);
    if (call->what != XFT_GRAPH_INSTANTIATED || call->form == 0)
        return;
    const struct xfw_once_key key =
        xfw_graph_key(event->process->number, event->stack, call->form, call->nodes);
    struct xfw_once_calls *calls = xfw_once_take(&taken->book, &key, call->exec, 0, ns);
    if (calls && calls->takes == 1)
        calls->first = event->call;
}

static struct xfa_observer observe(void *self)
{
    struct xfa_observer observer =
        xfa_taken_observer(self, XFT_EVENT_GRAPH_CALL, XFT_EVENT_GRAPH_CALL, false);
    observer.name = "graphs instantiated";
    observer.event = event;
    return observer;
}

static double lost_ns(const struct xfa_analysis *analysis, const struct xfw_once_calls *calls)
{
    double gives = calls->gives ? (double)xfw_once_needless_gives(calls) / (double)calls->gives : 0;
    double left = xfw_graph_parts(&analysis->achievable, -1, calls->key.memory, XFW_LIKELY).left;
    return calls->needless_ns * (1 - left) + gives * calls->gives_ns;
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct xfa_taken *taken = sums;
    struct xfa_finding like = {
        .id = XFA_FINDING_GRAPH_AGAIN,
        .remedy = {.kind = XFA_REMEDY_UPDATE_GRAPH, .node = -1},
        .reckoning = XFA_RECKONED_INSTANTIATED,
        .assumed = "graphs with as many nodes of the same kinds have the same topology",
    };
    struct xfa_table sites;
    bool known = xfw_graph_parts(&analysis->achievable, -1, 1, XFW_LIKELY).known;
    if (!known)
        like.assumed = "graphs with as many nodes of the same kinds have the same topology, and an "
                       "update takes half of the time, which was not measured";
    xfa_taken_sites_init(&sites);
    for (size_t i = 0; i < taken->calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->calls, i);
        xfa_taken_add_to_site(&sites, analysis, calls, lost_ns(analysis, calls));
    }
    xfa_taken_add_sites(&sites, findings, &like, xfa_findings_least_ns(analysis));
    xfa_table_free(&sites);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct xfa_taken *taken = sums;
    struct xfw_set chosen = xfa_taken_places(taken, finding, NULL);
    return xfw_change_keep_graphs(analysis, &taken->calls, &chosen);
}

const struct xfa_finding_kind xfa_kind_graph_again = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct xfa_taken),
    .observe = observe,
    .free = xfa_taken_free,
    .give = xfa_taken_give,
    .take = xfa_taken_take,
    .taken = xfa_taken_all,
};
