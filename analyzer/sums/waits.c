#include "analyzer/sums/waits.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

static struct xfa_wait *wait_of(struct xfa_waits *waits, const struct xfa_event *event)
{
    struct xfa_wait_key key = {
        .site = xfa_site_of(event)->number,
        .function = xfa_function_of(event)->number,
    };
    struct xfa_wait *wait = xfa_table_get(&waits->all, &key);
    if (!wait && waits->all.count >= XFA_MAX_WAITS)
        key.site = xfa_process_site(event->process, 0)->number;
    return wait ? wait : xfa_table_put(&waits->all, &key);
}

/* Calls that failed as well: the host waited. */
static void event(void *self, const struct xfa_event *event)
{
    double ns = event->end_ns > event->start_ns ? (double)(event->end_ns - event->start_ns) : 0;
    struct xfa_wait *wait = wait_of(self, event);
    if (wait->times++ == 0)
        wait->met.process = event->process->number;
    xfa_exact_add(&wait->sum, ns);
    wait->most_ns = ns > wait->most_ns ? ns : wait->most_ns;
}

static double filled(const void *self)
{
    return (double)((const struct xfa_waits *)self)->all.count / XFA_MAX_WAITS;
}

struct xfa_observer xfa_waits_observer(struct xfa_waits *waits)
{
    xfa_table_init(&waits->all, sizeof(struct xfa_wait_key), sizeof(struct xfa_wait));
    return (struct xfa_observer){.name = "waits",
                                 .kinds = XFA_KIND(XFT_EVENT_SYNC),
                                 .divided = true,
                                 .filled = filled,
                                 .self = waits,
                                 .event = event};
}

void xfa_waits_free(struct xfa_waits *waits)
{
    xfa_table_free(&waits->all);
}

/* ---- members of a team ----------------------------------------------------------------------- */

static bool is_good(const void *of, const void *item)
{
    const struct xfa_run *run = of;
    const struct xfa_wait *wait = item;
    return wait->key.site < xfa_run_site_count(run) && wait->key.function < run->functions.count;
}

static void add(void *item, const void *more)
{
    struct xfa_wait *into = item;
    const struct xfa_wait *from = more;
    into->times += from->times;
    xfa_exact_merge(&into->sum, &from->sum);
    into->most_ns = from->most_ns > into->most_ns ? from->most_ns : into->most_ns;
}

static const struct xfa_met_table of_waits = {offsetof(struct xfa_wait, met), is_good, add};

void xfa_waits_give(const struct xfa_waits *waits, struct xfa_parcel *parcel)
{
    xfa_met_give(&waits->all, parcel);
}

void xfa_waits_take(struct xfa_waits *waits, struct xfa_unpacking *from)
{
    xfa_met_take(&waits->all, &of_waits, waits->run, from);
}

void xfa_waits_finish(struct xfa_waits *waits)
{
    for (size_t i = 0; i < waits->all.count; i++) {
        struct xfa_wait *wait = xfa_table_at(&waits->all, i);
        wait->ns = xfa_exact_value(&wait->sum);
    }
}

double xfa_waits_ns(const struct xfa_waits *waits)
{
    double ns = 0;
    for (size_t i = 0; i < waits->all.count; i++)
        ns += ((const struct xfa_wait *)xfa_table_at(&waits->all, i))->ns;
    return ns;
}

void xfa_waits_taken(struct xfa_waits *waits)
{
    xfa_met_sort(&waits->all, &of_waits);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b, void *run)
{
    const struct xfa_wait *x = *(struct xfa_wait *const *)a;
    const struct xfa_wait *y = *(struct xfa_wait *const *)b;
    int order = (x->ns < y->ns) - (x->ns > y->ns);
    if (order == 0)
        order = strcmp(xfa_run_site(run, x->key.site)->text, xfa_run_site(run, y->key.site)->text);
    if (order == 0)
        order = strcmp(xfa_run_function(run, x->key.function)->name,
                       xfa_run_function(run, y->key.function)->name);
    return order;
}

const struct xfa_wait **xfa_waits_order(const struct xfa_waits *waits)
{
    const struct xfa_wait **order = xfa_alloc((waits->all.count + 1) * sizeof *order);
    for (size_t i = 0; i < waits->all.count; i++)
        order[i] = xfa_table_at(&waits->all, i);
    qsort_r(order, waits->all.count, sizeof *order, by_time, waits->run);
    return order;
}
