#include <math.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/recording_cost.h"

/* ---- prefetched ------------------------------------------------------------------------------ */

struct prefetch_state {
    uint32_t stream; /* of the last kernel that had pages moved, + 1; 0: none */
    uint8_t stream_kind;
};

/* Time to move so much between the host and a GPU, of several NUMA nodes the fastest. */
static struct xfp_estimate moving(const struct xfa_achievable *achievable, enum xfp_method method,
                                  enum xft_direction direction, int gpu, uint64_t bytes)
{
    const struct xfp_profile *profile = achievable->profile;
    int number = profile ? xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu) : -1;
    struct xfp_estimate least = {0};
    for (size_t i = 0; profile && i < profile->path_count; i++) {
        const struct xfp_path *path = &profile->paths[i];
        int device = direction == XFT_DIR_H2D ? path->dst.device : path->src.device;
        if (path->method != method || path->direction != direction || device != number ||
            !xfp_is_plain(path))
            continue;
        struct xfp_estimate estimate = xfp_time(path, bytes);
        if (estimate.basis != XFP_UNKNOWN && (least.basis == XFP_UNKNOWN || estimate.ns < least.ns))
            least = estimate;
    }
    return least;
}

/* What the thread's faults took before the call. */
static double fetched_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                         enum xfw_certainty certainty)
{
    struct xfp_estimate faults =
        moving(achievable, XFP_DEMAND, XFT_DIR_D2H, op->fetched.gpu, op->fetched.bytes);
    double ns = op->fetched.stalled_ns;
    if (faults.basis != XFP_UNKNOWN && certainty != XFW_LOW)
        ns = fmax(ns, xfw_as_sure(faults.ns, faults.error, xfw_opposite(certainty)));
    return fmin(ns, op->gap_ns);
}

/* NAN: not measured. */
static double prefetching(const struct xfw_change *change, enum xft_direction direction, int gpu,
                          uint64_t bytes, enum xfw_certainty certainty)
{
    struct xfp_estimate estimate =
        moving(&change->analysis->achievable, XFP_PREFETCH, direction, gpu, bytes);
    return estimate.basis == XFP_UNKNOWN ? NAN
                                         : xfw_as_sure(estimate.ns, estimate.error, certainty);
}

static void before_kernel(const struct xfw_change *change, struct prefetch_state *state,
                          struct xfw_player *player, struct xfw_op *op)
{
    static const double of_call[] = {[XFW_LOW] = 1, [XFW_LIKELY] = 0.5, [XFW_HIGH] = 0};
    enum xfw_certainty certainty = xfw_player_certainty(player);
    double ns = prefetching(change, XFT_DIR_H2D, op->demanded.gpu, op->demanded.bytes, certainty);
    state->stream = op->stream + 1;
    state->stream_kind = op->stream_kind;
    if (!(ns < op->demanded.stalled_ns))
        return;
    struct xfw_op prefetch = xfw_op_like(op);
    prefetch.what = XFW_PREFETCH;
    prefetch.engine = XFW_TO_DEVICE;
    prefetch.exclusive = true;
    prefetch.bytes = op->demanded.bytes;
    prefetch.duration_ns = ns;
    prefetch.own_ns = ns * of_call[certainty];
    prefetch.gap_ns = op->gap_ns; /* in which the host may have touched it */
    op->gap_ns = 0;
    xfw_player_play(player, &prefetch);
    op->duration_ns -= op->demanded.stalled_ns;
    op->demanded = (struct xfw_moved){0};
}

