/*
 * Memory that is taken and given back again and again. Lost: the host's time in the calls that
 * could go if what they take were kept. Two kinds:
 * - repeated-allocation: device, managed or page-locked memory that is allocated and freed again
 * and again by the same site, in the same size, or in sizes that blocks of the largest would serve.
 * Allocating changes page tables (page-locked memory has to be found, cleared and locked as well),
 * and freeing waits until the device is idle. Of memory pools (cudaMallocAsync()) it is a finding
 * of its own: a wait gives back what is free, unless the pool's release threshold is raised.
 * - repeated-registration: the same host memory, by its address and size, that is page-locked and
 *   unlocked again and again. A buffer that is registered once is none: there is nothing to keep.
 */
#include "analyzer/findings/finding.h"
#include "analyzer/findings/taken.h"
#include "analyzer/whatif/changes/pool_kept.h"

#define LEAST_TRIED 8 /* calls that could go: fewer hold up hardly anything */

/* ---- findings -------------------------------------------------------------------------------- */

static double needless_ns(const struct xfw_once_calls *calls)
{
    double gives = calls->gives ? (double)xfw_once_needless_gives(calls) / (double)calls->gives : 0;
    return calls->needless_ns + gives * calls->gives_ns;
}

/* The host's memory, a memory pool's, or the GPU's: each is a finding of its own. */
static bool is_on_side(const struct xfw_once_calls *calls, const struct xfa_finding *finding)
{
    bool pool = finding->remedy.kind == XFA_REMEDY_KEEP_POOL;
    return xfa_taken_on_host(calls->key.memory) == finding->remedy.to_host &&
           (calls->key.pooled != 0) == pool;
}

static bool is_of_side(const struct xfw_once_calls *calls, const struct xfa_finding *finding)
{
    return !calls->larger_serve && is_on_side(calls, finding);
}

/* Findings of one of these: of sites with calls that could go, which take more than least_ns. */
static void find_in(const struct xfa_analysis *analysis, const struct xfa_taken *taken,
                    struct xfa_findings *findings, const struct xfa_finding *like, double least_ns)
{
    struct xfa_table sites;
    xfa_taken_sites_init(&sites);
    for (size_t i = 0; i < taken->calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->calls, i);
        if (is_of_side(calls, like))
            xfa_taken_add_to_site(&sites, analysis, calls, needless_ns(calls));
    }
    xfa_taken_add_sites(&sites, findings, like, least_ns);
    xfa_table_free(&sites);
}

static void find(const struct xfa_analysis *analysis, const void *taken,
                 struct xfa_findings *findings, struct xfa_finding like)
{
    double least_ns = xfa_findings_least_ns(analysis);
    like.remedy.node = -1;
    like.reckoning = XFA_RECKONED_KEPT;
    find_in(analysis, taken, findings, &like, least_ns);
    like.remedy.to_host = true;
    find_in(analysis, taken, findings, &like, least_ns);
}

static bool is_found(const struct xfa_findings *findings, const struct xfa_finding *like)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].id == like->id &&
            findings->items[i].remedy.kind == like->remedy.kind &&
            !findings->items[i].remedy.to_host)
            return true;
    return false;
}

/* The pool of apply keeps blocks by size. */
static bool is_of_one_size(const struct xfw_once_calls *calls, const struct xfa_finding *finding)
{
    return calls->key.bytes != XFW_ONCE_ANY_SIZE && is_on_side(calls, finding);
}

/* They are made once. */
static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct xfa_taken *taken = sums;
    if (finding->remedy.kind == XFA_REMEDY_KEEP_POOL)
        return xfw_change_keep_pool(analysis);
    struct xfw_set chosen = xfa_taken_places(taken, finding, is_of_side);
    return xfw_change_calls_once(analysis, &taken->calls, &chosen);
}

