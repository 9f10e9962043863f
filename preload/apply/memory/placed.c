#include "preload/apply/memory/placed.h"

#include <stdatomic.h>
#include <stddef.h>

#include "preload/apply/calls/ends.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/memory/near.h"
#include "preload/apply/memory/placement.h"
#include "preload/apply/state/state.h"
#include "preload/base/brief_lock.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"

#define FIRST_MOST (UINT64_C(256) << 20) /* bytes that are moved before it is known to gain */
#define MOVING_NS 1.0                    /* of a byte, until it was measured */
#define KNOWN 64                         /* ranges that were moved */
#define SPINS 20000

static atomic_flag taken = ATOMIC_FLAG_INIT;
static struct {
    uint64_t begin, end;
} moved[KNOWN];
static unsigned moved_next;

bool xfs_placed_want(uint64_t bytes)
{
    return bytes >= XFS_PLACED_LEAST && xfs_placement_on();
}

/* ---- what was moved -------------------------------------------------------------------------- */

static bool was_moved(uint64_t begin, uint64_t end)
{
    bool was = false;
    if (!xfs_brief_take(&taken, SPINS))
        return false;
    for (unsigned i = 0; i < KNOWN; i++)
        was |= moved[i].begin <= begin && end <= moved[i].end;
    xfs_brief_give_back(&taken);
    return was;
}

static void note_moved(uint64_t begin, uint64_t end)
{
    if (!xfs_brief_take(&taken, SPINS))
        return;
    moved[moved_next % KNOWN].begin = begin;
    moved[moved_next++ % KNOWN].end = end;
    xfs_brief_give_back(&taken);
}

/* ---- whether it may -------------------------------------------------------------------------- */

struct turn {
    const struct xfs_move *move;
    struct xfs_placed *placed;
    uint64_t host;
    enum xft_direction direction;
};

static bool is_pageable(uint64_t address)
{
    struct xfs_end end;
    return !xfs_end_ask(address, 1, &end) && end.type == 0 && !end.managed;
}

/* The host's end; false: it has none, or it is not pageable. */
static bool find_host(struct turn *turn)
{
    const struct xfs_move *move = turn->move;
    turn->direction = xfs_move_direction(move);
    if (turn->direction == XFT_DIR_UNKNOWN)
        turn->direction = is_pageable(move->src) ? XFT_DIR_H2D : XFT_DIR_D2H;
    turn->host = turn->direction == XFT_DIR_H2D ? move->src : move->dst;
    return is_pageable(turn->host) && is_pageable(turn->host + move->bytes - 1);
}

static bool is_tried(void)
{
    return xfs_settings()->apply_trials;
}

/* While a site of staging tries both its ways, its times say nothing of where memory lies. */
static bool is_steady(const struct turn *turn)
{
    uint64_t bytes = turn->move->bytes;
    if (!is_tried() || bytes < xfs_move_least || !xfs_class_on(XFS_CLASS_STAGING))
        return true;
    struct xfs_site *site = xfs_site_here(XFS_CLASS_STAGING, turn->direction);
    if (site == NULL)
        return false;
    bool steady = site->off || xfs_site_proof(site, bytes)->verdict != XFS_TRYING;
    xfs_site_release(site);
    return steady;
}

static bool lies_elsewhere(const struct turn *turn, int node)
{
    int there = xfs_near_node_of((void *)(uintptr_t)(turn->host + turn->move->bytes / 2));
    return there >= 0 && there != node;
}

