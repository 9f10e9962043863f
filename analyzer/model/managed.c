#include "analyzer/model/managed.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

#define SCAN 256           /* candidates looked at for one event */
#define CLOCK_SLACK 20000u /* ns by which the two clocks of a device may differ */

struct block { /* an allocation and its life */
    uint64_t address, end;
    uint64_t born, died;
    uint64_t reach; /* the furthest end of this one and those before it, by address */
    uint32_t stack;
};

struct kernel {
    uint64_t start, end;
    uint32_t name;
    int16_t device;
};

struct call {
    uint64_t start;
    uint32_t stack;
    int32_t tid;
    uint16_t call;
};

struct death {
    uint64_t address, when;
};

/* An array that grows up to XFA_MAX_MANAGED_ITEMS. */
struct list {
    void *items;
    size_t count, capacity;
};

struct pass {
    struct xfa_managed *managed;
    struct list blocks, deaths, kernels, calls;
    int32_t only_tid; /* 0 = none yet, -1 = several */
};

static void *add(struct pass *pass, struct list *list, size_t bytes)
{
    if (list->count >= XFA_MAX_MANAGED_ITEMS) {
        pass->managed->beyond++;
        return NULL;
    }
    list->items = xfa_room(list->items, &list->capacity, list->count + 1, bytes);
    return (unsigned char *)list->items + list->count++ * bytes;
}

/* ---- what was there ------------------------------------------------------------------------ */

static void note_block(struct pass *pass, const struct xft_event *e)
{
    struct block *block = add(pass, &pass->blocks, sizeof *block);
    if (block)
        *block =
            (struct block){e->dst, xfa_add(e->dst, e->bytes), e->start_ns, UINT64_MAX, 0, e->stack};
}

static void note_death(struct pass *pass, const struct xft_event *e)
{
    struct death *death = add(pass, &pass->deaths, sizeof *death);
    if (death)
        *death = (struct death){e->dst, e->end_ns};
}

static void note_kernel(struct pass *pass, const struct xft_event *e)
{
    struct kernel *kernel = add(pass, &pass->kernels, sizeof *kernel);
    if (kernel)
        *kernel = (struct kernel){e->start_ns, e->end_ns, (uint32_t)e->src, e->device};
}

static bool is_call(const struct xft_event *e)
{
    return e->kind != XFT_EVENT_NONE && e->kind <= XFT_EVENT_GRAPH_LAUNCH &&
           e->kind != XFT_EVENT_DEVICE_COPY && !(e->flags & XFT_GRAPH);
}

static void note_call(struct pass *pass, const struct xft_event *e, int32_t tid)
{
    struct call *call = add(pass, &pass->calls, sizeof *call);
    if (call)
        *call = (struct call){e->start_ns, e->stack, tid, e->call};
    if (pass->only_tid == 0)
        pass->only_tid = tid;
    else if (pass->only_tid != tid)
        pass->only_tid = -1;
}

static void gather(void *context, const struct xfa_batch *batch)
{
    struct pass *pass = context;
    for (size_t i = 0; i < batch->rows; i++) {
        const struct xft_event *e = &batch->events[i];
        if (e->kind == XFT_EVENT_ALLOC && e->dst_mem == XFT_MEM_MANAGED)
            note_block(pass, e);
        else if (e->kind == XFT_EVENT_FREE)
            note_death(pass, e);
        else if (e->kind == XFT_EVENT_KERNEL)
            note_kernel(pass, e);
        if (is_call(e))
            note_call(pass, e, batch->tid);
    }
}

