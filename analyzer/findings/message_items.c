#include "analyzer/findings/message_items.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"

void xfa_message_items_init(struct xfa_message_items *items)
{
    xfa_table_init(&items->all, sizeof(struct xfa_message_item_key),
                   sizeof(struct xfa_message_item));
}

void xfa_message_items_free(struct xfa_message_items *items)
{
    xfa_table_free(&items->all);
    free(items->places);
}

static double since_start(const struct xfa_process *process, uint64_t ns)
{
    return ns > process->start_mono_ns ? (double)(ns - process->start_mono_ns) : 0;
}

static void add_place(struct xfa_message_items *items, const struct xfa_message_item *item,
                      const struct xfa_message_spot *spot, double part)
{
    if (items->count >= XFW_MOST_CUTS) {
        items->beyond = true;
        return;
    }
    items->places =
        xfa_room(items->places, &items->capacity, items->count + 1, sizeof *items->places);
    items->places[items->count++] = (struct xfa_message_place){
        .item = xfa_table_place(&items->all, item),
        .process = spot->process->number,
        .tid = spot->tid,
        .of = (uint8_t)spot->of,
        .at_ns = since_start(spot->process, spot->at_ns),
        .began_ns = since_start(spot->process, spot->began_ns),
        .most_ns = spot->of_two ? spot->message_ns / 2 : spot->message_ns,
        .copy_ns = spot->copy_at_ns ? since_start(spot->process, spot->copy_at_ns) : NAN,
        .part = part,
    };
}

struct xfa_message_item *xfa_message_items_add_all(struct xfa_message_items *items,
                                                   const struct xfa_message_item_key *key,
                                                   const struct xfa_message_spot *spots,
                                                   size_t count)
{
    struct xfa_message_item *item = xfa_table_get(&items->all, key);
    if (!item && items->all.count >= XFA_MOST_MESSAGE_ITEMS)
        return NULL;
    item = item ? item : xfa_table_put(&items->all, key);
    if (item->times++ == 0)
        item->met.process = spots->process->number;
    for (size_t i = 0; i < count; i++)
        item->among += spots[i].among;
    for (size_t i = 0; i < count; i++) {
        xfa_exact_add(&item->message_time, spots[i].message_ns);
        add_place(items, item, &spots[i], 1 / (double)count);
    }
    return item;
}

struct xfa_message_item *xfa_message_items_add(struct xfa_message_items *items,
                                               const struct xfa_message_item_key *key,
                                               const struct xfa_message_spot *spot)
{
    return xfa_message_items_add_all(items, key, spot, 1);
}

/* ---- members of a team ----------------------------------------------------------------------- */

double xfa_message_items_filled(const struct xfa_message_items *items)
{
    return (double)items->all.count / XFA_MOST_MESSAGE_ITEMS;
}

static bool is_good(const void *of, const void *given)
{
    const struct xfa_analysis *analysis = of;
    const struct xfa_message_item *item = given;
    return xfa_divided_site(analysis, item->key.site) &&
           xfa_divided_function(analysis, item->key.function) &&
           item->met.process < analysis->run->process_count;
}

static void add(void *item, const void *more)
{
    struct xfa_message_item *into = item;
    const struct xfa_message_item *from = more;
    into->times += from->times;
    into->among += from->among;
    into->messages += from->messages;
    into->bytes = xfa_add(into->bytes, from->bytes);
    xfa_exact_merge(&into->message_time, &from->message_time);
    xfa_exact_merge(&into->copy_time, &from->copy_time);
}

static const struct xfa_met_table of_items = {offsetof(struct xfa_message_item, met), is_good, add};

void xfa_message_items_give(const struct xfa_message_items *items, struct xfa_parcel *parcel)
{
    xfa_met_give(&items->all, parcel);
    xfa_parcel_number(parcel, items->beyond);
    xfa_list_give(items->places, items->count, sizeof *items->places, parcel);
}

void xfa_message_items_take(struct xfa_message_items *items, const struct xfa_analysis *analysis,
                            struct xfa_unpacking *from)
{
    size_t given = 0, before = items->count;
    uint32_t *at = xfa_met_take_places(&items->all, &of_items, analysis, from, &given);
    items->beyond = xfa_unpack_number(from) || items->beyond;
    items->places =
        xfa_list_take(items->places, &items->capacity, &items->count, sizeof *items->places, from);
    for (size_t i = before; i < items->count && !from->bad; i++) {
        struct xfa_message_place *place = &items->places[i];
        from->bad = place->item >= given || place->process >= analysis->run->process_count;
        place->item = from->bad ? 0 : at[place->item];
    }
    free(at);
}

void xfa_message_items_taken(struct xfa_message_items *items)
{
    uint32_t *now = xfa_met_sort_places(&items->all, &of_items);
    for (size_t i = 0; i < items->count; i++)
        items->places[i].item = now[items->places[i].item];
    free(now);
    xfa_list_sort(items->places, items->count, sizeof *items->places,
                  offsetof(struct xfa_message_place, process));
    items->beyond = items->beyond || items->count > XFW_MOST_CUTS;
}

/* ---- what comes of it ------------------------------------------------------------------------ */

struct xfa_message_path xfa_message_item_path(const struct xfa_analysis *analysis,
                                              const struct xfa_message_item *item)
{
    const struct xfa_messages *messages = &analysis->messages;
    const struct xfa_process *from =
        xfa_messages_process(messages, item->key.communicator, item->key.from);
    const struct xfa_process *to =
        xfa_messages_process(messages, item->key.communicator, item->key.to);
    if (!from || !to)
        return (struct xfa_message_path){NULL, NULL};
    return xfa_message_path(&analysis->achievable, from->host, to->host);
}

