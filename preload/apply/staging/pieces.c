#include "preload/apply/staging/pieces.h"

#include "preload/apply/state/driver.h"
#include "preload/apply/team/team.h"

#define LEAST_PIECE ((size_t)256 << 10)
#define CHUNK ((size_t)256 << 10)

/* ---- slots ----------------------------------------------------------------------------------- */

enum slot_state { SLOT_FREE, SLOT_IN_USE, SLOT_FAILED };

/* Whether what was queued with the slot is over. */
static enum slot_state look_at_slot(const struct xfs_apply_driver *driver, struct xfs_ring *ring,
                                    uint32_t slot, bool wait)
{
    if (!ring->pending[slot])
        return SLOT_FREE;
    xcu_result r =
        wait ? driver->event_wait(ring->events[slot]) : driver->event_query(ring->events[slot]);
    if (r == XCU_ERROR_NOT_READY)
        return SLOT_IN_USE;
    ring->pending[slot] = false;
    return r == XCU_SUCCESS ? SLOT_FREE : SLOT_FAILED;
}

static bool mark_slot(const struct xfs_apply_driver *driver, const struct xfs_pieces *pieces,
                      uint32_t slot)
{
    struct xfs_ring *ring = pieces->ring;
    ring->pending[slot] = driver->event_record(ring->events[slot], pieces->stream) == XCU_SUCCESS;
    return ring->pending[slot];
}

bool xfs_pieces_mark(struct xfs_ring *ring, xcu_stream stream)
{
    return xfs_apply_driver()->event_record(ring->before, stream) == XCU_SUCCESS;
}

bool xfs_pieces_reached(struct xfs_ring *ring)
{
    return xfs_apply_driver()->event_wait(ring->before) == XCU_SUCCESS;
}

/* ---- one operation --------------------------------------------------------------------------- */

static uint64_t count_of(const struct xfs_job *job)
{
    return (job->bytes + job->piece_bytes - 1) / job->piece_bytes;
}

static uint64_t length_of(const struct xfs_job *job, uint64_t piece)
{
    uint64_t start = piece * job->piece_bytes, left = job->bytes - start;
    return left < job->piece_bytes ? left : job->piece_bytes;
}

/* As many pieces as slots at least, so that small copies overlap too. */
static size_t piece_bytes(const struct xfs_ring *ring, uint64_t bytes)
{
    size_t piece = (size_t)(bytes / XFS_JOB_SLOTS) & ~(LEAST_PIECE - 1);
    if (piece < LEAST_PIECE)
        piece = LEAST_PIECE;
    return piece < ring->slot_bytes ? piece : ring->slot_bytes;
}

static void begin(struct xfs_pieces *pieces)
{
    struct xfs_ring *ring = pieces->ring;
    struct xfs_job *job = &ring->job;
    job->base = atomic_load(&job->open);
    job->slots = ring->memory;
    job->slot_bytes = ring->slot_bytes;
    job->program = (char *)(uintptr_t)pieces->host;
    job->bytes = pieces->bytes;
    job->piece_bytes = piece_bytes(ring, pieces->bytes);
    job->chunk_bytes = CHUNK;
    job->chunks = (uint32_t)((job->piece_bytes + CHUNK - 1) / CHUNK);
    job->up = pieces->up;
    job->asks = ring->asks;
    job->guard = pieces->guard;
    atomic_store(&job->bad, false);
}

static bool is_copied(struct xfs_job *job, uint64_t piece)
{
    return atomic_load_explicit(&job->left[piece % XFS_JOB_SLOTS], memory_order_acquire) == 0;
}

static char *slot_of(const struct xfs_job *job, uint64_t piece)
{
    return job->slots + piece % XFS_JOB_SLOTS * job->slot_bytes;
}

/* ---- up -------------------------------------------------------------------------------------- */

static bool send(const struct xfs_apply_driver *driver, const struct xfs_pieces *pieces,
                 uint64_t piece)
{
    const struct xfs_job *job = &pieces->ring->job;
    uint64_t to = pieces->device + piece * job->piece_bytes;
    return driver->to_device(to, slot_of(job, piece), length_of(job, piece), pieces->stream) ==
               XCU_SUCCESS &&
           mark_slot(driver, pieces, (uint32_t)(piece % XFS_JOB_SLOTS));
}

/* Lets threads fill slots as far as these are free; waits for the first where none is being filled.
 */
