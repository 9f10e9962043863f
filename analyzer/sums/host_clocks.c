#include "analyzer/sums/host_clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

#define BINS 256 /* stretches of the run, of each of which the tightest bounds are kept */
#define STEPS 100

struct bound {
    double at_ns, ns;
};

struct bounds {
    struct bound all[BINS];
    size_t count; /* once they are solved: those that there are, in order */
};

struct pair {
    struct pair_key { /* key; a < b */
        uint32_t a, b;
    } key;
    uint64_t messages;
    struct bounds *upper, *lower; /* of b's clock minus a's */
    enum xfa_clock_basis basis;
    double offset_ns, drift, error_ns;
};

void xfa_host_clocks_init(struct xfa_host_clocks *clocks, const struct xfa_run *run,
                          uint64_t from_ns)
{
    *clocks = (struct xfa_host_clocks){.count = run->host_count, .from_ns = from_ns};
    clocks->all = xfa_alloc((clocks->count + 1) * sizeof *clocks->all);
    for (size_t i = 0; i < clocks->count; i++)
        clocks->all[i] = (struct xfa_host_clock){.basis = i == 0 ? XFA_CLOCK_FIRST : XFA_CLOCK_OWN,
                                                 .error_ns = i == 0 ? 0 : NAN};
    clocks->spans = xfa_alloc((clocks->count + 1) * sizeof *clocks->spans);
    xfa_table_init(&clocks->pairs, sizeof(struct pair_key), sizeof(struct pair));
}

static struct pair *pair_at(const struct xfa_host_clocks *clocks, size_t i)
{
    return xfa_table_at(&clocks->pairs, i);
}

void xfa_host_clocks_free(struct xfa_host_clocks *clocks)
{
    for (size_t i = 0; i < clocks->pairs.count; i++) {
        free(pair_at(clocks, i)->upper);
        free(pair_at(clocks, i)->lower);
    }
    xfa_table_free(&clocks->pairs);
    free(clocks->all);
    free(clocks->spans);
    *clocks = (struct xfa_host_clocks){0};
}

static double since(const struct xfa_host_clocks *clocks, uint64_t ns)
{
    return ns >= clocks->from_ns ? (double)(ns - clocks->from_ns) : -(double)(clocks->from_ns - ns);
}

/* A time of the process's clock on its host's wall clock. */
static double since_by(const struct xfa_host_clocks *clocks, const struct xfa_process *process,
                       uint64_t ns)
{
    return since(clocks, xfa_process_wall_ns(process, ns));
}

