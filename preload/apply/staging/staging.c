#include "preload/apply/staging/staging.h"

#include <stdatomic.h>
#include <stddef.h>

#include "preload/apply/calls/check.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/memory/memory.h"
#include "preload/apply/staging/pieces.h"
#include "preload/apply/state/state.h"
#include "preload/apply/site/site.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"

/* A copy this large is tried out in parts, so that one copy is enough to gain. */
#define TRIED_IN_PARTS (UINT64_C(64) << 20)
#define PART (UINT64_C(8) << 20)
/* What is left of it then, or as much and more at once: timed by itself (proof.h). */
#define WHOLE (UINT64_C(32) << 20)
/* What a start costs is worth it from this much time in such copies on: threads, 32 MiB locked. */
#define START_WORTH_NS UINT64_C(30000000)

/* An upload by Async of fewer bytes is staged by the driver without waiting for the stream:
 * measured with tests/gpu/copy_promises.c. */
#define WAITED_FOR (UINT64_C(4) << 20)

#define AT_ONCE_NS 20000 /* an event in a stream without work */

static atomic_ullong spent_ns; /* in copies that could have gained, before the start */

/* One copy on its way. */
struct turn {
    const struct xfs_move *move;
    bool may; /* it can be carried out */
    bool up;
    bool waits; /* the driver's call returns once what was in the stream before is over */
    xcu_context context;
    struct xfs_site *site;
    uint64_t offset; /* of what is still to be copied */
    bool counted;    /* among the site's calls */

    /* Of the next part. */
    enum xfs_way way;
    uint64_t bytes;
    bool timed;
    bool whole; /* of ours, no trial, and to be timed all the same */
    struct xfs_ring *ring;
    unsigned threads;
    struct xfs_guard guard;
    uint64_t took_ns;
    bool missing; /* no ring can be had */
    bool late;    /* the stream waits, and the copy would not */
    bool done;
};

/* ---- whether it may -------------------------------------------------------------------------- */

struct end {
    unsigned type; /* enum xcu_memorytype; 0: the driver does not know it */
    unsigned managed;
    int device;
    xcu_deviceptr start;
    size_t bytes;
};

static bool ask(uint64_t address, struct end *end)
{
    int which[] = {XCU_PTR_MEMORY_TYPE, XCU_PTR_IS_MANAGED, XCU_PTR_DEVICE_ORDINAL,
                   XCU_PTR_RANGE_START, XCU_PTR_RANGE_SIZE};
    void *values[] = {&end->type, &end->managed, &end->device, &end->start, &end->bytes};
    *end = (struct end){.device = -1};
    return xfs_apply_driver()->attributes(5, which, values, address) == XCU_SUCCESS;
}

static bool is_pageable(uint64_t address, uint64_t bytes)
{
    struct end first, last;
    return ask(address, &first) && first.type == 0 && !first.managed &&
           ask(address + bytes - 1, &last) && last.type == 0 && !last.managed;
}

static bool is_of_device(uint64_t address, uint64_t bytes, int device)
{
    struct end end;
    return ask(address, &end) && end.type == XCU_MEMORY_DEVICE && !end.managed &&
           end.device == device && address >= end.start && address - end.start <= end.bytes &&
           bytes <= end.bytes - (address - end.start);
}

/* The direction: of functions that leave it to the pointers, by these. */
static bool find_direction(struct turn *turn)
{
    const struct xfs_move *move = turn->move;
    enum xft_direction said = xfs_move_direction(move);
    if (said != XFT_DIR_UNKNOWN) {
        turn->up = said == XFT_DIR_H2D;
        return is_pageable(turn->up ? move->src : move->dst, move->bytes);
    }
    turn->up = is_pageable(move->src, move->bytes);
    return turn->up || is_pageable(move->dst, move->bytes);
}

/* The stream is one of the current context's, and is not being captured. */
static bool is_plain_stream(const struct turn *turn)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_stream stream = turn->move->stream;
    xcu_context owner = turn->context;
    int capturing = XCU_CAPTURE_NONE;
    if (stream != XCU_STREAM_LEGACY && stream != XCU_STREAM_PER_THREAD &&
        driver->stream_context(stream, &owner) != XCU_SUCCESS)
        return false;
    return owner == turn->context && driver->is_capturing(stream, &capturing) == XCU_SUCCESS &&
           capturing == XCU_CAPTURE_NONE;
}

