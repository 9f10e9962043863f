#include "analyzer/findings/staging_judge.h"

#include <math.h>
#include <string.h>

#include "analyzer/sums/messages.h"

static double at_size(double ns, uint64_t measured, double bytes)
{
    return ns > 0 ? ns * bytes / (double)measured : NAN;
}

/* What is known of a way from GPU to GPU: both its copies. */
struct way {
    struct way_key { /* key; zeroed before it is filled in */
        uint64_t communicator;
        uint32_t from, to, size_class, reserved;
    } key;
    uint64_t times[2];
    double copy_ns[2]; /* of the sender, of the receiver, added up */
};

/* What the messages of a call site took since both sides had begun. */
struct rate {
    struct rate_key { /* key */
        uint32_t site, function;
    } key;
    uint64_t bytes;
    double ns;
};

static struct way_key way_of(const struct xfa_message_item *item)
{
    struct way_key key;
    memset(&key, 0, sizeof key);
    key.communicator = item->key.communicator;
    key.from = item->key.from;
    key.to = item->key.to;
    key.size_class = item->key.size_class;
    return key;
}

static void add_ways(const struct xfa_message_items *items, struct xfa_table *ways)
{
    xfa_table_init(ways, sizeof(struct way_key), sizeof(struct way));
    for (size_t i = 0; i < items->all.count; i++) {
        const struct xfa_message_item *item = xfa_message_item(items, i);
        struct way_key key = way_of(item);
        struct way *way = xfa_table_put(ways, &key);
        unsigned side = item->key.of == XFW_CUT_GOT;
        way->times[side] += item->times;
        way->copy_ns[side] += xfa_exact_value(&item->copy_time);
    }
}

static void add_rates(const struct xfa_messages *messages, struct xfa_table *rates)
{
    xfa_table_init(rates, sizeof(struct rate_key), sizeof(struct rate));
    for (size_t i = 0; i < messages->rows.count; i++) {
        const struct xfa_message_row *row = xfa_message_row(messages, i);
        struct rate_key key = {row->key.site, row->key.function};
        if (row->timed == 0)
            continue;
        struct rate *rate = xfa_table_put(rates, &key);
        rate->bytes = xfa_add(rate->bytes, row->timed_bytes);
        rate->ns += row->timed_ns;
    }
}

/* Without what was waited for a late rank, where that is known. */
static double message_ns(const struct xfa_message_item *item, const struct xfa_table *rates)
{
    struct rate_key key = {item->key.site, item->key.function};
    const struct rate *rate = xfa_table_get(rates, &key);
    double mean = xfa_exact_value(&item->message_time) / (double)item->times;
    double bytes = (double)item->bytes / (double)item->messages;
    return rate && rate->bytes ? fmin(mean, rate->ns * bytes / (double)rate->bytes) : mean;
}

/* What one piece of the item took, of which it has `share`. */
struct took {
    double copy_ns, message_ns;
    double way_ns; /* all of its way, as far as it is known */
    double share;
    double among; /* how many of its messages waited among other threads' */
};

static struct took took_by(const struct xfa_message_item *item, const struct xfa_table *ways,
                           const struct xfa_table *rates)
{
    struct way_key key = way_of(item);
    const struct way *way = xfa_table_get(ways, &key);
    struct took took = {.copy_ns = xfa_exact_value(&item->copy_time) / (double)item->times,
                        .message_ns = message_ns(item, rates),
                        .share = 1,
                        .among = (double)item->among / (double)item->times};
    took.way_ns = took.copy_ns + took.message_ns;
    if (way->times[0] == 0 || way->times[1] == 0)
        return took;
    double copies_ns =
        way->copy_ns[0] / (double)way->times[0] + way->copy_ns[1] / (double)way->times[1];
    took.way_ns = copies_ns + took.message_ns;
    took.share = copies_ns > 0 ? took.copy_ns / copies_ns : 0.5;
    return took;
}

/* What one piece would save if its way took so much by the profile. Why its message took longer
 * than the profile's, such as other messages meanwhile, pieces do not mend, but for so much of it.
 * whole_ns: what the profile has for the way as it is, of which pieces save at least the same part:
 * the machine may have been slower when it was measured; NAN: that does not count. */
static double saved(const struct took *took, double ns, double message_ns, double mended,
                    double whole_ns)
{
    double longer = isnan(message_ns) ? 0 : fmax(0, took->message_ns - message_ns);
    double way_ns = took->way_ns - (1 - mended) * longer;
    double most = took->copy_ns + mended * longer * took->share;
    double part = fmax(way_ns - ns, way_ns * (1 - ns / whole_ns)); /* fmax() leaves out a NAN */
    return fmin(most, fmax(0, part) * took->share);
}

