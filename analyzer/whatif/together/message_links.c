#include "analyzer/whatif/together/message_links.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/sums/figures.h"

/* What two hosts show of sends. */
struct shown {
    struct shown_key { /* key */
        uint32_t from, to;
    } key;
    uint64_t eager, rendezvous; /* the largest that waited for nothing, the smallest that waited */
};

/* Messages that one call waited for alone. */
struct usual {
    struct usual_key {     /* key */
        uint32_t from, to; /* hosts; of a collective that of one rank */
        uint32_t size_class, what;
    } key;
    uint64_t count;
    double ns;
};

/* Calls of one kind of a process: the shortest, without what they waited for others to begin. */
struct shortest {
    struct shortest_key { /* key */
        uint32_t process;
        uint16_t what, blocks;
    } key;
    double ns;
};

struct item {
    const struct xfa_kept_message *one;
    const struct xfa_kept_message *other; /* of a pair */
    uint32_t link;                        /* its place in links->all */
    double begin_ns, wait_ns, end_ns;
    double ready_ns; /* when all that it awaits had begun; NAN: it awaits nothing */
};

struct linking {
    const struct xfa_analysis *analysis;
    struct xfw_links *links;
    struct xfa_table shown, usual, shortest;
    struct item *items;
    size_t count, capacity;
};

static const struct xfa_process *process_of(const struct linking *l,
                                            const struct xfa_kept_message *one)
{
    return l->analysis->run->processes[one->at.process];
}

static double common_ns(const struct linking *l, const struct xfa_kept_message *one, uint64_t ns)
{
    return xfa_host_clocks_common_ns(&l->analysis->matched.clocks, process_of(l, one), ns);
}

/* ---- eager or not ---------------------------------------------------------------------------- */

static struct shown *shown_of(struct linking *l, const struct xfa_kept_message *sent,
                              const struct xfa_kept_message *got)
{
    const struct shown_key key = {process_of(l, sent)->host, process_of(l, got)->host};
    struct shown *shown = xfa_table_get(&l->shown, &key);
    if (shown)
        return shown;
    shown = xfa_table_put(&l->shown, &key);
    shown->rendezvous = UINT64_MAX;
    return shown;
}

static void look_at_pair(void *self, const struct xfa_kept_message *all, size_t count)
{
    struct linking *l = self;
    const struct xfa_kept_message *sent = &all[0], *got = &all[1];
    struct shown *shown = shown_of(l, sent, got);
    double received = common_ns(l, got, got->begin_ns);
    (void)count;
    if (!sent->done)
        return;
    if (common_ns(l, sent, sent->end_ns) < received)
        shown->eager = sent->bytes > shown->eager ? sent->bytes : shown->eager;
    else if (common_ns(l, sent, sent->wait_ns) < received && sent->bytes < shown->rendezvous)
        shown->rendezvous = sent->bytes;
}

static bool is_rendezvous(struct linking *l, const struct xfa_kept_message *sent,
                          const struct xfa_kept_message *got)
{
    const struct shown *shown = shown_of(l, sent, got);
    if (sent->bytes <= shown->eager)
        return false;
    return sent->bytes >= shown->rendezvous || sent->bytes > XFW_RENDEZVOUS_BYTES;
}

/* ---- links ----------------------------------------------------------------------------------- */

