/*
 * Memory that is taken and given back again and again. Lost: the host's time in the calls that
 * could go if what they take were kept. Two kinds:
 * - repeated-allocation: device, managed or page-locked memory that is allocated and freed again
 * and again, in the same size by the same site. Allocating changes page tables (page-locked memory
 * has to be found, cleared and locked as well), and freeing waits until the device is idle.
 * - repeated-registration: the same host memory, by its address and size, that is page-locked and
 *   unlocked again and again. A buffer that is registered once is none: there is nothing to keep.
 */
#include "analyzer/base/alloc.h"
#include "analyzer/findings/finding.h"
#include "analyzer/whatif/changes/changes.h"

#define LEAST_TRIED 8 /* calls that could go: fewer hold up hardly anything */

struct taken {
    struct xfa_table calls;    /* struct xfw_once_calls, of the run: those that could go */
    struct xfw_once_book book; /* of the process at hand: by stack, not by site */
    enum xft_event_kind takes, gives;
};

/* ---- the sums -------------------------------------------------------------------------------- */

static void event(void *self, const struct xfa_event *event)
{
    struct taken *taken = self;
    double ns = xfa_event_ns(event);
    if (event->memory.address == 0)
        return;
    if (event->kind == taken->gives) {
        xfw_once_give(&taken->book, event->memory.address, ns);
        return;
    }
    const struct xfw_once_key key = {
        .address = event->kind == XFT_EVENT_REGISTER ? event->memory.address : 0,
        .bytes = event->bytes,
        .process = event->process->number,
        .site = event->stack,
        .gpu = event->gpu < 0 ? -1 : event->gpu,
        .memory = event->dst_mem,
    };
    struct xfw_once_calls *calls = xfw_once_take(&taken->book, &key, event->memory.address, ns);
    if (calls && calls->takes == 1)
        calls->first = event->call;
}

static void add(struct xfa_table *table, const struct xfw_once_key *key,
                const struct xfw_once_calls *more, uint32_t function)
{
    if (table->count >= XFW_ONCE_MOST && !xfa_table_get(table, key))
        return;
    struct xfw_once_calls *calls = xfa_table_put(table, key);
    calls->first = calls->takes ? calls->first : function;
    calls->takes += more->takes;
    calls->gives += more->gives;
    calls->held += more->held;
    calls->most += more->most;
    calls->needless_ns += more->needless_ns;
    calls->gives_ns += more->gives_ns;
}

/* Stacks become sites, of which one may have several. Only sites with needless calls are looked up,
 * and only now: the first stack that is looked up represents its site in reports, and that should
 * be one of a transfer. */
static void end(void *self, struct xfa_process *process)
{
    struct taken *taken = self;
    for (size_t i = 0; i < taken->book.calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->book.calls, i);
        struct xfw_once_key key = calls->key;
        if (!key.site || xfw_once_needless_takes(calls) == 0)
            continue; /* no place to name, or no call that could go */
        key.site = xfa_process_site(process, calls->key.site)->number;
        add(&taken->calls, &key, calls, xfa_process_function(process, calls->first)->number);
    }
    xfw_once_book_free(&taken->book);
    xfw_once_book_init(&taken->book);
}

static struct xfa_observer observe(struct taken *taken, enum xft_event_kind takes,
                                   enum xft_event_kind gives)
{
    xfa_table_init(&taken->calls, sizeof(struct xfw_once_key), sizeof(struct xfw_once_calls));
    xfw_once_book_init(&taken->book);
    taken->takes = takes;
    taken->gives = gives;
    return (struct xfa_observer){
        .name = "memory taken again",
        .kinds = XFA_KIND(takes) | XFA_KIND(gives),
        .self = taken,
        .aside = true,
        .event = event,
        .end = end,
    };
}

static void release(void *self)
{
    struct taken *taken = self;
    xfa_table_free(&taken->calls);
    xfw_once_book_free(&taken->book);
}

/* ---- findings -------------------------------------------------------------------------------- */

static bool is_host(unsigned memory)
{
    return memory != XFT_MEM_DEVICE && memory != XFT_MEM_MANAGED && memory != XFT_MEM_ARRAY;
}

static double needless_ns(const struct xfw_once_calls *calls)
{
    double gives = calls->gives ? (double)xfw_once_needless_gives(calls) / (double)calls->gives : 0;
    return calls->needless_ns + gives * calls->gives_ns;
}

/* The site's sums over sizes, GPUs and processes. */
struct of_site {
    uint32_t site; /* key */
    struct xfa_finding_site sums;
};

