/*
 * mapped-memory: host memory that kernels read over the link where a copy would be better, and host
 * memory that is copied where reading it over the link would be. Three cases:
 * - Read several times: a kernel that was given page-locked memory took longer than one read of all
 *   of it over the link, or several that were given it between two waits of the host, in which it
 *   leaves it alone, took as long each. Lost: the time beyond one read.
 * - Read once between waits: the same, but the host may have changed it in between, if in most
 * cases only a part of it, for want of time. A question, where the first case is not found; lost is
 * not known.
 * - Copied for little: page-locked memory is copied to the device, and the kernels that are given
 *   the copy end sooner than they could have read all of it. Lost: the time of the bytes that were
 *   not read.
 *
 * What a kernel was given is known from its launch (ARGUMENTS); what else it does is not. Memory
 * that copies or memsets use in another way than to fill it is left out, and so is memory that a
 * kernel writes by its signature.
 */
#include "analyzer/findings/mapped_memory.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

#define MOST_FILLED 64
/* launches whose kernels have not run yet; beyond, all are forgotten */
#define MOST_LAUNCHED 65536u
#define MOST_STACKS 4096
#define MOST_SEEN 4096 /* buffers; others may have been changed each time */
#define NO_ROW UINT32_MAX
#define LEAST_ASKED 8 /* kernels */

/* Kernels that read memory over the link, by the stack that allocated it, then by site. */
struct reads {
    uint32_t by; /* key */
    struct xfa_met met;
    uint32_t last; /* process in which it was met */
    int gpu;       /* the last one */
    uint64_t kernels, bytes;
    uint64_t fills;        /* how often the host may have changed the memory that they read */
    uint64_t hurried;      /* of these: it had no time to write all of it */
    double ns;             /* of a process */
    struct xfa_exact time; /* of a site */
};

/* Memory that was given to a kernel over the link. */
struct seen {
    uint64_t first; /* key */
    uint64_t waits; /* of the thread that gave it so far, + 1 */
};

struct thread_waits {
    int32_t tid; /* key */
    uint64_t waits;
    uint64_t until_ns; /* the end of the last one */
};

/* A launch whose kernel has not run yet. */
struct launched {
    uint32_t correlation; /* key */
    uint32_t by;          /* stack that allocated the memory that it reads over the link */
    uint64_t bytes;       /* of that */
    bool filled;          /* the host may have changed it since another kernel read it */
    bool hurried;         /* so, but it had no time to write all of it */
    uint32_t row;         /* of the copies that filled what it reads on the device; NO_ROW */
    int gpu;
};

/* Copies of a row, and the kernels that were given what they filled. */
struct row_sums {
    uint64_t copies, bytes, kernels;
    struct xfa_exact kernel_time, copy_time;
    uint8_t otherwise; /* used: not 0 (as in what other members give, any byte) */
};

struct mapped {
    struct xfw_memories memories;
    struct xfa_table launched, of_stacks, of_sites;
    struct xfa_table seen;
    struct xfa_table waits; /* by thread */
    uint64_t all_waits;
    struct filled {
        uint64_t first, end;
        uint32_t row;
    } filled[MOST_FILLED];
    unsigned count;
    struct row_sums *rows; /* by row number */
    size_t row_count, row_capacity;
};

static struct row_sums *row_of(struct mapped *mapped, uint32_t number)
{
    mapped->rows = xfa_grown(mapped->rows, &mapped->row_capacity, &mapped->row_count, number,
                             sizeof *mapped->rows);
    return &mapped->rows[number];
}

/* ---- what is filled -------------------------------------------------------------------------- */

/* Something other than a kernel reads or writes there. */
static void use_otherwise(struct mapped *mapped, uint64_t first, uint64_t end)
{
    for (unsigned i = 0; i < mapped->count; i++) {
        struct filled *filled = &mapped->filled[i];
        if (filled->first < end && first < filled->end) {
            row_of(mapped, filled->row)->otherwise = true;
            mapped->filled[i--] = mapped->filled[--mapped->count];
        }
    }
}

static void fill(struct mapped *mapped, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    uint64_t end = xfa_add(transfer->dst, event->bytes);
    struct row_sums *row = row_of(mapped, transfer->class->row);
    for (unsigned i = 0; i < mapped->count; i++) {
        struct filled *filled = &mapped->filled[i];
        if (filled->first < end && transfer->dst < filled->end)
            mapped->filled[i--] = mapped->filled[--mapped->count];
    }
    row->copies++;
    row->bytes = xfa_add(row->bytes, event->bytes);
    xfa_exact_add(&row->copy_time, isnan(transfer->achieved_ns) ? 0 : transfer->achieved_ns);
    if (mapped->count < MOST_FILLED)
        mapped->filled[mapped->count++] = (struct filled){transfer->dst, end, transfer->class->row};
    else
        row->otherwise = true;
}

