#include "analyzer/findings/wait_sites.h"

#include <math.h>
#include <stddef.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"

#define LEAST_SHARE 0.95 /* of a site's waits */
#define LEAST_ORDERS 0.9 /* the same: what the first and the last are for does not show */
#define LEAST_TIMES 2

void xfa_wait_sites_init(struct xfa_table *sites)
{
    xfa_table_init(sites, sizeof(uint32_t), sizeof(struct xfa_wait_site));
}

struct xfa_wait_site *xfa_wait_site_at(struct xfa_table *sites, uint32_t site)
{
    return xfa_table_put(sites, &site);
}

struct xfa_wait_site *xfa_wait_site_of(struct xfa_table *sites, const struct xfa_event *event)
{
    uint32_t number = xfa_site_of(event)->number, process = event->process->number;
    bool known = xfa_table_get(sites, &number) != NULL;
    struct xfa_wait_site *site = xfa_wait_site_at(sites, number);
    if (!known)
        site->met.process = process;
    site->function = xfa_function_of(event)->number;
    site->last = process;
    return site;
}

void xfa_wait_site_add(struct xfa_wait_site *site, uint64_t bytes, double ns)
{
    site->times++;
    site->bytes = xfa_add(site->bytes, bytes);
    xfa_exact_add(&site->ns, ns);
}

void xfa_wait_count_add(struct xfa_wait_count *count, uint64_t bytes, double ns)
{
    count->times++;
    count->bytes = xfa_add(count->bytes, bytes);
    xfa_exact_add(&count->ns, ns);
}

struct xfa_finding_site xfa_wait_site_found(const struct xfa_analysis *analysis,
                                            const struct xfa_wait_site *waits,
                                            enum xfa_reckoning reckoning)
{
    return (struct xfa_finding_site){
        .site = xfa_run_site(analysis->run, waits->site),
        .function = xfa_run_function(analysis->run, waits->function),
        .transfers = waits->times,
        .bytes = waits->bytes,
        .lost_ns = NAN,
        .reckoning = reckoning,
    };
}

void xfa_wait_sites_find(const struct xfa_analysis *analysis, const struct xfa_table *sites,
                         const struct xfa_finding *like, enum xfa_reckoning reckoning,
                         struct xfa_findings *findings)
{
    for (size_t i = 0; i < sites->count; i++) {
        const struct xfa_wait_site *waits = xfa_table_at(sites, i);
        const struct xfa_finding_site site = xfa_wait_site_found(analysis, waits, reckoning);
        double all = (double)waits->times + (double)waits->needed;
        if (waits->times >= LEAST_TIMES && (double)waits->times >= LEAST_SHARE * all &&
            xfa_exact_value(&waits->ns) > xfa_findings_least_ns(analysis))
            xfa_findings_add_site(findings, like, &site);
    }
}

static double all_of(const struct xfa_wait_site *site)
{
    return (double)site->times + (double)site->needed + (double)site->idle.times +
           (double)site->whole;
}

bool xfa_wait_site_is_order(const struct xfa_wait_site *site)
{
    return (double)site->orders.times >= LEAST_ORDERS * all_of(site);
}

static void merge(struct xfa_wait_count *count, const struct xfa_wait_count *other)
{
    count->times += other->times;
    count->bytes = xfa_add(count->bytes, other->bytes);
    xfa_exact_merge(&count->ns, &other->ns);
}

/* Where most of the site's waits are those that were counted, and they take more than the
 * thresholds. */
static bool add_counted(const struct xfa_analysis *analysis, const struct xfa_wait_site *waits,
                        const struct xfa_wait_count *count, const struct xfa_finding *like,
                        struct xfa_findings *findings)
{
    struct xfa_finding_site site =
        xfa_wait_site_found(analysis, waits, XFA_RECKONED_ORDERS_STREAMS);
    site.transfers = count->times;
    site.bytes = count->bytes;
    if (count->times < LEAST_TIMES || (double)count->times < LEAST_ORDERS * all_of(waits) ||
        xfa_exact_value(&count->ns) <= xfa_findings_least_ns(analysis))
        return false;
    xfa_findings_add_site(findings, like, &site);
    return true;
}

void xfa_wait_sites_find_orders(const struct xfa_analysis *analysis, const struct xfa_table *sites,
                                const struct xfa_finding *like, struct xfa_findings *findings)
{
    bool any = false;
    for (size_t i = 0; i < sites->count; i++) {
        const struct xfa_wait_site *waits = xfa_table_at(sites, i);
        any |= add_counted(analysis, waits, &waits->orders, like, findings);
    }
    for (size_t i = 0; i < sites->count && any; i++) { /* others may be for order, too */
        const struct xfa_wait_site *waits = xfa_table_at(sites, i);
        struct xfa_wait_count both = waits->orders;
        merge(&both, &waits->idle);
        if (!xfa_wait_site_is_order(waits))
            add_counted(analysis, waits, &both, like, findings);
    }
}

void xfa_wait_sites_find_idle(const struct xfa_analysis *analysis, const struct xfa_table *sites,
                              const struct xfa_finding *like, struct xfa_findings *findings)
{
    for (size_t i = 0; i < sites->count; i++) {
        const struct xfa_wait_site *waits = xfa_table_at(sites, i);
        add_counted(analysis, waits, &waits->idle, like, findings);
    }
}

/* ---- divided --------------------------------------------------------------------------------- */

static bool is_good(const void *analysis, const void *item)
{
    const struct xfa_wait_site *waits = item;
    return xfa_divided_site(analysis, waits->site) &&
           xfa_divided_function(analysis, waits->function);
}

static void add(void *item, const void *more)
{
    struct xfa_wait_site *waits = item;
    const struct xfa_wait_site *other = more;
    waits->times += other->times;
    waits->needed += other->needed;
    waits->bytes = xfa_add(waits->bytes, other->bytes);
    xfa_exact_merge(&waits->ns, &other->ns);
    waits->whole += other->whole;
    merge(&waits->orders, &other->orders);
    merge(&waits->idle, &other->idle);
    merge(&waits->pieces, &other->pieces);
    if (other->last >= waits->last) {
        waits->function = other->function;
        waits->last = other->last;
    }
}

const struct xfa_met_table xfa_wait_sites = {offsetof(struct xfa_wait_site, met), is_good, add};
