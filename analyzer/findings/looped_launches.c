/*
 * looped-launches: a kernel that a thread launches again and again in a row with the same memory
 * (whatif/changes/loops.h), as for one plane, row or block after the other. One launch over all of
 * them fills the GPU, and costs one call; but only where none needs what another one leaves, which
 * no record shows: a question, and nothing is saved unless it is answered. Lost: host time in the
 * launches for all but the first, and between them.
 */
#include <stddef.h>

#include "analyzer/findings/finding.h"
#include "analyzer/findings/launch_sites.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/launch_runs.h"
#include "analyzer/whatif/changes/loops.h"

struct looped {
    struct xfa_table sites; /* struct xfa_wait_site: launches that go */
    struct xfw_loops loops;
    struct xfa_launcher callers[XFW_PIECE_THREADS];
};

static void launched(struct looped *self, struct xfa_launcher *caller,
                     const struct xfa_event *event, double gap_ns)
{
    const struct xfw_piece_launch launch = xfa_launch_of(event);
    if (xfw_loops_next(&self->loops, event->lane, &launch))
        xfa_launches_add(&caller->calls, gap_ns, event);
}

static void event(void *of, const struct xfa_event *event)
{
    struct looped *self = of;
    if (event->flags & (XFT_FAILED | XFT_CAPTURED) || xfa_is_range(event->kind) ||
        event->lane >= XFW_PIECE_THREADS)
        return;
    struct xfa_launcher *caller = &self->callers[event->lane];
    double gap_ns = xfa_launcher_gap_ns(caller, event);
    if (event->kind != XFT_EVENT_LAUNCH || gap_ns > xfw_run_gap_ns(XFW_HIGH))
        xfw_loops_break(&self->loops, event->lane);
    if (event->kind == XFT_EVENT_LAUNCH)
        launched(self, caller, event, gap_ns);
    xfa_launcher_called(caller, &self->sites, event);
}

static void transfer(void *of, const struct xfa_event *transfer)
{
    if (!(transfer->flags & XFT_GRAPH))
        event(of, transfer);
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct looped *self = of;
    (void)process;
    self->loops = (struct xfw_loops){0};
    for (size_t i = 0; i < XFW_PIECE_THREADS; i++)
        self->callers[i] = (struct xfa_launcher){0};
    return XFA_KINDS_OF_CALLS | XFA_KIND(XFT_EVENT_MESSAGE);
}

static struct xfa_observer observe(void *of)
{
    struct looped *self = of;
    xfa_wait_sites_init(&self->sites);
    return (struct xfa_observer){
        .name = "looped launches",
        .divided = true,
        .kinds = XFA_KINDS_OF_CALLS | XFA_KIND(XFT_EVENT_MESSAGE),
        .self = self,
        .process = process,
        .event = event,
        .transfer = transfer,
    };
}

static void release(void *of)
{
    xfa_table_free(&((struct looped *)of)->sites);
}

/* On trial, since without a replay it says nothing. */
static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    const struct looped *self = sums;
    const struct xfa_finding like = {
        .id = XFA_FINDING_LOOPED,
        .remedy = {.kind = XFA_REMEDY_LAUNCH_OVER_ALL, .to_host = true, .node = -1},
        .assumed = "the host decides nothing between the launches",
        .question = "a kernel's launches in a row before {site}, which are given the same memory, "
                    "do not need each other's results (each is for another plane, row or block)",
    };
    for (size_t i = 0; i < self->sites.count; i++) {
        const struct xfa_wait_site *launches = xfa_table_at(&self->sites, i);
        struct xfa_finding_site site = xfa_wait_site_found(analysis, launches, XFA_RECKONED_LOOPED);
        site.lost_ns = xfa_exact_value(&launches->ns);
        if (site.lost_ns > xfa_findings_least_ns(analysis))
            xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    (void)finding;
    return xfw_change_looped_launches(analysis);
}

const struct xfa_finding_kind xfa_kind_looped = {
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct looped),
    .observe = observe,
    .free = release,
    .met_of = &xfa_wait_sites,
    .met_table = offsetof(struct looped, sites),
};
