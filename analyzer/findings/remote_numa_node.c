/*
 * remote-numa-node: copies between a GPU and page-locked memory on a NUMA node, where this
 * machine's profile has faster copies from or to another node. Lost: achieved time minus that of a
 * copy of the same size and kind of memory on the best node, per transfer. Time beyond the
 * profile's for the memory's own node has other causes and does not count.
 *
 * Pageable memory is left to pageable-host-memory: the GPU reads the driver's buffers, not the
 * program's memory. Copies of rows and batches are left out: they were not measured by node.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* The transfers of one class whose times are known. */
struct far {
    uint64_t transfers, bytes;
    double achieved_ns, near_ns, lost_ns, error_ns;
    uint64_t basis[4]; /* transfers by enum xfp_basis */
    uint64_t asked;    /* bytes of the last question, whose answers here and near are */
    struct xfp_estimate here,
        near; /* time of one transfer of so many bytes, on its own node and on the best */
};

struct remote {
    struct far *classes; /* by class number */
    size_t count, capacity;
};

static struct far *far_of(struct remote *remote, uint32_t class)
{
    remote->classes = xfa_grown(remote->classes, &remote->capacity, &remote->count, class,
                                sizeof *remote->classes);
    return &remote->classes[class];
}

/* False when one of the times is not known. */
static bool ask(struct far *far, const struct xfa_near *near, uint64_t bytes)
{
    if (far->asked != bytes) {
        far->asked = bytes;
        far->here = xfp_time(near->here, bytes);
        far->near = xfp_time(near->near, bytes);
    }
    return far->here.basis != XFP_UNKNOWN && far->near.basis != XFP_UNKNOWN;
}

static void transfer(void *self, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_class *class = transfer->class;
    uint64_t bytes = event->bytes;
    if (class->near.node < 0 || class->key.shape != XFA_LINEAR || transfer->timed == XFA_TIMED_NOT)
        return;
    struct far *far = far_of(self, class->number);
    if (!ask(far, &class->near, bytes))
        return;
    bool slower = transfer->achieved_ns > far->here.ns; /* for other reasons */
    double took = slower ? far->here.ns : transfer->achieved_ns;
    far->transfers++;
    far->bytes = xfa_add(far->bytes, bytes);
    far->achieved_ns += transfer->achieved_ns;
    far->near_ns += far->near.ns;
    far->lost_ns += fmax(0, took - far->near.ns);
    far->error_ns += far->near.ns * far->near.error + (slower ? took * far->here.error : 0);
    far->basis[far->near.basis & 3]++;
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){
        .name = "remote nodes", .self = self, .aside = true, .transfer = transfer};
}

static void release(void *self)
{
    struct remote *remote = self;
    free(remote->classes);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static void add(struct far *into, const struct far *from)
{
    into->transfers += from->transfers;
    into->bytes = xfa_add(into->bytes, from->bytes);
    into->achieved_ns += from->achieved_ns;
    into->near_ns += from->near_ns;
    into->lost_ns += from->lost_ns;
    into->error_ns += from->error_ns;
    for (size_t i = 0; i < sizeof into->basis / sizeof *into->basis; i++)
        into->basis[i] += from->basis[i];
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct remote *remote = sums;
    const struct xfa_class *class = NULL;
    struct xfa_figures of_far = {0}; /* for the basis of their times */
    struct far far = {0};
    int node = -1; /* the same for all: GPU, direction and kind of memory are the row's */
    while ((class = xfa_row_class(&analysis->classes, what, class))) {
        if (class->number >= remote->count || !remote->classes[class->number].transfers)
            continue;
        add(&far, &remote->classes[class->number]);
        xfa_figures_merge(&of_far, xfa_rows_class(&analysis->of_classes, class->number));
        node = class->near.node;
    }
    if (!far.transfers || analysis->achievable.match == XFA_MATCH_NO)
        return false;
    memcpy(of_far.achievable_basis, far.basis, sizeof of_far.achievable_basis);
    gain->transfers = far.transfers;
    gain->bytes = far.bytes;
    gain->achieved_ns = far.achieved_ns;
    gain->achievable_ns = far.near_ns;
    gain->lost_ns = far.lost_ns;
    gain->error = far.error_ns / far.near_ns;
    gain->achieved_basis = xfa_achieved_basis(&of_far);
    gain->achievable_basis = xfa_achievable_basis(&of_far);
    gain->reckoning = XFA_RECKONED_NEAR_NODE;
    gain->remedy = xfa_remedy_for(what, XFA_REMEDY_NEAR_NODE);
    gain->remedy.node = node;
    return true;
}

static bool from_near(const struct xfa_analysis *analysis, const struct xfa_class *class,
                      const void *self, struct xfw_new_path *path)
{
    path->to = class->near.near;
    path->from = class->near.here;
    return class->near.node >= 0 && class->key.shape == XFA_LINEAR;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    return xfa_other_path_change(analysis, finding, from_near, NULL, &(struct xfw_times_terms){0});
}

const struct xfa_finding_kind xfa_kind_remote_node = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct remote),
    .observe = observe,
    .free = release,
};
