/*
 * Copies that could overlap with something else. No single copy has a loss: the run is replayed
 * with copies that have left their stream's order and wait for their data alone
 * (whatif/changes/overlap.c). Two kinds:
 * - serial-transfer-and-compute: copies and kernels that wait for each other without need. Replayed
 *   with 2, 3, 4 and 8 parts in flight, where copies of page-locked memory and kernels both take a
 *   part of the run, or the host waits for kernels between copies; where much of it is copies of
 *   pageable memory that is used again and again, that is page-locked first. What page-locking
 *   alone saves, and copies that do not block, belongs to other kinds: it is a finding only where
 *   streams save more.
 * - one-direction-at-a-time: copies to the device and copies to the host that wait for each other
 *   without need, while the link carries both directions at once. Replayed with the copies to the
 *   host on streams of their own, and once in their stream, to know what streams save; where copies
 *   of page-locked memory in both directions take a part of the run.
 */
#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/mapped_memory.h"
#include "analyzer/findings/pageable_uses.h"
#include "analyzer/whatif/changes/changes.h"

#define LEAST_SHARE 0.02 /* of all such copies' time, or a row is no site */

static bool is_locked_once(const struct xfa_analysis *analysis,
                           const struct xfa_pageable_uses *uses, const struct xfa_row *row)
{
    struct xfa_pageable_costs costs = xfa_pageable_costs_of(uses, analysis, row);
    return costs.copies > 0 && costs.copies >= 2 * costs.firsts && !isnan(costs.pinned_ns);
}

/* How long copies between the host and a GPU took, ns: of page-locked memory, and of pageable
 * memory that is used again, so that page-locking it once pays (uses NULL: without these). */
static double row_ns(const struct xfa_analysis *analysis, const struct xfa_pageable_uses *uses,
                     size_t row)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_row_key *key = &what->key;
    const struct xfa_figures *figures = &analysis->rows[row];
    if (what->site->within || (key->direction != XFT_DIR_H2D && key->direction != XFT_DIR_D2H))
        return 0;
    if (!xfa_row_pageable(key))
        return figures->device.ns;
    return uses && is_locked_once(analysis, uses, what) ? figures->device.ns + figures->host.ns : 0;
}

static double copies_ns(const struct xfa_analysis *analysis, const struct xfa_pageable_uses *uses,
                        enum xft_direction direction)
{
    double ns = 0;
    for (size_t i = 0; i < analysis->row_count; i++)
        if (xfa_analysis_row(analysis, i)->key.direction == direction)
            ns += row_ns(analysis, uses, i);
    return ns;
}

/* In whose terms: those of the site that takes longest. */
static const struct xfa_row *longest(const struct xfa_analysis *analysis,
                                     const struct xfa_pageable_uses *uses)
{
    double most = -1;
    size_t best = 0;
    for (size_t i = 0; i < analysis->row_count; i++) {
        double ns = row_ns(analysis, uses, i);
        best = ns > most ? i : best;
        most = fmax(most, ns);
    }
    return xfa_analysis_row(analysis, best);
}

/* Adds the finding with the rows that take most of that time; lost is not known. */
static struct xfa_finding *add_finding(struct xfa_findings *findings,
                                       const struct xfa_analysis *analysis,
                                       const struct xfa_pageable_uses *uses, enum xfa_finding_id id,
                                       enum xfa_remedy_kind kind, unsigned streams)
{
    const struct xfa_row *first = longest(analysis, uses);
    struct xfa_remedy remedy = xfa_remedy_for(first, kind);
    double all = copies_ns(analysis, uses, XFT_DIR_H2D) + copies_ns(analysis, uses, XFT_DIR_D2H);
    remedy.streams = (int)streams;
    remedy.to_host = false;
    struct xfa_finding *finding = xfa_findings_add(findings, id, &remedy);
    finding->achieved_ns = all;
    finding->achieved_basis = uses ? XFA_BASIS_MIXED : XFA_BASIS_DEVICE;
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        const struct xfa_figures *figures = &analysis->rows[i];
        double ns = row_ns(analysis, uses, i);
        if (ns <= LEAST_SHARE * all && row != first) /* of very many sites none has a share */
            continue;
        const struct xfa_finding_site site =
            xfa_finding_site_of_row(row, figures, XFA_RECKONED_SERIAL);
        xfa_finding_site_add(finding, &site);
        finding->transfers += site.transfers;
        finding->bytes = xfa_add(finding->bytes, site.bytes);
    }
    return finding;
}

