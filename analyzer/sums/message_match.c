#include "analyzer/sums/message_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/compare.h"
#include "analyzer/sums/doubts.h"
#include "analyzer/sums/figures.h"
#include "analyzer/sums/nccl_match.h"
#include "analyzer/sums/ranks.h"

/* Messages of one size between two processes, of one host or of two. */
struct cell {
    struct cell_key { /* key; a < b */
        uint32_t size_class, remote;
        uint32_t a, b;
    } key;
    uint64_t count;
    double ns;
};

struct peers {
    struct peers_key { /* key; a < b */
        uint32_t a, b;
    } key;
    double took_ns;  /* of messages of sizes that many have */
    double usual_ns; /* what these take by the median */
};

struct host_path {
    struct host_path_key { /* key */
        uint32_t from, to;
    } key;
    struct xfa_message_path path;
};

struct matching {
    struct xfa_matched *matched;
    struct xfa_messages *messages;
    const struct xfa_achievable *achievable;
    struct xfa_table cells, peers, paths;
    struct xfa_doubts doubts;
    uint64_t channel;                /* of the collective before */
    bool known_channel;              /* there was one */
    struct xfa_measured_ranks ranks; /* of that channel, to the profile */
};

static const struct xfa_process *process_of(const struct matching *m,
                                            const struct xfa_kept_message *one)
{
    return m->messages->run->processes[one->at.process];
}

/* On the clock of the first host. */
static double common_ns(const struct matching *m, const struct xfa_kept_message *one, uint64_t ns)
{
    return xfa_host_clocks_common_ns(&m->matched->clocks, process_of(m, one), ns);
}

/* ---- who belongs together -------------------------------------------------------------------- */

static void alone(void *self, const struct xfa_kept_message *all, size_t count)
{
    struct matching *m = self;
    m->matched->alone += count;
}

static void each_group(const struct xfa_messages *messages, xfa_matched_fn *pair,
                       xfa_matched_fn *collective, xfa_matched_fn *other, void *self)
{
    const struct xfa_kept_calls *kept = &messages->kept;
    const struct xfa_kept_message *all = kept->all;
    for (size_t at = 0, next; at < kept->count; at = next) {
        next = xfa_calls_next(kept, at);
        bool of_two = xfa_calls_are_pair(kept, at, next - at) && all[at + 1].done;
        xfa_matched_fn *use = of_two                                          ? pair
                              : xfa_calls_are_collective(kept, at, next - at) ? collective
                                                                              : other;
        if (use)
            use(self, &all[at], next - at);
    }
}

