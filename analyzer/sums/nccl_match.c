#include "analyzer/sums/nccl_match.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

struct telling {
    struct xfa_matched *matched;
    struct xfa_messages *messages;
    const struct xfa_achievable *achievable;
    struct xfa_doubts *doubts;
    const struct xfa_nccl_call *before; /* the meeting before */
    size_t before_count;
    struct xfa_measured_ranks ranks; /* of the meetings in this channel, to the profile */
};

/* A meeting at hand: when its last kernel began, on the first host's clock. */
struct meeting {
    const struct xfa_nccl_call *all, *last;
    size_t count;
    double came;
};

static const struct xfa_process *process_of(const struct telling *t,
                                            const struct xfa_nccl_call *one)
{
    return t->messages->run->processes[one->at.process];
}

static double common_ns(const struct telling *t, const struct xfa_nccl_call *one, uint64_t ns)
{
    return xfa_host_clocks_common_ns(&t->matched->clocks, process_of(t, one), ns);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static void span_of(void *self, const struct xfa_nccl_call *all, size_t count)
{
    struct telling *t = self;
    for (size_t i = 0; i < count; i++) {
        const struct xfa_process *process = process_of(t, &all[i]);
        xfa_host_clocks_span(&t->matched->clocks, process, all[i].begin_ns);
        xfa_host_clocks_span(&t->matched->clocks, process, all[i].end_ns);
    }
}

/* No kernel ends before those have begun whose data it needs. */
static void bound(struct telling *t, const struct xfa_nccl_call *from,
                  const struct xfa_nccl_call *to)
{
    uint64_t began_ns =
        from->begin_ns > XFA_DEVICE_CLOCK_NS ? from->begin_ns - XFA_DEVICE_CLOCK_NS : 0;
    xfa_host_clocks_bound(&t->matched->clocks, process_of(t, from), began_ns, process_of(t, to),
                          to->end_ns);
}

/* Of many ranks each with the next one, and with the first. */
static void bound_meeting(void *self, const struct xfa_nccl_call *all, size_t count)
{
    struct telling *t = self;
    if (all->at.side == XFA_SENDS)
        bound(t, &all[0], &all[1]);
    for (size_t i = 1; i < count && xfa_message_is_of_all(all->at.what); i++) {
        const struct xfa_nccl_call *pairs[2] = {&all[i - 1], &all[0]};
        for (size_t k = 0; k < (i > 1 ? 2 : 1); k++) {
            bound(t, pairs[k], &all[i]);
            bound(t, &all[i], pairs[k]);
        }
    }
}

void xfa_nccl_span(struct xfa_matched *matched, const struct xfa_messages *messages)
{
    struct telling t = {.matched = matched, .messages = (struct xfa_messages *)messages};
    xfa_nccl_each(&messages->nccl, span_of, NULL, &t);
}

void xfa_nccl_bound(struct xfa_matched *matched, const struct xfa_messages *messages)
{
    struct telling t = {.matched = matched, .messages = (struct xfa_messages *)messages};
    xfa_nccl_each(&messages->nccl, bound_meeting, NULL, &t);
}

uint64_t xfa_nccl_first_ns(const struct xfa_messages *messages)
{
    const struct xfa_nccl_call *calls = messages->nccl.kept.all;
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < messages->nccl.kept.count; i++) {
        const struct xfa_nccl_call *one = &calls[i];
        uint64_t begin =
            xfa_process_wall_ns(messages->run->processes[one->at.process], one->begin_ns);
        first = one->end_ns && begin < first ? begin : first;
    }
    return first;
}

/* ---- one kernel ------------------------------------------------------------------------------ */

static bool is_message(const struct meeting *m)
{
    return m->all->at.side == XFA_SENDS;
}

/* How far times of the two may be off; NAN = not known. */
static double error_ns(const struct telling *t, const struct xfa_nccl_call *a,
                       const struct xfa_nccl_call *b)
{
    double hosts = xfa_host_clocks_error(&t->matched->clocks, process_of(t, a), process_of(t, b));
    return a == b ? 0 : hosts + (double)XFA_DEVICE_CLOCK_NS;
}

/* How long it ran before the last one began; NAN: that is not known. */
static double before_last(const struct telling *t, const struct meeting *m,
                          const struct xfa_nccl_call *one)
{
    double from = common_ns(t, one, one->begin_ns), to = common_ns(t, one, one->end_ns);
    double hosts =
        xfa_host_clocks_error(&t->matched->clocks, process_of(t, one), process_of(t, m->last));
    if (!(hosts <= XFA_CLOCK_PART * (to - from)))
        return NAN;
    if (is_message(m) && to <= m->came)
        return 0;
    return fmin(fmax(m->came - from, 0), to - from);
}