/* ---- order --------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_address(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    return x->address != y->address ? compare(x->address, y->address) : compare(x->born, y->born);
}

static int by_death(const void *a, const void *b)
{
    const struct death *x = a, *y = b;
    return x->address != y->address ? compare(x->address, y->address) : compare(x->when, y->when);
}

static int by_device(const void *a, const void *b)
{
    const struct kernel *x = a, *y = b;
    return x->device != y->device ? x->device - y->device : compare(x->start, y->start);
}

static int by_start(const void *a, const void *b)
{
    return compare(((const struct call *)a)->start, ((const struct call *)b)->start);
}

static void sort(struct list *list, size_t bytes, int (*order)(const void *, const void *))
{
    if (list->count)
        qsort(list->items, list->count, bytes, order);
}

/* Each block ends with the first free of its address after its birth; a free ends one. */
static void bury(struct pass *pass)
{
    struct block *blocks = pass->blocks.items;
    const struct death *deaths = pass->deaths.items;
    uint64_t reach = 0;
    for (size_t i = 0, j = 0; i < pass->blocks.count; i++) {
        struct block *b = &blocks[i];
        while (j < pass->deaths.count &&
               (deaths[j].address < b->address ||
                (deaths[j].address == b->address && deaths[j].when < b->born)))
            j++;
        if (j < pass->deaths.count && deaths[j].address == b->address)
            b->died = deaths[j++].when;
        reach = b->end > reach ? b->end : reach;
        b->reach = reach;
    }
}

/* ---- look-ups ------------------------------------------------------------------------------ */

static const struct block *block_of(const struct pass *pass, uint64_t address, uint64_t when)
{
    const struct block *blocks = pass->blocks.items;
    size_t low = 0, high = pass->blocks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && i + SCAN > low && blocks[i - 1].reach > address; i--) {
        const struct block *b = &blocks[i - 1];
        if (address < b->end && when >= b->born && when <= b->died)
            return b;
    }
    return NULL;
}

/* The kernel begun last of those that ran on the device then. */
static uint32_t kernel_at(const struct pass *pass, int16_t device, uint64_t when)
{
    const struct kernel *kernels = pass->kernels.items;
    uint64_t until = xfa_add(when, CLOCK_SLACK);
    size_t low = 0, high = pass->kernels.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct kernel *k = &kernels[middle];
        if (k->device < device || (k->device == device && k->start <= until))
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && i + SCAN > low && kernels[i - 1].device == device; i--)
        if (xfa_add(kernels[i - 1].end, CLOCK_SLACK) >= when)
            return kernels[i - 1].name;
    return 0;
}