static struct xfw_change *by_apply(const struct xfa_analysis *analysis, const void *sums,
                                   const struct xfa_finding *finding)
{
    const struct xfa_taken *taken = sums;
    if (finding->remedy.to_host || finding->remedy.kind != XFA_REMEDY_ALLOCATE_ONCE)
        return NULL;
    struct xfw_set chosen = xfa_taken_places(taken, finding, is_of_one_size);
    return xfw_change_pool(analysis, &taken->calls, &chosen);
}

/* ---- the kinds ------------------------------------------------------------------------------- */

static struct xfa_observer observe_allocations(void *self)
{
    return xfa_taken_observer(self, XFT_EVENT_ALLOC, XFT_EVENT_FREE, false);
}

static const struct xfa_finding allocations = {
    .id = XFA_FINDING_ALLOCATION,
    .remedy.kind = XFA_REMEDY_ALLOCATE_ONCE,
    .assumed = "there is room for all of these buffers at the same time, and what was freed "
               "and allocated again need not come cleared",
};

static const struct xfa_finding pools = {
    .id = XFA_FINDING_ALLOCATION,
    .remedy = {.kind = XFA_REMEDY_KEEP_POOL, .node = -1},
    .reckoning = XFA_RECKONED_KEPT,
    .assumed = "nobody else needs the memory that the pool keeps",
};

static void find_allocations(const struct xfa_analysis *analysis, const void *sums,
                             struct xfa_findings *findings)
{
    find(analysis, sums, findings, allocations);
    find_in(analysis, sums, findings, &pools, xfa_findings_least_ns(analysis));
}

static void try_side(const struct xfa_analysis *analysis, const struct xfa_taken *taken,
                     struct xfa_findings *findings, struct xfa_finding like)
{
    uint64_t needless = 0;
    like.remedy.node = -1;
    like.reckoning = XFA_RECKONED_KEPT;
    for (size_t i = 0; i < taken->calls.count; i++)
        if (is_of_side(xfa_table_at(&taken->calls, i), &like))
            needless += xfw_once_needless_gives(xfa_table_at(&taken->calls, i));
    if (needless >= LEAST_TRIED && !is_found(findings, &like))
        find_in(analysis, taken, findings, &like, 0);
}

/* Where the calls themselves hardly take time, their waits for the device may keep other work from
 * overlapping; and waits that give a pool's memory back may. */
static void try_allocations(const struct xfa_analysis *analysis, const void *sums,
                            struct xfa_findings *findings)
{
    try_side(analysis, sums, findings, allocations);
    try_side(analysis, sums, findings, pools);
}

const struct xfa_finding_kind xfa_kind_allocation = {
    .find = find_allocations,
    .try = try_allocations,
    .change = change,
    .by_apply = by_apply,
    .self_bytes = sizeof(struct xfa_taken),
    .observe = observe_allocations,
    .free = xfa_taken_free,
    .give = xfa_taken_give,
    .take = xfa_taken_take,
    .taken = xfa_taken_all,
};

static struct xfa_observer observe_registrations(void *self)
{
    return xfa_taken_observer(self, XFT_EVENT_REGISTER, XFT_EVENT_UNREGISTER, false);
}

static void find_registrations(const struct xfa_analysis *analysis, const void *sums,
                               struct xfa_findings *findings)
{
    find(analysis, sums, findings,
         (struct xfa_finding){
             .id = XFA_FINDING_REGISTRATION,
             .remedy.kind = XFA_REMEDY_REGISTER_ONCE,
             .assumed =
                 "it is the same buffer each time: its address and size are, but it may have "
                 "been freed and allocated again in between",
         });
}

const struct xfa_finding_kind xfa_kind_registration = {
    .find = find_registrations,
    .change = change,
    .self_bytes = sizeof(struct xfa_taken),
    .observe = observe_registrations,
    .free = xfa_taken_free,
    .give = xfa_taken_give,
    .take = xfa_taken_take,
    .taken = xfa_taken_all,
};