/* ---- serial-transfer-and-compute ------------------------------------------------------------- */

#define PAGEABLE_SHARE 0.2 /* of the copies' time: from here on page-locking is a part of it */

struct copies {
    double up, down;
};

static struct copies copies_of(const struct xfa_analysis *analysis,
                               const struct xfa_pageable_uses *uses)
{
    return (struct copies){copies_ns(analysis, uses, XFT_DIR_H2D),
                           copies_ns(analysis, uses, XFT_DIR_D2H)};
}

/* What could go on at the same time. Of page-locked memory alone both directions at once are
 * one-direction-at-a-time's; with kernels in between and memory to be page-locked it is one remedy.
 */
static double beside(const struct xfa_pageable_uses *uses, struct copies copies, bool locks)
{
    double kernels = (double)uses->kernels_ns, both = fmin(copies.up, copies.down);
    return fmin(copies.up + copies.down, kernels + (locks && kernels > 0 ? both : 0));
}

/* The same of parts of one step: three engines, of which the busiest stays. */
static double beside_of_parts(const struct xfa_pageable_uses *uses, struct copies copies)
{
    double kernels = (double)uses->kernels_ns;
    double most = fmax(kernels, fmax(copies.up, copies.down));
    return kernels > 0 ? kernels + copies.up + copies.down - most : 0;
}

/* However short the copies to the device are: the host, which waits for kernels before it writes
 * their next buffer, could write another one meanwhile. */
static double beside_of_host(const struct xfa_analysis *analysis,
                             const struct xfa_pageable_uses *uses, struct copies copies)
{
    double waits_ns = xfa_waits_ns(&analysis->waits);
    return copies.up > 0 ? fmin((double)uses->kernels_ns, waits_ns) : 0;
}

/* One copy there, kernels, one back, and a wait: no other part to work on meanwhile, but parts of
 * that. */
static void try_parts(const struct xfa_analysis *analysis, struct xfa_findings *findings)
{
    static const unsigned parts[] = {2, 4, 8, XFW_MOST_PARTS};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct xfa_finding *finding =
            add_finding(findings, analysis, NULL, XFA_FINDING_SERIAL, XFA_REMEDY_SPLIT, parts[i]);
        finding->assumed = "kernels can work on a part of the data at a time";
    }
}

#define ASSUMED                                                                                    \
    "kernels use no memory but what they are given; buffers that are used again and again may be " \
    "several; the host makes no part's input of another part's results"

/* 1: without streams, to know what is saved by them. */
static const unsigned serial_streams[] = {1, 2, 3, 4, XFW_MOST_STREAMS};

/* Memory that kernels read over the link: the host fills the next buffer meanwhile; and once it is
 * copied, its copies may overlap. */
static void try_mapped(const struct xfa_analysis *analysis, struct xfa_findings *findings)
{
    const struct xfa_remedy none = {.kind = XFA_REMEDY_OVERLAP, .node = -1};
    struct xfa_finding_site site;
    if (!xfa_mapped_longest(analysis, findings->selves[XFA_FINDING_MAPPED], &site) ||
        !(site.lost_ns > XFA_LEAST_SAVED * xfa_run_wall_ns(analysis->run)))
        return;
    site.lost_ns = NAN;
    site.reckoning = XFA_RECKONED_SERIAL;
    for (size_t i = 0; i < sizeof serial_streams / sizeof *serial_streams; i++) {
        struct xfa_remedy remedy = none;
        remedy.streams = (int)serial_streams[i];
        struct xfa_finding *finding = xfa_findings_add(findings, XFA_FINDING_SERIAL, &remedy);
        finding->assumed = ASSUMED;
        xfa_finding_site_add(finding, &site);
        finding->transfers = site.transfers;
        finding->bytes = site.bytes;
    }
}

