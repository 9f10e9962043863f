/*
 * polled-wait: the host sleeps between queries whether work is done, and finds out long after that.
 * Lost: not known for single waits, since the work may be done at any time between the last two
 * queries; the replay knows it.
 *
 * The record says how much processor time the thread used in polled waits. Where it is a small part
 * of them the thread does nothing else between its queries. Else, and where it is not known, it may
 * have other work, and the finding is a question. Waits with short times between queries are left
 * out: nothing is lost in them.
 */
#include "analyzer/findings/divided.h"
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

/* Between two queries: trace_events.h has processor times of longer ones. */
#define LEAST_SINCE_NS 5000u
#define LEAST_TIMES 2
#define LEAST_KNOWN 0.5 /* of a site's waits: of so many the processor time has to be known */
#define LEAST_SLEPT 0.5 /* of a site's waits: so many have long times between queries */

struct site_key {
    uint32_t site, function; /* numbers */
};

struct polled_site {
    struct site_key key;
    uint64_t times, known, quick; /* waits; those of which the processor time is known; others */
    struct xfa_exact since_ns;    /* the time from the query before to the last one */
    struct xfa_exact polled_ns, worked_ns; /* of those known */
    struct xfa_met met;
};

struct polled {
    struct xfa_table sites;
    uint32_t process;
};

static uint64_t process(void *self, struct xfa_process *process)
{
    struct polled *polled = self;
    polled->process = process->number;
    return XFA_KIND(XFT_EVENT_QUERY);
}

static void event(void *self, const struct xfa_event *event)
{
    struct polled *polled = self;
    const struct xfa_wait_call *wait = &event->wait;
    if (event->kind != XFT_EVENT_QUERY || wait->queries == 0 || event->stack == 0)
        return;
    const struct site_key key = {xfa_site_of(event)->number, xfa_function_of(event)->number};
    bool is_new = xfa_table_get(&polled->sites, &key) == NULL;
    struct polled_site *site = xfa_table_put(&polled->sites, &key);
    if (is_new)
        site->met.process = polled->process;
    if (wait->since_ns < LEAST_SINCE_NS) {
        site->quick++;
        return;
    }
    site->times++;
    xfa_exact_add(&site->since_ns, wait->since_ns);
    if (wait->worked_ns == 0)
        return;
    site->known++;
    xfa_exact_add(&site->polled_ns, (double)wait->polled_ns);
    xfa_exact_add(&site->worked_ns, (double)wait->worked_ns - 1);
}

static struct xfa_observer observe(void *self)
{
    struct polled *polled = self;
    xfa_table_init(&polled->sites, sizeof(struct site_key), sizeof(struct polled_site));
    return (struct xfa_observer){
        .name = "polled waits",
        .shared = true,
        .kinds = XFA_KIND(XFT_EVENT_QUERY),
        .self = self,
        .process = process,
        .event = event,
    };
}

static void release(void *self)
{
    struct polled *polled = self;
    xfa_table_free(&polled->sites);
}

/* ---- divided --------------------------------------------------------------------------------- */

static bool is_good(const void *analysis, const void *item)
{
    const struct polled_site *site = item;
    return xfa_divided_site(analysis, site->key.site) &&
           xfa_divided_function(analysis, site->key.function);
}

static void add(void *item, const void *more)
{
    struct polled_site *site = item;
    const struct polled_site *other = more;
    site->times += other->times;
    site->known += other->known;
    site->quick += other->quick;
    xfa_exact_merge(&site->since_ns, &other->since_ns);
    xfa_exact_merge(&site->polled_ns, &other->polled_ns);
    xfa_exact_merge(&site->worked_ns, &other->worked_ns);
}

static const struct xfa_met_table of_sites = {offsetof(struct polled_site, met), is_good, add};

/* ---- the finding ----------------------------------------------------------------------------- */

static bool sleeps(const struct polled_site *site)
{
    return (double)site->known >= LEAST_KNOWN * (double)site->times &&
           xfa_exact_value(&site->worked_ns) <=
               XFA_POLLED_MOST_WORKED * xfa_exact_value(&site->polled_ns);
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct polled *polled = sums;
    for (size_t i = 0; i < polled->sites.count; i++) {
        const struct polled_site *of = xfa_table_at(&polled->sites, i);
        if (of->times < LEAST_TIMES ||
            (double)of->times < LEAST_SLEPT * (double)(of->times + of->quick) ||
            xfa_exact_value(&of->since_ns) <= xfa_findings_least_ns(analysis))
            continue;
        const struct xfa_finding like = {
            .id = XFA_FINDING_POLLED_WAIT,
            .remedy = {.kind = sleeps(of) ? XFA_REMEDY_WAIT_BY_CALL : XFA_REMEDY_WAIT_IF_IDLE,
                       .to_host = true,
                       .node = -1},
            .lost_ns = NAN,
            .question =
                sleeps(of) ? NULL : "the host does nothing of use between the queries of {site}",
        };
        const struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, of->key.site),
            .function = xfa_run_function(analysis->run, of->key.function),
            .transfers = of->times,
            .lost_ns = NAN,
            .reckoning = XFA_RECKONED_POLLED,
        };
        xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set sites = xfa_finding_sites(finding);
    (void)sums;
    return xfw_change_no_polling(analysis, &sites, finding->question != NULL);
}

const struct xfa_finding_kind xfa_kind_polled_wait = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct polled),
    .observe = observe,
    .free = release,
    .met_of = &of_sites,
    .met_table = offsetof(struct polled, sites),
};
