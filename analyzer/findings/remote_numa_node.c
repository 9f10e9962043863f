/*
 * remote-numa-node: copies between a GPU and page-locked memory on a NUMA node, where this
 * machine's profile has faster copies from or to another node. Lost: achieved time minus that of a
 * copy of the same size and kind of memory on the best node, per transfer. Time beyond the
 * profile's for the memory's own node has other causes and does not count.
 *
 * Pageable memory is left to pageable-host-memory: the GPU reads the driver's buffers, not the
 * program's memory. Copies of rows and batches are left out: they were not measured by node.
 */
#include "analyzer/findings/remote_numa_node.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/sums/blocks.h"

#define MOST_BLOCKS (1u << 18)
#define MOST_STACKS 65536

/* What a call site took, by allocating or page-locking it; sums of a stack of the process at hand,
 * then of its site. */
struct taken_memory {
    uint32_t key; /* stack, or the site's number */
    struct xfa_met met;
    uint32_t function;
    int node; /* that all of its copies want: the nearest, or the one where it is; -1: none yet */
    /* Not 0: it is so (any byte, in what other members give). */
    uint8_t mixed;             /* they want different ones, or it is not known which */
    uint8_t locked;            /* memory of the program that was page-locked: some of it */
    uint64_t taken;            /* bytes */
    uint64_t transfers, bytes; /* copies that want another node than they have */
    struct xfa_exact lost;     /* by them */
    uint8_t up, down;          /* their directions */
};

/* The transfers of one class whose times are known. */
struct far {
    uint64_t transfers, bytes;
    struct xfa_exact achieved, at_near, lost, error; /* ns */
    uint64_t basis[4];                               /* transfers by enum xfp_basis */
    uint64_t asked; /* bytes of the last question, whose answers here and near are */
    struct xfp_estimate here,
        near; /* time of one transfer of so many bytes, on its own node and on the best */
};