static bool open_more(const struct xfs_apply_driver *driver, struct xfs_pieces *pieces,
                      uint64_t *opened, uint64_t sent)
{
    struct xfs_job *job = &pieces->ring->job;
    while (*opened < count_of(job) && *opened < sent + XFS_JOB_SLOTS) {
        uint32_t slot = (uint32_t)(*opened % XFS_JOB_SLOTS);
        enum slot_state state = look_at_slot(driver, pieces->ring, slot, *opened == sent);
        if (state != SLOT_FREE)
            return state == SLOT_IN_USE;
        if (!xfs_job_open(job, (*opened)++))
            return false;
    }
    return true;
}

static bool copy_up(const struct xfs_apply_driver *driver, struct xfs_pieces *pieces)
{
    struct xfs_job *job = &pieces->ring->job;
    uint64_t opened = 0, sent = 0, count = count_of(job);
    unsigned idle = 0;
    xfs_team_call(job, pieces->threads);
    while (sent < count) {
        if (!open_more(driver, pieces, &opened, sent) || atomic_load(&job->bad))
            return false;
        if (is_copied(job, sent)) {
            if (atomic_load(&job->bad) || !send(driver, pieces, sent++))
                return false;
            idle = 0;
        } else if (!xfs_job_step(job)) {
            xfs_job_pause(&idle);
        }
    }
    return !pieces->arrives ||
           look_at_slot(driver, pieces->ring, (uint32_t)((count - 1) % XFS_JOB_SLOTS), true) ==
               SLOT_FREE;
}

/* ---- down ------------------------------------------------------------------------------------ */

static bool fetch(const struct xfs_apply_driver *driver, const struct xfs_pieces *pieces,
                  uint64_t piece)
{
    const struct xfs_job *job = &pieces->ring->job;
    uint64_t from = pieces->device + piece * job->piece_bytes;
    return driver->to_host(slot_of(job, piece), from, length_of(job, piece), pieces->stream) ==
               XCU_SUCCESS &&
           mark_slot(driver, pieces, (uint32_t)(piece % XFS_JOB_SLOTS));
}

/* Queues copies into slots as far as these are free: of an earlier operation, and written out. */
static bool fetch_more(const struct xfs_apply_driver *driver, struct xfs_pieces *pieces,
                       uint64_t *fetched, uint64_t written)
{
    const struct xfs_job *job = &pieces->ring->job;
    while (*fetched < count_of(job) && *fetched < written + XFS_JOB_SLOTS) {
        uint32_t slot = (uint32_t)(*fetched % XFS_JOB_SLOTS);
        enum slot_state state = look_at_slot(driver, pieces->ring, slot, *fetched == written);
        if (state != SLOT_FREE)
            return state == SLOT_IN_USE;
        if (!fetch(driver, pieces, *fetched))
            return false;
        ++*fetched;
    }
    return true;
}

static bool copy_down(const struct xfs_apply_driver *driver, struct xfs_pieces *pieces)
{
    struct xfs_job *job = &pieces->ring->job;
    uint64_t fetched = 0, arrived = 0, written = 0, count = count_of(job);
    unsigned idle = 0;
    xfs_team_call(job, pieces->threads); /* so that threads are there when the first arrives */
    while (written < count) {
        if (!fetch_more(driver, pieces, &fetched, written) || atomic_load(&job->bad))
            return false;
        if (arrived < fetched) {
            uint32_t slot = (uint32_t)(arrived % XFS_JOB_SLOTS);
            enum slot_state state = look_at_slot(driver, pieces->ring, slot, arrived == written);
            if (state == SLOT_FAILED)
                return false;
            if (state == SLOT_FREE && arrived == 0)
                xfs_team_call(job, pieces->threads); /* it may have taken long */
            if (state == SLOT_FREE && !xfs_job_open(job, arrived++))
                return false;
        }
        if (written < arrived && is_copied(job, written))
            written++, idle = 0;
        else if (!xfs_job_step(job))
            xfs_job_pause(&idle);
    }
    return !atomic_load(&job->bad);
}

/* ---- both directions ------------------------------------------------------------------------- */

/* Waits for what was queued: the slots are free again. */
static void drain(const struct xfs_apply_driver *driver, struct xfs_ring *ring)
{
    for (uint32_t slot = 0; slot < XFS_JOB_SLOTS; slot++)
        (void)look_at_slot(driver, ring, slot, true);
}

bool xfs_pieces_copy(struct xfs_pieces *pieces)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    begin(pieces);
    bool good = pieces->up ? copy_up(driver, pieces) : copy_down(driver, pieces);
    xfs_job_close(&pieces->ring->job);
    if (!good)
        drain(driver, pieces->ring);
    return good;
}