/* On the program's stack, which is deep enough for the copy itself. */
static void look(struct turn *turn)
{
    const struct xfs_move *move = turn->move;
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_device device;
    if (driver == NULL)
        return;
    if (!find_direction(turn)) {
        xfs_report_left(XFS_LEFT_NOT_PAGEABLE);
        return;
    }
    turn->waits = !turn->up || move->blocking || move->bytes >= WAITED_FOR;
    turn->may = driver->current(&turn->context) == XCU_SUCCESS && turn->context &&
                driver->device(&device) == XCU_SUCCESS &&
                is_of_device(turn->up ? move->dst : move->src, move->bytes, device) &&
                is_plain_stream(turn);
    if (!turn->may)
        xfs_report_left(XFS_LEFT_CONTEXT);
}

/* ---- the start ------------------------------------------------------------------------------- */

static void start(void *argument)
{
    *(bool *)argument = xfs_apply_start();
}

/* What is left of this copy, at the pace of what was copied, counts as well. */
static bool is_started(const struct turn *turn, uint64_t ns_so_far)
{
    bool started = xfs_apply_started();
    uint64_t left = turn->move->bytes - turn->offset;
    uint64_t ahead =
        turn->offset ? (uint64_t)((double)ns_so_far * (double)left / (double)turn->offset) : 0;
    if (!started &&
        (!xfs_settings()->apply_trials || atomic_load(&spent_ns) + ahead >= START_WORTH_NS))
        xfs_on_large_stack(start, &started);
    return started;
}

/* ---- a ring ---------------------------------------------------------------------------------- */

static void take_ring(void *argument)
{
    struct turn *turn = argument;
    turn->ring = xfs_ring_take(turn->context, false, &turn->missing);
}

static void make_ring(void *argument)
{
    struct turn *turn = argument;
    turn->ring = xfs_ring_take(turn->context, true, &turn->missing);
}

static bool has_ring(struct turn *turn)
{
    turn->ring = NULL;
    turn->missing = false;
    if (xfs_on_own_stack(take_ring, turn) && turn->ring == NULL && turn->missing)
        xfs_on_large_stack(make_ring, turn);
    if (turn->ring && turn->missing) /* just made, which is not what a copy takes */
        turn->timed = turn->whole = false;
    if (turn->ring == NULL)
        xfs_report_left(turn->missing ? XFS_LEFT_NO_MEMORY : XFS_LEFT_BUSY);
    return turn->ring != NULL;
}

static void await_stream(void *argument)
{
    struct turn *turn = argument;
    turn->done = xfs_pieces_mark(turn->ring, turn->move->stream) && xfs_pieces_reached(turn->ring);
}

/* Waits until what is in the stream is over. */
static bool is_over(struct turn *turn)
{
    turn->done = false;
    if (!has_ring(turn))
        return false;
    xfs_on_own_stack(await_stream, turn);
    xfs_ring_give_back(turn->ring);
    return turn->done;
}

/* ---- one part, either way -------------------------------------------------------------------- */

/* Of a copy that does not wait: the GPU is at this moment of its stream at once. Else the stream
 * waits, for the host perhaps: slots of the ring would wait with it, and other streams' copies for
 * these. */
static bool is_at_once(const struct xfs_apply_driver *driver, xcu_event moment)
{
    uint64_t begun = xfs_apply_now_ns();
    xcu_result r;
    while ((r = driver->event_query(moment)) == XCU_ERROR_NOT_READY &&
           xfs_apply_now_ns() - begun < AT_ONCE_NS)
        ;
    return r == XCU_SUCCESS;
}

/* In the order that staging.h promises. */
static bool copy_in_order(struct turn *turn, struct xfs_pieces *pieces)
{
    struct xfs_ring *ring = turn->ring;
    if (!xfs_pieces_mark(ring, pieces->stream))
        return false;
    if (turn->up && turn->move->blocking && !xfs_pieces_reached(ring))
        return false;
    turn->late = !turn->waits && !is_at_once(xfs_apply_driver(), ring->before);
    if (turn->late)
        return false;
    if (!xfs_pieces_copy(pieces))
        return false;
    return !turn->up || !turn->waits || xfs_pieces_reached(ring);
}

