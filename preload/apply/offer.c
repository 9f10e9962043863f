#include "preload/apply/offer.h"

#include <errno.h>

#include "preload/apply/gpus/crossed.h"
#include "preload/apply/leave_out/leave_out.h"
#include "preload/apply/memory/placed.h"
#include "preload/apply/gpus/relay.h"
#include "preload/apply/staging/staging.h"
#include "preload/apply/state/state.h"
#include "preload/apply/streams/streams.h"
#include "preload/apply/leave_out/uploads.h"
#include "preload/base/sandbox.h"

/* Made as asked: who follows what is written where has to know. */
static bool pass_on(const struct xfs_move *move)
{
    if (xfs_leave_out_on() && xfs_move_direction(move) != XFT_DIR_D2H)
        xfs_uploads_written(move->dst, move->bytes);
    return false;
}

bool xfs_offer_copy(const struct xfs_move *move, int *status)
{
    if (!xfs_may_call_kernel() || xfs_apply_captures()) {
        xfs_streams_end();
        return pass_on(move);
    }
    struct xfs_flight flight;
    struct xfs_placed placed;
    int saved = errno;
    xfs_placed_begin(move, &placed);
    bool follows = xfs_streams_follow(move, &flight);
    bool done = xfs_leave_out_move(move, status) ||
                (follows && xfs_streams_move(move, &flight, status)) ||
                xfs_relay_move(move, status) || xfs_staging_move(move, status);
    bool is_ours = done || follows || placed.site;
    if (is_ours && !done)
        *status = xfs_move_as_asked(move, 0, move->bytes);
    if (follows)
        xfs_streams_followed(&flight);
    if (is_ours)
        xfs_placed_end(&placed, *status);
    errno = saved;
    return is_ours;
}

/* ---- between GPUs ---------------------------------------------------------------------------- */

bool xfs_offers_between(void)
{
    return xfs_peers_on() || xfs_pipeline_on();
}

/* Where there can be access, and that is a class which is on, the pipeline is not needed. */
bool xfs_offer_between(struct xfs_offered *copy)
{
    struct xfs_between *asked = &copy->asked;
    if (!xfs_may_call_kernel() || xfs_apply_captures())
        return false;
    int saved = errno;
    bool done = false;
    copy->looked = asked->bytes >= xfs_move_least && xfs_between_look(asked);
    if (copy->looked) {
        copy->peer.asked = copy->piped.asked = asked;
        if (xfs_pipeline_on() && !(xfs_peers_on() && xfs_between_can_reach(asked)))
            done = xfs_pipeline_begin(&copy->piped);
        else if (xfs_peers_on())
            xfs_peers_begin(&copy->peer);
    }
    errno = saved;
    return done;
}

bool xfs_offer_between_end(struct xfs_offered *copy, int status)
{
    int saved = errno;
    xfs_pipeline_end(&copy->piped, status);
    bool right = xfs_peers_end(&copy->peer, status);
    const struct xfs_between *asked = &copy->asked;
    if (status == XCU_SUCCESS && xfs_pairs_ours())
        xfs_crossed_copy(&(struct xfs_crossed){.stream = asked->stream,
                                               .dst = asked->dst,
                                               .src = asked->src,
                                               .to = asked->to,
                                               .from = asked->from});
    errno = saved;
    return right;
}
