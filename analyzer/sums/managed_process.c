#include "analyzer/sums/managed_process.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/sums/blocks.h"

#define CLOCK_SLACK 20000u /* ns by which the two clocks of a device may differ */
#define MOST_AT_ONCE 4096  /* migrations and faults of one ns that wait for its end */

struct kernel {
    uint64_t end;
    uint32_t name;
};

/* Kernels of a device that may run still, in the order of their starts. None ends before one that
 * began later does: what the later one outlasts is never "the one begun last" again. */
struct running {
    int32_t device; /* key */
    struct kernel *kernels;
    size_t count, capacity;
};

struct device_fault {
    uint64_t when;
    uint32_t stack;
    uint32_t count;
    double ns;
    int16_t device;
};

struct waiting_key {
    uint32_t stack, line;
};
struct waiting { /* host faults since the last call */
    struct waiting_key key;
    uint64_t faults;
};

struct xfa_managed_walk {
    uint64_t now;
    struct xfa_blocks blocks;
    struct xfa_table running;
    size_t kernels;           /* in all of them */
    struct xfa_event *moment; /* migrations and faults of now */
    size_t moment_count, moment_capacity;
    struct device_fault *faults; /* by their times; those before first_fault are served */
    size_t first_fault, fault_count, fault_capacity;
    struct xfa_table waiting;
    struct xfa_stack_call before; /* the call begun last */
};

struct xfa_managed_process *xfa_managed_process_new(void)
{
    struct xfa_managed_process *p = xfa_alloc(sizeof *p);
    p->walk = xfa_alloc(sizeof *p->walk);
    xfa_table_init(&p->sites, sizeof(uint32_t), sizeof(struct xfa_stack_figures));
    xfa_table_init(&p->kernels, sizeof(struct xfa_stack_kernel_key),
                   sizeof(struct xfa_stack_kernel));
    xfa_table_init(&p->lines, sizeof(struct xfa_stack_line_key), sizeof(struct xfa_stack_line));
    xfa_table_init(&p->walk->running, sizeof(int32_t), sizeof(struct running));
    xfa_table_init(&p->walk->waiting, sizeof(struct waiting_key), sizeof(struct waiting));
    return p;
}

static void free_walk(struct xfa_managed_walk *walk)
{
    if (!walk)
        return;
    for (size_t i = 0; i < walk->running.count; i++)
        free(((struct running *)xfa_table_at(&walk->running, i))->kernels);
    xfa_table_free(&walk->running);
    xfa_table_free(&walk->waiting);
    xfa_blocks_free(&walk->blocks);
    free(walk->moment);
    free(walk->faults);
    free(walk);
}

void xfa_managed_process_free(struct xfa_managed_process *p)
{
    if (!p)
        return;
    free_walk(p->walk);
    xfa_table_free(&p->sites);
    xfa_table_free(&p->kernels);
    xfa_table_free(&p->lines);
    free(p);
}

size_t xfa_managed_process_items(const struct xfa_managed_process *p)
{
    const struct xfa_managed_walk *walk = p->walk;
    size_t faults = walk->moment_count + walk->waiting.count;
    faults += walk->fault_count - walk->first_fault;
    return walk->blocks.count + walk->kernels + faults;
}

/* ---- rows ---------------------------------------------------------------------------------- */

void *xfa_managed_row(struct xfa_table *table, const void *key, const void *all, uint64_t *beyond)
{
    void *row = xfa_table_get(table, key);
    if (row)
        return row;
    if (table->count < XFA_MAX_MANAGED_ROWS)
        return xfa_table_put(table, key);
    *beyond += memcmp(key, all, table->key_bytes) != 0;
    return xfa_table_put(table, all);
}

static struct xfa_stack_figures *figures_of(struct xfa_managed_process *p, uint32_t stack)
{
    return xfa_managed_row(&p->sites, &stack, &(uint32_t){0}, &p->beyond);
}

/* ---- faults of devices --------------------------------------------------------------------- */

/* The kernel begun last of those that ran on the device then. Times that are asked for only grow:
 * a kernel that has ended by one is not looked for again. */
static uint32_t kernel_at(struct xfa_managed_walk *walk, int32_t device, uint64_t when)
{
    struct running *running = xfa_table_get(&walk->running, &device);
    while (running && running->count) {
        const struct kernel *kernel = &running->kernels[running->count - 1];
        if (xfa_add(kernel->end, CLOCK_SLACK) >= when)
            return kernel->name;
        running->count--;
        walk->kernels--;
    }
    return 0;
}

