#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

struct shorter_graphs {
    struct xfw_change change;
    struct xfw_shorter_graph *graphs;
    size_t count;
};

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct shorter_graphs *shorter = (const struct shorter_graphs *)change;
    bool **seen = self;
    bool all = change->assured || xfw_player_certainty(player) == XFW_HIGH;
    if (op->what != XFW_GRAPH || !xfw_set_has(&change->set, op->site))
        return;
    if (!*seen)
        *seen = xfa_alloc((shorter->count + 1) * sizeof **seen);
    for (size_t i = 0; i < shorter->count; i++) {
        if (shorter->graphs[i].site != op->site)
            continue;
        if (all && (*seen)[i])
            op->duration_ns = fmax(0, op->duration_ns - shorter->graphs[i].ns);
        (*seen)[i] = true; /* the first one's copies stay */
    }
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    free(*(bool **)self);
}

static void release(struct xfw_change *change)
{
    free(((struct shorter_graphs *)change)->graphs);
}

struct xfw_change *xfw_change_shorter_graphs(const struct xfa_analysis *analysis,
                                             const struct xfw_shorter_graph *graphs, size_t count)
{
    static const struct xfw_change_type type = {.name = "shorter graphs",
                                                .state_bytes = sizeof(bool *),
                                                .op = op,
                                                .end = end,
                                                .free = release};
    struct xfw_set sites = {0};
    for (size_t i = 0; i < count; i++)
        xfw_set_add(&sites, graphs[i].site);
    struct shorter_graphs *change = xfw_change_new(sizeof *change, &type, analysis, &sites);
    change->graphs = xfa_alloc((count + 1) * sizeof *graphs);
    memcpy(change->graphs, graphs, count * sizeof *graphs);
    change->count = count;
    return &change->change;
}