static bool is_right(const struct turn *turn, const struct xfs_pieces *pieces)
{
    const struct xfs_compared copy = {.stream = pieces->stream,
                                      .device = pieces->device,
                                      .host = pieces->host,
                                      .bytes = pieces->bytes,
                                      .up = pieces->up};
    return xfs_check_copy(&copy, turn->site->report);
}

static void copy_part(void *argument)
{
    struct turn *turn = argument;
    const struct xfs_move *move = turn->move;
    uint64_t dst = move->dst + turn->offset, src = move->src + turn->offset;
    struct xfs_pieces pieces = {
        .ring = turn->ring,
        .stream = move->stream,
        .device = turn->up ? dst : src,
        .host = turn->up ? src : dst,
        .bytes = turn->bytes,
        .threads = turn->threads,
        .up = turn->up,
        .guard = &turn->guard,
        .arrives = move->blocking || turn->timed || turn->whole,
    };
    int mode = XCU_CAPTURE_MODE_RELAXED;
    xfs_report_started(turn->threads, xfs_locked_bytes());
    xfs_apply_driver()->exchange(&mode);
    turn->done = copy_in_order(turn, &pieces);
    if (turn->done && xfs_settings()->apply_check)
        turn->done = is_right(turn, &pieces);
    xfs_apply_driver()->exchange(&mode);
}

enum attempt { DONE, NOT_NOW, FAILED };

static enum attempt through_ring(struct turn *turn)
{
    if (!has_ring(turn))
        return turn->missing ? FAILED : NOT_NOW;
    bool run = xfs_on_own_stack(copy_part, turn);
    xfs_ring_give_back(turn->ring);
    if (turn->late)
        xfs_report_left(XFS_LEFT_BUSY);
    else if (run && !turn->done)
        xfs_report_left(XFS_LEFT_FAILED);
    if (turn->done)
        return DONE;
    return run && !turn->late ? FAILED : NOT_NOW;
}

/* A thread that is cancelled leaves no ring behind, and no thread that still copies for it. */
static enum attempt ours(struct turn *turn)
{
    turn->threads = xfs_apply_threads();
    turn->done = turn->late = false;
    if (turn->threads == 0) {
        xfs_report_left(XFS_LEFT_NO_CORES);
        return NOT_NOW;
    }
    if (!turn->waits && xfs_apply_driver()->stream_query(turn->move->stream) != XCU_SUCCESS) {
        xfs_report_left(XFS_LEFT_BUSY);
        return NOT_NOW;
    }
    turn->guard = xfs_guard_enter();
    enum attempt attempt = through_ring(turn);
    xfs_guard_leave(turn->guard);
    return attempt;
}

static int as_asked(struct turn *turn)
{
    uint64_t begun = xfs_apply_now_ns();
    int status = xfs_move_as_asked(turn->move, turn->offset, turn->bytes);
    turn->timed = turn->timed && status == XCU_SUCCESS;
    if (turn->timed && turn->up && !turn->move->blocking)
        turn->timed = is_over(turn);
    turn->took_ns = xfs_apply_now_ns() - begun;
    return status;
}

/* Both ways are timed from a stream without work, until the copy has arrived. A call that would not
 * wait for the work before it is not made to. */
static bool is_idle(struct turn *turn)
{
    return xfs_apply_driver()->stream_query(turn->move->stream) == XCU_SUCCESS ||
           (turn->waits && is_over(turn));
}

/* ---- the copy -------------------------------------------------------------------------------- */

static void find_site(void *argument)
{
    struct turn *turn = argument;
    turn->site = xfs_site_here(XFS_CLASS_STAGING, turn->up ? XFT_DIR_H2D : XFT_DIR_D2H);
    if (turn->site)
        xfs_site_release(turn->site);
}

/* A call at the site begins. */
static void note_gap(struct xfs_site *site)
{
    if (site->after && pthread_equal(site->after_thread, pthread_self()) &&
        !xfs_apply_passed_since(site->returned_ns))
        xfs_proof_gap(site->after, site->after_way, xfs_apply_now_ns() - site->returned_ns);
    site->after = NULL;
}

