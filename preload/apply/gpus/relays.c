#include "preload/apply/gpus/relays.h"

#include <string.h>

#include "preload/apply/state/driver.h"

#define MOST_RELAYS 16
#define LEAST_LEFT ((size_t)1 << 30) /* free memory of the other GPU */
#define LEAST_PIECE ((size_t)1 << 20)
#define TRIED_AGAIN 256 /* uploads after which what was refused is asked for again */
#define STREAM_NON_BLOCKING 1
#define EVENT_WITHOUT_TIME 2

static struct xfs_relay relays[MOST_RELAYS];
static struct xfs_contexts_table table = {
    .entries = relays, .bytes = sizeof *relays, .most = MOST_RELAYS, .adding = ATOMIC_FLAG_INIT};
enum { TO, BY };

struct xfs_relay *xfs_relay_take(xcu_context to, xcu_context by)
{
    return xfs_contexts_take(&table, to, by);
}

void xfs_relay_give_back(struct xfs_relay *relay)
{
    xfs_contexts_give_back(&relay->of);
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool enter(xcu_context context)
{
    return xfs_apply_driver()->push(context) == XCU_SUCCESS;
}

static void leave(void)
{
    xcu_context popped;
    xfs_apply_driver()->pop(&popped);
}

static bool has_room(void)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    size_t left = 0, total = 0;
    return driver->left && driver->left(&left, &total) == XCU_SUCCESS && left >= LEAST_LEFT;
}

static bool make_event(xcu_event *event)
{
    return xfs_apply_driver()->event_create(event, EVENT_WITHOUT_TIME) == XCU_SUCCESS;
}

/* In the other GPU's context. */
static bool make_by(struct xfs_relay *relay)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (!has_room() || driver->stream_create(&relay->in, STREAM_NON_BLOCKING) != XCU_SUCCESS ||
        driver->stream_create(&relay->hop, STREAM_NON_BLOCKING) != XCU_SUCCESS ||
        !make_event(&relay->ended))
        return false;
    for (unsigned i = 0; i < XFS_RELAY_SLOTS; i++)
        if (!make_event(&relay->full[i]) || !make_event(&relay->empty[i]))
            return false;
    return driver->alloc(&relay->ring, XFS_RELAY_SLOTS * XFS_RELAY_SLOT) == XCU_SUCCESS;
}

static void drop_event(xcu_event event)
{
    if (event)
        xfs_apply_driver()->event_destroy(event);
}

static void destroy_by(struct xfs_relay *relay)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (relay->ring)
        driver->free(relay->ring);
    if (relay->in)
        driver->stream_destroy(relay->in);
    if (relay->hop)
        driver->stream_destroy(relay->hop);
    for (unsigned i = 0; i < XFS_RELAY_SLOTS; i++) {
        drop_event(relay->full[i]);
        drop_event(relay->empty[i]);
    }
    drop_event(relay->ended);
}

/* Nothing of it is under way. It is as it was before it was made. */
static void destroy(struct xfs_relay *relay)
{
    struct xfs_tries known = relay->tries;
    if (enter(relay->of.context[BY])) {
        destroy_by(relay);
        leave();
    }
    if (enter(relay->of.context[TO])) {
        drop_event(relay->begun);
        drop_event(relay->arrived);
        xfs_timed_drop(&known.last);
        leave();
    }
    xfs_contexts_begin(&table, &relay->of, relay->of.context[TO], relay->of.context[BY]);
    relay->tries = known;
}

bool xfs_relay_make(struct xfs_relay *relay)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    if (relay->ring)
        return true;
    if (relay->refused > 0) {
        relay->refused--;
        return false;
    }
    xfs_apply_driver()->exchange(&mode); /* another thread's capture is not disturbed */
    bool made =
        make_event(&relay->begun) && make_event(&relay->arrived) && enter(relay->of.context[BY]);
    if (made) {
        made = make_by(relay);
        leave();
    }
    if (!made) {
        destroy(relay);
        relay->refused = TRIED_AGAIN;
    }
    xfs_apply_driver()->exchange(&mode);
    return made;
}

bool xfs_relay_is_free(struct xfs_relay *relay, uint64_t dst)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_deviceptr there = 0;
    int which[] = {XCU_PTR_DEVICE_POINTER};
    void *values[] = {&there};
    bool free = enter(relay->of.context[BY]);
    if (!free)
        return false;
    free = driver->attributes(1, which, values, dst) == XCU_SUCCESS && there == dst &&
           driver->stream_query(XCU_STREAM_LEGACY) == XCU_SUCCESS;
    leave();
    return free;
}

