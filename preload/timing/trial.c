#include "preload/timing/trial.h"

#include <string.h>

#include "preload/base/log.h"
#include "preload/base/settings.h"
#include "preload/lookup/driver.h"
#include "preload/record/cost.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"
#include "preload/timing/allowance.h"

#define MS UINT64_C(1000000)

static struct {
    bool goes_on;
    unsigned wanted, on, due; /* parts */
    unsigned fitted;          /* in the window before */
    uint64_t seen;            /* calls */
    struct xfs_allowance costs;
    uint64_t began_ns, from_ns, lasts_ns; /* all of it; what is looked at now */
    uint64_t calls[XFS_PARTS], hooks_ns;  /* at its beginning */
} trial;

static void count(uint64_t calls[XFS_PARTS])
{
    calls[XFS_PART_COPIES] = xfs_cost_calls(XFT_EVENT_TRANSFER) + xfs_cost_calls(XFT_EVENT_SET);
    calls[XFS_PART_KERNELS] = xfs_cost_calls(XFT_EVENT_LAUNCH);
    calls[XFS_PART_MANAGED] = 0;
}

static void begin_window(uint64_t now, uint64_t lasts_ns)
{
    trial.from_ns = now;
    trial.lasts_ns = lasts_ns;
    trial.hooks_ns = xfs_cost_spent_ns();
    count(trial.calls);
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool xfs_trial_start(unsigned wanted)
{
    const struct xfs_settings *settings = xfs_settings();
    bool simulated = xfs_driver_symbol("xferscope_simgpu_now_ns") != NULL;
    (void)xfs_allowance_costs(trial.costs.record_ns, settings->budget_costs, simulated);
    if (settings->budget_trial_ms == 0 || atomic_load(&xfs_periods_limited) ||
        !xfs_allowance_matters(&trial.costs, settings->budget))
        return false;
    trial.wanted = wanted;
    trial.goes_on = true;
    trial.began_ns = xfs_now_ns();
    begin_window(trial.began_ns, shorter(settings->budget_trial_ms, XFS_TRIAL_WINDOW_MS) * MS);
    return true;
}

/* Of what is not on yet. */
static unsigned what_fits(uint64_t passed_ns)
{
    uint64_t calls[XFS_PARTS], hooks_ns = xfs_cost_spent_ns();
    unsigned percent = xfs_settings()->budget, fits = trial.on;
    count(calls);
    for (unsigned i = 0; i < XFS_PARTS; i++)
        trial.seen += calls[i] -= trial.calls[i];
    hooks_ns = hooks_ns > trial.hooks_ns ? hooks_ns - trial.hooks_ns : 0;
    for (unsigned part = XFS_TRIAL_COPIES; part <= XFS_TRIAL_KERNELS; part <<= 1)
        if (trial.wanted & part && (fits & XFS_TRIAL_COPIES || part == XFS_TRIAL_COPIES) &&
            xfs_allowance_fits(&trial.costs, percent, passed_ns, hooks_ns, calls, fits | part))
            fits |= part;
    return fits & ~trial.on;
}

unsigned xfs_trial_look(void)
{
    uint64_t now = xfs_now_ns(), passed_ns = now - trial.from_ns;
    if (!trial.goes_on || trial.due || passed_ns < trial.lasts_ns)
        return trial.due;
    uint64_t so_far_ns = now - trial.began_ns, most_ns = xfs_settings()->budget_trial_ms * MS;
    unsigned fits = what_fits(passed_ns);
    if (so_far_ns >= most_ns)
        trial.due = fits;
    else if (trial.seen >= XFS_TRIAL_CALLS)
        trial.due = fits & trial.fitted;
    trial.fitted = fits;
    if (trial.due == 0 && so_far_ns >= XFS_TRIAL_LAST_MS * MS)
        trial.goes_on = false;
    begin_window(now, (so_far_ns < most_ns ? XFS_TRIAL_WINDOW_MS : XFS_TRIAL_AGAIN_MS) * MS);
    return trial.due;
}

void xfs_trial_switched_on(unsigned parts)
{
    trial.on |= parts;
    trial.due = 0;
    trial.goes_on = trial.on != trial.wanted;
    begin_window(xfs_now_ns(), XFS_TRIAL_AGAIN_MS * MS);
}

bool xfs_trial_goes_on(void)
{
    return trial.goes_on;
}

void xfs_trial_stop(void)
{
    trial.goes_on = false;
    trial.due = 0;
}