/* Which way the next part goes, and how much it is. */
static void plan_part(struct turn *turn)
{
    uint64_t left = turn->move->bytes - turn->offset;
    turn->way = XFS_WAY_AS_ASKED;
    turn->timed = turn->whole = false;
    turn->bytes = left;
    if (turn->site == NULL || !xfs_site_hold(turn->site))
        return;
    struct xfs_proof *proof = xfs_site_proof(turn->site, turn->move->bytes);
    if (turn->offset == 0)
        note_gap(turn->site);
    if (!turn->site->off) {
        if (proof->verdict == XFS_TRYING && turn->move->bytes >= TRIED_IN_PARTS && left >= 2 * PART)
            turn->bytes = PART;
        turn->way = xfs_proof_choose(proof, &turn->timed);
        turn->whole = turn->way == XFS_WAY_OURS && !turn->timed && turn->bytes >= WHOLE &&
                      proof->wholes < XFS_TRIALS;
        if (!xfs_settings()->apply_trials) {
            turn->way = XFS_WAY_OURS;
            turn->timed = turn->whole = false;
        }
    }
    xfs_site_release(turn->site);
}

/* What the part says about the site. */
static void note_part(struct turn *turn, bool failed)
{
    if (turn->site == NULL || !xfs_site_hold(turn->site))
        return;
    struct xfs_proof *proof = xfs_site_proof(turn->site, turn->move->bytes);
    if (failed)
        xfs_proof_give_up(proof);
    else if (turn->timed)
        xfs_proof_took(proof, turn->way, turn->bytes, turn->took_ns);
    else if (turn->whole)
        xfs_proof_whole(proof, turn->bytes, turn->took_ns);
    xfs_site_report(turn->site, proof, turn->way, turn->bytes,
                    turn->timed || turn->whole ? turn->took_ns : 0);
    if (turn->site->report)
        __atomic_fetch_add(&turn->site->report->asked, !turn->counted, __ATOMIC_RELAXED);
    turn->counted = true;
    if (turn->timed && turn->offset == 0 && turn->bytes == turn->move->bytes) {
        turn->site->after = proof;
        turn->site->after_way = turn->way;
        turn->site->after_thread = pthread_self();
        turn->site->returned_ns = xfs_apply_now_ns();
    }
    xfs_site_release(turn->site);
}

static int run_part(struct turn *turn)
{
    plan_part(turn);
    if (turn->timed || turn->whole) {
        bool idle = is_idle(turn);
        turn->timed &= idle;
        turn->whole &= idle;
    }
    uint64_t begun = xfs_apply_now_ns();
    enum attempt attempt = turn->way == XFS_WAY_OURS ? ours(turn) : NOT_NOW;
    turn->took_ns = xfs_apply_now_ns() - begun;
    int status = XCU_SUCCESS;
    if (attempt != DONE) {
        turn->timed = turn->timed && turn->way == XFS_WAY_AS_ASKED;
        turn->whole = false;
        turn->way = XFS_WAY_AS_ASKED;
        status = as_asked(turn);
    }
    note_part(turn, attempt == FAILED);
    return status;
}

/* Before the start: as asked, timed as a whole; a large one in two parts, after the first of which
 * it is known what the rest will take. */
static int run_unstarted(struct turn *turn)
{
    bool large = turn->move->bytes >= TRIED_IN_PARTS;
    turn->bytes = large && turn->offset == 0 ? PART : turn->move->bytes - turn->offset;
    turn->timed = false;
    int status = as_asked(turn);
    atomic_fetch_add(&spent_ns, turn->took_ns);
    if (turn->offset == 0)
        xfs_report_left(XFS_LEFT_TOO_LITTLE);
    return status;
}

static bool has_site(struct turn *turn)
{
    xfs_apply_enter();
    return turn->site || xfs_on_own_stack(find_site, turn);
}

bool xfs_staging_move(const struct xfs_move *move, int *status)
{
    struct turn turn = {.move = move};
    *status = XCU_SUCCESS;
    if (!xfs_class_on(XFS_CLASS_STAGING) || move->bytes < xfs_move_least)
        return false;
    look(&turn);
    while (turn.may && turn.offset < move->bytes && *status == XCU_SUCCESS) {
        bool started = is_started(&turn, turn.took_ns) && has_site(&turn);
        *status = started ? run_part(&turn) : run_unstarted(&turn);
        turn.offset += turn.bytes;
    }
    return turn.may;
}
