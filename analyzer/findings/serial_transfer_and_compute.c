/*
 * serial-transfer-and-compute: copies and kernels that wait for each other without need. Nothing is
 * lost in any one of them. The run is replayed with copies that have left their stream's order and
 * wait for their data alone (whatif/change_dataflow.h), with 2, 3, 4 and 8 parts under way.
 *
 * It is asked where copies of page-locked memory and kernels both take a part of the run.
 */
#include <math.h>

#include "analyzer/findings/overlappable.h"
#include "analyzer/whatif/change_dataflow.h"

struct kernels {
    double ns; /* on the device */
};

static void event(void *self, const struct xfa_step *step)
{
    struct kernels *kernels = self;
    if (step->event->end_ns > step->event->start_ns)
        kernels->ns += (double)(step->event->end_ns - step->event->start_ns);
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){
        .name = "kernels", .self = self, .kinds = XFA_KIND(XFT_EVENT_KERNEL), .event = event};
}

static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    static const unsigned streams[] = {2, 3, 4, XFW_MOST_BUFFERS};
    const struct kernels *kernels = sums;
    double copies =
        xfa_overlappable_ns(analysis, XFT_DIR_H2D) + xfa_overlappable_ns(analysis, XFT_DIR_D2H);
    double least = XFA_LEAST_SAVED * xfa_run_wall_ns(analysis->run);
    if (!(fmin(copies, kernels->ns) > least))
        return;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct xfa_finding *finding = xfa_overlappable_add(findings, analysis, XFA_FINDING_SERIAL,
                                                           XFA_REMEDY_OVERLAP, streams[i]);
        finding->assumed =
            "kernels use no memory but what they are given; buffers that are used again and again "
            "may be several";
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    return xfw_change_dataflow(analysis, (unsigned)finding->remedy.streams, true);
}

const struct xfa_finding_kind xfa_kind_serial = {
    .try = try, .change = change, .self_bytes = sizeof(struct kernels), .observe = observe};