static bool is_one_kernel(const struct xfa_nccl_call *a, const struct xfa_nccl_call *b)
{
    return a->at.process == b->at.process && a->correlation == b->correlation;
}

static bool is_of_channel_before(const struct telling *t, const struct meeting *m)
{
    return t->before && t->before->at.channel == m->all->at.channel && t->before_count == m->count;
}

/* Calls of a group have one kernel, which counts once. */
static bool is_again(const struct telling *t, const struct meeting *m, size_t i)
{
    return (i > 0 && is_one_kernel(&m->all[i], &m->all[i - 1])) ||
           (is_of_channel_before(t, m) && is_one_kernel(&m->all[i], &t->before[i]));
}

static struct xfa_message_row *row_of(const struct telling *t, const struct xfa_nccl_call *one)
{
    return one->row == XFA_NO_MESSAGE_ROW ? NULL : xfa_message_row(t->messages, one->row);
}

static void divide(const struct telling *t, const struct meeting *m,
                   const struct xfa_nccl_call *one)
{
    struct xfa_message_row *row = row_of(t, one);
    double before = before_last(t, m, one);
    if (!row || isnan(before))
        return;
    row->divided++;
    row->before_ns += before;
    row->since_ns += (double)(one->end_ns - one->begin_ns) - before;
}

/* ---- what was moved since -------------------------------------------------------------------- */

static void add_timed(const struct telling *t, const struct meeting *m,
                      const struct xfa_nccl_call *one, const struct xfa_nccl_call *until,
                      double off_ns, double order_ns)
{
    const struct xfa_doubted_call call = {
        .row = one->row,
        .bytes = one->bytes,
        .ns = common_ns(t, until, until->end_ns) - m->came,
        .off_ns = off_ns,
        .order_ns = order_ns,
        .price =
            xfa_achievable_collective(t->achievable, "nccl", one->at.what, &t->ranks, one->bytes)};
    xfa_doubts_add(t->doubts, &call);
}

/* Both kernels are of calls of one row each, which moved the same. What a send had put into buffers
 * before the receive began is not known. */
static void time_message(const struct telling *t, const struct meeting *m)
{
    const struct xfa_nccl_call *sent = &m->all[0], *got = &m->all[1];
    double off = error_ns(t, got, m->last) + m->came - common_ns(t, sent, sent->begin_ns);
    if (is_again(t, m, 0) || is_again(t, m, 1) || !row_of(t, sent) || !row_of(t, got) ||
        sent->bytes != got->bytes || !(common_ns(t, got, got->end_ns) > m->came))
        return;
    add_timed(t, m, sent, got, off, off);
    add_timed(t, m, got, got, off, off);
}

static void time_collective(const struct telling *t, const struct meeting *m)
{
    double worst = 0;
    for (size_t i = 0; i < m->count; i++) {
        double off = error_ns(t, &m->all[i], m->last);
        worst = isnan(off) || isnan(worst) ? NAN : fmax(worst, off);
    }
    for (size_t i = 0; i < m->count; i++)
        if (!is_again(t, m, i) && row_of(t, &m->all[i]) &&
            common_ns(t, &m->all[i], m->all[i].end_ns) > m->came)
            add_timed(t, m, &m->all[i], &m->all[i], error_ns(t, &m->all[i], m->last), worst);
}

/* ---- groups of several rows ------------------------------------------------------------------ */

/*
 * Sends and receives of a group have one kernel, which is of no single row. What the rank gives in
 * it goes together, and what it gets: each row has the part of the kernel's time that its bytes
 * have of its direction's, so that its rate is the group's. The time is from when the last of the
 * kernels that it has to meet had begun, its own as well, until it and those that it sends to had
 * ended.
 */
struct group {
    struct group_key { /* key */
        uint32_t process, correlation;
    } key;
    const struct xfa_nccl_call *one; /* of its calls */
    uint32_t seen, met;              /* calls; those whose other side is known */
    uint32_t ways[2];                /* calls that send, and that receive */
    uint64_t bytes[2];               /* of these */
    bool mixed;                      /* there are others, or of several ranks */
    double first, came, until;       /* the first and the last kernel's begin, the last one's end */
    double error;                    /* how far these may be off, and */
    double hosts;                    /* of that by the hosts' clocks */
    const struct xfa_nccl_call *peer; /* the last of the other sides */
    bool peers;                       /* these are of several ranks */
};