void xfa_matched_each(const struct xfa_messages *messages, xfa_matched_fn *pair,
                      xfa_matched_fn *collective, void *self)
{
    each_group(messages, pair, collective, NULL, self);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static void span_of(void *self, const struct xfa_kept_message *all, size_t count)
{
    struct matching *m = self;
    struct xfa_host_clocks *clocks = &m->matched->clocks;
    for (size_t i = 0; i < count; i++) {
        xfa_host_clocks_span(clocks, process_of(m, &all[i]), all[i].begin_ns);
        if (all[i].done)
            xfa_host_clocks_span(clocks, process_of(m, &all[i]), all[i].end_ns);
    }
}

static void bound(struct matching *m, const struct xfa_kept_message *from,
                  const struct xfa_kept_message *to)
{
    xfa_host_clocks_bound(&m->matched->clocks, process_of(m, from), from->begin_ns,
                          process_of(m, to), to->end_ns);
}

static void bound_pair(void *self, const struct xfa_kept_message *all, size_t count)
{
    struct matching *m = self;
    bound(m, &all[0], &all[1]);
}

/* Of many ranks each with the next one, and with the first. */
static void bound_collective(void *self, const struct xfa_kept_message *all, size_t count)
{
    struct matching *m = self;
    if (!xfa_message_is_of_all(all->at.what))
        return;
    for (size_t i = 1; i < count; i++) {
        const struct xfa_kept_message *pairs[2] = {&all[i - 1], &all[0]};
        for (size_t k = 0; k < (i > 1 ? 2 : 1); k++) {
            if (all[i].done)
                bound(m, pairs[k], &all[i]);
            if (pairs[k]->done)
                bound(m, &all[i], pairs[k]);
        }
    }
}

static uint64_t first_ns(const struct matching *m)
{
    const struct xfa_kept_calls *calls = &m->messages->kept;
    const struct xfa_kept_message *kept = calls->all;
    uint64_t first = xfa_nccl_first_ns(m->messages);
    for (size_t i = 0; i < calls->count; i++) {
        uint64_t begin = xfa_process_wall_ns(process_of(m, &kept[i]), kept[i].begin_ns);
        first = begin < first ? begin : first;
    }
    return first;
}

static void set_clocks(struct matching *m)
{
    xfa_host_clocks_init(&m->matched->clocks, m->messages->run, first_ns(m));
    each_group(m->messages, span_of, span_of, NULL, m);
    xfa_nccl_span(m->matched, m->messages);
    each_group(m->messages, bound_pair, bound_collective, NULL, m);
    xfa_nccl_bound(m->matched, m->messages);
    xfa_host_clocks_solve(&m->matched->clocks);
}

/* Is a time of these two known? */
static bool clocks_tell(const struct matching *m, const struct xfa_kept_message *a,
                        const struct xfa_kept_message *b, double ns)
{
    return xfa_host_clocks_error(&m->matched->clocks, process_of(m, a), process_of(m, b)) <=
           XFA_CLOCK_PART * ns; /* not for NAN */
}

/* ---- two ranks ------------------------------------------------------------------------------- */

static struct xfa_message_row *row_of(const struct matching *m, const struct xfa_kept_message *one)
{
    return xfa_message_row(m->messages, one->row);
}

/* What one side waited before the other began, and since. Returns how much of it before; NAN: that
 * is not known. */
static double divide_wait(struct matching *m, const struct xfa_kept_message *one,
                          const struct xfa_kept_message *other, double other_ns)
{
    struct xfa_message_row *row = row_of(m, one);
    if (!one->done)
        return NAN;
    double from = common_ns(m, one, one->wait_ns), to = common_ns(m, one, one->end_ns);
    if (!clocks_tell(m, one, other, to - from))
        return NAN;
    double before = fmin(fmax(other_ns - from, 0), to - from);
    row->divided++;
    row->before_ns += before;
    row->since_ns += to - from - before;
    return before;
}

static void add_timed(struct xfa_message_row *row, uint64_t bytes, double ns,
                      const struct xfa_price *price)
{
    row->timed++;
    row->timed_bytes = xfa_add(row->timed_bytes, bytes);
    row->timed_ns += ns;
    if (price->why != XFA_PRICED)
        row->unpriced = (uint8_t)price->why;
    if (price->time.basis == XFP_UNKNOWN)
        return;
    row->priced++;
    row->priced_bytes = xfa_add(row->priced_bytes, bytes);
    row->priced_ns += ns;
    row->achievable_ns += price->time.ns;
}

static void add_cell(struct matching *m, const struct xfa_kept_message *x,
                     const struct xfa_kept_message *y, double ns)
{
    bool first = x->at.process < y->at.process;
    struct cell_key key = {
        xfa_size_class(x->bytes), process_of(m, x)->host != process_of(m, y)->host,
        first ? x->at.process : y->at.process, first ? y->at.process : x->at.process};
    struct cell *cell = xfa_table_get(&m->cells, &key);
    if (x->at.process == y->at.process || (!cell && m->cells.count >= XFA_MAX_MESSAGE_CELLS))
        return;
    cell = cell ? cell : xfa_table_put(&m->cells, &key);
    cell->count++;
    cell->ns += ns;
}

static const struct xfa_message_path *path_between(struct matching *m, uint32_t from, uint32_t to)
{
    struct host_path_key key = {from, to};
    struct host_path *path = xfa_table_get(&m->paths, &key);
    if (path)
        return &path->path;
    path = xfa_table_put(&m->paths, &key);
    path->path = xfa_message_path(m->achievable, from, to);
    return &path->path;
}

/* How long the message took, since both sides had begun. */
static void time_pair(struct matching *m, const struct xfa_kept_message *sent,
                      const struct xfa_kept_message *got)
{
    double both = fmax(common_ns(m, sent, sent->begin_ns), common_ns(m, got, got->begin_ns));
    double end = common_ns(m, got, got->end_ns), ns = end - both;
    double waited = end - fmax(common_ns(m, got, got->wait_ns), both);
    if (!(ns > 0) || !clocks_tell(m, sent, got, ns) || waited < ns / 2)
        return;
    uint32_t from = process_of(m, sent)->host, to = process_of(m, got)->host;
    bool gpu = row_of(m, sent)->key.gpu && row_of(m, got)->key.gpu;
    bool host = !row_of(m, sent)->key.gpu && !row_of(m, got)->key.gpu;
    struct xfa_price price = {.time.basis = XFP_UNKNOWN};
    if (gpu || host)
        price.time = xfa_achievable_message(path_between(m, from, to), sent->bytes, gpu);
    add_timed(row_of(m, sent), sent->bytes, ns, &price);
    add_timed(row_of(m, got), sent->bytes, ns, &price);
    add_cell(m, sent, got, ns);
}

/* Of a call that sends and receives its wait is that of its receive. */
static void tell_pair(void *self, const struct xfa_kept_message *all, size_t count)
{
    struct matching *m = self;
    const struct xfa_kept_message *sent = &all[0], *got = &all[1];
    m->matched->messages++;
    row_of(m, sent)->matched++;
    row_of(m, got)->matched += got->at.what != XFT_MESSAGE_SENDRECV;
    if (!got->arrival_known)
        row_of(m, got)->arrived = xfa_add(row_of(m, got)->arrived, sent->bytes);
    if (sent->at.what != XFT_MESSAGE_SENDRECV)
        divide_wait(m, sent, got, common_ns(m, got, got->begin_ns));
    divide_wait(m, got, sent, common_ns(m, sent, sent->begin_ns));
    time_pair(m, sent, got);
}

/* ---- all ranks ------------------------------------------------------------------------------- */

static const struct xfa_kept_message *last_of(const struct matching *m,
                                              const struct xfa_kept_message *all, size_t count)
{
    const struct xfa_kept_message *last = all;
    for (size_t i = 1; i < count; i++)
        if (common_ns(m, &all[i], all[i].begin_ns) > common_ns(m, last, last->begin_ns))
            last = &all[i];
    return last;
}

static struct xfa_measured_ranks ranks_of(const struct matching *m,
                                          const struct xfa_kept_message *all, size_t count)
{
    uint32_t *hosts = xfa_alloc(count * sizeof *hosts);
    for (size_t i = 0; i < count; i++)
        hosts[i] = process_of(m, &all[i])->host;
    struct xfa_measured_ranks ranks = xfa_measured_ranks_of(m->achievable, hosts, count);
    free(hosts);
    return ranks;
}

/* What the profile says of it, or why it says nothing. */
static struct xfa_price price_of(struct matching *m, const struct xfa_kept_message *all,
                                 size_t count)
{
    struct xfa_price price = {.time.basis = XFP_UNKNOWN};
    for (size_t i = 0; i < count; i++) {
        if (row_of(m, &all[i])->key.gpu)
            price.why = XFA_UNPRICED_MEMORY;
        else if (price.why == XFA_PRICED && (all[i].unequal || all[i].bytes != all->bytes))
            price.why = XFA_UNPRICED_PARTS;
    }
    if (!m->known_channel || m->channel != all->at.channel)
        m->ranks = ranks_of(m, all, count);
    m->known_channel = true;
    m->channel = all->at.channel;
    return price.why != XFA_PRICED ? price
                                   : xfa_achievable_collective(m->achievable, "mpi", all->at.what,
                                                               &m->ranks, all->bytes);
}

/* Before whom nothing of it can have been moved, if not before the last rank. */
static double moves_from(const struct matching *m, const struct xfa_kept_message *all, size_t count,
                         double came)
{
    bool roots = all->at.what == XFT_MESSAGE_BCAST || all->at.what == XFT_MESSAGE_SCATTER;
    double from = came;
    if (xfa_message_is_of_all(all->at.what))
        return came;
    for (size_t i = 0; i < count; i++)
        if (!roots || all[i].at.rank == all[i].root)
            from = fmin(from, common_ns(m, &all[i], all[i].begin_ns));
    return from;
}

/* Since its last rank came. What may have been moved before is what that may be off. */
static void time_collective(struct matching *m, const struct xfa_kept_message *all, size_t count,
                            const struct xfa_kept_message *last)
{
    const struct xfa_kept_message *slowest = all;
    double came = common_ns(m, last, last->begin_ns), end = 0;
    for (size_t i = 0; i < count; i++) {
        if (!all[i].done)
            return;
        double own_end = common_ns(m, &all[i], all[i].end_ns);
        slowest = i == 0 || own_end > end ? &all[i] : slowest;
        end = i == 0 || own_end > end ? own_end : end;
    }
    double ns = end - came;
    double waited = end - fmax(common_ns(m, slowest, slowest->wait_ns), came);
    if (!(ns > 0) || waited < ns / 2)
        return;
    for (size_t i = 0; i < count; i++)
        if (!clocks_tell(m, &all[i], last, ns))
            return;
    double before = came - moves_from(m, all, count, came);
    struct xfa_doubted_call call = {
        .ns = ns, .off_ns = before, .order_ns = before, .price = price_of(m, all, count)};
    for (size_t i = 0; i < count; i++) {
        call.row = all[i].row;
        call.bytes = all[i].bytes;
        xfa_doubts_add(&m->doubts, &call);
    }
}

static void tell_collective(void *self, const struct xfa_kept_message *all, size_t count)
{
    struct matching *m = self;
    const struct xfa_kept_message *last = last_of(m, all, count);
    double came = common_ns(m, last, last->begin_ns), others = 0;
    bool all_divided = true;
    m->matched->messages++;
    for (size_t i = 0; i < count; i++) {
        double before = divide_wait(m, &all[i], last, came);
        row_of(m, &all[i])->matched++;
        all_divided = all_divided && !isnan(before);
        others += isnan(before) ? 0 : before;
    }
    for (size_t i = 0; i < count && all_divided; i++)
        m->matched->processes[all[i].at.process].collectives++;
    if (all_divided) {
        m->matched->processes[last->at.process].last++;
        m->matched->processes[last->at.process].others_ns += others;
    }
    time_collective(m, all, count, last);
}

/* ---- slow ranks ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    const struct cell *x = *(struct cell *const *)a, *y = *(struct cell *const *)b;
    return memcmp(&x->key, &y->key, sizeof x->key);
}

static bool same_size(const struct cell *a, const struct cell *b)
{
    return a->key.remote == b->key.remote && a->key.size_class == b->key.size_class;
}

static double mean_of(const struct cell *cell)
{
    return cell->ns / (double)cell->count;
}

/* Cells of one size: each pair of processes has one. */
static void compare_cells(struct matching *m, struct cell *const *cells, size_t count)
{
    double *means = xfa_alloc((count + 1) * sizeof *means);
    for (size_t i = 0; i < count; i++)
        means[i] = mean_of(cells[i]);
    double usual = xfa_rank_median(means, count);
    for (size_t i = 0; count >= XFA_LEAST_RANKS && i < count; i++) {
        struct peers_key key = {cells[i]->key.a, cells[i]->key.b};
        struct peers *peers = xfa_table_put(&m->peers, &key);
        peers->took_ns += cells[i]->ns;
        peers->usual_ns += usual * (double)cells[i]->count;
    }
    free(means);
}

static void add_up_cells(struct matching *m)
{
    size_t count = m->cells.count;
    struct cell **cells = xfa_alloc((count + 1) * sizeof *cells);
    for (size_t i = 0; i < count; i++)
        cells[i] = xfa_table_at(&m->cells, i);
    qsort(cells, count, sizeof *cells, by_size);
    for (size_t at = 0, next; at < count; at = next) {
        for (next = at + 1; next < count && same_size(cells[next], cells[at]);)
            next++;
        compare_cells(m, &cells[at], next - at);
    }
    free(cells);
}

/* How slow it is with the peer with which it is fastest. */
static void add_up_peers(struct matching *m)
{
    struct xfa_matched *matched = m->matched;
    for (size_t i = 0; i < m->peers.count; i++) {
        const struct peers *peers = xfa_table_at(&m->peers, i);
        const uint32_t ends[2] = {peers->key.a, peers->key.b};
        for (size_t k = 0; k < 2 && peers->usual_ns > 0; k++) {
            struct xfa_message_process_sum *sum = &matched->processes[ends[k]];
            sum->peers++;
            sum->slower = fmin(sum->slower, peers->took_ns / peers->usual_ns); /* not NAN */
        }
    }
    for (size_t i = 0; i < matched->process_count; i++)
        if (matched->processes[i].peers < 2)
            matched->processes[i].slower = NAN;
}

static size_t figures_of(const struct xfa_matched *matched, double *figures)
{
    size_t count = 0;
    for (size_t i = 0; i < matched->process_count; i++)
        if (!isnan(matched->processes[i].slower))
            figures[count++] = matched->processes[i].slower;
    return count;
}

static void find_slow(struct matching *m)
{
    struct xfa_matched *matched = m->matched;
    double *figures = xfa_alloc((matched->process_count + 1) * sizeof *figures);
    add_up_cells(m);
    add_up_peers(m);
    size_t count = figures_of(matched, figures);
    matched->usual = xfa_rank_median(figures, count);
    for (size_t i = 0; i < count; i++)
        figures[i] = fabs(figures[i] - matched->usual);
    double mad = xfa_rank_median(figures, count);
    for (size_t i = 0; count >= XFA_LEAST_RANKS && i < matched->process_count; i++) {
        struct xfa_message_process_sum *sum = &matched->processes[i];
        sum->stands_out = sum->slower > matched->usual &&
                          xfa_is_far(sum->slower, matched->usual, mad, matched->usual);
    }
    free(figures);
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

static void count_meeting(void *self, const struct xfa_nccl_call *all, size_t count)
{
    struct xfa_matched *matched = self;
    (void)all;
    (void)count;
    matched->meetings++;
}

static void count_unmet(void *self, const struct xfa_nccl_call *all, size_t count)
{
    struct xfa_matched *matched = self;
    (void)all;
    matched->unmet += count;
}

/* ---- all of it ------------------------------------------------------------------------------- */

void xfa_messages_match(struct xfa_matched *matched, struct xfa_messages *messages,
                        const struct xfa_achievable *achievable)
{
    struct matching m = {.matched = matched, .messages = messages, .achievable = achievable};
    *matched = (struct xfa_matched){.any = messages->calls > 0, .usual = NAN};
    if (!matched->any)
        return;
    matched->process_count = messages->run->process_count;
    matched->processes = xfa_alloc((matched->process_count + 1) * sizeof *matched->processes);
    for (size_t i = 0; i < matched->process_count; i++)
        matched->processes[i].slower = NAN;
    xfa_doubts_init(&m.doubts);
    xfa_table_init(&m.cells, sizeof(struct cell_key), sizeof(struct cell));
    xfa_table_init(&m.peers, sizeof(struct peers_key), sizeof(struct peers));
    xfa_table_init(&m.paths, sizeof(struct host_path_key), sizeof(struct host_path));
    xfa_calls_sort(&messages->kept);
    xfa_nccl_sort(&messages->nccl);
    xfa_nccl_each(&messages->nccl, count_meeting, count_unmet, matched);
    set_clocks(&m);
    each_group(messages, tell_pair, tell_collective, alone, &m);
    xfa_nccl_tell(matched, messages, achievable, &m.doubts);
    xfa_doubts_choose(&m.doubts, messages);
    find_slow(&m);
    xfa_doubts_free(&m.doubts);
    xfa_table_free(&m.cells);
    xfa_table_free(&m.peers);
    xfa_table_free(&m.paths);
}

void xfa_matched_free(struct xfa_matched *matched)
{
    free(matched->processes);
    xfa_host_clocks_free(&matched->clocks);
    *matched = (struct xfa_matched){0};
}

/* ---- what it comes to ------------------------------------------------------------------------ */

double xfa_message_gbps(const struct xfa_message_row *row)
{
    return row->timed_ns > 0 && row->timed_bytes ? (double)row->timed_bytes / row->timed_ns
                                                 : xfa_message_kernels_gbps(row);
}

double xfa_message_kernels_gbps(const struct xfa_message_row *row)
{
    return row->kernel_ns > 0 ? (double)row->kernel_bytes / row->kernel_ns : NAN;
}

double xfa_message_call_ns(const struct xfa_message_row *row)
{
    return row->timed ? row->timed_ns / (double)row->timed : NAN;
}

double xfa_message_achievable_call_ns(const struct xfa_message_row *row)
{
    return row->priced ? row->achievable_ns / (double)row->priced : NAN;
}

double xfa_message_achievable_gbps(const struct xfa_message_row *row)
{
    return row->achievable_ns > 0 && row->priced_bytes
               ? (double)row->priced_bytes / row->achievable_ns
               : NAN;
}

static int by_time(const void *a, const void *b, void *of)
{
    const struct xfa_message_row *x = *(struct xfa_message_row *const *)a;
    const struct xfa_message_row *y = *(struct xfa_message_row *const *)b;
    const struct xfa_run *run = of;
    int order = xfa_descending(x->ns + x->wait_ns, y->ns + y->wait_ns);
    if (order == 0)
        order = strcmp(xfa_run_site(run, x->key.site)->text, xfa_run_site(run, y->key.site)->text);
    if (order == 0)
        order = strcmp(xfa_run_function(run, x->key.function)->name,
                       xfa_run_function(run, y->key.function)->name);
    return order ? order : memcmp(&x->key.from, &y->key.from, sizeof x->key - 16);
}

const struct xfa_message_row **xfa_messages_order(const struct xfa_messages *messages)
{
    const struct xfa_message_row **order = xfa_alloc((messages->rows.count + 1) * sizeof *order);
    for (size_t i = 0; i < messages->rows.count; i++)
        order[i] = xfa_table_at(&messages->rows, i);
    qsort_r(order, messages->rows.count, sizeof *order, by_time, messages->run);
    return order;
}