static struct item *add_item(struct linking *l, const struct xfa_kept_message *one, uint8_t posts,
                             uint8_t awaits, double ready_ns)
{
    const struct xfw_link_key key = {one->begin_ns, one->at.process, one->at.side};
    struct xfw_link_group *group = &l->links->groups[l->links->count - 1];
    if (xfa_table_get(&l->links->all,
                      &key)) /* two threads at one time: neither can be identified */
        return NULL;
    struct xfw_link *link = xfa_table_put(&l->links->all, &key);
    link->group = (uint32_t)l->links->count - 1;
    link->posts = posts;
    link->awaits = one->done ? awaits : 0;
    link->own_ns = NAN;
    link->ready_ns = ready_ns;
    group->posts += posts != 0;
    group->awaits += link->awaits != 0;
    l->items = xfa_room(l->items, &l->capacity, l->count + 1, sizeof *l->items);
    struct item *item = &l->items[l->count++];
    *item = (struct item){.one = one,
                          .link = xfa_table_place(&l->links->all, link),
                          .begin_ns = common_ns(l, one, one->begin_ns),
                          .wait_ns = one->done ? common_ns(l, one, one->wait_ns) : NAN,
                          .end_ns = one->done ? common_ns(l, one, one->end_ns) : NAN,
                          .ready_ns = link->awaits ? ready_ns : NAN};
    return item;
}

static bool is_side_there(const struct linking *l, const struct xfa_kept_message *one,
                          uint32_t side)
{
    const struct xfw_link_key key = {one->begin_ns, one->at.process, side};
    return xfa_table_get(&l->links->all, &key) != NULL;
}

static bool is_there(const struct linking *l, const struct xfa_kept_message *one)
{
    return is_side_there(l, one, one->at.side);
}

static void link_pair(void *self, const struct xfa_kept_message *all, size_t count)
{
    struct linking *l = self;
    const struct xfa_kept_message *sent = &all[0], *got = &all[1];
    bool both = is_rendezvous(l, sent, got);
    double ready = common_ns(l, sent, sent->begin_ns);
    (void)count;
    if (is_there(l, sent) || is_there(l, got))
        return;
    if (both)
        ready = fmax(ready, common_ns(l, got, got->begin_ns));
    xfw_links_new_group(l->links);
    l->links->messages++;
    uint8_t awaits = both ? XFW_OF_SENT | XFW_OF_GOT : XFW_OF_SENT;
    struct item *item = add_item(l, sent, XFW_OF_SENT, both ? awaits : 0, ready);
    item->other = got;
    item = add_item(l, got, both ? XFW_OF_GOT : 0, awaits, ready);
    item->other = sent;
}

static bool is_root(const struct linking *l, const struct xfa_kept_message *one)
{
    const struct xfa_rank *rank = &process_of(l, one)->rank;
    return rank->known && rank->number == xfa_message_row(&l->analysis->messages, one->row)->key.to;
}

/* Does a rank, the root or another, give something that others wait for; does it wait? */
static bool gives(unsigned what, bool root)
{
    bool from_root = what == XFT_MESSAGE_BCAST || what == XFT_MESSAGE_SCATTER;
    return from_root ? root : what != XFT_MESSAGE_SCAN;
}

static bool takes(unsigned what, bool root)
{
    bool from_root = what == XFT_MESSAGE_BCAST || what == XFT_MESSAGE_SCATTER;
    bool to_root = what == XFT_MESSAGE_REDUCE || what == XFT_MESSAGE_GATHER;
    return from_root ? !root : to_root ? root : xfa_message_is_of_all(what);
}

/* What a rank waits for, or gives, within its scan. */
static void add_part(struct linking *l, const struct xfa_kept_message *one, uint32_t side,
                     uint32_t group, double ready_ns)
{
    const struct xfw_link_key key = {one->begin_ns, one->at.process, side};
    struct xfw_link *link = xfa_table_put(&l->links->all, &key);
    bool gives = side == XFA_SENDS;
    link->group = group;
    link->posts = gives ? XFW_OF_SENT : 0;
    link->awaits = gives ? 0 : XFW_OF_SENT;
    link->own_ns = NAN;
    link->ready_ns = ready_ns;
    l->links->groups[group].posts += gives;
    l->links->groups[group].awaits += !gives;
}

static bool is_chain(const struct linking *l, const struct xfa_kept_message *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!all[i].blocks || is_side_there(l, &all[i], XFA_SENDS) ||
            is_side_there(l, &all[i], XFA_RECEIVES))
            return false;
    return true;
}