static void serve_fault(struct xfa_managed_process *p)
{
    struct xfa_managed_walk *walk = p->walk;
    const struct device_fault *fault = &walk->faults[walk->first_fault++];
    struct xfa_stack_kernel_key key = {fault->stack, kernel_at(walk, fault->device, fault->when)};
    struct xfa_stack_kernel_key all = {fault->stack, 0};
    struct xfa_stack_kernel *kernel = xfa_managed_row(&p->kernels, &key, &all, &p->beyond);
    kernel->groups++;
    kernel->faults += fault->count;
    kernel->ns += fault->ns;
}

static size_t faults_left(const struct xfa_managed_walk *walk)
{
    return walk->fault_count - walk->first_fault;
}

/* Those for which no more kernel can come. */
static void serve_faults(struct xfa_managed_process *p, uint64_t now)
{
    struct xfa_managed_walk *walk = p->walk;
    while (faults_left(walk) && xfa_add(walk->faults[walk->first_fault].when, CLOCK_SLACK) < now)
        serve_fault(p);
}

static void device_fault(struct xfa_managed_process *p, uint32_t stack,
                         const struct xfa_event *event)
{
    struct xfa_managed_walk *walk = p->walk;
    if (faults_left(walk) >= XFA_MAX_MANAGED_ITEMS) {
        p->beyond++;
        serve_fault(p);
    }
    if (walk->first_fault > faults_left(walk)) { /* most of the array is unused */
        walk->fault_count = faults_left(walk);
        memmove(walk->faults, walk->faults + walk->first_fault,
                walk->fault_count * sizeof *walk->faults);
        walk->first_fault = 0;
    }
    walk->faults =
        xfa_room(walk->faults, &walk->fault_capacity, walk->fault_count + 1, sizeof *walk->faults);
    walk->faults[walk->fault_count++] = (struct device_fault){
        event->start_ns, stack, event->managed.count, xfa_event_ns(event), event->gpu};
}

static void note_kernel(struct xfa_managed_process *p, const struct xfa_event *event)
{
    struct xfa_managed_walk *walk = p->walk;
    int32_t device = event->gpu;
    struct running *running = xfa_table_put(&walk->running, &device);
    while (running->count && running->kernels[running->count - 1].end <= event->end_ns) {
        running->count--;
        walk->kernels--;
    }
    if (walk->kernels >= XFA_MAX_MANAGED_ITEMS) {
        p->beyond++;
        return;
    }
    running->kernels = xfa_room(running->kernels, &running->capacity, running->count + 1,
                                sizeof *running->kernels);
    running->kernels[running->count++] = (struct kernel){event->end_ns, (uint32_t)event->work.name};
    walk->kernels++;
}

/* ---- faults of the host -------------------------------------------------------------------- */

static void host_fault(struct xfa_managed_process *p, uint32_t stack, const struct xfa_event *event)
{
    struct waiting_key key = {stack, event->stack}, all = {stack, 0};
    struct waiting *waiting = xfa_managed_row(&p->walk->waiting, &key, &all, &p->beyond);
    waiting->faults += event->managed.count;
}

/* All that wait have the same call before them, and now the same behind. */
static void end_waiting(struct xfa_managed_process *p, struct xfa_stack_call after)
{
    struct xfa_managed_walk *walk = p->walk;
    for (size_t i = 0; i < walk->waiting.count; i++) {
        const struct waiting *waiting = xfa_table_at(&walk->waiting, i);
        struct xfa_stack_line_key key = {waiting->key.stack, waiting->key.line, walk->before,
                                         after};
        struct xfa_stack_line_key all = {.stack = waiting->key.stack};
        struct xfa_stack_line *line = xfa_managed_row(&p->lines, &key, &all, &p->beyond);
        line->faults += waiting->faults;
    }
    if (walk->waiting.count)
        xfa_table_free(&walk->waiting);
}

static bool is_call(const struct xfa_event *event)
{
    return event->kind != XFT_EVENT_NONE && event->kind <= XFT_EVENT_GRAPH_LAUNCH &&
           event->kind != XFT_EVENT_DEVICE_COPY && !(event->flags & XFT_GRAPH);
}

static void note_call(struct xfa_managed_process *p, const struct xfa_event *event)
{
    struct xfa_stack_call call = {event->stack, event->call + 1u};
    end_waiting(p, call);
    p->walk->before = call;
    if (p->only_tid == 0)
        p->only_tid = event->tid;
    else if (p->only_tid != event->tid)
        p->only_tid = -1;
}

