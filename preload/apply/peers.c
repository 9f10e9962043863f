#include "preload/apply/peers.h"

#include <errno.h>
#include <stddef.h>

#include "preload/apply/check.h"
#include "preload/apply/classes.h"
#include "preload/apply/driver.h"
#include "preload/apply/state.h"
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

struct end {
    unsigned type; /* enum xcu_memorytype */
    unsigned managed, plain;
    int device;
    xcu_context context;
    xcu_deviceptr start;
    size_t bytes;
};

static bool ask(uint64_t address, uint64_t bytes, struct end *end)
{
    int which[] = {XCU_PTR_MEMORY_TYPE,    XCU_PTR_IS_MANAGED, XCU_PTR_LEGACY_IPC,
                   XCU_PTR_DEVICE_ORDINAL, XCU_PTR_CONTEXT,    XCU_PTR_RANGE_START,
                   XCU_PTR_RANGE_SIZE};
    void *values[] = {&end->type,    &end->managed, &end->plain, &end->device,
                      &end->context, &end->start,   &end->bytes};
    *end = (struct end){.device = -1};
    return xfs_apply_driver()->attributes(7, which, values, address) == XCU_SUCCESS &&
           end->type == XCU_MEMORY_DEVICE && !end->managed && end->plain && end->context &&
           address >= end->start && address - end->start <= end->bytes &&
           bytes <= end->bytes - (address - end->start);
}

static bool is_plain_stream(xcu_stream stream, xcu_context context)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_context owner = context;
    int capturing = XCU_CAPTURE_NONE;
    if (stream != XCU_STREAM_LEGACY && stream != XCU_STREAM_PER_THREAD &&
        driver->stream_context(stream, &owner) != XCU_SUCCESS)
        return false;
    return owner == context && driver->is_capturing(stream, &capturing) == XCU_SUCCESS &&
           capturing == XCU_CAPTURE_NONE;
}

static bool can_reach(int one, int other)
{
    int there = 0, back = 0;
    return xfs_apply_driver()->can_access(&there, one, other) == XCU_SUCCESS && there &&
           xfs_apply_driver()->can_access(&back, other, one) == XCU_SUCCESS && back;
}

static bool has_several_devices(void)
{
    static atomic_int known;
    int count = atomic_load_explicit(&known, memory_order_relaxed);
    if (count == 0 && xfs_apply_driver()->devices(&count) == XCU_SUCCESS)
        atomic_store_explicit(&known, count, memory_order_relaxed);
    return count > 1;
}

/* On the program's stack, which is deep enough for the copy itself.
 * The pair, taken; a new one is off at once where there can be no access. */
static struct xfs_pair *find_pair(const struct xfs_peer_copy *copy)
{
    xcu_context current = NULL;
    struct end dst, src;
    if (xfs_apply_driver()->current(&current) != XCU_SUCCESS || current == NULL ||
        !ask(copy->dst, copy->bytes, &dst) || !ask(copy->src, copy->bytes, &src) ||
        dst.device == src.device || dst.context == src.context ||
        (dst.context != current && src.context != current) ||
        !is_plain_stream(copy->stream, current))
        return NULL;
    struct xfs_pair *pair = xfs_pair_take(dst.context, src.context);
    if (pair && pair->copied == 0 && !can_reach(dst.device, src.device))
        atomic_store(&pair->phase, XFS_PAIR_OFF);
    return pair;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void drop(struct xfs_pair_timed *timed)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (timed->begun)
        driver->event_destroy(timed->begun);
    if (timed->ended)
        driver->event_destroy(timed->ended);
    *timed = (struct xfs_pair_timed){0};
}

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
    struct xfs_pair_timed *timed = &pair->timed;
    float ms = 0;
    if (timed->ended == NULL)
        return;
    xcu_result result = xfs_apply_driver()->event_elapsed(&ms, timed->begun, timed->ended);
    if (result == XCU_ERROR_NOT_READY)
        return;
    if (result == XCU_SUCCESS && ms > 0) {
        uint64_t ns = (uint64_t)((double)ms * 1e6);
        xfs_proof_took(&pair->proof, timed->way, timed->bytes, ns);
        tell(timed->site, &pair->proof, timed->way, timed->bytes, ns);
    }
    drop(timed);
    decide(pair);
}

static bool mark(xcu_event *event, xcu_stream stream)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    return driver->event_create(event, 0) == XCU_SUCCESS &&
           driver->event_record(*event, stream) == XCU_SUCCESS;
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
        (struct xfs_pair_timed){.bytes = copy->bytes, .way = copy->way, .site = copy->site};
    if (is_timed(pair) && !mark(&copy->timed.begun, copy->stream))
        drop(&copy->timed);
}

/* At such a time enabling and disabling wait for nothing. */
static void change(struct xfs_pair *pair)
{
    int phase = atomic_load(&pair->phase);
    bool still = pair->waited[0] > pair->copied && pair->waited[1] > pair->copied;
    if (!still || (phase != XFS_PAIR_UNDONE && !(phase == XFS_PAIR_DUE && pair->wanted)))
        return;
    if (phase == XFS_PAIR_UNDONE)
        xfs_pair_disable(pair);
    int next = phase == XFS_PAIR_DUE && xfs_pair_enable(pair) ? XFS_PAIR_OURS : XFS_PAIR_OFF;
    atomic_compare_exchange_strong(&pair->phase, &phase, next);
}

static void note(struct xfs_peer_copy *copy)
{
    struct xfs_pair *pair = copy->pair;
    if (copy->way == XFS_WAY_AS_ASKED)
        pair->spent_bytes += copy->bytes;
    if (copy->timed.begun && mark(&copy->timed.ended, copy->stream))
        pair->timed = copy->timed;
    else {
        drop(&copy->timed);
        tell(copy->site, &pair->proof, copy->way, copy->bytes, 0);
    }
}

static void end(void *argument)
{
    struct xfs_peer_copy *copy = argument;
    struct xfs_pair *pair = copy->pair;
    note(copy);
    copy->right = copy->way == XFS_WAY_AS_ASKED || !xfs_settings()->apply_check ||
                  xfs_check_peer(copy->dst, copy->src, copy->bytes, copy->stream,
                                 copy->site ? copy->site->report : NULL);
    if (!copy->right) {
        xfs_pair_disable(pair);
        atomic_store(&pair->phase, XFS_PAIR_OFF);
    }
    if (copy->waits) {
        pair->waited[0] = pair->waited[1] = xfs_pair_now();
        read_time(pair);
        change(pair);
    }
}

void xfs_peers_begin(struct xfs_peer_copy *copy)
{
    int saved = errno;
    struct xfs_pair *pair = can_be_done() && has_several_devices() ? find_pair(copy) : NULL;
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
        drop(&copy->timed);
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