static void note_wait(struct mapped *mapped, const struct xfa_event *event)
{
    struct thread_waits *thread = xfa_table_put(&mapped->waits, &event->tid);
    thread->waits++;
    thread->until_ns = event->end_ns;
    mapped->all_waits++;
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct mapped *mapped = self;
    const struct xfa_transfer *transfer = &event->transfer;
    bool fills = event->direction == XFT_DIR_H2D && xfa_is_page_locked(event->src_mem) &&
                 event->dst_mem == XFT_MEM_DEVICE && event->bytes >= XFW_MAPPING_LEAST &&
                 transfer->class->key.shape == XFA_LINEAR && !(event->flags & XFT_GRAPH);
    if (fills) {
        fill(mapped, event);
        return;
    }
    bool all = transfer->class->key.shape != XFA_LINEAR;
    if (transfer->blocks)
        note_wait(mapped, event);
    use_otherwise(mapped, transfer->src, all ? UINT64_MAX : xfa_add(transfer->src, event->bytes));
    use_otherwise(mapped, transfer->dst, all ? UINT64_MAX : xfa_add(transfer->dst, event->bytes));
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The row of the copies that filled what the pointer may reach. */
static uint32_t filled_by(struct mapped *mapped, const struct xfw_memory *memory, uint64_t pointer,
                          bool writes)
{
    uint32_t row = NO_ROW;
    for (unsigned i = 0; i < mapped->count; i++) {
        const struct filled *filled = &mapped->filled[i];
        if (filled->first >= memory->end || pointer >= filled->end)
            continue;
        row = filled->row;
        if (writes)
            row_of(mapped, row)->otherwise = true;
    }
    return row;
}

/* The host writes only to memory of which it has waited for the readers: in the thread that gives
 * it to them, if that one waits. */
static bool may_be_filled(struct mapped *mapped, uint64_t first, int32_t tid)
{
    const struct thread_waits *thread = xfa_table_get(&mapped->waits, &tid);
    uint64_t waits = thread ? thread->waits : mapped->all_waits;
    if (mapped->seen.count >= MOST_SEEN && !xfa_table_get(&mapped->seen, &first))
        return true;
    struct seen *seen = xfa_table_put(&mapped->seen, &first);
    bool filled = seen->waits != waits + 1;
    seen->waits = waits + 1;
    return filled;
}

/* The thread that launches the kernel has waited, and had no time since to write so much. */
static bool is_hurried(const struct mapped *mapped, const struct xfa_event *event, uint64_t bytes)
{
    const struct thread_waits *thread = xfa_table_get(&mapped->waits, &event->tid);
    return thread && event->start_ns >= thread->until_ns &&
           (double)(event->start_ns - thread->until_ns) < XFW_READ_NS_PER_BYTE * (double)bytes;
}

static void launch(struct mapped *mapped, const struct xfa_event *event)
{
    struct launched launched = {
        .correlation = event->correlation, .by = XFW_NO_SITE, .row = NO_ROW, .gpu = event->gpu};
    uint64_t pointer;
    for (uint32_t k = 0; xfw_launch_pointer(event->process, event->launch.arguments, k, &pointer);
         k++) {
        struct xfw_memory memory;
        if (!xfw_memories_find(&mapped->memories, pointer, &memory))
            continue;
        if (xfa_is_page_locked(memory.kind)) {
            launched.by = launched.bytes ? launched.by : memory.by;
            launched.bytes = xfa_add(launched.bytes, memory.end - memory.first);
            launched.filled = may_be_filled(mapped, memory.first, event->tid) || launched.filled;
            continue;
        }
        bool writes = mapped->count && xfw_writes(event->process, event->launch.name,
                                                  event->launch.arguments, k) == XFW_WRITES;
        uint32_t row = filled_by(mapped, &memory, pointer, writes);
        launched.row = row == NO_ROW ? launched.row : row;
    }
    if (event->correlation == 0 || (launched.row == NO_ROW && launched.bytes == 0))
        return;
    launched.hurried = launched.filled && is_hurried(mapped, event, launched.bytes);
    if (mapped->launched.count >= MOST_LAUNCHED) {
        xfa_table_free(&mapped->launched);
        xfa_table_init(&mapped->launched, sizeof(uint32_t), sizeof launched);
    }
    struct launched *kept = xfa_table_put(&mapped->launched, &launched.correlation);
    *kept = launched;
}

static void ran(struct mapped *mapped, const struct xfa_event *event)
{
    struct launched *launched =
        event->correlation ? xfa_table_get(&mapped->launched, &event->correlation) : NULL;
    if (!launched || event->end_ns <= event->start_ns)
        return;
    double ns = (double)(event->end_ns - event->start_ns);
    if (launched->row != NO_ROW) {
        struct row_sums *row = row_of(mapped, launched->row);
        row->kernels++;
        xfa_exact_add(&row->kernel_time, ns);
    }
    if (launched->bytes && (mapped->of_stacks.count < MOST_STACKS ||
                            xfa_table_get(&mapped->of_stacks, &launched->by))) {
        struct reads *reads = xfa_table_put(&mapped->of_stacks, &launched->by);
        reads->gpu = launched->gpu;
        reads->kernels++;
        reads->fills += launched->filled;
        reads->hurried += launched->hurried;
        reads->bytes = xfa_add(reads->bytes, launched->bytes);
        reads->ns += ns;
    }
    launched->row = NO_ROW;
    launched->bytes = 0;
}

static void take_event(void *self, const struct xfa_event *event)
{
    struct mapped *mapped = self;
    if (event->kind == XFT_EVENT_LAUNCH && !(event->flags & XFT_CAPTURED)) {
        launch(mapped, event);
    } else if (event->kind == XFT_EVENT_KERNEL) {
        ran(mapped, event);
    } else if (event->kind == XFT_EVENT_SET) {
        use_otherwise(mapped, event->memory.address, xfa_add(event->memory.address, event->bytes));
    } else if (event->kind == XFT_EVENT_GRAPH_LAUNCH) {
        use_otherwise(mapped, 0, UINT64_MAX);
    } else if (event->kind == XFT_EVENT_SYNC || event->kind == XFT_EVENT_QUERY) {
        note_wait(mapped, event);
    } else {
        xfw_memories_event(&mapped->memories, event);
    }
}

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct mapped *mapped = self;
    const char *mode = xfa_trace_meta(process->trace, "arguments");
    xfw_memories_free(&mapped->memories);
    xfa_table_free(&mapped->launched);
    xfa_table_init(&mapped->launched, sizeof(uint32_t), sizeof(struct launched));
    xfa_table_free(&mapped->of_stacks);
    xfa_table_init(&mapped->of_stacks, sizeof(uint32_t), sizeof(struct reads));
    xfa_table_free(&mapped->seen);
    xfa_table_init(&mapped->seen, sizeof(uint64_t), sizeof(struct seen));
    xfa_table_free(&mapped->waits);
    xfa_table_init(&mapped->waits, sizeof(int32_t), sizeof(struct thread_waits));
    mapped->count = 0;
    return process->minor >= 2 && (!mode || strcmp(mode, "on") == 0) ? XFA_ALL_KINDS : 0;
}