/* By rank, of one that does not block. */
static void link_scan_of_requests(struct linking *l, const struct xfa_kept_message *all,
                                  size_t count)
{
    double ready = 0;
    for (size_t i = 0; i < count; i++) {
        ready = fmax(ready, common_ns(l, &all[i], all[i].begin_ns));
        uint32_t group = xfw_links_new_group(l->links);
        const struct item *item = add_item(l, &all[i], XFW_OF_SENT, i > 0 ? XFW_OF_SENT : 0, ready);
        struct xfw_link *link = xfa_table_at(&l->links->all, item->link);
        link->below = link->awaits ? (uint32_t)i : 0;
        for (uint32_t below = 1; below <= link->below; below++)
            l->links->groups[group - below].awaits++;
    }
}

/* By rank. */
static void link_scan(struct linking *l, const struct xfa_kept_message *all, size_t count)
{
    double ready = 0;
    for (size_t i = 0; i < count; i++) {
        double before = ready;
        ready = fmax(ready, common_ns(l, &all[i], all[i].begin_ns));
        uint32_t group = xfw_links_new_group(l->links);
        add_item(l, &all[i], 0, i > 0 ? XFW_OF_SENT : 0, ready);
        add_part(l, &all[i], XFA_SENDS, group, ready);
        if (i > 0)
            add_part(l, &all[i], XFA_RECEIVES, group - 1, before);
    }
}

static void link_collective(void *self, const struct xfa_kept_message *all, size_t count)
{
    struct linking *l = self;
    double ready = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_there(l, &all[i]))
            return;
        if (gives(all->at.what, is_root(l, &all[i])))
            ready = fmax(ready, common_ns(l, &all[i], all[i].begin_ns));
    }
    l->links->messages++;
    if (all->at.what == XFT_MESSAGE_SCAN && is_chain(l, all, count)) {
        link_scan(l, all, count);
        return;
    }
    if (all->at.what == XFT_MESSAGE_SCAN && count <= XFW_MOST_BELOW + 1) {
        link_scan_of_requests(l, all, count);
        return;
    }
    xfw_links_new_group(l->links);
    for (size_t i = 0; i < count; i++) {
        bool root = is_root(l, &all[i]);
        add_item(l, &all[i], gives(all->at.what, root) ? XFW_OF_SENT : 0,
                 takes(all->at.what, root) ? XFW_OF_SENT : 0, ready);
    }
}

/* ---- calls that waited ----------------------------------------------------------------------- */

static int by_call(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->one->at.process != y->one->at.process)
        return x->one->at.process < y->one->at.process ? -1 : 1;
    if (x->one->done != y->one->done)
        return x->one->done ? -1 : 1;
    if (x->one->end_ns != y->one->end_ns)
        return x->one->end_ns < y->one->end_ns ? -1 : 1;
    return (x->one->wait_ns > y->one->wait_ns) - (x->one->wait_ns < y->one->wait_ns);
}

static bool same_call(const struct item *x, const struct item *y)
{
    return x->one->at.process == y->one->at.process && x->one->wait_ns == y->one->wait_ns &&
           x->one->end_ns == y->one->end_ns;
}

/* What held the call up; NULL: nothing is awaited in it. */
static struct item *last_of(struct item *items, size_t count)
{
    struct item *last = NULL;
    for (size_t i = 0; i < count; i++)
        if (!isnan(items[i].ready_ns) && (!last || items[i].ready_ns > last->ready_ns))
            last = &items[i];
    return last;
}

/* The call waited until it was there: for half of the time since both sides had begun, at least. */
static bool has_waited(const struct item *item)
{
    double since = fmax(item->wait_ns, item->ready_ns);
    return item->end_ns - since >= (item->end_ns - item->ready_ns) / 2;
}

