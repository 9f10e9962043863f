#include "analyzer/report/report_managed.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/model/aggregate.h"
#include "analyzer/base/alloc.h"
#include "analyzer/base/demangle.h"
#include "analyzer/report/report.h"

#define KERNEL_NAME 400 /* bytes of a name that are kept */

void xfa_report_managed_init(struct xfa_report_managed *managed)
{
    xfa_table_init(&managed->rows, sizeof(uint64_t), sizeof(struct xfa_managed_row));
    xfa_table_init(&managed->kernels, sizeof((struct xfa_managed_fault_kernel){0}.key),
                   sizeof(struct xfa_managed_fault_kernel));
    xfa_table_init(&managed->lines, sizeof((struct xfa_managed_fault_line){0}.key),
                   sizeof(struct xfa_managed_fault_line));
}

void xfa_report_managed_free(struct xfa_report_managed *managed)
{
    for (size_t i = 0; i < managed->kernels.count; i++)
        free(((struct xfa_managed_fault_kernel *)xfa_table_at(&managed->kernels, i))->name);
    for (size_t i = 0; i < managed->lines.count; i++) {
        struct xfa_managed_fault_line *line = xfa_table_at(&managed->lines, i);
        free(line->before.function);
        free(line->after.function);
    }
    xfa_table_free(&managed->rows);
    xfa_table_free(&managed->kernels);
    xfa_table_free(&managed->lines);
    free(managed->order);
    free(managed->kernel_order);
    free(managed->line_order);
    free(managed->why);
}

/* ---- one process --------------------------------------------------------------------------- */

struct adding {
    struct xfa_report *report;
    struct xfa_table *known;
    struct xfa_trace *trace;
};

static const struct xfa_site *site_of(const struct adding *a, uint32_t stack)
{
    return xfa_report_site(a->report, a->known, a->trace, stack);
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

static void add_site(const struct adding *a, const struct xfa_managed_site *of_process)
{
    const struct xfa_site *site = site_of(a, of_process->stack);
    struct xfa_managed_row *row = xfa_table_put(&a->report->managed.rows, &site->identity);
    row->site = site;
    merge(&row->figures, &of_process->figures);
}

static char *kernel_name(const struct xfa_trace *trace, uint32_t id)
{
    const struct xfa_text *text = id ? xfa_trace_text(trace, id) : NULL;
    if (!text)
        return NULL;
    char *mangled = xfa_kept(text->text, text->bytes);
    char *name = xfa_demangle(mangled);
    free(mangled);
    if (strlen(name) > KERNEL_NAME) {
        char *cut = xfa_kept(name, KERNEL_NAME);
        free(name);
        return cut;
    }
    return name;
}

static void add_kernel(const struct adding *a, const struct xfa_managed_kernel *of_process)
{
    struct xfa_managed_fault_kernel *kernel, made = {0};
    char *name = kernel_name(a->trace, of_process->key.name);
    made.key.site = site_of(a, of_process->key.site)->identity;
    made.key.name = name ? XXH3_64bits(name, strlen(name)) : 0;
    kernel = xfa_table_put(&a->report->managed.kernels, &made.key);
    if (kernel->groups == 0)
        kernel->name = name;
    else
        free(name);
    kernel->groups += of_process->groups;
    kernel->faults += of_process->faults;
    kernel->ns += of_process->ns;
}

static struct xfa_managed_call call_of(const struct adding *a, uint32_t stack, uint16_t id)
{
    const struct xfa_call *call = id == UINT16_MAX ? NULL : xfa_trace_call(a->trace, id);
    if (!call)
        return (struct xfa_managed_call){0};
    return (struct xfa_managed_call){site_of(a, stack), xfa_text(call->name)};
}

static uint64_t hash_of(const struct xfa_managed_call *call)
{
    return call->function ? XXH3_64bits(call->function, strlen(call->function)) : 0;
}

static void add_line(const struct adding *a, const struct xfa_managed_line *of_process)
{
    const struct xfa_managed_line_key *key = &of_process->key;
    struct xfa_managed_fault_line *line, made = {0};
    made.line = site_of(a, key->line);
    made.before = call_of(a, key->before, key->before_call);
    made.after = call_of(a, key->after, key->after_call);
    made.key.site = site_of(a, key->site)->identity;
    made.key.line = made.line->identity;
    made.key.before = made.before.site ? made.before.site->identity : 0;
    made.key.after = made.after.site ? made.after.site->identity : 0;
    made.key.before_call = hash_of(&made.before);
    made.key.after_call = hash_of(&made.after);
    made.key.tid = (uint64_t)key->tid;
    line = xfa_table_put(&a->report->managed.lines, &made.key);
    made.faults = line->faults + of_process->faults;
    free(line->before.function);
    free(line->after.function);
    *line = made;
}

static void take_state(struct xfa_report_managed *managed, const struct xfa_trace *trace, bool used)
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

void xfa_report_managed_add(struct xfa_report *report, struct xfa_table *known,
                            struct xfa_trace *trace, const struct xfa_totals *totals)
{
    struct adding adding = {report, known, trace};
    struct xfa_managed managed;
    take_state(&report->managed, trace, totals->managed_used);
    if (!totals->managed_moves)
        return;
    xfa_managed_read(&managed, trace);
    for (size_t i = 0; i < managed.sites.count; i++)
        add_site(&adding, xfa_table_at(&managed.sites, i));
    for (size_t i = 0; i < managed.kernels.count; i++)
        add_kernel(&adding, xfa_table_at(&managed.kernels, i));
    for (size_t i = 0; i < managed.lines.count; i++)
        add_line(&adding, xfa_table_at(&managed.lines, i));
    report->managed.beyond += managed.beyond;
    xfa_managed_free(&managed);
}

/* ---- order --------------------------------------------------------------------------------- */

static int descending(double a, double b)
{
    return (a < b) - (a > b);
}

static uint64_t moved(const struct xfa_managed_figures *f)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < XFT_DIRECTION_COUNT; i++)
        bytes = xfa_add(bytes, f->bytes[i]);
    return bytes;
}