/* Stacks become sites. Without a stack there is no place to name. */
static void end_process(void *self, struct xfa_process *process)
{
    struct mapped *mapped = self;
    for (size_t i = 0; i < mapped->of_stacks.count; i++) {
        const struct reads *of_stack = xfa_table_at(&mapped->of_stacks, i);
        if (of_stack->by == XFW_NO_SITE)
            continue;
        uint32_t site = xfa_process_site(process, of_stack->by)->number;
        struct reads *reads = xfa_table_put(&mapped->of_sites, &site);
        if (reads->kernels == 0)
            reads->met.process = process->number;
        reads->last = process->number;
        reads->gpu = of_stack->gpu;
        reads->kernels += of_stack->kernels;
        reads->fills += of_stack->fills;
        reads->hurried += of_stack->hurried;
        reads->bytes = xfa_add(reads->bytes, of_stack->bytes);
        xfa_exact_add(&reads->time, of_stack->ns);
    }
}

static struct xfa_observer observe(void *self)
{
    struct mapped *mapped = self;
    xfa_table_init(&mapped->launched, sizeof(uint32_t), sizeof(struct launched));
    xfa_table_init(&mapped->of_stacks, sizeof(uint32_t), sizeof(struct reads));
    xfa_table_init(&mapped->of_sites, sizeof(uint32_t), sizeof(struct reads));
    xfa_table_init(&mapped->seen, sizeof(uint64_t), sizeof(struct seen));
    xfa_table_init(&mapped->waits, sizeof(int32_t), sizeof(struct thread_waits));
    return (struct xfa_observer){
        .name = "mapped memory",
        .kinds = XFW_MEMORIES_KINDS | XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_KERNEL) |
                 XFA_KIND(XFT_EVENT_SET) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH) |
                 XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_QUERY),
        .divided = true,
        .self = self,
        .process = begin_process,
        .event = take_event,
        .transfer = take_transfer,
        .end = end_process,
    };
}

