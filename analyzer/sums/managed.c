#include "analyzer/sums/managed.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/compare.h"
#include "analyzer/base/demangle.h"
#include "analyzer/sums/managed_process.h"

void xfa_managed_free(struct xfa_managed *managed)
{
    for (size_t i = 0; i < managed->kernels.count; i++)
        free(((struct xfa_managed_kernel *)xfa_table_at(&managed->kernels, i))->name);
    xfa_table_free(&managed->sites);
    xfa_table_free(&managed->kernels);
    xfa_table_free(&managed->lines);
    xfa_managed_process_free(managed->now);
    managed->now = NULL;
    free(managed->why);
    managed->why = NULL;
}

/* ---- from a process to the run ------------------------------------------------------------- */

struct adding {
    struct xfa_managed *managed;
    struct xfa_process *process;
};

static uint32_t number_of(const struct adding *a, uint32_t stack)
{
    return xfa_process_site(a->process, stack)->number;
}

static void merge(struct xfa_managed_figures *into, const struct xfa_managed_figures *from)
{
    into->allocations += from->allocations;
    into->allocated = xfa_add(into->allocated, from->allocated);
    into->migrations += from->migrations;
    for (size_t i = 0; i < XFT_DIRECTION_COUNT; i++)
        into->bytes[i] = xfa_add(into->bytes[i], from->bytes[i]);
    for (size_t i = 0; i < XFA_MIGRATION_CAUSES; i++)
        into->by_cause[i] = xfa_add(into->by_cause[i], from->by_cause[i]);
    into->migration_ns += from->migration_ns;
    into->host_faults += from->host_faults;
    into->fault_groups += from->fault_groups;
    into->faults += from->faults;
    into->fault_ns += from->fault_ns;
}

static void add_site(const struct adding *a, const struct xfa_stack_figures *of_process)
{
    struct xfa_managed *managed = a->managed;
    uint32_t number = number_of(a, of_process->stack), none = number_of(a, 0);
    struct xfa_managed_site *site =
        xfa_managed_row(&managed->sites, &number, &none, &managed->beyond);
    merge(&site->figures, &of_process->figures);
}

/* The site whose row has the figures of this stack. */
static uint32_t row_of(const struct adding *a, uint32_t stack)
{
    uint32_t number = number_of(a, stack);
    return xfa_table_get(&a->managed->sites, &number) ? number : number_of(a, 0);
}

static char *kernel_name(const struct xfa_trace *trace, uint32_t id)
{
    const struct xfa_text *text = id ? xfa_trace_text(trace, id) : NULL;
    if (!text)
        return NULL;
    char *mangled = xfa_kept(text->text, text->bytes);
    char *name = xfa_demangle(mangled);
    free(mangled);
    if (strlen(name) > XFA_KERNEL_NAME) {
        char *cut = xfa_kept(name, XFA_KERNEL_NAME);
        free(name);
        return cut;
    }
    return name;
}

static void add_kernel(const struct adding *a, const struct xfa_stack_kernel *of_process)
{
    struct xfa_managed *managed = a->managed;
    struct xfa_managed_kernel_key key = {.site = row_of(a, of_process->key.stack)}, all = key;
    char *name = kernel_name(a->process->trace, of_process->key.name);
    key.name = name ? XXH3_64bits(name, strlen(name)) : 0;
    struct xfa_managed_kernel *kernel =
        xfa_managed_row(&managed->kernels, &key, &all, &managed->beyond);
    if (kernel->groups == 0 && kernel->key.name == key.name)
        kernel->name = name;
    else
        free(name);
    kernel->groups += of_process->groups;
    kernel->faults += of_process->faults;
    kernel->ns += of_process->ns;
}

/* A call that the trace has no name for is as none. */
static void name_call(const struct adding *a, struct xfa_stack_call call, uint32_t *site,
                      uint32_t *function)
{
    if (call.call == 0 || !xfa_trace_call(a->process->trace, call.call - 1))
        return;
    *site = number_of(a, call.stack);
    *function = xfa_process_function(a->process, call.call - 1)->number + 1;
}