struct remote {
    struct far *classes; /* by class number */
    size_t count, capacity;
    struct xfa_blocks blocks; /* of the process at hand: `stack` is the place in `stacks` */
    struct xfa_table stacks;  /* struct taken_memory, of the process at hand */
    struct xfa_table memory;  /* struct taken_memory, of the run, by site */
    bool far;                 /* there are such copies, in the process at hand */
    bool missed;              /* memory was taken that is not in `blocks` */
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

/* ---- where memory is taken ------------------------------------------------------------------- */

static void take(struct remote *remote, const struct xfa_event *event, bool locked)
{
    uint64_t address = event->memory.address;
    bool known = xfa_table_get(&remote->stacks, &event->stack) != NULL;
    if (!event->stack || !address || !event->bytes || address + event->bytes < address ||
        remote->blocks.count >= MOST_BLOCKS || (!known && remote->stacks.count >= MOST_STACKS)) {
        remote->missed = true;
        return;
    }
    struct taken_memory *memory = xfa_table_put(&remote->stacks, &event->stack);
    if (!known) {
        memory->node = -1;
        memory->function = event->call;
    }
    memory->locked |= locked;
    memory->taken = xfa_add(memory->taken, event->bytes);
    xfa_blocks_add(&remote->blocks, address, address + event->bytes,
                   xfa_table_place(&remote->stacks, memory));
}

static void event(void *self, const struct xfa_event *event)
{
    struct remote *remote = self;
    xfa_blocks_pass(&remote->blocks, event->start_ns);
    if (event->flags & XFT_FAILED)
        return;
    if (event->kind == XFT_EVENT_REGISTER)
        take(remote, event, true);
    else if (event->kind == XFT_EVENT_ALLOC && xfa_is_page_locked(event->dst_mem))
        take(remote, event, false);
    else if (event->kind == XFT_EVENT_FREE || event->kind == XFT_EVENT_UNREGISTER)
        xfa_blocks_end(&remote->blocks, event->memory.address, event->start_ns);
}

/* The memory of a copy, and the node that the copy wants; NULL: it is not known. */
static struct taken_memory *memory_of(struct remote *remote, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_class *class = transfer->class;
    struct xfa_host_side side;
    if (!xfa_host_side_of(&class->key, &side) || !xfa_is_page_locked(side.memory))
        return NULL;
    xfa_blocks_pass(&remote->blocks, event->start_ns);
    const struct xfa_block *block =
        xfa_blocks_find(&remote->blocks, side.to_device ? transfer->src : transfer->dst);
    if (!block)
        return NULL;
    struct taken_memory *memory = xfa_table_at(&remote->stacks, block->stack);
    int wanted = class->near.node >= 0 ? class->near.node : side.node;
    memory->mixed |= wanted < 0 || (memory->node >= 0 && memory->node != wanted);
    memory->node = wanted;
    return memory;
}

static void add_lost(struct remote *remote, struct taken_memory *memory,
                     const struct xfa_event *event, double lost_ns)
{
    remote->far = true;
    if (!memory)
        return;
    memory->transfers++;
    memory->bytes = xfa_add(memory->bytes, event->bytes);
    xfa_exact_add(&memory->lost, lost_ns);
    memory->up |= event->transfer.class->key.row.direction == XFT_DIR_H2D;
    memory->down |= event->transfer.class->key.row.direction == XFT_DIR_D2H;
}

static void add_to_site(struct taken_memory *sum, const struct taken_memory *more, bool first)
{
    sum->function = first ? more->function : sum->function;
    sum->mixed |=
        more->mixed || (!first && sum->node >= 0 && more->node >= 0 && sum->node != more->node);
    sum->node = more->node >= 0 || first ? more->node : sum->node;
    sum->node = sum->mixed ? -1 : sum->node;
    sum->locked |= more->locked;
    sum->taken = xfa_add(sum->taken, more->taken);
    sum->transfers += more->transfers;
    sum->bytes = xfa_add(sum->bytes, more->bytes);
    xfa_exact_merge(&sum->lost, &more->lost);
    sum->up |= more->up;
    sum->down |= more->down;
}

static void forget_process(struct remote *remote)
{
    xfa_blocks_free(&remote->blocks);
    xfa_table_free(&remote->stacks);
    xfa_table_init(&remote->stacks, sizeof(uint32_t), sizeof(struct taken_memory));
    remote->far = false;
}

/* Sites are looked up where there is something to say of them. */
static void end(void *self, struct xfa_process *process)
{
    struct remote *remote = self;
    for (size_t i = 0; i < remote->stacks.count && remote->far; i++) {
        const struct taken_memory *memory = xfa_table_at(&remote->stacks, i);
        struct taken_memory more = *memory;
        uint32_t site = xfa_process_site(process, memory->key)->number;
        bool first = xfa_table_get(&remote->memory, &site) == NULL;
        more.function = xfa_process_function(process, memory->function)->number;
        struct taken_memory *sum = xfa_table_put(&remote->memory, &site);
        if (first)
            sum->met.process = process->number;
        add_to_site(sum, &more, first);
    }
    forget_process(remote);
}

static bool is_to_be_placed(const struct taken_memory *memory, const struct xfa_finding *finding)
{
    double moving_ns = memory->locked ? (double)memory->taken * XFA_MOVING_NS_PER_BYTE : 0;
    return !memory->mixed && memory->node == finding->remedy.node &&
           (finding->remedy.to_host ? memory->down : memory->up) &&
           xfa_exact_value(&memory->lost) > moving_ns;
}

struct xfa_finding_site *xfa_remote_node_memory(const struct xfa_analysis *analysis,
                                                const void *sums, const struct xfa_finding *finding,
                                                size_t *count)
{
    const struct remote *remote = sums;
    struct xfa_finding_site *sites = xfa_alloc((remote->memory.count + 1) * sizeof *sites);
    *count = 0;
    for (size_t i = 0; i < remote->memory.count && !remote->missed; i++) {
        const struct taken_memory *memory = xfa_table_at(&remote->memory, i);
        if (is_to_be_placed(memory, finding))
            sites[(*count)++] = (struct xfa_finding_site){
                .site = xfa_run_site(analysis->run, memory->key),
                .function = xfa_run_function(analysis->run, memory->function),
                .transfers = memory->transfers,
                .bytes = memory->bytes,
                .lost_ns = xfa_exact_value(&memory->lost),
                .reckoning = XFA_RECKONED_NEAR_NODE,
            };
    }
    return sites;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void transfer(void *self, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_class *class = transfer->class;
    struct taken_memory *memory = memory_of(self, event);
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
    xfa_exact_add(&far->achieved, transfer->achieved_ns);
    xfa_exact_add(&far->at_near, far->near.ns);
    xfa_exact_add(&far->lost, fmax(0, took - far->near.ns));
    add_lost(self, memory, event, fmax(0, took - far->near.ns));
    xfa_exact_add(&far->error,
                  far->near.ns * far->near.error + (slower ? took * far->here.error : 0));
    far->basis[far->near.basis & 3]++;
}

static struct xfa_observer observe(void *self)
{
    struct remote *remote = self;
    xfa_table_init(&remote->stacks, sizeof(uint32_t), sizeof(struct taken_memory));
    xfa_table_init(&remote->memory, sizeof(uint32_t), sizeof(struct taken_memory));
    return (struct xfa_observer){
        .name = "remote nodes",
        .kinds = XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_FREE) |
                 XFA_KIND(XFT_EVENT_REGISTER) | XFA_KIND(XFT_EVENT_UNREGISTER),
        .self = self,
        .aside = true,
        .divided = true,
        .event = event,
        .transfer = transfer,
        .end = end,
    };
}

static void release(void *self)
{
    struct remote *remote = self;
    free(remote->classes);
    forget_process(remote);
    xfa_table_free(&remote->stacks);
    xfa_table_free(&remote->memory);
}

/* ---- members of a team ----------------------------------------------------------------------- */

static void add(struct far *into, const struct far *from)
{
    into->transfers += from->transfers;
    into->bytes = xfa_add(into->bytes, from->bytes);
    xfa_exact_merge(&into->achieved, &from->achieved);
    xfa_exact_merge(&into->at_near, &from->at_near);
    xfa_exact_merge(&into->lost, &from->lost);
    xfa_exact_merge(&into->error, &from->error);
    for (size_t i = 0; i < sizeof into->basis / sizeof *into->basis; i++)
        into->basis[i] += from->basis[i];
}

static bool is_good(const void *analysis, const void *item)
{
    const struct taken_memory *memory = item;
    return xfa_divided_site(analysis, memory->key) &&
           xfa_divided_function(analysis, memory->function);
}

/* The function is that of the first process that has one. */
static void add_memory(void *item, const void *more)
{
    struct taken_memory *into = item;
    const struct taken_memory *from = more;
    add_to_site(into, from, into->taken == 0);
    if (into->met.process == from->met.process)
        into->function = from->function;
}

static const struct xfa_met_table of_memory = {offsetof(struct taken_memory, met), is_good,
                                               add_memory};

static void give(const void *self, struct xfa_parcel *parcel)
{
    const struct remote *remote = self;
    xfa_parcel_number(parcel, remote->missed);
    xfa_parcel_number(parcel, remote->count);
    xfa_parcel_put(parcel, remote->classes, remote->count * sizeof *remote->classes);
}

static void take_sums(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct remote *remote = self;
    remote->missed = xfa_unpack_number(from) || remote->missed;
    size_t count = xfa_unpack_count(from, sizeof(struct far));
    from->bad = from->bad || count > analysis->classes.classes.count;
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        struct far more;
        xfa_unpack_bytes(from, &more, sizeof more);
        add(far_of(remote, i), &more);
    }
}

/* ---- the finding ----------------------------------------------------------------------------- */

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
    gain->achieved_ns = xfa_exact_value(&far.achieved);
    gain->achievable_ns = xfa_exact_value(&far.at_near);
    gain->lost_ns = xfa_exact_value(&far.lost);
    gain->error = xfa_exact_value(&far.error) / gain->achievable_ns;
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
    .met_of = &of_memory,
    .met_table = offsetof(struct remote, memory),
    .give = give,
    .take = take_sums,
};