static void release(void *self)
{
    struct mapped *mapped = self;
    xfw_memories_free(&mapped->memories);
    xfa_table_free(&mapped->launched);
    xfa_table_free(&mapped->of_stacks);
    xfa_table_free(&mapped->of_sites);
    xfa_table_free(&mapped->seen);
    xfa_table_free(&mapped->waits);
    free(mapped->rows);
}

/* ---- members of a team ----------------------------------------------------------------------- */

static bool is_good(const void *analysis, const void *item)
{
    return xfa_divided_site(analysis, ((const struct reads *)item)->by);
}

static void add(void *item, const void *more)
{
    struct reads *into = item;
    const struct reads *from = more;
    if (into->kernels == 0 || from->last > into->last) {
        into->last = from->last;
        into->gpu = from->gpu;
    }
    into->kernels += from->kernels;
    into->fills += from->fills;
    into->hurried += from->hurried;
    into->bytes = xfa_add(into->bytes, from->bytes);
    xfa_exact_merge(&into->time, &from->time);
}

static const struct xfa_met_table of_sites = {offsetof(struct reads, met), is_good, add};

static void give(const void *self, struct xfa_parcel *parcel)
{
    const struct mapped *mapped = self;
    xfa_parcel_number(parcel, mapped->row_count);
    xfa_parcel_put(parcel, mapped->rows, mapped->row_count * sizeof *mapped->rows);
}

static void take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct mapped *mapped = self;
    size_t count = xfa_unpack_count(from, sizeof(struct row_sums));
    from->bad = from->bad || count > analysis->row_count;
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        struct row_sums more, *into = row_of(mapped, i);
        xfa_unpack_bytes(from, &more, sizeof more);
        into->copies += more.copies;
        into->bytes = xfa_add(into->bytes, more.bytes);
        into->kernels += more.kernels;
        into->otherwise |= more.otherwise;
        xfa_exact_merge(&into->kernel_time, &more.kernel_time);
        xfa_exact_merge(&into->copy_time, &more.copy_time);
    }
}

/* ---- read over the link again and again ------------------------------------------------------ */

/* Time of its kernels beyond one read of all of it; 0: it is not read several times. */
static double read_again_ns(const struct xfa_analysis *analysis, const struct reads *reads)
{
    const struct xfa_achievable *achievable = &analysis->achievable;
    uint64_t bytes = reads->bytes / reads->kernels;
    double all_ns = xfa_exact_value(&reads->time), ns = all_ns / (double)reads->kernels;
    double times = xfw_times_over(achievable, reads->gpu, bytes, ns);
    double once = xfw_read_once_ns(achievable, reads->gpu, bytes);
    if (times > XFW_READ_AGAIN && times < XFW_MOST_TIMES_OVER)
        return all_ns * (1 - 1 / times);
    if (!(once > 0) || ns < XFW_READ_ALL * once || ns > XFW_MOST_TIMES_OVER * once ||
        (double)reads->kernels < XFW_READ_AGAIN * (double)reads->fills)
        return 0;
    return once * (double)(reads->kernels - reads->fills);
}

bool xfa_mapped_longest(const struct xfa_analysis *analysis, const void *sums,
                        struct xfa_finding_site *site)
{
    const struct mapped *mapped = sums;
    const struct reads *longest = NULL;
    for (size_t i = 0; i < mapped->of_sites.count; i++) {
        const struct reads *reads = xfa_table_at(&mapped->of_sites, i);
        if (!longest || xfa_exact_value(&reads->time) > xfa_exact_value(&longest->time))
            longest = reads;
    }
    if (!longest)
        return false;
    *site = (struct xfa_finding_site){
        .site = xfa_run_site(analysis->run, longest->by),
        .transfers = longest->kernels,
        .bytes = longest->bytes,
        .lost_ns = xfa_exact_value(&longest->time),
    };
    return true;
}