static void add_line(const struct adding *a, const struct xfa_stack_line *of_process, int32_t tid)
{
    struct xfa_managed *managed = a->managed;
    struct xfa_managed_line_key key = {.site = row_of(a, of_process->key.stack),
                                       .line = number_of(a, 0)};
    struct xfa_managed_line_key all = key;
    key.line = number_of(a, of_process->key.line);
    name_call(a, of_process->key.before, &key.before, &key.before_function);
    name_call(a, of_process->key.after, &key.after, &key.after_function);
    key.tid = tid > 0 ? tid : 0;
    struct xfa_managed_line *line = xfa_managed_row(&managed->lines, &key, &all, &managed->beyond);
    line->faults += of_process->faults;
}

static void add_process(const struct adding *a, const struct xfa_managed_process *p)
{
    for (size_t i = 0; i < p->sites.count; i++)
        add_site(a, xfa_table_at(&p->sites, i));
    for (size_t i = 0; i < p->kernels.count; i++)
        add_kernel(a, xfa_table_at(&p->kernels, i));
    for (size_t i = 0; i < p->lines.count; i++)
        add_line(a, xfa_table_at(&p->lines, i), p->only_tid);
    a->managed->beyond += p->beyond;
}

static void take_state(struct xfa_managed *managed, const struct xfa_trace *trace, bool used)
{
    const char *state = xfa_trace_meta(trace, "managed");
    const char *why = xfa_trace_meta(trace, "managed.why");
    bool on = state && strcmp(state, "on") == 0;
    managed->on = managed->on || on;
    managed->off = managed->off || !on;
    managed->unseen = managed->unseen || (used && !on);
    if (why && *why && !managed->why)
        managed->why = xfa_kept(why, strlen(why));
}

/* ---- the observer -------------------------------------------------------------------------- */

#define FEW_KINDS                                                                                  \
    (XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_PREFETCH) | XFA_KIND(XFT_EVENT_ADVISE))
#define ALL_KINDS                                                                                  \
    (FEW_KINDS | XFA_KIND(XFT_EVENT_TRANSFER) | XFA_KIND(XFT_EVENT_FREE) |                         \
     XFA_KIND(XFT_EVENT_REGISTER) | XFA_KIND(XFT_EVENT_UNREGISTER) | XFA_KIND(XFT_EVENT_PEER) |    \
     XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH) | XFA_KIND(XFT_EVENT_KERNEL) |    \
     XFA_KIND(XFT_EVENT_MIGRATION) | XFA_KIND(XFT_EVENT_FAULT))

static bool is_off(const struct xfa_process *process)
{
    const char *state = xfa_trace_meta(process->trace, "managed");
    return state && strcmp(state, "off") == 0;
}

/* Where it was not recorded there is nothing to set to anything: only whether it was used. */
static uint64_t begin(void *self, struct xfa_process *process)
{
    struct xfa_managed *managed = self;
    managed->run = process->run;
    xfa_managed_process_free(managed->now);
    managed->now = xfa_managed_process_new();
    managed->off_here = is_off(process);
    return managed->off_here ? FEW_KINDS : ALL_KINDS;
}

static void take_event(void *self, const struct xfa_event *event)
{
    struct xfa_managed *managed = self;
    xfa_managed_process_event(managed->now, event);
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct xfa_managed *managed = self;
    if (!managed->off_here)
        xfa_managed_process_event(managed->now, event);
}

static void end(void *self, struct xfa_process *process)
{
    struct xfa_managed *managed = self;
    struct adding adding = {managed, process};
    xfa_managed_process_end(managed->now);
    take_state(managed, process->trace, managed->now->used);
    managed->touched = managed->now->moves || managed->now->used;
    if (managed->now->moves)
        add_process(&adding, managed->now);
    xfa_managed_process_free(managed->now);
    managed->now = NULL;
}

static bool touched(const void *self)
{
    return ((const struct xfa_managed *)self)->touched;
}