static void try_serial(const struct xfa_analysis *analysis, const void *self,
                       struct xfa_findings *findings)
{
    const struct xfa_pageable_uses *uses = self;
    struct copies locked = copies_of(analysis, NULL), all = copies_of(analysis, uses);
    double of_all = all.up + all.down, pageable = of_all - locked.up - locked.down;
    bool locks = pageable > PAGEABLE_SHARE * of_all;
    struct copies copies = locks ? all : locked;
    double most = fmax(beside(uses, copies, locks), beside_of_host(analysis, uses, copies));
    if (!(most > XFA_LEAST_SAVED * xfa_run_wall_ns(analysis->run))) {
        try_mapped(analysis, findings);
        return;
    }
    for (size_t i = 0; i < sizeof serial_streams / sizeof *serial_streams; i++) {
        struct xfa_finding *finding =
            add_finding(findings, analysis, locks ? uses : NULL, XFA_FINDING_SERIAL,
                        locks ? XFA_REMEDY_PIN_OVERLAP : XFA_REMEDY_OVERLAP, serial_streams[i]);
        finding->assumed = ASSUMED;
    }
    if (beside_of_parts(uses, locked) > XFW_SPLIT_TRIED * xfa_run_wall_ns(analysis->run))
        try_parts(analysis, findings);
}

static struct xfw_change *change_serial(const struct xfa_analysis *analysis, const void *self,
                                        const struct xfa_finding *finding)
{
    if (finding->remedy.kind == XFA_REMEDY_SPLIT)
        return xfw_change_split(analysis, (unsigned)finding->remedy.streams);
    struct xfw_dataflow_terms terms = {.buffers = (unsigned)finding->remedy.streams,
                                       .to_device = true};
    if (finding->remedy.kind == XFA_REMEDY_PIN_OVERLAP)
        terms.first = xfa_pageable_change(
            self, analysis, finding,
            (struct xfw_times_terms){.pinning = XFW_PIN_ONCE, .in_flight = terms.buffers});
    return xfw_change_dataflow(analysis, &terms);
}

const struct xfa_finding_kind xfa_kind_serial = {
    .try = try_serial,
    .change = change_serial,
    .sums_of = &xfa_kind_pageable,
};

/* ---- one-direction-at-a-time ----------------------------------------------------------------- */

static void try_one_way(const struct xfa_analysis *analysis, const void *sums,
                        struct xfa_findings *findings)
{
    double least = XFA_LEAST_SAVED * xfa_run_wall_ns(analysis->run);
    double shorter =
        fmin(copies_ns(analysis, NULL, XFT_DIR_H2D), copies_ns(analysis, NULL, XFT_DIR_D2H));
    if (!(shorter > least))
        return;
    for (unsigned streams = 1; streams <= 2; streams++) {
        struct xfa_finding *finding = add_finding(findings, analysis, NULL, XFA_FINDING_ONE_WAY,
                                                  XFA_REMEDY_BOTH_WAYS, streams);
        finding->assumed = "kernels use no memory but what they are given; buffers that are used "
                           "in both directions may be several";
    }
}

static struct xfw_change *change_one_way(const struct xfa_analysis *analysis, const void *sums,
                                         const struct xfa_finding *finding)
{
    return xfw_change_dataflow(
        analysis, &(struct xfw_dataflow_terms){.buffers = (unsigned)finding->remedy.streams});
}

const struct xfa_finding_kind xfa_kind_one_way = {.try = try_one_way, .change = change_one_way};