/* What one row has of a group. */
struct share {
    struct share_key { /* key */
        uint32_t process, correlation, row, receives;
    } key;
    uint32_t calls, met;
    uint64_t bytes;
    double came; /* when the last of the other sides began */
};

struct grouping {
    struct telling *t;
    struct xfa_table groups, shares;
};

static struct group *group_of(struct grouping *g, const struct xfa_nccl_call *one)
{
    const struct group_key key = {one->at.process, one->correlation};
    struct group *group = xfa_table_put(&g->groups, &key);
    if (group->seen++ == 0) {
        group->one = one;
        group->first = group->came = common_ns(g->t, one, one->begin_ns);
        group->until = common_ns(g->t, one, one->end_ns);
    }
    group->mixed = group->mixed || one->at.side == XFA_TAKES_PART ||
                   one->at.rank != group->one->at.rank || one->at.size != group->one->at.size;
    return group;
}

static void meet(struct grouping *g, struct group *group, struct share *share,
                 const struct xfa_nccl_call *one, const struct xfa_nccl_call *other)
{
    double began = common_ns(g->t, other, other->begin_ns);
    double hosts = xfa_host_clocks_error(&g->t->matched->clocks, process_of(g->t, one),
                                         process_of(g->t, other));
    group->met++;
    group->first = fmin(group->first, began);
    group->came = fmax(group->came, began);
    if (one->at.side == XFA_SENDS)
        group->until = fmax(group->until, common_ns(g->t, other, other->end_ns));
    group->hosts = isnan(hosts) || isnan(group->hosts) ? NAN : fmax(group->hosts, hosts);
    group->error = group->hosts + (double)XFA_DEVICE_CLOCK_NS;
    group->peers = group->peers || (group->peer && group->peer->at.rank != other->at.rank);
    group->peer = other;
    share->came = share->met++ == 0 ? began : fmax(share->came, began);
}

/* other: its other side; NULL: not known. */
static void add_to_group(struct grouping *g, const struct xfa_nccl_call *one,
                         const struct xfa_nccl_call *other)
{
    if (one->row != XFA_NO_MESSAGE_ROW || one->end_ns == 0 || one->calls < 2)
        return;
    bool receives = one->at.side == XFA_RECEIVES;
    const struct share_key key = {one->at.process, one->correlation, one->own_row, receives};
    struct group *group = group_of(g, one);
    struct share *share = xfa_table_put(&g->shares, &key);
    group->ways[receives]++;
    group->bytes[receives] = xfa_add(group->bytes[receives], one->own_bytes);
    share->calls++;
    share->bytes = xfa_add(share->bytes, one->own_bytes);
    if (other)
        meet(g, group, share, one, other);
}

static void see_meeting(void *self, const struct xfa_nccl_call *all, size_t count)
{
    bool message = all->at.side == XFA_SENDS;
    for (size_t i = 0; i < count; i++)
        add_to_group(self, &all[i], message ? &all[1 - i] : NULL);
}

static void see_others(void *self, const struct xfa_nccl_call *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_to_group(self, &all[i], NULL);
}

/* The profile has one send and one receive of each rank. */
static struct xfa_price price_of(const struct telling *t, const struct group *group)
{
    const struct xfa_nccl_call *one = group->one;
    const uint32_t hosts[2] = {process_of(t, one)->host, process_of(t, group->peer)->host};
    if (group->ways[0] != 1 || group->ways[1] != 1 || group->peers ||
        group->bytes[0] != group->bytes[1])
        return (struct xfa_price){.time.basis = XFP_UNKNOWN, .why = XFA_UNPRICED_GROUP};
    const struct xfa_measured_ranks ranks = xfa_measured_ranks_of(t->achievable, hosts, 2);
    return xfa_achievable_collective(t->achievable, "nccl", one->at.what, &ranks, group->bytes[0]);
}

/* Its kernel's time, and what that ran before the row's other sides had begun. */
static void divide_share(const struct telling *t, const struct group *group,
                         const struct share *share, double part)
{
    struct xfa_message_row *row = xfa_message_row(t->messages, share->key.row);
    const struct xfa_nccl_call *one = group->one;
    double from = common_ns(t, one, one->begin_ns), to = common_ns(t, one, one->end_ns);
    row->kernel_bytes = xfa_add(row->kernel_bytes, share->bytes);
    row->kernel_ns += (double)(one->end_ns - one->begin_ns) * part;
    if (share->met != share->calls || !(group->hosts <= XFA_CLOCK_PART * (to - from)))
        return;
    double before = fmin(fmax(share->came - from, 0), to - from);
    if (!share->key.receives && to <= share->came)
        before = 0; /* all was in buffers */
    row->divided++;
    row->before_ns += before;
    row->since_ns += (double)(one->end_ns - one->begin_ns) - before;
}