struct xfa_observer xfa_managed_observer(struct xfa_managed *managed)
{
    xfa_table_init(&managed->sites, sizeof(uint32_t), sizeof(struct xfa_managed_site));
    xfa_table_init(&managed->kernels, sizeof(struct xfa_managed_kernel_key),
                   sizeof(struct xfa_managed_kernel));
    xfa_table_init(&managed->lines, sizeof(struct xfa_managed_line_key),
                   sizeof(struct xfa_managed_line));
    return (struct xfa_observer){
        .name = "managed",
        .kinds = ALL_KINDS,
        .self = managed,
        .process = begin,
        .event = take_event,
        .transfer = take_transfer,
        .end = end,
        .touched = touched,
        .meets = true,
    };
}

/* ---- order --------------------------------------------------------------------------------- */

static uint64_t moved(const struct xfa_managed_figures *f)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < XFT_DIRECTION_COUNT; i++)
        bytes = xfa_add(bytes, f->bytes[i]);
    return bytes;
}

static const char *site_text(const struct xfa_managed *managed, uint32_t site)
{
    return xfa_run_site(managed->run, site)->text;
}

static int by_bytes(const void *a, const void *b, void *managed)
{
    const struct xfa_managed_site *x = *(struct xfa_managed_site *const *)a;
    const struct xfa_managed_site *y = *(struct xfa_managed_site *const *)b;
    int order = xfa_descending((double)moved(&x->figures), (double)moved(&y->figures));
    return order ? order : strcmp(site_text(managed, x->site), site_text(managed, y->site));
}

static int by_time(const void *a, const void *b, void *managed)
{
    const struct xfa_managed_kernel *x = *(struct xfa_managed_kernel *const *)a;
    const struct xfa_managed_kernel *y = *(struct xfa_managed_kernel *const *)b;
    int order = xfa_descending(x->ns, y->ns);
    return order ? order : strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

struct line_identity {
    uint64_t site, line, before, after, before_function, after_function, tid;
};

static void identify_call(const struct xfa_run *run, uint32_t site, uint32_t function,
                          uint64_t *site_identity, uint64_t *function_identity)
{
    if (function == 0)
        return;
    const char *name = xfa_run_function(run, function - 1)->name;
    *site_identity = xfa_run_site(run, site)->identity;
    *function_identity = XXH3_64bits(name, strlen(name));
}

/* What does not depend on the order in which sites were met. */
static struct line_identity identity(const struct xfa_run *run,
                                     const struct xfa_managed_line_key *key)
{
    struct line_identity made = {.site = xfa_run_site(run, key->site)->identity,
                                 .line = xfa_run_site(run, key->line)->identity,
                                 .tid = (uint64_t)key->tid};
    identify_call(run, key->before, key->before_function, &made.before, &made.before_function);
    identify_call(run, key->after, key->after_function, &made.after, &made.after_function);
    return made;
}

static int by_faults(const void *a, const void *b, void *context)
{
    const struct xfa_managed *managed = context;
    const struct xfa_managed_line *x = *(struct xfa_managed_line *const *)a;
    const struct xfa_managed_line *y = *(struct xfa_managed_line *const *)b;
    int order = xfa_descending((double)x->faults, (double)y->faults);
    if (order == 0)
        order = strcmp(site_text(managed, x->key.line), site_text(managed, y->key.line));
    if (order)
        return order;
    struct line_identity of_x = identity(managed->run, &x->key);
    struct line_identity of_y = identity(managed->run, &y->key);
    return memcmp(&of_x, &of_y, sizeof of_x);
}

static void *sorted(const struct xfa_managed *managed, const struct xfa_table *table,
                    int (*order)(const void *, const void *, void *))
{
    void **items = xfa_alloc((table->count + 1) * sizeof *items);
    for (size_t i = 0; i < table->count; i++)
        items[i] = xfa_table_at(table, i);
    qsort_r(items, table->count, sizeof *items, order, (void *)managed);
    return items;
}

const struct xfa_managed_site **xfa_managed_sites(const struct xfa_managed *managed)
{
    return sorted(managed, &managed->sites, by_bytes);
}

const struct xfa_managed_kernel **xfa_managed_kernels(const struct xfa_managed *managed)
{
    return sorted(managed, &managed->kernels, by_time);
}

const struct xfa_managed_line **xfa_managed_lines(const struct xfa_managed *managed)
{
    return sorted(managed, &managed->lines, by_faults);
}