static struct xfa_finding_site site_of(const struct xfa_analysis *analysis,
                                       const struct reads *reads, double lost_ns)
{
    return (struct xfa_finding_site){
        .site = xfa_run_site(analysis->run, reads->by),
        .transfers = reads->kernels,
        .bytes = reads->bytes,
        .lost_ns = lost_ns,
        .reckoning = XFA_RECKONED_READ_AGAIN,
    };
}

static const struct xfa_finding read_over_link = {
    .id = XFA_FINDING_MAPPED,
    .remedy = {.kind = XFA_REMEDY_STOP_MAPPING, .node = -1},
    .assumed = "the kernels spend their time reading this memory, and do not write to it unless "
               "their names say so",
};

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct mapped *mapped = sums;
    double least_ns = xfa_findings_least_ns(analysis);
    for (size_t i = 0; i < mapped->of_sites.count; i++) {
        const struct reads *reads = xfa_table_at(&mapped->of_sites, i);
        struct xfa_finding_site site = site_of(analysis, reads, read_again_ns(analysis, reads));
        if (site.lost_ns > least_ns)
            xfa_findings_add_site(findings, &read_over_link, &site);
    }
}

/* Kernels that read all of it once each; in between the host has waited, but hardly written it. */
static bool is_read_once(const struct xfa_analysis *analysis, const struct reads *reads)
{
    double once =
        xfw_read_once_ns(&analysis->achievable, reads->gpu, reads->bytes / reads->kernels);
    double ns = xfa_exact_value(&reads->time) / (double)reads->kernels;
    return reads->hurried >= LEAST_ASKED && 2 * reads->hurried > reads->kernels && once > 0 &&
           ns > XFW_READ_ALL * once && ns < XFW_MOST_TIMES_OVER * once;
}

static void ask(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    const struct mapped *mapped = sums;
    struct xfa_finding like = read_over_link;
    like.lost_ns = NAN;
    like.question = "the host leaves the memory of {site} unchanged while kernels read it";
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].id == like.id && findings->items[i].remedy.kind == like.remedy.kind)
            return;
    for (size_t i = 0; i < mapped->of_sites.count; i++) {
        const struct reads *reads = xfa_table_at(&mapped->of_sites, i);
        struct xfa_finding_site site = site_of(analysis, reads, NAN);
        if (is_read_once(analysis, reads))
            xfa_findings_add_site(findings, &like, &site);
    }
}

/* ---- copied for little ----------------------------------------------------------------------- */

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t number,
                 struct xfa_gain *gain)
{
    const struct mapped *mapped = sums;
    const struct xfa_row *what = xfa_analysis_row(analysis, number);
    const struct row_sums *row = number < mapped->row_count ? &mapped->rows[number] : NULL;
    if (!row || row->copies == 0 || row->otherwise || row->kernels < row->copies)
        return false;
    double copy_ns = xfa_exact_value(&row->copy_time);
    double share = xfa_exact_value(&row->kernel_time) / (double)row->copies;
    share =
        xfw_share_read(&analysis->achievable, what->key.dst_gpu, row->bytes / row->copies, share);
    if (!(share < XFW_READ_IN_PART))
        return false;
    xfa_gain_of(gain, &analysis->rows[number]);
    gain->transfers = row->copies;
    gain->bytes = row->bytes;
    gain->lost_ns = copy_ns > 0 ? copy_ns * (1 - share) : NAN;
    gain->weight_ns = (double)row->bytes * XFA_STAND_IN_NS_PER_BYTE;
    gain->reckoning = XFA_RECKONED_READ_IN_PART;
    gain->assumed = "the kernels do not write to this memory, and the host leaves it alone until "
                    "they have read it";
    gain->remedy = xfa_remedy_for(what, XFA_REMEDY_MAP);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set sites, classes;
    if (finding->remedy.kind == XFA_REMEDY_STOP_MAPPING) {
        sites = xfa_finding_sites(finding);
        return xfw_change_stop_mapping(analysis, &sites, finding->question != NULL);
    }
    classes = xfa_finding_classes(analysis, finding);
    return xfw_change_map(analysis, &classes);
}

const struct xfa_finding_kind xfa_kind_mapped = {
    .look = look,
    .find = find,
    .try = ask,
    .change = change,
    .self_bytes = sizeof(struct mapped),
    .observe = observe,
    .free = release,
    .met_of = &of_sites,
    .met_table = offsetof(struct mapped, of_sites),
    .give = give,
    .take = take,
};
