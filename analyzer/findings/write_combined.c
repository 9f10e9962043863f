/*
 * write-combined-readback: memory that the program allocates write-combined
 * (cudaHostAllocWriteCombined), and to which copies to the host, or kernels, bring results. The
 * host writes such memory around its caches and reads it uncached, which is many times slower.
 * Lost: not known, since the host's reads are not recorded; so it is tried, and stays if the
 * replayed run, whose threads read in their own time behind the wait, gains.
 *
 * Named are the call sites that allocate such memory: that is where the change is made.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_SITES 4096

/* What was brought to memory of a stack, or of a site. */
struct brought {
    uint32_t by; /* key */
    uint32_t function;
    uint64_t times, bytes;
};

struct combined {
    struct xfw_memories memories; /* of the process */
    struct xfa_table functions;   /* of the stacks that allocate: struct brought */
    struct xfa_table of_stacks, of_sites;
    bool touched; /* something was brought to such memory, in the process before */
};

static struct xfa_table new_table(void)
{
    struct xfa_table table;
    xfa_table_init(&table, sizeof(uint32_t), sizeof(struct brought));
    return table;
}

static void bring(struct combined *self, uint64_t address, uint64_t bytes)
{
    struct xfw_memory memory;
    if (!xfw_memories_find(&self->memories, address, &memory) ||
        memory.kind != XFT_MEM_WRITE_COMBINED || memory.by == XFW_NO_SITE)
        return;
    if (self->of_stacks.count >= MOST_SITES && !xfa_table_get(&self->of_stacks, &memory.by))
        return;
    struct brought *brought = xfa_table_put(&self->of_stacks, &memory.by);
    brought->times++;
    brought->bytes = xfa_add(brought->bytes, bytes ? bytes : memory.end - address);
}

static void transfer(void *of, const struct xfa_event *event)
{
    if (event->transfer.class->key.row.direction == XFT_DIR_D2H)
        bring(of, event->transfer.dst, event->bytes);
}

static void launched(struct combined *self, const struct xfa_event *event)
{
    uint64_t pointer;
    for (uint32_t k = 0; xfw_launch_pointer(event->process, event->launch.arguments, k, &pointer);
         k++)
        if (xfw_writes(event->process, event->launch.name, event->launch.arguments, k) != XFW_READS)
            bring(self, pointer, 0);
}

static void event(void *of, const struct xfa_event *event)
{
    struct combined *self = of;
    bool combined = event->dst_mem == XFT_MEM_WRITE_COMBINED;
    if (event->kind == XFT_EVENT_LAUNCH) {
        if (self->functions.count > 0 && !(event->flags & XFT_CAPTURED))
            launched(self, event);
        return;
    }
    xfw_memories_event(&self->memories, event);
    if (event->kind == XFT_EVENT_ALLOC && combined && event->stack &&
        self->functions.count < MOST_SITES)
        ((struct brought *)xfa_table_put(&self->functions, &event->stack))->function = event->call;
}

static void end(void *of, struct xfa_process *process)
{
    struct combined *self = of;
    self->touched = self->of_stacks.count > 0;
    for (size_t i = 0; i < self->of_stacks.count; i++) {
        const struct brought *brought = xfa_table_at(&self->of_stacks, i);
        const struct brought *made = xfa_table_get(&self->functions, &brought->by);
        uint32_t number = xfa_process_site(process, brought->by)->number;
        struct brought *site = xfa_table_put(&self->of_sites, &number);
        site->times += brought->times;
        site->bytes = xfa_add(site->bytes, brought->bytes);
        if (made)
            site->function = xfa_process_function(process, made->function)->number;
    }
    xfa_table_free(&self->of_stacks);
    xfa_table_free(&self->functions);
    xfw_memories_free(&self->memories);
    self->of_stacks = new_table();
    self->functions = new_table();
}

static bool touched(const void *of)
{
    return ((const struct combined *)of)->touched;
}

static struct xfa_observer observe(void *of)
{
    struct combined *self = of;
    self->functions = new_table();
    self->of_stacks = new_table();
    self->of_sites = new_table();
    return (struct xfa_observer){
        .name = "write-combined memory",
        .kinds = XFW_MEMORIES_KINDS | XFA_KIND(XFT_EVENT_LAUNCH),
        .self = self,
        .event = event,
        .transfer = transfer,
        .end = end,
        .touched = touched,
    };
}

static void release(void *of)
{
    struct combined *self = of;
    xfa_table_free(&self->functions);
    xfa_table_free(&self->of_stacks);
    xfa_table_free(&self->of_sites);
    xfw_memories_free(&self->memories);
}

static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    const struct combined *self = sums;
    const struct xfa_finding like = {
        .id = XFA_FINDING_WRITE_COMBINED,
        .remedy = {.kind = XFA_REMEDY_CACHED, .to_host = true, .node = -1},
        .lost_ns = NAN,
        .assumed = "the host reads what is brought there, in its own time behind the wait for it",
    };
    for (size_t i = 0; i < self->of_sites.count; i++) {
        const struct brought *brought = xfa_table_at(&self->of_sites, i);
        const struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, brought->by),
            .function = xfa_run_function(analysis->run, brought->function),
            .transfers = brought->times,
            .bytes = brought->bytes,
            .lost_ns = NAN,
            .reckoning = XFA_RECKONED_UNCACHED,
        };
        xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set sites = xfa_finding_sites(finding);
    return xfw_change_cached_reads(analysis, &sites);
}

const struct xfa_finding_kind xfa_kind_write_combined = {
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct combined),
    .observe = observe,
    .free = release,
};
