#include "preload/apply/gpus/peers.h"

#include <errno.h>
#include <stddef.h>

#include "preload/apply/calls/check.h"
#include "preload/apply/state/classes.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/gpus/peer_access.h"
#include "preload/apply/state/state.h"
#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"
#include "preload/base/settings.h"

#define WORTH_NS UINT64_C(30000000) /* spent in copies as asked, before anything is enabled */

bool xfs_peers_on(void)
{
    return xfs_class_on(XFS_CLASS_PEERS);
}

static bool can_be_done(void)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    return driver && driver->enable_peer && driver->disable_peer && driver->can_access &&
           driver->event_elapsed && driver->between && xfs_may_call_kernel() &&
           !xfs_apply_captures();
}

/* ---- which copies ---------------------------------------------------------------------------- */

/* The pair, taken; a new one is off at once where there can be no access. */
static struct xfs_pair *find_pair(const struct xfs_between *asked)
{
    struct xfs_pair *pair = xfs_pair_take(asked->context[1], asked->context[0]);
    if (pair && pair->copied == 0 && !xfs_between_can_reach(asked))
        atomic_store(&pair->phase, XFS_PAIR_OFF);
    return pair;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* took_ns 0: not timed. What ours takes is not known before the first was timed. */
static void tell(struct xfs_site *site, const struct xfs_proof *proof, enum xfs_way way,
                 uint64_t bytes, uint64_t took_ns)
{
    static const struct xfs_proof unknown;
    if (way == XFS_WAY_OURS && proof->samples[XFS_WAY_OURS] == 0)
        proof = &unknown;
    if (site && xfs_site_hold(site)) {
        if (site->report)
            __atomic_fetch_add(&site->report->asked, 1, __ATOMIC_RELAXED);
        xfs_site_report(site, proof, way, bytes, took_ns);
        xfs_site_release(site);
    }
}

/* The next phase, by what is known. */
static void decide(struct xfs_pair *pair)
{
    int phase = atomic_load(&pair->phase);
    uint64_t spent = xfs_proof_expects(&pair->proof, XFS_WAY_AS_ASKED, pair->spent_bytes);
    bool enough = pair->proof.samples[XFS_WAY_AS_ASKED] >= XFS_TRIALS && spent >= WORTH_NS;
    if (phase == XFS_PAIR_ASKED && (enough || !xfs_settings()->apply_trials))
        atomic_compare_exchange_strong(&pair->phase, &phase, XFS_PAIR_DUE);
    else if (phase == XFS_PAIR_OURS && pair->proof.verdict == XFS_LOSES &&
             xfs_settings()->apply_trials)
        atomic_compare_exchange_strong(&pair->phase, &phase, XFS_PAIR_UNDONE);
}

/* Of the last copy that was timed, if it is over. */
static void read_time(struct xfs_pair *pair)
{
    struct xfs_timed timed = pair->timed;
    uint64_t ns = xfs_timed_read(&pair->timed);
    if (ns > 0) {
        xfs_proof_took(&pair->proof, timed.way, timed.bytes, ns);
        tell(timed.site, &pair->proof, timed.way, timed.bytes, ns);
    }
    if (timed.ended && pair->timed.ended == NULL)
        decide(pair);
}

/* One at a time; as asked until it is due, ours until it is known whether that gains. */
static bool is_timed(const struct xfs_pair *pair)
{
    int phase = atomic_load(&pair->phase);
    return pair->timed.ended == NULL &&
           (phase == XFS_PAIR_ASKED ||
            (phase == XFS_PAIR_OURS && pair->proof.samples[XFS_WAY_OURS] < XFS_TRIALS));
}

/* ---- one copy -------------------------------------------------------------------------------- */

/* Before it is worth to start, nobody asks who copies. */
static void find_site(struct xfs_peer_copy *copy)
{
    if (atomic_load(&copy->pair->phase) == XFS_PAIR_ASKED || !xfs_apply_begin())
        return;
    copy->site = xfs_site_here(XFS_CLASS_PEERS, XFT_DIR_P2P);
    if (copy->site == NULL)
        return;
    copy->pair->wanted |= !copy->site->off;
    xfs_site_release(copy->site);
}

static void begin(void *argument)
{
    struct xfs_peer_copy *copy = argument;
    struct xfs_pair *pair = copy->pair;
    read_time(pair);
    if (pair->proof.samples[XFS_WAY_AS_ASKED] == 0)
        decide(pair);
    find_site(copy);
    int phase = atomic_load(&pair->phase);
    copy->way =
        phase == XFS_PAIR_OURS || phase == XFS_PAIR_UNDONE ? XFS_WAY_OURS : XFS_WAY_AS_ASKED;
    copy->timed =
        (struct xfs_timed){.bytes = copy->asked->bytes, .way = copy->way, .site = copy->site};
    if (is_timed(pair) && !xfs_timed_mark(&copy->timed.begun, copy->asked->stream))
        xfs_timed_drop(&copy->timed);
}

/* At such a time enabling and disabling wait for nothing. */
static void change(struct xfs_pair *pair)
{
    int phase = atomic_load(&pair->phase);
    bool still = pair->waited[0] > pair->copied && pair->waited[1] > pair->copied;
    if (!still || (phase != XFS_PAIR_UNDONE && !(phase == XFS_PAIR_DUE && pair->wanted)))
        return;
    if (phase == XFS_PAIR_UNDONE && !xfs_pairs_refused())
        xfs_pair_disable(pair);
    bool enabled = phase == XFS_PAIR_DUE && !xfs_pairs_refused() && xfs_pair_enable(pair);
    int next = enabled ? XFS_PAIR_OURS : XFS_PAIR_OFF;
    atomic_compare_exchange_strong(&pair->phase, &phase, next);
}

static void note(struct xfs_peer_copy *copy)
{
    struct xfs_pair *pair = copy->pair;
    if (copy->way == XFS_WAY_AS_ASKED)
        pair->spent_bytes += copy->asked->bytes;
    if (copy->timed.begun && xfs_timed_mark(&copy->timed.ended, copy->asked->stream))
        pair->timed = copy->timed;
    else {
        xfs_timed_drop(&copy->timed);
        tell(copy->site, &pair->proof, copy->way, copy->asked->bytes, 0);
    }
}

static void end(void *argument)
{
    struct xfs_peer_copy *copy = argument;
    const struct xfs_between *asked = copy->asked;
    struct xfs_pair *pair = copy->pair;
    note(copy);
    copy->right = copy->way == XFS_WAY_AS_ASKED || !xfs_settings()->apply_check ||
                  xfs_check_peer(asked->dst, asked->src, asked->bytes, asked->stream,
                                 copy->site ? copy->site->report : NULL);
    if (!copy->right) {
        xfs_pair_disable(pair);
        atomic_store(&pair->phase, XFS_PAIR_OFF);
    }
}

void xfs_peers_begin(struct xfs_peer_copy *copy)
{
    int saved = errno;
    struct xfs_pair *pair = can_be_done() ? find_pair(copy->asked) : NULL;
    copy->pair = pair;
    if (pair)
        pair->copied = xfs_pair_now();
    if (pair && (atomic_load(&pair->phase) == XFS_PAIR_OFF || !xfs_on_own_stack(begin, copy))) {
        xfs_pair_give_back(pair);
        copy->pair = NULL;
    }
    errno = saved;
}

bool xfs_peers_end(struct xfs_peer_copy *copy, int status)
{
    int saved = errno;
    copy->right = true;
    if (copy->pair == NULL)
        return true;
    if (status == XCU_SUCCESS)
        (void)xfs_on_own_stack(end, copy);
    else
        xfs_timed_drop(&copy->timed);
    xfs_pair_give_back(copy->pair);
    errno = saved;
    return copy->right;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void after_wait(struct xfs_pair *pair, unsigned side)
{
    pair->waited[side] = xfs_pair_now();
    read_time(pair);
    change(pair);
}

static void look(void *argument)
{
    xfs_pairs_of(*(xcu_context *)argument, after_wait);
}

void xfs_peers_waited(xcu_context context)
{
    int saved = errno;
    if (xfs_pairs_any() && can_be_done() &&
        (context || (xfs_apply_driver()->current(&context) == XCU_SUCCESS && context)))
        (void)xfs_on_own_stack(look, &context);
    errno = saved;
}