/* ---- one upload ------------------------------------------------------------------------------ */

static size_t piece_bytes(uint64_t bytes)
{
    size_t piece = (size_t)(bytes / XFS_RELAY_SLOTS / 2) & ~(LEAST_PIECE - 1);
    if (piece < LEAST_PIECE)
        piece = LEAST_PIECE;
    return piece < XFS_RELAY_SLOT ? piece : XFS_RELAY_SLOT;
}

/* Into a slot that is empty, and from there on. In the other GPU's context. */
static bool queue_piece(struct xfs_relay *relay, const struct xfs_relayed *upload, uint64_t piece,
                        uint64_t at)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    unsigned slot = (unsigned)(piece % XFS_RELAY_SLOTS);
    uint64_t left = upload->bytes - at, most = piece_bytes(upload->bytes / 2);
    xcu_deviceptr ring = relay->ring + slot * XFS_RELAY_SLOT;
    size_t bytes = (size_t)(left < most ? left : most);
    if (relay->used[slot] && driver->stream_wait(relay->in, relay->empty[slot], 0) != XCU_SUCCESS)
        return false;
    if (driver->to_device(ring, (const void *)(uintptr_t)(upload->src + at), bytes, relay->in) !=
            XCU_SUCCESS ||
        driver->event_record(relay->full[slot], relay->in) != XCU_SUCCESS ||
        driver->stream_wait(relay->hop, relay->full[slot], 0) != XCU_SUCCESS ||
        driver->between(upload->dst + at, ring, bytes, relay->hop) != XCU_SUCCESS)
        return false;
    relay->used[slot] = driver->event_record(relay->empty[slot], relay->hop) == XCU_SUCCESS;
    return relay->used[slot];
}

/* In the other GPU's context. */
static bool queue_relayed(struct xfs_relay *relay, const struct xfs_relayed *upload, uint64_t from)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    size_t most = piece_bytes(upload->bytes / 2);
    uint64_t piece = 0;
    if (driver->stream_wait(relay->in, relay->begun, 0) != XCU_SUCCESS)
        return false;
    for (uint64_t at = from; at < upload->bytes; at += most)
        if (!queue_piece(relay, upload, piece++, at))
            return false;
    return driver->event_record(relay->ended, relay->hop) == XCU_SUCCESS;
}

static bool queue_all(struct xfs_relay *relay, const struct xfs_relayed *upload)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    uint64_t straight = upload->bytes / 2 & ~(uint64_t)4095;
    if (driver->event_record(relay->begun, upload->stream) != XCU_SUCCESS ||
        driver->to_device(upload->dst, (const void *)(uintptr_t)upload->src, straight,
                          upload->stream) != XCU_SUCCESS ||
        !enter(relay->of.context[BY]))
        return false;
    bool queued = queue_relayed(relay, upload, straight);
    leave();
    return queued && driver->stream_wait(upload->stream, relay->ended, 0) == XCU_SUCCESS &&
           driver->event_record(relay->arrived, upload->stream) == XCU_SUCCESS;
}

bool xfs_relay_queue(struct xfs_relay *relay, const struct xfs_relayed *upload)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (queue_all(relay, upload))
        return true;
    driver->stream_sync(relay->in);
    driver->stream_sync(relay->hop);
    return false;
}

bool xfs_relay_wait(struct xfs_relay *relay)
{
    return xfs_apply_driver()->event_wait(relay->arrived) == XCU_SUCCESS;
}

/* ---- the ends -------------------------------------------------------------------------------- */

/* Not one of an upload that is under way while its context ends. */
void xfs_relays_leave(xcu_context context)
{
    for (unsigned i = 0; context && i < xfs_contexts_count(&table); i++) {
        struct xfs_relay *relay = xfs_contexts_take_of(&table, i, context);
        if (relay == NULL)
            continue;
        if (xfs_contexts_alive(&relay->of)) {
            if (relay->ring) {
                xfs_apply_driver()->stream_sync(relay->in);
                xfs_apply_driver()->stream_sync(relay->hop);
            }
            destroy(relay);
        }
        xfs_contexts_begin(&table, &relay->of, NULL, NULL);
        xfs_relay_give_back(relay);
    }
}

void xfs_relays_after_fork(void)
{
    xfs_contexts_after_fork(&table);
}
