/*
 * serial-transfer-and-compute: copies and kernels that wait for each other without need. Nothing is
 * lost in any one of them. The run is replayed with copies that have left their stream's order and
 * wait for their data alone (whatif/changes/dataflow.h), with 2, 3, 4 and 8 parts under way.
 *
 * It is asked where copies of page-locked memory and kernels both take a part of the run; where
 * much of it is copies of pageable memory that is used again and again, that is page-locked first.
 * What that saves by itself, and copies that do not block, belongs to other kinds: this is one only
 * where streams save more.
 */
#include <math.h>

#include "analyzer/findings/overlappable.h"
#include "analyzer/whatif/changes/dataflow.h"
#include "analyzer/whatif/changes/split.h"

#define PAGEABLE_SHARE 0.2 /* of the copies' time: from here on page-locking is a part of it */

struct sums {
    struct xfa_pageable_uses uses; /* first: its observer's self is this one's */
    double kernels_ns;             /* on the device */
};

static void event(void *self, const struct xfa_event *event)
{
    struct sums *sums = self;
    if (event->end_ns > event->start_ns)
        sums->kernels_ns += (double)(event->end_ns - event->start_ns);
}

static struct xfa_observer observe(void *self)
{
    struct xfa_observer observer = xfa_pageable_observer(&((struct sums *)self)->uses);
    observer.name = "copies and kernels";
    observer.kinds = XFA_KIND(XFT_EVENT_KERNEL);
    observer.event = event;
    return observer;
}

static void release(void *self)
{
    xfa_pageable_free(&((struct sums *)self)->uses);
}

struct copies {
    double up, down;
};

static struct copies copies_of(const struct xfa_analysis *analysis,
                               const struct xfa_pageable_uses *uses)
{
    return (struct copies){xfa_overlappable_ns(analysis, uses, XFT_DIR_H2D),
                           xfa_overlappable_ns(analysis, uses, XFT_DIR_D2H)};
}

/* What could go on at the same time. Of page-locked memory alone both directions at once are
 * one-direction-at-a-time's; with kernels in between and memory to be page-locked it is one remedy.
 */
static double beside(const struct sums *sums, struct copies copies, bool locks)
{
    double kernels = sums->kernels_ns, both = fmin(copies.up, copies.down);
    return fmin(copies.up + copies.down, kernels + (locks && kernels > 0 ? both : 0));
}

/* One copy there, kernels, one back, and a wait: no other part to work on meanwhile, but parts of
 * that. */
static void try_parts(const struct xfa_analysis *analysis, struct xfa_findings *findings)
{
    static const unsigned parts[] = {2, 4, 8, XFW_MOST_PARTS};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct xfa_finding *finding = xfa_overlappable_add(
            findings, analysis, NULL, XFA_FINDING_SERIAL, XFA_REMEDY_SPLIT, parts[i]);
        finding->assumed = "kernels can work on a part of the data at a time";
    }
}

static void try(const struct xfa_analysis *analysis, const void *self,
                struct xfa_findings *findings)
{
    /* 1: without streams, to know what is saved by them. */
    static const unsigned streams[] = {1, 2, 3, 4, XFW_MOST_STREAMS};
    const struct sums *sums = self;
    struct copies locked = copies_of(analysis, NULL), all = copies_of(analysis, &sums->uses);
    double of_all = all.up + all.down, pageable = of_all - locked.up - locked.down;
    bool locks = pageable > PAGEABLE_SHARE * of_all;
    if (!(beside(sums, locks ? all : locked, locks) >
          XFA_LEAST_SAVED * xfa_run_wall_ns(analysis->run)))
        return;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct xfa_finding *finding =
            xfa_overlappable_add(findings, analysis, locks ? &sums->uses : NULL, XFA_FINDING_SERIAL,
                                 locks ? XFA_REMEDY_PIN_OVERLAP : XFA_REMEDY_OVERLAP, streams[i]);
        finding->assumed =
            "kernels use no memory but what they are given; buffers that are used again and again "
            "may be several";
    }
    if (beside(sums, locked, false) > XFW_SPLIT_LEAST * xfa_run_wall_ns(analysis->run))
        try_parts(analysis, findings);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *self,
                                 const struct xfa_finding *finding)
{
    const struct sums *sums = self;
    if (finding->remedy.kind == XFA_REMEDY_SPLIT)
        return xfw_change_split(analysis, (unsigned)finding->remedy.streams);
    struct xfw_dataflow_terms terms = {.buffers = (unsigned)finding->remedy.streams,
                                       .to_device = true};
    if (finding->remedy.kind == XFA_REMEDY_PIN_OVERLAP)
        terms.first = xfa_pageable_change(&sums->uses, analysis, finding,
                                          (struct xfw_times_terms){.pinning = XFW_PIN_ONCE});
    return xfw_change_dataflow(analysis, &terms);
}

const struct xfa_finding_kind xfa_kind_serial = {
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct sums),
    .observe = observe,
    .free = release,
};