void xfa_host_clocks_span(struct xfa_host_clocks *clocks, const struct xfa_process *process,
                          uint64_t ns)
{
    struct xfa_host_span *span = &clocks->spans[process->host];
    double at = since_by(clocks, process, ns);
    span->first_ns = span->any ? fmin(span->first_ns, at) : at;
    span->last_ns = span->any ? fmax(span->last_ns, at) : at;
    span->any = true;
    clocks->middle_ns = (clocks->spans[0].first_ns + clocks->spans[0].last_ns) / 2;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static struct bounds *new_bounds(void)
{
    struct bounds *bounds = xfa_alloc(sizeof *bounds);
    for (size_t i = 0; i < BINS; i++)
        bounds->all[i].ns = NAN;
    return bounds;
}

static struct pair *pair_of(struct xfa_host_clocks *clocks, uint32_t a, uint32_t b)
{
    struct pair_key key = {a < b ? a : b, a < b ? b : a};
    struct pair *pair = xfa_table_get(&clocks->pairs, &key);
    if (pair || clocks->pairs.count >= XFA_MAX_HOST_PAIRS)
        return pair;
    pair = xfa_table_put(&clocks->pairs, &key);
    pair->upper = new_bounds();
    pair->lower = new_bounds();
    return pair;
}

void xfa_host_clocks_bound(struct xfa_host_clocks *clocks, const struct xfa_process *from,
                           uint64_t sent_ns, const struct xfa_process *to, uint64_t arrived_ns)
{
    struct pair *pair = from->host == to->host ? NULL : pair_of(clocks, from->host, to->host);
    if (!pair)
        return;
    bool up = from->host < to->host;
    double sent = since_by(clocks, from, sent_ns), arrived = since_by(clocks, to, arrived_ns);
    double at = up ? sent : arrived, ns = up ? arrived - sent : sent - arrived;
    const struct xfa_host_span *span = &clocks->spans[pair->key.a];
    double length = span->last_ns - span->first_ns;
    double bin = length > 0 ? (at - span->first_ns) / length * BINS : 0;
    struct bounds *bounds = up ? pair->upper : pair->lower;
    struct bound *kept = &bounds->all[(size_t)fmin(fmax(bin, 0), BINS - 1)];
    pair->messages++;
    if (isnan(kept->ns) || (up ? ns < kept->ns : ns > kept->ns))
        *kept = (struct bound){at, ns};
}

static void close_up(struct bounds *bounds)
{
    bounds->count = 0;
    for (size_t i = 0; i < BINS; i++)
        if (!isnan(bounds->all[i].ns))
            bounds->all[bounds->count++] = bounds->all[i];
}

/* ---- lines between them ---------------------------------------------------------------------- */

/* The most that a line of this drift can be at a time without crossing a bound. */
static double upper_at(const struct pair *pair, double drift, double at_ns)
{
    double least = INFINITY;
    for (size_t i = 0; i < pair->upper->count; i++) {
        const struct bound *bound = &pair->upper->all[i];
        least = fmin(least, bound->ns + drift * (at_ns - bound->at_ns));
    }
    return least;
}

static double lower_at(const struct pair *pair, double drift, double at_ns)
{
    double most = -INFINITY;
    for (size_t i = 0; i < pair->lower->count; i++) {
        const struct bound *bound = &pair->lower->all[i];
        most = fmax(most, bound->ns + drift * (at_ns - bound->at_ns));
    }
    return most;
}

static double room(const struct pair *pair, double drift, double at_ns)
{
    return upper_at(pair, drift, at_ns) - lower_at(pair, drift, at_ns);
}

typedef double of_drift(const struct pair *pair, double drift, double at_ns);

static double below(const struct pair *pair, double drift, double at_ns)
{
    return -lower_at(pair, drift, at_ns);
}

/* Where a concave function of the drift is largest. */
static double largest(of_drift *function, const struct pair *pair, double from, double to,
                      double at_ns)
{
    for (int i = 0; i < STEPS; i++) {
        double third = (to - from) / 3;
        if (function(pair, from + third, at_ns) < function(pair, to - third, at_ns))
            from += third;
        else
            to -= third;
    }
    return (from + to) / 2;
}

/* Between a drift that has room and one that may have none: the last that has. */
static double edge(const struct pair *pair, double has, double hasnt)
{
    if (room(pair, hasnt, 0) >= 0)
        return hasnt;
    for (int i = 0; i < STEPS; i++) {
        double middle = (has + hasnt) / 2;
        *(room(pair, middle, 0) >= 0 ? &has : &hasnt) = middle;
    }
    return has;
}

/* How far another line may be from ours at a time. */
static double error_at(const struct pair *pair, double from, double to, double at_ns, double ours)
{
    double high = upper_at(pair, largest(upper_at, pair, from, to, at_ns), at_ns);
    double low = -below(pair, largest(below, pair, from, to, at_ns), at_ns);
    return fmax(high - ours, ours - low);
}

static void solve_both(struct pair *pair, const struct xfa_host_span *span, double middle_ns)
{
    double drift = largest(room, pair, -XFA_MOST_DRIFT, XFA_MOST_DRIFT, 0);
    pair->basis = XFA_CLOCK_CONTRADICTED;
    if (room(pair, drift, 0) < 0)
        return;
    double from = edge(pair, drift, -XFA_MOST_DRIFT), to = edge(pair, drift, XFA_MOST_DRIFT);
    double first = span->first_ns, last = span->last_ns;
    pair->basis = XFA_CLOCK_MESSAGES;
    pair->drift = drift;
    pair->offset_ns = (upper_at(pair, drift, middle_ns) + lower_at(pair, drift, middle_ns)) / 2;
    pair->error_ns =
        fmax(error_at(pair, from, to, first, pair->offset_ns + drift * (first - middle_ns)),
             error_at(pair, from, to, last, pair->offset_ns + drift * (last - middle_ns)));
}

/* As far as the wall clocks contradict messages in one direction. */
static void solve_one(struct pair *pair)
{
    pair->basis = XFA_CLOCK_BOUND;
    pair->error_ns = NAN;
    if (pair->upper->count)
        pair->offset_ns = fmin(0, upper_at(pair, 0, 0));
    else
        pair->offset_ns = fmax(0, lower_at(pair, 0, 0));
}

/* ---- all hosts ------------------------------------------------------------------------------- */

static bool is_joined(const struct xfa_host_clocks *clocks, uint32_t host)
{
    enum xfa_clock_basis basis = clocks->all[host].basis;
    return basis == XFA_CLOCK_FIRST || basis == XFA_CLOCK_MESSAGES || basis == XFA_CLOCK_BOUND;
}

/* The pair with the least error that leads from a host that is joined to one that is not. */
static struct pair *next_pair(const struct xfa_host_clocks *clocks, enum xfa_clock_basis basis)
{
    struct pair *best = NULL;
    for (size_t i = 0; i < clocks->pairs.count; i++) {
        struct pair *pair = pair_at(clocks, i);
        if (pair->basis != basis ||
            is_joined(clocks, pair->key.a) == is_joined(clocks, pair->key.b))
            continue;
        if (!best || pair->error_ns < best->error_ns)
            best = pair;
    }
    return best;
}

/* Both as lines: a time by b's clock is one by a's, times 1 + drift, plus the offset. */
static void join(struct xfa_host_clocks *clocks, const struct pair *pair)
{
    bool up = is_joined(clocks, pair->key.a);
    const struct xfa_host_clock *of = &clocks->all[up ? pair->key.a : pair->key.b];
    struct xfa_host_clock *to = &clocks->all[up ? pair->key.b : pair->key.a];
    double rate = up ? 1 + pair->drift : 1 / (1 + pair->drift);
    double offset = up ? pair->offset_ns : -pair->offset_ns * rate;
    bool both = pair->basis == XFA_CLOCK_MESSAGES && of->basis != XFA_CLOCK_BOUND;
    to->basis = both ? XFA_CLOCK_MESSAGES : XFA_CLOCK_BOUND;
    to->messages = pair->messages;
    to->offset_ns = of->offset_ns * rate + offset;
    to->drift = (1 + of->drift) * rate - 1;
    to->error_ns = of->error_ns + pair->error_ns;
}

/* Hosts that no pair joins. */
static void note_contradictions(struct xfa_host_clocks *clocks)
{
    for (size_t i = 0; i < clocks->pairs.count; i++) {
        const struct pair *pair = pair_at(clocks, i);
        for (int end = 0; end < 2 && pair->basis == XFA_CLOCK_CONTRADICTED; end++) {
            struct xfa_host_clock *host = &clocks->all[end ? pair->key.b : pair->key.a];
            host->basis = host->basis == XFA_CLOCK_OWN ? XFA_CLOCK_CONTRADICTED : host->basis;
        }
    }
}

void xfa_host_clocks_solve(struct xfa_host_clocks *clocks)
{
    struct pair *pair;
    for (size_t i = 0; i < clocks->pairs.count; i++) {
        pair = pair_at(clocks, i);
        close_up(pair->upper);
        close_up(pair->lower);
        if (pair->upper->count && pair->lower->count)
            solve_both(pair, &clocks->spans[pair->key.a], clocks->middle_ns);
        else
            solve_one(pair);
    }
    while ((pair = next_pair(clocks, XFA_CLOCK_MESSAGES)) ||
           (pair = next_pair(clocks, XFA_CLOCK_BOUND)))
        join(clocks, pair);
    note_contradictions(clocks);
}

double xfa_host_clocks_ns(const struct xfa_host_clocks *clocks, uint32_t host, uint64_t wall_ns)
{
    const struct xfa_host_clock *clock = &clocks->all[host];
    double middle = clocks->middle_ns;
    return middle + (since(clocks, wall_ns) - middle - clock->offset_ns) / (1 + clock->drift);
}

double xfa_host_clocks_error(const struct xfa_host_clocks *clocks, const struct xfa_process *a,
                             const struct xfa_process *b)
{
    return a->host == b->host ? 0 : clocks->all[a->host].error_ns + clocks->all[b->host].error_ns;
}