static void before_host(const struct xfw_change *change, const struct prefetch_state *state,
                        struct xfw_player *player, struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    double faults = fetched_ns(&change->analysis->achievable, op, certainty);
    double ns = prefetching(change, XFT_DIR_D2H, op->fetched.gpu, op->fetched.bytes, certainty);
    if (!(ns < faults))
        return;
    struct xfw_op prefetch = xfw_op_like(op);
    prefetch.gpu = op->fetched.gpu;
    prefetch.bytes = op->fetched.bytes;
    if (state->stream) {
        prefetch.what = XFW_PREFETCH;
        prefetch.stream = state->stream - 1;
        prefetch.stream_kind = state->stream_kind;
        prefetch.engine = XFW_TO_HOST;
        prefetch.exclusive = true;
        prefetch.awaits = XFW_AWAITS_ITSELF;
        prefetch.duration_ns = ns;
    } else {
        prefetch.own_ns = ns;
    }
    xfw_player_play(player, &prefetch);
    op->gap_ns -= faults;
    op->fetched = (struct xfw_moved){0};
}

/* At worst moves were only recording: all stays as it is. */
static bool moves_unsure(const struct xfw_change *change, const struct xfw_player *player)
{
    return xfw_player_certainty(player) == XFW_LOW &&
           !xfw_records_cost_of(&change->analysis->achievable, 0).moves_known;
}

static void prefetch_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                        struct xfw_op *op)
{
    struct prefetch_state *state = self;
    if ((op->fetched.bytes || op->demanded.bytes) && moves_unsure(change, player))
        return;
    if (op->fetched.bytes)
        before_host(change, state, player, op);
    if (op->demanded.bytes && op->stream != XFW_NONE)
        before_kernel(change, state, player, op);
}

struct xfw_change *xfw_change_prefetch(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "prefetch", .state_bytes = sizeof(struct prefetch_state), .op = prefetch_op};
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, NULL);
}

/* ---- stays with the host --------------------------------------------------------------------- */

#define AT_WORST 0.5 /* of what moved is read, and written: a guess */

struct stay {
    uint64_t stayed; /* bytes that did not move to kernels, and need not come back */
};

/* What a kernel takes at least that reaches over the link; NAN: not measured. */
static double over_link_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                           double touched, enum xfw_certainty certainty)
{
    double most = AT_WORST * (double)op->demanded.bytes;
    if (certainty != XFW_LOW)
        return xfw_mapped_ns(achievable, op->gpu, false, certainty == XFW_LIKELY ? touched : 0);
    return xfw_mapped_ns(achievable, op->gpu, false, most) +
           xfw_mapped_ns(achievable, op->gpu, true, most);
}

static void stay_kernel(const struct xfw_change *change, struct stay *state,
                        struct xfw_player *player, struct xfw_op *op)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    double own = fmax(0, op->duration_ns - op->demanded.stalled_ns);
    double share = own / (xfw_device_byte_ns(achievable, op->gpu) * (double)op->demanded.bytes);
    double over_link = over_link_ns(achievable, op, share * (double)op->demanded.bytes,
                                    xfw_player_certainty(player));
    if (!(share < XFW_READ_IN_PART) || !(over_link > 0))
        return;
    op->duration_ns = fmin(op->duration_ns, fmax(own, over_link));
    state->stayed += op->demanded.bytes;
    op->demanded = (struct xfw_moved){0};
}

static void stay_host(const struct xfw_change *change, struct stay *state,
                      struct xfw_player *player, struct xfw_op *op)
{
    uint64_t stayed = op->fetched.bytes < state->stayed ? op->fetched.bytes : state->stayed;
    double part = (double)stayed / (double)op->fetched.bytes;
    op->gap_ns -=
        part * fetched_ns(&change->analysis->achievable, op, xfw_player_certainty(player));
    state->stayed -= stayed;
    if (stayed == op->fetched.bytes)
        op->fetched = (struct xfw_moved){0};
}

static void stay_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                    struct xfw_op *op)
{
    if ((op->fetched.bytes || op->demanded.bytes) && moves_unsure(change, player))
        return;
    if (op->fetched.bytes)
        stay_host(change, self, player, op);
    if (op->demanded.bytes && op->what == XFW_KERNEL)
        stay_kernel(change, self, player, op);
}

struct xfw_change *xfw_change_stay(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "stay", .state_bytes = sizeof(struct stay), .op = stay_op};
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, NULL);
}
