#include "analyzer/findings/taken.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"

/* ---- the sums -------------------------------------------------------------------------------- */

static void event(void *self, const struct xfa_event *event)
{
    struct xfa_taken *taken = self;
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
    calls->takes_ns += more->takes_ns;
    calls->needless_ns += more->needless_ns;
    calls->gives_ns += more->gives_ns;
}

/* Stacks become sites, of which one may have several. Only what is asked for is looked up, and only
 * now: the first stack that is looked up represents its site in reports, and that should be one of
 * a transfer. */
static void end(void *self, struct xfa_process *process)
{
    struct xfa_taken *taken = self;
    for (size_t i = 0; i < taken->book.calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->book.calls, i);
        struct xfw_once_key key = calls->key;
        if (!key.site || (!taken->all && xfw_once_needless_takes(calls) == 0))
            continue; /* no place to name, or no call that could go */
        key.site = xfa_process_site(process, calls->key.site)->number;
        add(&taken->calls, &key, calls, xfa_process_function(process, calls->first)->number);
    }
    xfw_once_book_free(&taken->book);
    xfw_once_book_init(&taken->book);
}

struct xfa_observer xfa_taken_observer(struct xfa_taken *taken, enum xft_event_kind takes,
                                       enum xft_event_kind gives, bool all)
{
    xfa_table_init(&taken->calls, sizeof(struct xfw_once_key), sizeof(struct xfw_once_calls));
    xfw_once_book_init(&taken->book);
    taken->takes = takes;
    taken->gives = gives;
    taken->all = all;
    return (struct xfa_observer){
        .name = "memory taken again",
        .kinds = XFA_KIND(takes) | XFA_KIND(gives),
        .self = taken,
        .aside = true,
        .divided = true,
        .event = event,
        .end = end,
    };
}

void xfa_taken_free(void *self)
{
    struct xfa_taken *taken = self;
    xfa_table_free(&taken->calls);
    xfw_once_book_free(&taken->book);
}

/* ---- members of a team ----------------------------------------------------------------------- */

/* Items are of one process each, so that members have none in common. */
void xfa_taken_give(const void *self, struct xfa_parcel *parcel)
{
    const struct xfa_taken *taken = self;
    xfa_met_give(&taken->calls, parcel);
}

static bool is_good(const struct xfa_analysis *analysis, const struct xfw_once_calls *calls)
{
    return calls->key.process < analysis->run->process_count &&
           xfa_divided_site(analysis, calls->key.site) &&
           xfa_divided_function(analysis, calls->first);
}

void xfa_taken_take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct xfa_taken *taken = self;
    size_t count = xfa_unpack_count(from, sizeof(struct xfw_once_calls));
    for (size_t i = 0; i < count && !from->bad; i++) {
        struct xfw_once_calls calls;
        xfa_unpack_bytes(from, &calls, sizeof calls);
        from->bad = from->bad || !is_good(analysis, &calls);
        if (!from->bad)
            *(struct xfw_once_calls *)xfa_table_put(&taken->calls, &calls.key) = calls;
    }
}

struct taken_at {
    uint32_t process, place;
};

static int by_process(const void *a, const void *b)
{
    const struct taken_at *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* In the order of one process, which keeps the first so many. */
void xfa_taken_all(void *self)
{
    struct xfa_taken *taken = self;
    struct xfa_table all = taken->calls;
    struct taken_at *order = xfa_alloc((all.count + 1) * sizeof *order);
    for (size_t i = 0; i < all.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&all, i);
        order[i] = (struct taken_at){calls->key.process, (uint32_t)i};
    }
    if (all.count)
        qsort(order, all.count, sizeof *order, by_process);
    xfa_table_init(&taken->calls, all.key_bytes, all.item_bytes);
    for (size_t i = 0; i < all.count && i < XFW_ONCE_MOST; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&all, order[i].place);
        *(struct xfw_once_calls *)xfa_table_put(&taken->calls, &calls->key) = *calls;
    }
    xfa_table_free(&all);
    free(order);
}

bool xfa_taken_on_host(unsigned memory)
{
    return memory != XFT_MEM_DEVICE && memory != XFT_MEM_MANAGED && memory != XFT_MEM_ARRAY;
}

/* ---- call sites ------------------------------------------------------------------------------ */

void xfa_taken_sites_init(struct xfa_table *sites)
{
    xfa_table_init(sites, sizeof(uint32_t), sizeof(struct xfa_taken_site));
}

void xfa_taken_add_to_site(struct xfa_table *sites, const struct xfa_analysis *analysis,
                           const struct xfw_once_calls *calls, double lost_ns)
{
    struct xfa_taken_site *of = xfa_table_put(sites, &calls->key.site);
    of->sums.site = xfa_run_site(analysis->run, calls->key.site);
    if (!of->sums.function)
        of->sums.function = xfa_run_function(analysis->run, calls->first);
    of->sums.transfers += calls->takes;
    of->sums.bytes = xfa_add(of->sums.bytes, calls->takes * calls->key.bytes);
    of->sums.lost_ns += lost_ns;
}

void xfa_taken_add_sites(const struct xfa_table *sites, struct xfa_findings *findings,
                         const struct xfa_finding *like, double least_ns)
{
    for (size_t i = 0; i < sites->count; i++) {
        const struct xfa_taken_site *of = xfa_table_at(sites, i);
        struct xfa_finding_site sums = of->sums;
        sums.reckoning = like->reckoning;
        if (sums.lost_ns > least_ns)
            xfa_findings_add_site(findings, like, &sums);
    }
}
