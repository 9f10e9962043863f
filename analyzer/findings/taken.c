#include "analyzer/findings/taken.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"

/* Times the calls that could go by exact sizes: less is not worth another remedy, as for sets
 * (XFW_HARDLY_MORE). */
#define ANY_SIZE_MORE 1.1

/* ---- the sums -------------------------------------------------------------------------------- */

static void event(void *self, const struct xfa_event *event)
{
    struct xfa_taken *taken = self;
    double ns = xfa_event_ns(event);
    uint64_t address = event->memory.address;
    if (address == 0)
        return;
    if (event->kind == taken->gives) {
        xfw_once_give(&taken->book, address, ns);
        xfw_once_give(&taken->any, address, ns);
        return;
    }
    struct xfw_once_key key = {
        .address = event->kind == XFT_EVENT_REGISTER ? address : 0,
        .bytes = event->bytes,
        .process = event->process->number,
        .site = event->stack,
        .gpu = (int16_t)(event->gpu < 0 ? -1 : event->gpu),
        .pooled = (event->flags & XFT_ASYNC) != 0,
        .memory = event->dst_mem,
    };
    struct xfw_once_calls *calls = xfw_once_take(&taken->book, &key, address, event->bytes, ns);
    if (calls && calls->takes == 1)
        calls->first = event->call;
    if (taken->all || key.address)
        return;
    key.bytes = XFW_ONCE_ANY_SIZE;
    calls = xfw_once_take(&taken->any, &key, address, event->bytes, ns);
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
    calls->bytes = xfa_add(calls->bytes, more->bytes);
    calls->largest = more->largest > calls->largest ? more->largest : calls->largest;
    calls->held_bytes = xfa_add(calls->held_bytes, more->held_bytes);
    calls->most_bytes = xfa_add(calls->most_bytes, more->most_bytes);
    calls->takes_ns += more->takes_ns;
    calls->needless_ns += more->needless_ns;
    calls->gives_ns += more->gives_ns;
    calls->larger_serve = more->larger_serve;
}

static struct xfw_once_key of_any_size(struct xfw_once_key key)
{
    key.bytes = XFW_ONCE_ANY_SIZE;
    return key;
}

/* Calls that could go by exact sizes. */
struct exact {
    struct xfw_once_key key; /* of any size */
    uint64_t needless;
};

static void sum_exact(const struct xfa_taken *taken, struct xfa_table *sums)
{
    xfa_table_init(sums, sizeof(struct xfw_once_key), sizeof(struct exact));
    for (size_t i = 0; i < taken->book.calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->book.calls, i);
        const struct xfw_once_key key = of_any_size(calls->key);
        struct exact *exact = xfa_table_put(sums, &key);
        exact->needless += xfw_once_needless_takes(calls);
    }
}

/* Blocks of the largest size serve these calls better than blocks of each size. */
static bool serves_any_size(const struct xfw_once_calls *any, uint64_t exact)
{
    uint64_t needless = xfw_once_needless_takes(any);
    return (double)needless >= ANY_SIZE_MORE * (double)exact && needless > exact &&
           (double)any->largest * (double)any->most <= 2 * (double)any->most_bytes;
}

/* Those where blocks of any size serve. */
static void end_any_size(struct xfa_taken *taken, struct xfa_table *served)
{
    struct xfa_table sums;
    sum_exact(taken, &sums);
    for (size_t i = 0; i < taken->any.calls.count; i++) {
        const struct xfw_once_calls *any = xfa_table_at(&taken->any.calls, i);
        const struct exact *exact = xfa_table_get(&sums, &any->key);
        if (serves_any_size(any, exact ? exact->needless : 0))
            *(struct xfw_once_calls *)xfa_table_put(served, &any->key) = *any;
    }
    xfa_table_free(&sums);
}

static void end_calls(struct xfa_taken *taken, struct xfa_process *process,
                      const struct xfw_once_calls *calls)
{
    struct xfw_once_key key = calls->key;
    if (!key.site || (!taken->all && xfw_once_needless_takes(calls) == 0))
        return; /* no place to name, or no call that could go */
    key.site = xfa_process_site(process, calls->key.site)->number;
    add(&taken->calls, &key, calls, xfa_process_function(process, calls->first)->number);
}

/* Stacks become sites, of which one may have several. Only what is asked for is looked up, and only
 * now: the first stack that is looked up represents its site in reports, and that should be one of
 * a transfer. */
static void end(void *self, struct xfa_process *process)
{
    struct xfa_taken *taken = self;
    struct xfa_table served;
    xfa_table_init(&served, sizeof(struct xfw_once_key), sizeof(struct xfw_once_calls));
    end_any_size(taken, &served);
    for (size_t i = 0; i < taken->book.calls.count; i++) {
        struct xfw_once_calls *calls = xfa_table_at(&taken->book.calls, i);
        const struct xfw_once_key key = of_any_size(calls->key);
        calls->larger_serve = xfa_table_get(&served, &key) != NULL;
        end_calls(taken, process, calls);
    }
    for (size_t i = 0; i < served.count; i++)
        end_calls(taken, process, xfa_table_at(&served, i));
    xfa_table_free(&served);
    xfw_once_book_free(&taken->any);
    xfw_once_book_init(&taken->any);
    xfw_once_book_free(&taken->book);
    xfw_once_book_init(&taken->book);
}

struct xfa_observer xfa_taken_observer(struct xfa_taken *taken, enum xft_event_kind takes,
                                       enum xft_event_kind gives, bool all)
{
    xfa_table_init(&taken->calls, sizeof(struct xfw_once_key), sizeof(struct xfw_once_calls));
    xfw_once_book_init(&taken->book);
    xfw_once_book_init(&taken->any);
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
    xfw_once_book_free(&taken->any);
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

struct xfw_set xfa_taken_places(const struct xfa_taken *taken, const struct xfa_finding *finding,
                                bool (*is)(const struct xfw_once_calls *calls,
                                           const struct xfa_finding *finding))
{
    struct xfw_set sites = xfa_finding_sites(finding), places = {0};
    for (size_t i = 0; i < taken->calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->calls, i);
        if (xfw_set_has(&sites, calls->key.site) && (!is || is(calls, finding)))
            xfw_set_add(&places, (uint32_t)i);
    }
    xfw_set_free(&sites);
    return places;
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
    of->sums.bytes = xfa_add(of->sums.bytes, calls->bytes);
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