/* What may have been in buffers before the last of the kernels began is its error. */
static void tell_share(const struct telling *t, const struct group *group,
                       const struct share *share)
{
    uint64_t all = group->bytes[share->key.receives];
    double part = all ? (double)share->bytes / (double)all : 0, since = group->until - group->came;
    if (group->mixed || group->seen != group->one->calls || part == 0)
        return;
    divide_share(t, group, share, part);
    if (group->met != group->seen || !(since > 0) || isnan(group->error))
        return;
    double off = group->error + group->came - group->first;
    const struct xfa_doubted_call call = {.row = share->key.row,
                                          .bytes = share->bytes,
                                          .ns = since * part,
                                          .off_ns = off * part,
                                          .order_ns = off,
                                          .price = price_of(t, group)};
    xfa_doubts_add(t->doubts, &call);
}

static void tell_groups(struct telling *t)
{
    struct grouping g = {.t = t};
    xfa_table_init(&g.groups, sizeof(struct group_key), sizeof(struct group));
    xfa_table_init(&g.shares, sizeof(struct share_key), sizeof(struct share));
    xfa_nccl_each(&t->messages->nccl, see_meeting, see_others, &g);
    for (size_t i = 0; i < g.shares.count; i++) {
        const struct share *share = xfa_table_at(&g.shares, i);
        const struct group_key key = {share->key.process, share->key.correlation};
        tell_share(t, xfa_table_get(&g.groups, &key), share);
    }
    xfa_table_free(&g.groups);
    xfa_table_free(&g.shares);
}

/* ---- who came last --------------------------------------------------------------------------- */

/* In processes of their own. */
static void tell_processes(const struct telling *t, const struct meeting *m)
{
    struct xfa_message_process_sum *sums = t->matched->processes;
    double others = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (i > 0 && m->all[i].at.process == m->all[i - 1].at.process)
            return;
        others += before_last(t, m, &m->all[i]);
    }
    if (isnan(others))
        return;
    for (size_t i = 0; i < m->count; i++)
        sums[m->all[i].at.process].collectives++;
    sums[m->last->at.process].last++;
    sums[m->last->at.process].others_ns += others;
}

static struct meeting meeting_of(const struct telling *t, const struct xfa_nccl_call *all,
                                 size_t count)
{
    struct meeting m = {all, all, count, common_ns(t, all, all->begin_ns)};
    for (size_t i = 1; i < count; i++) {
        double began = common_ns(t, &all[i], all[i].begin_ns);
        if (began > m.came) {
            m.last = &all[i];
            m.came = began;
        }
    }
    return m;
}

static struct xfa_measured_ranks ranks_of(const struct telling *t, const struct meeting *m)
{
    uint32_t *hosts = xfa_alloc(m->count * sizeof *hosts);
    for (size_t i = 0; i < m->count; i++)
        hosts[i] = process_of(t, &m->all[i])->host;
    struct xfa_measured_ranks ranks = xfa_measured_ranks_of(t->achievable, hosts, m->count);
    free(hosts);
    return ranks;
}

static void tell_meeting(void *self, const struct xfa_nccl_call *all, size_t count)
{
    struct telling *t = self;
    struct meeting m = meeting_of(t, all, count);
    bool of_all = xfa_message_is_of_all(all->at.what);
    if (!is_of_channel_before(t, &m))
        t->ranks = ranks_of(t, &m);
    if (of_all && !is_again(t, &m, 0))
        tell_processes(t, &m);
    for (size_t i = 0; i < count && (of_all || is_message(&m)); i++)
        if (!is_again(t, &m, i))
            divide(t, &m, &all[i]);
    if (of_all)
        time_collective(t, &m);
    else if (is_message(&m))
        time_message(t, &m);
    t->before = all;
    t->before_count = count;
}

void xfa_nccl_tell(struct xfa_matched *matched, struct xfa_messages *messages,
                   const struct xfa_achievable *achievable, struct xfa_doubts *doubts)
{
    struct telling t = {
        .matched = matched, .messages = messages, .achievable = achievable, .doubts = doubts};
    xfa_nccl_each(&messages->nccl, tell_meeting, NULL, &t);
    tell_groups(&t);
}