static void add_to_site(struct xfa_table *sites, const struct xfa_analysis *analysis,
                        const struct xfw_once_calls *calls)
{
    struct of_site *of = xfa_table_put(sites, &calls->key.site);
    of->sums.site = xfa_run_site(analysis->run, calls->key.site);
    if (!of->sums.function)
        of->sums.function = xfa_run_function(analysis->run, calls->first);
    of->sums.transfers += calls->takes;
    of->sums.bytes = xfa_add(of->sums.bytes, calls->takes * calls->key.bytes);
    of->sums.lost_ns += needless_ns(calls);
    of->sums.reckoning = XFA_RECKONED_KEPT;
}

/* Findings of the host's memory, or of the GPU's: of sites with calls that could go, which take
 * more than least_ns. */
static void find_in(const struct xfa_analysis *analysis, const struct taken *taken,
                    struct xfa_findings *findings, const struct xfa_finding *like, double least_ns)
{
    struct xfa_table sites;
    xfa_table_init(&sites, sizeof(uint32_t), sizeof(struct of_site));
    for (size_t i = 0; i < taken->calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->calls, i);
        if (is_host(calls->key.memory) == like->remedy.to_host)
            add_to_site(&sites, analysis, calls);
    }
    for (size_t i = 0; i < sites.count; i++) {
        const struct of_site *of = xfa_table_at(&sites, i);
        if (of->sums.lost_ns > least_ns)
            xfa_findings_add_site(findings, like, &of->sums);
    }
    xfa_table_free(&sites);
}

static void find(const struct xfa_analysis *analysis, const void *taken,
                 struct xfa_findings *findings, struct xfa_finding like)
{
    double least_ns = xfa_findings_least_ns(analysis);
    like.remedy.node = -1;
    find_in(analysis, taken, findings, &like, least_ns);
    like.remedy.to_host = true;
    find_in(analysis, taken, findings, &like, least_ns);
}

static bool is_found(const struct xfa_findings *findings, enum xfa_finding_id id)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].id == id && !findings->items[i].remedy.to_host)
            return true;
    return false;
}

static bool has_site(const struct xfa_finding *finding, uint32_t site)
{
    for (size_t i = 0; i < finding->site_count; i++)
        if (finding->sites[i].site->number == site)
            return true;
    return false;
}

/* The calls of the finding, made once. */
static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct taken *taken = sums;
    struct xfw_set chosen = {0};
    for (size_t i = 0; i < taken->calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->calls, i);
        if (is_host(calls->key.memory) == finding->remedy.to_host &&
            has_site(finding, calls->key.site))
            xfw_set_add(&chosen, (uint32_t)i);
    }
    return xfw_change_calls_once(analysis, &taken->calls, &chosen);
}

/* ---- the kinds ------------------------------------------------------------------------------- */

static struct xfa_observer observe_allocations(void *self)
{
    return observe(self, XFT_EVENT_ALLOC, XFT_EVENT_FREE);
}

static const struct xfa_finding allocations = {
    .id = XFA_FINDING_ALLOCATION,
    .remedy.kind = XFA_REMEDY_ALLOCATE_ONCE,
    .assumed = "there is room for all of these buffers at the same time, and what was freed "
               "and allocated again need not come cleared",
};

static void find_allocations(const struct xfa_analysis *analysis, const void *sums,
                             struct xfa_findings *findings)
{
    find(analysis, sums, findings, allocations);
}

/* Where the calls themselves hardly take time, their waits for the device may keep other work from
 * overlapping. */
static void try_allocations(const struct xfa_analysis *analysis, const void *sums,
                            struct xfa_findings *findings)
{
    const struct taken *taken = sums;
    struct xfa_finding like = allocations;
    uint64_t needless = 0;
    like.remedy.node = -1;
    for (size_t i = 0; i < taken->calls.count; i++)
        needless += xfw_once_needless_gives(xfa_table_at(&taken->calls, i));
    if (needless >= LEAST_TRIED && !is_found(findings, XFA_FINDING_ALLOCATION))
        find_in(analysis, sums, findings, &like, 0);
}

const struct xfa_finding_kind xfa_kind_allocation = {
    .find = find_allocations,
    .try = try_allocations,
    .change = change,
    .self_bytes = sizeof(struct taken),
    .observe = observe_allocations,
    .free = release,
};

static struct xfa_observer observe_registrations(void *self)
{
    return observe(self, XFT_EVENT_REGISTER, XFT_EVENT_UNREGISTER);
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
    .self_bytes = sizeof(struct taken),
    .observe = observe_registrations,
    .free = release,
};