/* What moving these bytes may take is there, or was gained. */
static bool may_spend(const struct xfs_placed_site *of, const struct xfs_proof *proof,
                      uint64_t bytes)
{
    double per_byte = of->moved_bytes ? (double)of->spent_ns / (double)of->moved_bytes : MOVING_NS;
    bool was_gained = (double)of->spent_ns + per_byte * (double)bytes <= (double)of->gained_ns;
    if (proof->verdict == XFS_TRYING)
        return proof->samples[XFS_WAY_OURS] == 0 &&
               (was_gained || (of->moved_bytes == 0 && bytes <= FIRST_MOST));
    return proof->verdict == XFS_GAINS && was_gained;
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* With the site. False: most of it stays where it is. */
static bool move(const struct turn *turn, struct xfs_site *site)
{
    struct xfs_placed_site *of = &site->placed;
    uint64_t bytes = turn->move->bytes, begun = xfs_apply_now_ns();
    size_t done = xfs_placement_move((void *)(uintptr_t)turn->host, bytes, site->planned->node);
    uint64_t took = xfs_apply_now_ns() - begun;
    of->spent_ns += took;
    of->moved_bytes += done;
    of->refused = done < bytes / 2;
    if (site->report) {
        __atomic_fetch_add(&site->report->moved_bytes, done, __ATOMIC_RELAXED);
        __atomic_fetch_add(&site->report->done_ns, took, __ATOMIC_RELAXED);
    }
    if (!of->refused)
        note_moved(turn->host, turn->host + bytes);
    return !of->refused;
}

static void place(const struct turn *turn, struct xfs_site *site)
{
    struct xfs_placed *placed = turn->placed;
    uint64_t host = turn->host, bytes = turn->move->bytes;
    struct xfs_proof *proof = xfs_site_proof(site, bytes);
    bool far = lies_elsewhere(turn, site->planned->node);
    bool before = was_moved(host, host + bytes);
    placed->site = site;
    placed->way = !far && before ? XFS_WAY_OURS : XFS_WAY_AS_ASKED;
    placed->timed = is_tried() && far != before;
    if (!far || before || site->placed.refused)
        return;
    if (is_tried() &&
        (proof->samples[XFS_WAY_AS_ASKED] < XFS_TRIALS || !may_spend(&site->placed, proof, bytes)))
        return;
    if (move(turn, site))
        placed->way = XFS_WAY_OURS;
}

static void look(void *argument)
{
    const struct turn *turn = argument;
    struct xfs_site *site = xfs_site_here(XFS_CLASS_PLACEMENT, turn->direction);
    if (site == NULL)
        return;
    if (site->planned && site->report)
        __atomic_fetch_add(&site->report->asked, 1, __ATOMIC_RELAXED);
    if (site->planned && !site->off && xfs_near_may(site->planned->node) && is_steady(turn))
        place(turn, site);
    xfs_site_release(site);
}

/* ---- around a copy --------------------------------------------------------------------------- */

/* Both ways are timed from a stream without work. */
static bool is_idle(const struct xfs_move *move)
{
    return xfs_apply_driver()->stream_query(move->stream) == XCU_SUCCESS;
}

void xfs_placed_begin(const struct xfs_move *move, struct xfs_placed *placed)
{
    struct turn turn = {.move = move, .placed = placed};
    *placed = (struct xfs_placed){.bytes = move->bytes};
    if (!xfs_placed_want(move->bytes) || xfs_apply_driver() == NULL || !find_host(&turn) ||
        !xfs_apply_begin() || !xfs_on_own_stack(look, &turn) || placed->site == NULL)
        return;
    placed->timed = placed->timed && is_idle(move);
    placed->begun_ns = xfs_apply_now_ns();
}

/* Trials are over with the verdict: memory is not moved back to see. */
static void note(const struct xfs_placed *placed, uint64_t took_ns)
{
    struct xfs_site *site = placed->site;
    struct xfs_proof *proof = xfs_site_proof(site, placed->bytes);
    uint64_t instead = xfs_proof_expects(proof, XFS_WAY_AS_ASKED, placed->bytes);
    if (took_ns && proof->verdict == XFS_TRYING)
        xfs_proof_took(proof, placed->way, placed->bytes, took_ns);
    if (took_ns && placed->way == XFS_WAY_OURS && instead > took_ns)
        site->placed.gained_ns += instead - took_ns;
    xfs_site_report(site, proof, placed->way, placed->bytes, took_ns);
}

void xfs_placed_end(const struct xfs_placed *placed, int status)
{
    if (placed->site == NULL)
        return;
    uint64_t took = placed->timed ? xfs_apply_now_ns() - placed->begun_ns : 0;
    if (status != XCU_SUCCESS || !xfs_site_hold(placed->site))
        return;
    note(placed, took);
    xfs_site_release(placed->site);
}

void xfs_placed_after_fork(void)
{
    atomic_flag_clear(&taken);
}
