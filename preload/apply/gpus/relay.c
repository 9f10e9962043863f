#include "preload/apply/gpus/relay.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "preload/apply/calls/check.h"
#include "preload/apply/state/classes.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/calls/ends.h"
#include "preload/apply/gpus/relays.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"
#include "xferscope/uuid.h"

#define LEAST (UINT64_C(8) << 20)
enum { MOST_DEVICES = 32 };

bool xfs_relay_on(void)
{
    return xfs_class_on(XFS_CLASS_RELAY);
}

static bool can_be_done(void)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    return driver && driver->uuid && driver->between && driver->event_elapsed &&
           driver->stream_create && driver->stream_destroy && driver->stream_sync &&
           driver->stream_wait && driver->left;
}

/* ---- what was measured ----------------------------------------------------------------------- */

/* For a destination, by its number. Written by whoever comes first; others write the same. */
static struct {
    atomic_bool known;
    int by;         /* -1: none */
    uint64_t bytes; /* from so many on it pays */
} measured[MOST_DEVICES];

static bool is_named(int device, const char *name, size_t length)
{
    char text[XFT_UUID_TEXT];
    struct xcu_uuid uuid;
    if (xfs_apply_driver()->uuid(&uuid, device) != XCU_SUCCESS)
        return false;
    xft_uuid_text(text, &uuid, &uuid);
    return strlen(text) == length && strncmp(text, name, length) == 0;
}

static int device_named(const char *name, size_t length)
{
    int count = 0;
    if (xfs_apply_driver()->devices(&count) != XCU_SUCCESS)
        return -1;
    for (int i = 0; i < count; i++)
        if (is_named(i, name, length))
            return i;
    return -1;
}

/* TO<BY:BYTES, with commas between; both are UUIDs. */
static void read_measured(int device)
{
    measured[device].by = -1;
    for (const char *at = xfs_settings()->apply_relays; *at;) {
        size_t length = strcspn(at, ","), to = strcspn(at, "<"), all = strcspn(at, ":");
        if (to < all && all < length && is_named(device, at, to)) {
            measured[device].by = device_named(at + to + 1, all - to - 1);
            measured[device].bytes = strtoull(at + all + 1, NULL, 10);
        }
        at += length + (at[length] == ',');
    }
    atomic_store(&measured[device].known, true);
}

/* The context by which an upload to this device pays; NULL: there is none, or the program has none.
 */
static xcu_context context_by(int device, uint64_t bytes)
{
    if (device < 0 || device >= MOST_DEVICES)
        return NULL;
    if (!atomic_load(&measured[device].known))
        read_measured(device);
    if (measured[device].by < 0 || bytes < measured[device].bytes)
        return NULL;
    return xfs_apply_primary(measured[device].by);
}

/* ---- one upload ------------------------------------------------------------------------------ */

struct turn {
    const struct xfs_move *move;
    struct xfs_relay *relay;
    struct xfs_tried tried;
    bool done, failed;
};

/* The relay of the upload, taken; NULL: it is none of these. */
static struct xfs_relay *find_relay(const struct xfs_move *move)
{
    xcu_context current = NULL;
    struct xfs_end dst, src;
    if (xfs_apply_driver()->current(&current) != XCU_SUCCESS || current == NULL ||
        !xfs_end_ask(move->dst, move->bytes, &dst) || dst.type != XCU_MEMORY_DEVICE || !dst.plain ||
        dst.context != current || !xfs_end_ask(move->src, move->bytes, &src) ||
        src.type != XCU_MEMORY_HOST || !xfs_is_plain_stream(move->stream, current))
        return NULL;
    xcu_context by = context_by(dst.device, move->bytes);
    return by && by != current ? xfs_relay_take(current, by) : NULL;
}

static void make(void *argument)
{
    struct turn *turn = argument;
    turn->failed = !xfs_relay_make(turn->relay);
}

/* Nothing that is under way can hold it up, and the other GPU has nothing else to do. */
static bool may_begin(const struct turn *turn)
{
    return !xfs_has_apart_streams() &&
           xfs_apply_driver()->stream_query(turn->move->stream) == XCU_SUCCESS &&
           xfs_relay_is_free(turn->relay, turn->move->dst);
}

static bool queue(void *of)
{
    struct turn *turn = of;
    const struct xfs_move *move = turn->move;
    struct xfs_relayed upload = {move->dst, move->src, move->bytes, move->stream};
    return xfs_relay_queue(turn->relay, &upload);
}

static bool await(void *of)
{
    return xfs_relay_wait(((struct turn *)of)->relay);
}

static bool is_right(void *of)
{
    struct turn *turn = of;
    const struct xfs_move *move = turn->move;
    const struct xfs_compared copy = {.stream = move->stream,
                                      .device = move->dst,
                                      .host = move->src,
                                      .bytes = move->bytes,
                                      .up = true};
    struct xfs_site *site = turn->tried.site;
    bool right = !xfs_settings()->apply_check || xfs_check_copy(&copy, site ? site->report : NULL);
    if (!right)
        xfs_tried_wrong(&turn->tried);
    return right;
}

static void carry_out(void *argument)
{
    struct turn *turn = argument;
    if (!may_begin(turn)) {
        xfs_report_left(XFS_LEFT_BUSY);
        return;
    }
    turn->done =
        xfs_tried_carry_out(&turn->tried, &(struct xfs_tried_steps){queue, await, is_right}, turn,
                            turn->move->blocking, &turn->failed);
}

/* A thread that is cancelled leaves no upload half queued. */
static void try_ours(struct turn *turn)
{
    struct xfs_guard guard = xfs_guard_enter();
    if (turn->relay->ring == 0 && !xfs_on_large_stack(make, turn))
        turn->failed = true;
    if (turn->relay->ring == 0)
        xfs_report_left(XFS_LEFT_NO_MEMORY);
    else if (!turn->failed && xfs_on_own_stack(carry_out, turn) && turn->failed)
        xfs_report_left(XFS_LEFT_FAILED);
    xfs_guard_leave(guard);
}

static int as_asked(struct turn *turn)
{
    xfs_tried_before_call(&turn->tried);
    int status = xfs_move_as_asked(turn->move, 0, turn->move->bytes);
    xfs_tried_after_call(&turn->tried, status);
    return status;
}

bool xfs_relay_move(const struct xfs_move *move, int *status)
{
    struct turn turn = {.move = move};
    if (!xfs_relay_on() || move->bytes < LEAST || xfs_settings()->apply_relays[0] == '\0' ||
        xfs_move_direction(move) == XFT_DIR_D2H || !can_be_done() ||
        (turn.relay = find_relay(move)) == NULL)
        return false;
    turn.tried = (struct xfs_tried){.class = XFS_CLASS_RELAY,
                                    .direction = XFT_DIR_H2D,
                                    .bytes = move->bytes,
                                    .stream = move->stream,
                                    .tries = &turn.relay->tries};
    if (xfs_tried_plan(&turn.tried) && turn.tried.way == XFS_WAY_OURS)
        try_ours(&turn);
    if (turn.failed)
        xfs_tried_give_up(&turn.tried);
    *status = turn.done ? XCU_SUCCESS : as_asked(&turn);
    xfs_relay_give_back(turn.relay);
    return true;
}
