/*
 * Managed memory that moved because it was touched where it was not, by the call site that
 * allocated it. Lost: the time in which it moved, or faults of kernels were served, whichever is
 * longer. Two kinds:
 * - managed-demand-migration: kernels and the host fault it in page by page, and wait for that,
 *   though it could be prefetched to where it is needed next; or kernels alone touch it, which made
 *   their faults serve new pages one group after the other: the host needs none of it.
 * - managed-thrashing: it goes to kernels and back to the host again and again, touched by both
 * each time, though the kernels have no time to touch much of it; or a few pages of it do, for what
 * the host looks at from kernel to kernel.
 */
#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/finding.h"
#include "analyzer/whatif/changes/changes.h"

static uint64_t moved_bytes(const struct xfa_managed_figures *figures)
{
    uint64_t bytes = 0;
    for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++)
        bytes = xfa_add(bytes, figures->bytes[d]);
    uint64_t asked_for = figures->by_cause[XFT_CAUSE_USER];
    return bytes > asked_for ? bytes - asked_for : 0;
}

/* Is a site meant, and for how many bytes? */
typedef bool is_meant_fn(const struct xfa_managed_figures *figures, uint64_t *bytes);

static void find_sites(const struct xfa_analysis *analysis, struct xfa_findings *findings,
                       const struct xfa_finding *like, is_meant_fn *is_meant)
{
    double least_ns = xfa_findings_least_ns(analysis);
    for (size_t i = 0; i < analysis->managed.sites.count; i++) {
        const struct xfa_managed_site *of = xfa_table_at(&analysis->managed.sites, i);
        struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, of->site),
            .transfers = of->figures.allocations,
            .lost_ns = fmax(of->figures.fault_ns, of->figures.migration_ns),
            .reckoning = XFA_RECKONED_MOVED,
        };
        if (is_meant(&of->figures, &site.bytes) && site.lost_ns > least_ns)
            xfa_findings_add_site(findings, like, &site);
    }
}

/* ---- managed-demand-migration ---------------------------------------------------------------- */

static bool has_moved(const struct xfa_managed_figures *figures, uint64_t *bytes)
{
    *bytes = moved_bytes(figures);
    return *bytes > 0;
}

/* Only kernels touch it. */
static bool never_moved(const struct xfa_managed_figures *figures, uint64_t *bytes)
{
    *bytes = figures->allocated;
    return figures->migrations == 0 && figures->host_faults == 0;
}

static void find_demand(const struct xfa_analysis *analysis, const void *sums,
                        struct xfa_findings *findings)
{
    const struct xfa_finding prefetched = {
        .id = XFA_FINDING_DEMAND,
        .remedy = {.kind = XFA_REMEDY_PREFETCH, .node = -1},
        .assumed = "the program knows beforehand which of this memory is needed next",
    };
    const struct xfa_finding on_device = {
        .id = XFA_FINDING_DEMAND,
        .remedy = {.kind = XFA_REMEDY_DEVICE_MEMORY, .node = -1},
        .assumed = "the host needs none of this memory in any other run, either",
    };
    (void)sums;
    find_sites(analysis, findings, &prefetched, has_moved);
    find_sites(analysis, findings, &on_device, never_moved);
}

static struct xfw_change *change_demand(const struct xfa_analysis *analysis, const void *sums,
                                        const struct xfa_finding *finding)
{
    (void)sums;
    if (finding->remedy.kind == XFA_REMEDY_DEVICE_MEMORY)
        return xfw_change_device_memory(analysis);
    return analysis->profile ? xfw_change_prefetch(analysis) : NULL;
}

static struct xfw_change *demand_by_apply(const struct xfa_analysis *analysis, const void *sums,
                                          const struct xfa_finding *finding)
{
    (void)sums;
    if (finding->remedy.kind == XFA_REMEDY_DEVICE_MEMORY)
        return NULL;
    return analysis->profile ? xfw_change_prefetch_by_apply(analysis) : NULL;
}

const struct xfa_finding_kind xfa_kind_demand = {
    .find = find_demand, .change = change_demand, .by_apply = demand_by_apply};

/* ---- managed-thrashing ----------------------------------------------------------------------- */

#define TIMES 3 /* that all of the memory went there, and came back */

static bool goes_to_and_fro(const struct xfa_managed_figures *figures, uint64_t *bytes)
{
    return has_moved(figures, bytes) && figures->allocated > 0 &&
           figures->bytes[XFT_DIR_H2D] / TIMES >= figures->allocated &&
           figures->bytes[XFT_DIR_D2H] / TIMES >= figures->allocated;
}

#define TURNS 16 /* in which the host touches a few pages of it, and kernels, too: a guess */

/* A part of it does, page by page. */
static bool part_goes_to_and_fro(const struct xfa_managed_figures *figures, uint64_t *bytes)
{
    return has_moved(figures, bytes) && figures->host_faults >= TURNS &&
           figures->fault_groups >= TURNS && figures->bytes[XFT_DIR_H2D] > 0 &&
           figures->bytes[XFT_DIR_D2H] > 0;
}

static void find_thrashing(const struct xfa_analysis *analysis, const void *sums,
                           struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_THRASHING,
        .remedy = {.kind = XFA_REMEDY_STAY, .node = -1},
        .assumed = "kernels touch no more of this memory than they have time for beyond waiting "
                   "for it",
    };
    const struct xfa_finding apart = {
        .id = XFA_FINDING_THRASHING,
        .remedy = {.kind = XFA_REMEDY_APART, .node = -1},
        .assumed =
            "what the host needs of it from kernel to kernel is known beforehand; a kernel that "
            "takes much longer "
            "where a page that went to and fro comes to it no more reaches that page over the link",
    };
    find_sites(analysis, findings, &like, goes_to_and_fro);
    if (analysis->profile) /* ordinary programs fault so often: the replay decides */
        find_sites(analysis, findings, &apart, part_goes_to_and_fro);
}

static struct xfw_change *change_thrashing(const struct xfa_analysis *analysis, const void *sums,
                                           const struct xfa_finding *finding)
{
    (void)sums;
    if (!analysis->profile)
        return NULL;
    return finding->remedy.kind == XFA_REMEDY_APART ? xfw_change_apart(analysis)
                                                    : xfw_change_stay(analysis);
}

const struct xfa_finding_kind xfa_kind_thrashing = {.find = find_thrashing,
                                                    .change = change_thrashing};