/* ---- allocations and what belongs to them -------------------------------------------------- */

static void note_block(struct xfa_managed_process *p, const struct xfa_event *event)
{
    struct xfa_blocks *blocks = &p->walk->blocks;
    struct xfa_managed_figures *f = &figures_of(p, event->stack)->figures;
    uint64_t address = event->memory.address, end = xfa_add(address, event->bytes);
    f->allocations++;
    f->allocated = xfa_add(f->allocated, end - address);
    if (blocks->count < XFA_MAX_MANAGED_ITEMS)
        xfa_blocks_add(blocks, address, end, event->stack);
    else
        p->beyond++;
}

static void migration(struct xfa_managed_figures *f, const struct xfa_event *event)
{
    unsigned direction = event->direction < XFT_DIRECTION_COUNT ? event->direction : 0;
    unsigned cause =
        event->managed.cause < XFA_MIGRATION_CAUSES ? (unsigned)event->managed.cause : 0;
    f->migrations++;
    f->bytes[direction] = xfa_add(f->bytes[direction], event->bytes);
    f->by_cause[cause] = xfa_add(f->by_cause[cause], event->bytes);
    f->migration_ns += xfa_event_ns(event);
}

static void fault(struct xfa_managed_process *p, struct xfa_stack_figures *site,
                  const struct xfa_event *event)
{
    struct xfa_managed_figures *f = &site->figures;
    if (event->gpu == XFT_PLACE_HOST) {
        f->host_faults += event->managed.count;
        host_fault(p, site->stack, event);
    } else {
        f->fault_groups++;
        f->faults += event->managed.count;
        f->fault_ns += xfa_event_ns(event);
        device_fault(p, site->stack, event);
    }
}

/* All allocations of now have been seen, and none that has ended is left. */
static void attribute_moment(struct xfa_managed_process *p)
{
    struct xfa_managed_walk *walk = p->walk;
    xfa_blocks_pass(&walk->blocks, walk->now);
    for (size_t i = 0; i < walk->moment_count; i++) {
        const struct xfa_event *event = &walk->moment[i];
        const struct xfa_block *block = xfa_blocks_find(&walk->blocks, event->managed.address);
        struct xfa_stack_figures *site = figures_of(p, block ? block->stack : 0);
        if (event->kind == XFT_EVENT_MIGRATION)
            migration(&site->figures, event);
        else
            fault(p, site, event);
    }
    walk->moment_count = 0;
}

static void add_to_moment(struct xfa_managed_process *p, const struct xfa_event *event)
{
    struct xfa_managed_walk *walk = p->walk;
    p->moves = true;
    if (walk->moment_count == MOST_AT_ONCE) {
        p->beyond += walk->moment_count;
        attribute_moment(p);
    }
    walk->moment = xfa_room(walk->moment, &walk->moment_capacity, walk->moment_count + 1,
                            sizeof *walk->moment);
    walk->moment[walk->moment_count++] = *event;
}

/* ---- the walk ------------------------------------------------------------------------------ */

static bool uses_managed(const struct xfa_event *event)
{
    return event->kind == XFT_EVENT_PREFETCH || event->kind == XFT_EVENT_ADVISE ||
           (event->kind == XFT_EVENT_ALLOC && event->dst_mem == XFT_MEM_MANAGED);
}

void xfa_managed_process_event(struct xfa_managed_process *p, const struct xfa_event *event)
{
    struct xfa_managed_walk *walk = p->walk;
    if (event->start_ns > walk->now) {
        attribute_moment(p);
        serve_faults(p, event->start_ns);
        walk->now = event->start_ns;
    }
    p->used |= uses_managed(event);
    if (is_call(event))
        note_call(p, event);
    if (xfa_is_managed_event(event->kind))
        add_to_moment(p, event);
    else if (event->kind == XFT_EVENT_KERNEL)
        note_kernel(p, event);
    else if (event->kind == XFT_EVENT_ALLOC && event->dst_mem == XFT_MEM_MANAGED)
        note_block(p, event);
    else if (event->kind == XFT_EVENT_FREE)
        xfa_blocks_end(&walk->blocks, event->memory.address, event->end_ns);
}

void xfa_managed_process_end(struct xfa_managed_process *p)
{
    attribute_moment(p);
    while (faults_left(p->walk))
        serve_fault(p);
    end_waiting(p, (struct xfa_stack_call){0});
}
