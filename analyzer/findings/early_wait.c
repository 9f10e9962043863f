/*
 * early-wait: the host waits for results, then works too briefly to have read them before its next
 * call. Lost: of each wait as much as that work could have overlapped with.
 *
 * The results are what copies to the host brought since the previous wait. Waits without such
 * copies (for kernels, or before a buffer is written again) are left out, since their purpose is
 * not known; so are waits before work that is long enough to read all results.
 */
#include "analyzer/findings/divided.h"
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

struct site_key {
    uint32_t site, function; /* numbers */
};

struct site_waits {
    struct site_key key;
    uint64_t times, bytes; /* waits that could come later; bytes that they waited for */
    struct xfa_exact lost_ns;
    struct xfa_met met;
};

struct last_wait { /* a thread's last wait, if that was its last call */
    int32_t tid;   /* key */
    bool is;
    struct site_key key;
    uint64_t end_ns, bytes;
    double ns;
};

struct early {
    struct xfa_table sites, last;
    uint32_t process;
    uint64_t fetched; /* bytes copied to the host since the previous wait */
};

static uint64_t process(void *self, struct xfa_process *process)
{
    struct early *early = self;
    xfa_table_free(&early->last);
    xfa_table_init(&early->last, sizeof(int32_t), sizeof(struct last_wait));
    early->fetched = 0;
    early->process = process->number;
    return XFA_ALL_KINDS;
}

/* The thread's next call. */
static void called(struct early *early, int32_t tid, uint64_t start_ns)
{
    struct last_wait *last = xfa_table_get(&early->last, &tid);
    if (!last || !last->is)
        return;
    last->is = false;
    double ns = start_ns > last->end_ns ? (double)(start_ns - last->end_ns) : 0;
    if (!xfw_cannot_have_read(ns, last->bytes))
        return;
    struct site_waits *site = xfa_table_put(&early->sites, &last->key);
    if (site->times == 0)
        site->met.process = early->process;
    site->times++;
    site->bytes = xfa_add(site->bytes, last->bytes);
    xfa_exact_add(&site->lost_ns, fmin(ns, last->ns));
}

static void event(void *self, const struct xfa_event *event)
{
    struct early *early = self;
    called(early, event->tid, event->start_ns);
    if (event->kind != XFT_EVENT_SYNC)
        return;
    if (event->stack && early->fetched > 0) {
        struct last_wait *last = xfa_table_put(&early->last, &event->tid);
        last->is = true;
        last->key = (struct site_key){xfa_site_of(event)->number, xfa_function_of(event)->number};
        last->end_ns = event->end_ns;
        last->ns = event->end_ns > event->start_ns ? (double)(event->end_ns - event->start_ns) : 0;
        last->bytes = early->fetched;
    }
    early->fetched = 0;
}

static void transfer(void *self, const struct xfa_event *event)
{
    struct early *early = self;
    called(early, event->tid, event->start_ns);
    if (event->transfer.class->key.row.direction == XFT_DIR_D2H && !event->transfer.blocks)
        early->fetched = xfa_add(early->fetched, event->bytes);
}

static struct xfa_observer observe(void *self)
{
    struct early *early = self;
    xfa_table_init(&early->sites, sizeof(struct site_key), sizeof(struct site_waits));
    xfa_table_init(&early->last, sizeof(int32_t), sizeof(struct last_wait));
    return (struct xfa_observer){
        .name = "early waits",
        .shared = true,
        .kinds = XFA_KINDS_OF_CALLS,
        .self = self,
        .process = process,
        .event = event,
        .transfer = transfer,
    };
}

static void release(void *self)
{
    struct early *early = self;
    xfa_table_free(&early->sites);
    xfa_table_free(&early->last);
}

/* ---- divided --------------------------------------------------------------------------------- */

static bool is_good(const void *analysis, const void *item)
{
    const struct site_waits *waits = item;
    return xfa_divided_site(analysis, waits->key.site) &&
           xfa_divided_function(analysis, waits->key.function);
}

static void add(void *item, const void *more)
{
    struct site_waits *waits = item;
    const struct site_waits *other = more;
    waits->times += other->times;
    waits->bytes = xfa_add(waits->bytes, other->bytes);
    xfa_exact_merge(&waits->lost_ns, &other->lost_ns);
}

static const struct xfa_met_table of_sites = {offsetof(struct site_waits, met), is_good, add};

/* ---- the finding ----------------------------------------------------------------------------- */

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_EARLY_WAIT,
        .remedy = {.kind = XFA_REMEDY_WAIT_LATER, .to_host = true, .node = -1},
        .assumed = "the work right after the wait, which is too short to read all results, needs "
                   "none of them",
    };
    const struct early *early = sums;
    double least_ns = xfa_findings_least_ns(analysis);
    for (size_t i = 0; i < early->sites.count; i++) {
        const struct site_waits *waits = xfa_table_at(&early->sites, i);
        const struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, waits->key.site),
            .function = xfa_run_function(analysis->run, waits->key.function),
            .transfers = waits->times,
            .bytes = waits->bytes,
            .lost_ns = xfa_exact_value(&waits->lost_ns),
            .reckoning = XFA_RECKONED_COVERED,
        };
        if (site.lost_ns > least_ns)
            xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set sites = xfa_finding_sites(finding);
    return xfw_change_later_wait(analysis, &sites);
}

const struct xfa_finding_kind xfa_kind_early_wait = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct early),
    .observe = observe,
    .free = release,
    .met_of = &of_sites,
    .met_table = offsetof(struct early, sites),
};