struct found {
    struct found_key { /* key */
        uint32_t site, function;
    } key;
    uint64_t messages, bytes;
    double lost_ns, copy_ns;
};

static void add_up(struct xfa_table *sites, const struct xfa_message_item *item)
{
    struct found_key key = {item->key.site, item->key.function};
    struct found *found = xfa_table_put(sites, &key);
    found->messages += item->messages;
    found->bytes = xfa_add(found->bytes, item->bytes);
    found->lost_ns += item->saved_ns * (double)item->times;
    found->copy_ns += xfa_exact_value(&item->copy_time);
}

void xfa_message_items_report(const struct xfa_analysis *analysis,
                              const struct xfa_message_items *items, unsigned judged,
                              const struct xfa_finding *like, struct xfa_findings *findings)
{
    struct xfa_table sites;
    xfa_table_init(&sites, sizeof(struct found_key), sizeof(struct found));
    for (size_t i = 0; i < items->all.count; i++)
        if (xfa_message_item(items, i)->judged == judged)
            add_up(&sites, xfa_message_item(items, i));
    for (size_t i = 0; i < sites.count; i++) {
        const struct found *found = xfa_table_at(&sites, i);
        const struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, found->key.site),
            .function = xfa_run_function(analysis->run, found->key.function),
            .transfers = found->messages,
            .bytes = found->bytes,
            .lost_ns = found->lost_ns,
            .reckoning = like->reckoning,
        };
        double weight_ns = isnan(found->lost_ns) ? found->copy_ns : found->lost_ns;
        if (weight_ns > xfa_findings_least_ns(analysis))
            xfa_findings_add_site(findings, like, &site);
    }
    xfa_table_free(&sites);
}

/* A place's cuts: at most two. */
static size_t cuts_of(const struct xfa_message_item *item, const struct xfa_message_place *place,
                      struct xfw_cut *cuts)
{
    bool direct = item->direct_ns > 0 && !isnan(place->copy_ns);
    double over = fmax(0, place->most_ns - item->direct_ns);
    double likely = direct ? over : fmin(item->likely_ns * place->part, place->most_ns);
    double best = direct ? over : fmin(item->saved_ns * place->part, place->most_ns);
    cuts[0] = (struct xfw_cut){
        .process = place->process,
        .tid = place->tid,
        .at_ns = place->at_ns,
        .began_ns = place->began_ns,
        .of = place->of,
        .ns = {[XFW_LIKELY] = likely, [XFW_HIGH] = best},
        .most_ns = direct ? item->direct_ns : 0,
    };
    cuts[1] = (struct xfw_cut){.process = place->process,
                               .tid = place->tid,
                               .at_ns = place->copy_ns,
                               .began_ns = -1, /* it is no message */
                               .of = XFW_CUT_COPY};
    return direct ? 2 : 1;
}

/* The first cut of two processes in one of them, and what their messages take once. */
struct first {
    struct first_key { /* key */
        uint32_t process, of[2];
    } key;
    size_t cut;
    bool known;
    double ns;
};

static void note_first(const struct xfa_analysis *analysis, const struct xfa_message_item *item,
                       const struct xfw_cut *cuts, size_t at, struct xfa_table *firsts)
{
    const struct xfa_message_item_key *key = &item->key;
    const struct xfa_process *one =
        xfa_messages_process(&analysis->messages, key->communicator, key->from);
    const struct xfa_process *other =
        xfa_messages_process(&analysis->messages, key->communicator, key->to);
    if (!one || !other || !(item->first_ns > 0))
        return;
    bool turned = one->number > other->number;
    struct first_key of = {
        cuts[at].process,
        {turned ? other->number : one->number, turned ? one->number : other->number}};
    struct first *first = xfa_table_put(firsts, &of);
    if (!first->known || cuts[at].at_ns < cuts[first->cut].at_ns)
        first->cut = at;
    first->known = true;
    first->ns = fmax(first->ns, item->first_ns);
}

struct xfw_change *xfa_message_items_change(const struct xfa_analysis *analysis,
                                            const struct xfa_message_items *items, unsigned judged,
                                            const struct xfa_finding *finding)
{
    struct xfw_cut *cuts = NULL;
    size_t count = 0, capacity = 0;
    struct xfw_set sites = xfa_finding_sites(finding);
    struct xfa_table firsts;
    bool *chosen = xfa_alloc(items->all.count + 1);
    for (size_t i = 0; i < items->all.count; i++)
        chosen[i] = xfa_message_item(items, i)->judged == judged &&
                    xfw_set_has(&sites, xfa_message_item(items, i)->key.site);
    xfa_table_init(&firsts, sizeof(struct first_key), sizeof(struct first));
    for (size_t i = 0; i < items->count && !items->beyond; i++) {
        const struct xfa_message_place *place = &items->places[i];
        const struct xfa_message_item *item = xfa_message_item(items, place->item);
        if (!chosen[place->item])
            continue;
        cuts = xfa_room(cuts, &capacity, count + 2, sizeof *cuts);
        size_t at = count;
        count += cuts_of(item, place, &cuts[at]);
        note_first(analysis, item, cuts, at, &firsts);
    }
    for (size_t i = 0; cuts && i < firsts.count; i++) {
        const struct first *first = xfa_table_at(&firsts, i);
        cuts[first->cut].first_ns = first->ns;
    }
    xfa_table_free(&firsts);
    free(chosen);
    xfw_set_free(&sites);
    return count ? xfw_change_own_time(analysis, cuts, count) : NULL;
}