static double host_message_ns(const struct xfa_message_path *path, double bytes)
{
    struct xfp_estimate time = xfa_achievable_message(path, (uint64_t)bytes, false);
    return time.basis == XFP_UNKNOWN ? NAN : time.ns;
}

/* The ways of a message of so many bytes: those that were measured. */
struct ways_measured {
    double whole, direct; /* NAN: not measured */
    double turned;        /* in pieces, the best ring, both sides turning over what is under way */
    double posted;        /* in pieces that are all begun at once */
};

static struct ways_measured measured(const struct xfp_net_staged_point *at, double bytes)
{
    double turned = fmin(at->pipelined_ns > 0 ? at->pipelined_ns : INFINITY,
                         at->adaptive_ns > 0 ? at->adaptive_ns : INFINITY);
    struct ways_measured ways = {
        .whole = at_size(at->unpipelined_ns, at->bytes, bytes),
        .direct = at_size(at->direct_ns, at->bytes, bytes),
        .turned = at_size(turned, at->bytes, bytes),
        .posted = at_size(at->posted_ns, at->bytes, bytes),
    };
    if (isnan(ways.posted)) /* an earlier profile */
        ways.posted = ways.turned;
    ways.turned = fmin(ways.turned, ways.posted);
    return ways;
}

static double first_use_ns(const struct xfa_analysis *analysis, const struct xfp_net_staged *staged,
                           double bytes)
{
    return xfp_net_first_use_ns(analysis->achievable.profile, staged->from, staged->to,
                                (uint64_t)bytes);
}

/* What one piece of the item would save, and by what. */
static void judge(const struct xfa_analysis *analysis, struct xfa_message_item *item,
                  const struct took *took)
{
    struct xfa_message_path path = xfa_message_item_path(analysis, item);
    double bytes = (double)item->bytes / (double)item->messages;
    const struct xfp_net_staged_point *at =
        path.staged ? xfp_net_staged_at(path.staged, (uint64_t)bytes) : NULL;
    item->judged = XFA_STAGED_NOT_KNOWN;
    item->saved_ns = item->likely_ns = item->direct_ns = NAN;
    item->first_ns = 0;
    if (!at || (double)at->bytes > bytes)
        return;
    struct ways_measured ways = measured(at, bytes);
    item->judged = XFA_STAGED_NOT_JUDGED;
    if (ways.direct < fmin(ways.turned, ways.whole)) {
        item->judged = XFA_STAGED_BY_DEVICE;
        item->saved_ns = item->likely_ns = fmax(0, took->way_ns - ways.direct) * took->share;
        item->direct_ns = ways.direct;
        item->first_ns = first_use_ns(analysis, path.staged, bytes);
    } else if (ways.turned < ways.whole) {
        item->judged = XFA_STAGED_IN_PIECES;
        double message_ns = host_message_ns(&path, bytes);
        item->saved_ns = saved(took, ways.turned, message_ns, took->among, ways.whole);
        item->likely_ns = saved(took, ways.posted, message_ns, 0, NAN);
    }
}

void xfa_judge_staging(const struct xfa_analysis *analysis, const struct xfa_message_items *items)
{
    struct xfa_table ways, rates;
    add_ways(items, &ways);
    add_rates(&analysis->messages, &rates);
    for (size_t i = 0; i < items->all.count; i++) {
        struct xfa_message_item *item = xfa_message_item(items, i);
        struct took took = took_by(item, &ways, &rates);
        judge(analysis, item, &took);
    }
    xfa_table_free(&ways);
    xfa_table_free(&rates);
}

#define HARDLY 1.05 /* at best so much more than as likely is not worth a word */

const char *xfa_staging_at_best(const struct xfa_message_items *items,
                                const struct xfa_finding *finding)
{
    struct xfw_set sites = xfa_finding_sites(finding);
    double likely_ns = 0, best_ns = 0;
    bool among = false;
    for (size_t i = 0; i < items->all.count; i++) {
        const struct xfa_message_item *item = xfa_message_item(items, i);
        if (item->judged != XFA_STAGED_IN_PIECES || !xfw_set_has(&sites, item->key.site))
            continue;
        likely_ns += item->likely_ns * (double)item->times;
        best_ns += item->saved_ns * (double)item->times;
        among = among || 2 * item->among > item->times;
    }
    xfw_set_free(&sites);
    if (!(best_ns > HARDLY * likely_ns))
        return NULL;
    return among ? "at best, both ranks turn over what is under way (MPI_Test()) instead of "
                   "waiting for one piece after the other, so that no thread's messages wait for "
                   "another thread's"
                 : "at best, both ranks turn over what is under way (MPI_Test()) instead of "
                   "waiting for one piece after the other";
}
