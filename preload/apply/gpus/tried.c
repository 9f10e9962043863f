#include "preload/apply/gpus/tried.h"

#include <stddef.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/state/state.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"

#define WORTH_NS                                                                                   \
    UINT64_C(30000000) /* spent in operations as asked, before apply starts for them               \
                        */

/* took_ns 0: not timed. */
static void tell(struct xfs_site *site, enum xfs_way way, uint64_t bytes, uint64_t took_ns)
{
    if (site == NULL || !xfs_site_hold(site))
        return;
    struct xfs_proof *proof = xfs_site_proof(site, bytes);
    if (took_ns > 0)
        xfs_proof_took(proof, way, bytes, took_ns);
    if (site->report)
        __atomic_fetch_add(&site->report->asked, 1, __ATOMIC_RELAXED);
    xfs_site_report(site, proof, way, bytes, took_ns);
    xfs_site_release(site);
}

/* Of the last one that was timed, if it is over. */
static void read_time(struct xfs_tries *tries)
{
    struct xfs_timed timed = tries->last;
    uint64_t ns = xfs_timed_read(&tries->last);
    if (ns > 0 && timed.site == NULL)
        xfs_proof_took(&tries->proof, timed.way, timed.bytes, ns);
    else if (ns > 0)
        tell(timed.site, timed.way, timed.bytes, ns);
}

/* Before it is worth to start, nobody asks who copies. */
static bool is_worth(const struct xfs_tries *tries)
{
    if (!xfs_settings()->apply_trials || xfs_apply_started())
        return true;
    return xfs_proof_expects(&tries->proof, XFS_WAY_AS_ASKED, tries->spent_bytes) >= WORTH_NS;
}

/* The way that the site's trials want next. */
static void choose(struct xfs_tried *tried)
{
    tried->site = xfs_site_here(tried->class, tried->direction);
    if (tried->site == NULL)
        return;
    if (!xfs_settings()->apply_trials)
        tried->way = tried->site->off ? XFS_WAY_AS_ASKED : XFS_WAY_OURS;
    else if (!tried->site->off)
        tried->way = xfs_proof_choose(xfs_site_proof(tried->site, tried->bytes), &tried->is_timed);
    xfs_site_release(tried->site);
}

static void plan(void *argument)
{
    struct xfs_tried *tried = argument;
    read_time(tried->tries);
    tried->way = XFS_WAY_AS_ASKED;
    if (is_worth(tried->tries) && xfs_apply_begin())
        choose(tried);
    else
        tried->is_timed = true;
}

bool xfs_tried_plan(struct xfs_tried *tried)
{
    return xfs_on_own_stack(plan, tried);
}

static void begin(struct xfs_tried *tried)
{
    tried->timed =
        (struct xfs_timed){.bytes = tried->bytes, .way = tried->way, .site = tried->site};
    tried->is_timed = tried->is_timed && tried->tries->last.ended == NULL &&
                      xfs_timed_mark(&tried->timed.begun, tried->stream);
    if (!tried->is_timed)
        xfs_timed_drop(&tried->timed);
}

static void end(struct xfs_tried *tried)
{
    if (tried->way == XFS_WAY_AS_ASKED)
        tried->tries->spent_bytes += tried->bytes;
    if (tried->is_timed && xfs_timed_mark(&tried->timed.ended, tried->stream)) {
        tried->tries->last = tried->timed;
        return; /* reported once its time is known */
    }
    xfs_timed_drop(&tried->timed);
    tell(tried->site, tried->way, tried->bytes, 0);
}

bool xfs_tried_carry_out(struct xfs_tried *tried, const struct xfs_tried_steps *steps, void *copy,
                         bool waits, bool *failed)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    xfs_apply_driver()->exchange(&mode);
    begin(tried);
    bool queued = steps->queue(copy);
    if (queued)
        end(tried);
    else
        xfs_timed_drop(&tried->timed);
    bool arrived = queued && (!waits || steps->wait(copy));
    *failed = !arrived;
    bool done = arrived && steps->is_right(copy);
    xfs_apply_driver()->exchange(&mode);
    return done;
}

void xfs_tried_give_up(struct xfs_tried *tried)
{
    if (tried->site == NULL || !xfs_site_hold(tried->site))
        return;
    xfs_proof_give_up(xfs_site_proof(tried->site, tried->bytes));
    xfs_site_release(tried->site);
}

static void before_call(void *argument)
{
    struct xfs_tried *tried = argument;
    tried->is_timed = tried->is_timed && tried->way == XFS_WAY_AS_ASKED;
    tried->way = XFS_WAY_AS_ASKED;
    begin(tried);
}

static void after_call(void *argument)
{
    end(argument);
}

void xfs_tried_before_call(struct xfs_tried *tried)
{
    (void)xfs_on_own_stack(before_call, tried);
}

void xfs_tried_after_call(struct xfs_tried *tried, int status)
{
    if (status != XCU_SUCCESS)
        tried->is_timed = false;
    (void)xfs_on_own_stack(after_call, tried);
}

void xfs_tried_wrong(struct xfs_tried *tried)
{
    if (tried->site == NULL || !xfs_site_hold(tried->site))
        return;
    tried->site->off = true;
    xfs_site_release(tried->site);
}
