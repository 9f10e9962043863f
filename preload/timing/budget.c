#include "preload/timing/budget.h"

#include <stdlib.h>
#include <string.h>

#define ENOUGH 64           /* calls of either kind, before their times tell anything */
#define LATE_NS 200000000.0 /* what "of late" means */
#define HOOKS_LEAVE 0.1     /* of the budget, for records, however dense the calls are */
#define FOR_COPIES 0.25     /* of what records may take */

void xfs_budget_start(struct xfs_budget *budget, double percent, uint64_t now_ns, uint64_t lived_ns)
{
    memset(budget, 0, sizeof *budget);
    budget->percent = percent;
    budget->decided_ns = now_ns;
    budget->chance = (uint32_t)now_ns | 1;
    if (lived_ns > XFS_BUDGET_CARRY_NS)
        lived_ns = XFS_BUDGET_CARRY_NS;
    budget->earned_ns = percent / 100 * (double)lived_ns;
    for (int k = 0; k < XFS_BUDGET_KINDS; k++) {
        budget->kinds[k].on = true;
        budget->kinds[k].patience = 1;
    }
}

/* ---- what is seen ------------------------------------------------------------------------------
 */

static void add_sample(struct xfs_budget_sample *sample, uint64_t ns)
{
    sample->ns[sample->count++ % XFS_BUDGET_SAMPLES] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* A call that causes one record, or may be taken for one that does. */
static void see_call(struct xfs_budget_account *account, const struct xft_event *e, bool typical)
{
    bool with = e->correlation != 0;
    account->calls++;
    account->calls_with += with;
    if (typical)
        add_sample(with ? &account->with : &account->without, e->end_ns - e->start_ns);
}

static bool is_small_copy(const struct xft_event *e)
{
    return (e->flags & XFT_ASYNC) != 0 && e->bytes <= XFS_BUDGET_SMALL && e->status == 0;
}

static void see(struct xfs_budget *budget, const struct xft_event *e)
{
    struct xfs_budget_account *copies = &budget->kinds[XFS_BUDGET_COPIES];
    struct xfs_budget_account *kernels = &budget->kinds[XFS_BUDGET_KERNELS];
    bool runs = (e->flags & (XFT_CAPTURED | XFT_GRAPH)) == 0;
    switch (e->kind) {
    case XFT_EVENT_DEVICE_COPY:
    case XFT_EVENT_MEMSET:
        copies->records++;
        return;
    case XFT_EVENT_KERNEL:
        kernels->records++;
        return;
    case XFT_EVENT_MIGRATION:
    case XFT_EVENT_FAULT:
        return;
    case XFT_EVENT_TRANSFER:
        if (runs)
            see_call(copies, e, is_small_copy(e));
        break;
    case XFT_EVENT_SET:
        if (runs)
            see_call(copies, e, false);
        break;
    case XFT_EVENT_LAUNCH:
        if (runs)
            see_call(kernels, e, e->status == 0);
        break;
    default:
        break;
    }
    budget->events++;
}

void xfs_budget_see(struct xfs_budget *budget, const struct xft_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        see(budget, &events[i]);
}

/* ---- what a record costs -----------------------------------------------------------------------
 */

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* What most calls are not faster than; those that had to wait for something do not count. */
static double lower_quartile(const struct xfs_budget_sample *sample)
{
    uint32_t sorted[XFS_BUDGET_SAMPLES];
    size_t count = sample->count < XFS_BUDGET_SAMPLES ? sample->count : XFS_BUDGET_SAMPLES;
    memcpy(sorted, sample->ns, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_size);
    return sorted[count / 4];
}

bool xfs_budget_record_ns(const struct xfs_budget *budget, enum xfs_budget_kind kind, double *ns)
{
    const struct xfs_budget_account *account = &budget->kinds[kind];
    *ns = XFS_BUDGET_GUESS_NS;
    if (account->with.count < ENOUGH || account->without.count < ENOUGH)
        return false;
    *ns = lower_quartile(&account->with) - lower_quartile(&account->without);
    if (*ns < XFS_BUDGET_LEAST_NS)
        *ns = XFS_BUDGET_LEAST_NS;
    if (*ns > XFS_BUDGET_MOST_NS)
        *ns = XFS_BUDGET_MOST_NS;
    return true;
}

/* ---- what may be spent -------------------------------------------------------------------------
 */

/* A graph's launch is one call and causes many records. */
static void charge(struct xfs_budget *budget, enum xfs_budget_kind kind)
{
    struct xfs_budget_account *account = &budget->kinds[kind];
    double each;
    xfs_budget_record_ns(budget, kind, &each);
    uint64_t n = account->calls_with > account->records ? account->calls_with : account->records;
    account->spent_ns = each * (double)n;
}

/* What the hooks took in that time comes first. */
static void earn(struct xfs_budget *budget, double passed_ns)
{
    double share = budget->percent / 100, most = share * (double)XFS_BUDGET_CARRY_NS;
    double spent =
        budget->kinds[XFS_BUDGET_COPIES].spent_ns + budget->kinds[XFS_BUDGET_KERNELS].spent_ns;
    double hooks = (double)(budget->events - budget->events_before) * XFS_BUDGET_HOOK_NS;
    double money = share * passed_ns - hooks, least = HOOKS_LEAVE * share * passed_ns;
    budget->events_before = budget->events;
    budget->earned_ns += money > least ? money : least;
    if (budget->earned_ns > spent + most)
        budget->earned_ns = spent + most;
}

static void update_rate(struct xfs_budget_account *account, double passed_ns)
{
    double now = (double)(account->calls - account->calls_before) / passed_ns;
    double weight = passed_ns / (passed_ns + LATE_NS);
    account->rate += weight * (now - account->rate);
    account->calls_before = account->calls;
}

/* What this kind may still spend, ns. */
static double left(const struct xfs_budget *budget, enum xfs_budget_kind kind)
{
    const struct xfs_budget_account *copies = &budget->kinds[XFS_BUDGET_COPIES];
    const struct xfs_budget_account *kernels = &budget->kinds[XFS_BUDGET_KERNELS];
    double kept = FOR_COPIES * budget->earned_ns;
    if (kind == XFS_BUDGET_COPIES)
        return budget->earned_ns - copies->spent_ns - kernels->spent_ns;
    return budget->earned_ns - kernels->spent_ns -
           (copies->spent_ns > kept ? copies->spent_ns : kept);
}

/* 0.5 to 1.5 (a congruential generator of 32 bits). */
static double draw(uint32_t *chance)
{
    *chance = *chance * 1664525u + 1013904223u;
    return 0.5 + (double)(*chance >> 8) / (double)(1 << 24);
}

static void decide(struct xfs_budget *budget, enum xfs_budget_kind kind)
{
    struct xfs_budget_account *account = &budget->kinds[kind];
    double money = left(budget, kind), each;
    xfs_budget_record_ns(budget, kind, &each);
    if (kind == XFS_BUDGET_COPIES && account->rate * each < FOR_COPIES * budget->percent / 100) {
        account->on = true; /* too few to be worth a thought */
    } else if (account->on && money <= 0) {
        account->on = false;
        account->patience = draw(&budget->chance);
    } else if (!account->on &&
               money > account->patience * account->rate * XFS_BUDGET_WINDOW_NS * each) {
        account->on = true;
    }
}

unsigned xfs_budget_decide(struct xfs_budget *budget, uint64_t now_ns)
{
    double passed = now_ns > budget->decided_ns ? (double)(now_ns - budget->decided_ns) : 1;
    unsigned records = 0;
    if (budget->percent <= 0)
        return XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS;
    budget->decided_ns = now_ns;
    for (int k = 0; k < XFS_BUDGET_KINDS; k++) {
        charge(budget, (enum xfs_budget_kind)k);
        update_rate(&budget->kinds[k], passed);
    }
    earn(budget, passed);
    for (int k = 0; k < XFS_BUDGET_KINDS; k++)
        decide(budget, (enum xfs_budget_kind)k);
    if (budget->kinds[XFS_BUDGET_COPIES].on)
        records |= XFT_RECORDS_COPIES;
    if (budget->kinds[XFS_BUDGET_KERNELS].on)
        records |= XFT_RECORDS_KERNELS;
    return records;
}

bool xfs_budget_is_dense(const struct xfs_budget *budget)
{
    bool dense = false;
    double each;
    for (int k = 0; k < XFS_BUDGET_KINDS && budget->percent > 0; k++) {
        const struct xfs_budget_account *account = &budget->kinds[k];
        xfs_budget_record_ns(budget, (enum xfs_budget_kind)k, &each);
        dense = dense || !account->on || account->rate * each > FOR_COPIES * budget->percent / 100;
    }
    return dense;
}
