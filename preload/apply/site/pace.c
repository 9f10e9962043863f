#include "preload/apply/site/pace.h"

#include <stdatomic.h>

#include "preload/base/brief_lock.h"

#define SPINS 20000

static atomic_flag taken = ATOMIC_FLAG_INIT;
static _Atomic uint8_t way; /* enum xfs_way */
static atomic_bool rests;
static struct {
    struct xfs_proof proof;
    bool begun, timed;        /* the period */
    uint32_t copies;          /* of it, behind the first one, with whose end it begins */
    uint64_t bytes, begun_ns; /* of these; when it began */
} pace = {.timed = true};

static void next_period(void)
{
    pace.begun = false;
    atomic_store(&way, (uint8_t)xfs_proof_choose(&pace.proof, &pace.timed));
    atomic_store(&rests, pace.proof.verdict == XFS_LOSES && !pace.timed);
}

static void begin_period(uint64_t now_ns)
{
    pace.begun = true;
    pace.copies = 0;
    pace.bytes = 0;
    pace.begun_ns = now_ns;
}

/* Threads' clocks may differ where the GPU is simulated: what is no time is not counted. */
static void count(uint64_t bytes, uint64_t now_ns)
{
    pace.bytes += bytes;
    if (++pace.copies < XFS_PACE_COPIES)
        return;
    if (pace.timed && now_ns > pace.begun_ns)
        xfs_proof_took(&pace.proof, (enum xfs_way)atomic_load(&way), pace.bytes,
                       now_ns - pace.begun_ns);
    next_period();
}

enum xfs_way xfs_pace_way(void)
{
    return (enum xfs_way)atomic_load_explicit(&way, memory_order_relaxed);
}

bool xfs_pace_rests(void)
{
    return atomic_load_explicit(&rests, memory_order_relaxed);
}

/* The next period is not begun with one that was not looked at. */
void xfs_pace_passed(void)
{
    if (!xfs_brief_take(&taken, SPINS))
        return;
    if (!pace.timed && pace.begun)
        count(0, 0);
    else if (!pace.timed)
        begin_period(0);
    xfs_brief_give_back(&taken);
}

/* A thread that does not get the lock soon is not counted. */
struct xfs_proof xfs_pace_copied(uint64_t bytes, uint64_t now_ns)
{
    struct xfs_proof known = {0};
    if (!xfs_brief_take(&taken, SPINS))
        return known;
    if (pace.begun)
        count(bytes, now_ns);
    else
        begin_period(now_ns);
    known = pace.proof;
    xfs_brief_give_back(&taken);
    return known;
}

void xfs_pace_give_up(void)
{
    if (!xfs_brief_take(&taken, SPINS))
        return;
    xfs_proof_give_up(&pace.proof);
    next_period();
    xfs_brief_give_back(&taken);
}

void xfs_pace_after_fork(void)
{
    atomic_flag_clear(&taken);
    pace.proof = (struct xfs_proof){0};
    pace.timed = true;
    pace.begun = false;
    atomic_store(&way, XFS_WAY_AS_ASKED);
    atomic_store(&rests, false);
}