static int by_bytes(const void *a, const void *b)
{
    const struct xfa_managed_row *x = *(struct xfa_managed_row *const *)a;
    const struct xfa_managed_row *y = *(struct xfa_managed_row *const *)b;
    int order = descending((double)moved(&x->figures), (double)moved(&y->figures));
    return order ? order : strcmp(x->site->text, y->site->text);
}

static int by_time(const void *a, const void *b)
{
    const struct xfa_managed_fault_kernel *x = *(struct xfa_managed_fault_kernel *const *)a;
    const struct xfa_managed_fault_kernel *y = *(struct xfa_managed_fault_kernel *const *)b;
    int order = descending(x->ns, y->ns);
    return order ? order : strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static int by_faults(const void *a, const void *b)
{
    const struct xfa_managed_fault_line *x = *(struct xfa_managed_fault_line *const *)a;
    const struct xfa_managed_fault_line *y = *(struct xfa_managed_fault_line *const *)b;
    int order = descending((double)x->faults, (double)y->faults);
    order = order ? order : strcmp(x->line->text, y->line->text);
    return order ? order : memcmp(&x->key, &y->key, sizeof x->key);
}

static void *sorted(const struct xfa_table *table, int (*order)(const void *, const void *))
{
    void **items = xfa_alloc((table->count + 1) * sizeof *items);
    for (size_t i = 0; i < table->count; i++)
        items[i] = xfa_table_at(table, i);
    if (table->count)
        qsort(items, table->count, sizeof *items, order);
    return items;
}

void xfa_report_managed_finish(struct xfa_report_managed *managed)
{
    managed->order = sorted(&managed->rows, by_bytes);
    managed->kernel_order = sorted(&managed->kernels, by_time);
    managed->line_order = sorted(&managed->lines, by_faults);
}