static struct usual_key usual_key(const struct linking *l, const struct item *item)
{
    const struct xfa_kept_message *one = item->one, *other = item->other ? item->other : one;
    return (struct usual_key){process_of(l, one)->host, process_of(l, other)->host,
                              xfa_size_class(one->bytes),
                              one->at.what << 1 | (one->at.side == XFA_SENDS)};
}

static struct shortest *shortest_of(struct linking *l, const struct item *item)
{
    const struct shortest_key key = {item->one->at.process,
                                     item->one->blocks ? item->one->at.what : 0, item->one->blocks};
    struct shortest *shortest = xfa_table_get(&l->shortest, &key);
    if (shortest)
        return shortest;
    shortest = xfa_table_put(&l->shortest, &key);
    shortest->ns = INFINITY;
    return shortest;
}

static void learn_call(struct linking *l, struct item *items, size_t count)
{
    struct shortest *shortest = shortest_of(l, items);
    size_t awaited = 0;
    const struct item *last = last_of(items, count);
    double ready = last ? fmax(items->wait_ns, last->ready_ns) : items->wait_ns;
    shortest->ns = fmin(shortest->ns, fmax(0, items->end_ns - ready));
    for (size_t i = 0; i < count; i++)
        awaited += !isnan(items[i].ready_ns);
    if (awaited != 1 || !has_waited(last))
        return;
    const struct usual_key key = usual_key(l, last);
    struct usual *usual = xfa_table_put(&l->usual, &key);
    usual->count++;
    usual->ns += last->end_ns - last->ready_ns;
}

/* How long it takes usually; where that is not known as long as its sender was in it. */
static double usual_ns(const struct linking *l, const struct item *item)
{
    const struct usual_key key = usual_key(l, item);
    const struct usual *usual = xfa_table_get(&l->usual, &key);
    if (usual)
        return usual->ns / (double)usual->count;
    if (item->one->at.side == XFA_RECEIVES && item->other && item->other->done)
        return fmax(0, common_ns(l, item->other, item->other->end_ns) - item->ready_ns);
    return INFINITY;
}

static void resolve_call(struct linking *l, struct item *items, size_t count)
{
    const struct item *last = last_of(items, count);
    if (!last)
        return;
    bool waited = has_waited(last);
    for (size_t i = 0; i < count; i++) {
        struct xfw_link *link = xfa_table_at(&l->links->all, items[i].link);
        if (waited)
            link->own_ns = fmin(shortest_of(l, items)->ns, items->end_ns - items->wait_ns);
        if (isnan(items[i].ready_ns))
            continue;
        double most = fmax(0, items[i].end_ns - items[i].ready_ns);
        link->under_way_ns =
            &items[i] == last && waited ? most : fmin(most, usual_ns(l, &items[i]));
    }
}

static void each_call(struct linking *l,
                      void (*use)(struct linking *l, struct item *items, size_t count))
{
    for (size_t at = 0, next; at < l->count; at = next) {
        for (next = at + 1; next < l->count && same_call(&l->items[at], &l->items[next]);)
            next++;
        if (l->items[at].one->done)
            use(l, &l->items[at], next - at);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

void xfw_message_links_add(struct xfw_links *links, const struct xfa_analysis *analysis)
{
    struct linking l = {.analysis = analysis, .links = links};
    xfa_table_init(&l.shown, sizeof(struct shown_key), sizeof(struct shown));
    xfa_table_init(&l.usual, sizeof(struct usual_key), sizeof(struct usual));
    xfa_table_init(&l.shortest, sizeof(struct shortest_key), sizeof(struct shortest));
    xfa_matched_each(&analysis->messages, look_at_pair, NULL, &l);
    xfa_matched_each(&analysis->messages, link_pair, link_collective, &l);
    if (l.count)
        qsort(l.items, l.count, sizeof *l.items, by_call);
    each_call(&l, learn_call);
    each_call(&l, resolve_call);
    free(l.items);
    xfa_table_free(&l.shown);
    xfa_table_free(&l.usual);
    xfa_table_free(&l.shortest);
}