/* How many calls had begun by then: the last of them is the one before. */
static size_t calls_by(const struct pass *pass, uint64_t when)
{
    const struct call *calls = pass->calls.items;
    size_t low = 0, high = pass->calls.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (calls[middle].start <= when)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* The row with this key, or when there are too many, the one that `all` names. */
static void *row_of(struct xfa_managed *managed, struct xfa_table *table, const void *key,
                    const void *all)
{
    void *row = xfa_table_get(table, key);
    if (row)
        return row;
    if (table->count < XFA_MAX_MANAGED_ROWS)
        return xfa_table_put(table, key);
    managed->beyond++;
    return xfa_table_put(table, all);
}

static struct xfa_managed_site *site_of(struct xfa_managed *managed, uint32_t stack)
{
    return row_of(managed, &managed->sites, &stack, &(uint32_t){0});
}

static double length(const struct xft_event *e)
{
    return e->end_ns > e->start_ns ? (double)(e->end_ns - e->start_ns) : 0;
}

static void migration(struct xfa_managed_figures *f, const struct xft_event *e)
{
    unsigned direction = e->direction < XFT_DIRECTION_COUNT ? e->direction : 0;
    unsigned cause = e->aux < XFA_MIGRATION_CAUSES ? (unsigned)e->aux : 0;
    f->migrations++;
    f->bytes[direction] = xfa_add(f->bytes[direction], e->bytes);
    f->by_cause[cause] = xfa_add(f->by_cause[cause], e->bytes);
    f->migration_ns += length(e);
}

static void host_fault(struct pass *pass, uint32_t site, const struct xft_event *e)
{
    struct xfa_managed_line_key key, all;
    const struct call *calls = pass->calls.items;
    size_t begun = calls_by(pass, e->start_ns);
    memset(&key, 0, sizeof key);
    key.site = site;
    key.line = e->stack;
    key.before_call = key.after_call = UINT16_MAX;
    all = key;
    all.line = 0;
    if (begun > 0) {
        key.before = calls[begun - 1].stack;
        key.before_call = calls[begun - 1].call;
    }
    if (begun < pass->calls.count) {
        key.after = calls[begun].stack;
        key.after_call = calls[begun].call;
    }
    key.tid = pass->only_tid > 0 ? pass->only_tid : 0;
    struct xfa_managed_line *line = row_of(pass->managed, &pass->managed->lines, &key, &all);
    line->faults += e->count;
}

static void device_fault(struct pass *pass, uint32_t site, const struct xft_event *e)
{
    struct xfa_managed_kernel_key key = {site, kernel_at(pass, e->device, e->start_ns)};
    struct xfa_managed_kernel_key all = {site, 0};
    struct xfa_managed_kernel *kernel = row_of(pass->managed, &pass->managed->kernels, &key, &all);
    kernel->groups++;
    kernel->faults += e->count;
    kernel->ns += length(e);
}

static void fault(struct pass *pass, struct xfa_managed_site *site, const struct xft_event *e)
{
    struct xfa_managed_figures *f = &site->figures;
    uint32_t stack = site->stack;
    if (e->device == XFT_PLACE_HOST) {
        f->host_faults += e->count;
        host_fault(pass, stack, e);
    } else {
        f->fault_groups++;
        f->faults += e->count;
        f->fault_ns += length(e);
        device_fault(pass, stack, e);
    }
}

static void attribute(void *context, const struct xfa_batch *batch)
{
    struct pass *pass = context;
    for (size_t i = 0; i < batch->rows; i++) {
        const struct xft_event *e = &batch->events[i];
        if (!xfa_is_managed_event(e->kind))
            continue;
        const struct block *block = block_of(pass, e->src, e->start_ns);
        struct xfa_managed_site *site = site_of(pass->managed, block ? block->stack : 0);
        if (e->kind == XFT_EVENT_MIGRATION)
            migration(&site->figures, e);
        else
            fault(pass, site, e);
    }
}

static void count_allocations(struct pass *pass)
{
    const struct block *blocks = pass->blocks.items;
    for (size_t i = 0; i < pass->blocks.count; i++) {
        struct xfa_managed_figures *f = &site_of(pass->managed, blocks[i].stack)->figures;
        f->allocations++;
        f->allocated = xfa_add(f->allocated, blocks[i].end - blocks[i].address);
    }
}

void xfa_managed_read(struct xfa_managed *managed, struct xfa_trace *trace)
{
    struct pass pass = {.managed = managed};
    *managed = (struct xfa_managed){0};
    xfa_table_init(&managed->sites, sizeof(uint32_t), sizeof(struct xfa_managed_site));
    xfa_table_init(&managed->kernels, sizeof(struct xfa_managed_kernel_key),
                   sizeof(struct xfa_managed_kernel));
    xfa_table_init(&managed->lines, sizeof(struct xfa_managed_line_key),
                   sizeof(struct xfa_managed_line));
    xfa_trace_events(trace, gather, &pass);
    sort(&pass.blocks, sizeof(struct block), by_address);
    sort(&pass.deaths, sizeof(struct death), by_death);
    sort(&pass.kernels, sizeof(struct kernel), by_device);
    sort(&pass.calls, sizeof(struct call), by_start);
    bury(&pass);
    count_allocations(&pass);
    xfa_trace_events(trace, attribute, &pass);
    free(pass.blocks.items);
    free(pass.deaths.items);
    free(pass.kernels.items);
    free(pass.calls.items);
}

void xfa_managed_free(struct xfa_managed *managed)
{
    xfa_table_free(&managed->sites);
    xfa_table_free(&managed->kernels);
    xfa_table_free(&managed->lines);
}
