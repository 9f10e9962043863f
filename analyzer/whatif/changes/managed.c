#include <math.h>
#include <stdio.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/prefetch_trials.h"
#include "analyzer/whatif/changes/put_off.h"
#include "analyzer/whatif/op/recording_cost.h"

/* ---- prefetched ------------------------------------------------------------------------------ */

struct prefetch {
    struct xfw_change change;
    bool by_apply;
};

static bool is_by_apply(const struct xfw_change *change)
{
    return ((const struct prefetch *)change)->by_apply;
}

struct prefetch_state {
    struct xfw_prefetch_trials trials; /* by apply */
    struct xfw_memories memories;
    struct use {
        double until;    /* the end of the last kernel that may have used it */
        uint32_t stream; /* of the last kernel that was given it, + 1; 0: none */
        uint8_t stream_kind;
    } uses[XFW_ALLOCATIONS];
    uint64_t given;   /* allocations of the kernel that was played last: its end is known when the
                         next op comes */
    uint64_t known;   /* allocations that a kernel is known to have been given */
    uint64_t results; /* of these, since the host fetched them: that it may have written to */
    struct use last;  /* that kernel, or graph */
};

/* ---- which kernel used it last ---- */

/* Managed allocations that a kernel was given; 0, where it is not known. */
static uint64_t given_to(struct prefetch_state *state, const struct xfw_player *player,
                         const struct xfw_op *op)
{
    const struct xfa_process *process = xfw_player_process(player);
    uint64_t given = 0, pointer;
    uint32_t k = 0;
    for (; xfw_launch_pointer(process, op->arguments, k, &pointer); k++) {
        struct xfw_memory memory;
        if (!xfw_memories_find(&state->memories, pointer, &memory) ||
            memory.kind != XFT_MEM_MANAGED)
            continue;
        given |= xfw_allocation_bit(memory.first);
        if (xfw_writes(process, op->name, op->arguments, k) != XFW_READS)
            state->results |= xfw_allocation_bit(memory.first);
    }
    return given;
}

static bool is_known(const struct xfw_op *op)
{
    return op->what == XFW_KERNEL && op->arguments;
}

static void note_use(struct prefetch_state *state, const struct xfw_player *player)
{
    double end = state->given ? xfw_player_work_end(player, state->last.stream - 1) : 0;
    for (unsigned i = 0; i < XFW_ALLOCATIONS && state->given; i++)
        if (state->given >> i & 1)
            state->uses[i] = (struct use){fmax(state->uses[i].until, end), state->last.stream,
                                          state->last.stream_kind};
    state->given = 0;
}

/* The last use of one of them; 0: of all. */
static struct use use_of(const struct prefetch_state *state, uint64_t allocations)
{
    struct use last = {0};
    for (unsigned i = 0; i < XFW_ALLOCATIONS; i++)
        if ((!allocations || allocations >> i & 1) && state->uses[i].stream &&
            state->uses[i].until >= last.until)
            last = state->uses[i];
    return last;
}

/* Of work of which it is not known what it is given all may be, but for memory of which it is known
 * which kernels use it: at worst that, too. */
static void kernel(struct prefetch_state *state, const struct xfw_player *player,
                   const struct xfw_op *op)
{
    bool known = is_known(op), worst = xfw_player_certainty(player) == XFW_LOW;
    state->given = known ? given_to(state, player, op) : worst ? UINT64_MAX : ~state->known;
    if (known)
        state->known |= state->given;
    state->last = (struct use){0, op->stream + 1, op->stream_kind};
}

/* ---- what moving takes ---- */

double xfw_fetched_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                      enum xfw_certainty certainty)
{
    struct xfp_estimate faults = xfw_demand_of(achievable, XFT_DIR_D2H, &op->fetched);
    double ns = op->fetched.stalled_ns;
    if (faults.basis != XFP_UNKNOWN && certainty != XFW_LOW)
        ns = fmax(ns, xfw_as_sure(faults.ns, faults.error, xfw_opposite(certainty)));
    return fmin(ns, op->gap_ns);
}

/* The part of the faults' time that sending it ahead spares a thread that works on all of it, as it
 * reads or writes it; NAN: not measured. */
static double spared_part(const struct xfa_achievable *achievable, const char *way, int gpu)
{
    const struct xfw_moved whole = {.bytes = XFP_SPARED_BYTES, .gpu = (int16_t)gpu};
    struct xfp_estimate demand = xfw_demand_of(achievable, XFT_DIR_D2H, &whole);
    char name[64];
    int number = xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu);
    snprintf(name, sizeof name, "spared/managed/%s/gpu%d", way, number);
    const struct xfp_scalar *spared =
        achievable->profile ? xfp_find_scalar(achievable->profile, name) : NULL;
    if (!spared || demand.basis == XFP_UNKNOWN || !(demand.ns > 0))
        return NAN;
    return fmin(1, spared->cost.median / demand.ns);
}

/* What of that sending it ahead spares: what came long before is in the processor's caches no more,
 * as what a fault just brought is, and the first write to each page is a fault of its own either
 * way. What kernels wrote to the thread likely reads, of what they only read it makes the next; of
 * both, and of what is not known, half and half. Not measured: as on an H200. */
static double spared_ns(const struct xfa_achievable *achievable, const struct prefetch_state *state,
                        const struct xfw_op *op, enum xfw_certainty certainty)
{
    static const double usual_read = 0.91, usual_written = 0.65;
    double read = spared_part(achievable, "read", op->fetched.gpu);
    double written = spared_part(achievable, "write", op->fetched.gpu);
    read = isnan(read) ? usual_read : read;
    written = isnan(written) ? usual_written : written;
    uint64_t all = op->fetched.allocations, results = all & state->results;
    double likely = all && results == all                       ? read
                    : all && !results && !(all & ~state->known) ? written
                                                                : (read + written) / 2;
    double part = certainty == XFW_LOW ? fmin(read, written) : certainty == XFW_HIGH ? 1 : likely;
    return part * xfw_fetched_ns(achievable, op, certainty);
}

#define MOSTLY_DEMAND 0.5 /* of a kernel: a guess */

/* What the kernel waited for its pages. Records of moves say when pages were on the link; a kernel
 * waits for the driver, too, which serves its faults. One that takes hardly longer than so many
 * pages take on demand by the profile has waited for so long; in a longer one that may have been
 * beside its own work. */
static double demanded_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                          enum xfw_certainty certainty)
{
    struct xfp_estimate demand =
        xfw_moving_of(achievable, XFP_DEMAND, XFT_DIR_H2D, op->demanded.gpu, op->demanded.bytes)
            .estimate;
    double own = xfw_device_byte_ns(achievable, op->demanded.gpu) * (double)op->demanded.bytes;
    double recorded = op->demanded.stalled_ns, most = op->duration_ns - (own > 0 ? own : 0);
    if (certainty == XFW_LOW)
        return fmax(0, recorded - op->demanded.unseen_ns);
    if (demand.basis == XFP_UNKNOWN ||
        (certainty == XFW_LIKELY && demand.ns < MOSTLY_DEMAND * op->duration_ns))
        return recorded;
    double ns = xfw_as_sure(demand.ns, demand.error, xfw_opposite(certainty));
    return fmax(recorded, fmin(ns, most));
}

/* What the kernel's pages take on demand at most, one piece after the other, by the profile: where
 * few come, recording each fault may take longer than serving all of them. At best, and where
 * that is not measured, it is what was recorded. */
static double in_pieces_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                           enum xfw_certainty certainty)
{
    const struct xfw_moved *demanded = &op->demanded;
    if (certainty == XFW_HIGH || demanded->records == 0)
        return INFINITY;
    struct xfp_estimate one = xfw_moving_of(achievable, XFP_DEMAND, XFT_DIR_H2D, demanded->gpu,
                                            demanded->bytes / demanded->records + 1)
                                  .estimate;
    return one.basis == XFP_UNKNOWN ? INFINITY : demanded->records * one.ns;
}

/* Of one allocation after the other: their number, and what each takes. */
struct prefetching {
    unsigned calls;
    double ns, call_ns; /* of all: NAN, not measured; the host's time */
    double link_ns;     /* of ns: while the pages move; 0: not measured */
};

/* Pages move as page-locked memory is copied. */
static double link_ns(const struct xfa_achievable *achievable, enum xft_direction direction,
                      const struct xfw_moved *moved)
{
    const struct xfp_path *path =
        xfw_host_path(achievable, direction, XFT_MEM_PINNED, -1, moved->gpu < 0 ? 0 : moved->gpu);
    struct xfp_estimate copy = path ? xfp_time(path, moved->bytes) : (struct xfp_estimate){0};
    return copy.basis == XFP_UNKNOWN ? 0 : copy.ns;
}

static struct prefetching prefetching(const struct xfw_change *change, enum xft_direction direction,
                                      const struct xfw_moved *moved, enum xfw_certainty certainty)
{
    static const double of_call[] = {[XFW_LOW] = 1, [XFW_LIKELY] = 0.5, [XFW_HIGH] = 0};
    unsigned calls = moved->allocations ? (unsigned)__builtin_popcountll(moved->allocations) : 1;
    struct xfw_moving moving = xfw_moving_of(&change->analysis->achievable, XFP_PREFETCH, direction,
                                             moved->gpu, moved->bytes / calls);
    if (moving.estimate.basis == XFP_UNKNOWN)
        return (struct prefetching){calls, NAN, NAN, 0};
    double ns = calls * xfw_as_sure(moving.estimate.ns, moving.estimate.error, certainty);
    bool known = moving.call_ns > 0;
    return (struct prefetching){calls, ns, known ? calls * moving.call_ns : ns * of_call[certainty],
                                link_ns(&change->analysis->achievable, direction, moved)};
}

static void before_kernel(const struct xfw_change *change, struct prefetch_state *state,
                          struct xfw_player *player, struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (op->demanded.gpu < 0)
        op->demanded.gpu = op->gpu;
    struct prefetching cost = prefetching(change, XFT_DIR_H2D, &op->demanded, certainty);
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    double stalled = demanded_ns(achievable, op, certainty);
    if (is_by_apply(change)
            ? isnan(cost.ns) || !xfw_prefetch_trials_launch(&state->trials, player, op)
            : !(cost.ns < fmin(stalled, in_pieces_ns(achievable, op, certainty))))
        return;
    struct xfw_op prefetch = xfw_op_like(op);
    prefetch.what = XFW_PREFETCH;
    prefetch.engine = XFW_TO_DEVICE;
    prefetch.exclusive = true;
    prefetch.bytes = op->demanded.bytes;
    prefetch.duration_ns = cost.ns;
    prefetch.link_ns = cost.link_ns;
    prefetch.own_ns = cost.call_ns;
    xfw_op_take_gap(&prefetch, op); /* in which the host may have touched it */
    xfw_player_play(player, &prefetch);
    op->duration_ns -= stalled;
    op->link_ns = 0;
    op->demanded = (struct xfw_moved){0};
}

static void behind_kernel(double until, struct xfw_player *player, const struct xfw_op *op,
                          struct xfw_op *prefetch)
{
    struct xfw_op call = xfw_op_like(op);
    call.own_ns = prefetch->own_ns;
    xfw_player_play(player, &call);
    prefetch->own_ns = 0;
    xfw_player_play_earlier(player, prefetch, until);
    xfw_wait_for_work(player, op, xfw_schedule_last(xfw_player_schedule(player))->end);
}

/* Behind the last kernel that used it, and waited for: at worst only when the host comes to it. */
static void before_host(const struct xfw_change *change, const struct prefetch_state *state,
                        struct xfw_player *player, struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    double faults = spared_ns(&change->analysis->achievable, state, op, certainty);
    struct prefetching cost = prefetching(change, XFT_DIR_D2H, &op->fetched, certainty);
    if (!(cost.ns < faults))
        return;
    struct xfw_op prefetch = xfw_op_like(op);
    prefetch.gpu = op->fetched.gpu;
    prefetch.bytes = op->fetched.bytes;
    struct use use = use_of(state, op->fetched.allocations);
    if (!use.stream) {
        prefetch.own_ns = cost.ns;
        xfw_player_play(player, &prefetch);
    } else {
        prefetch.what = XFW_PREFETCH;
        prefetch.stream = use.stream - 1;
        prefetch.stream_kind = use.stream_kind;
        prefetch.engine = XFW_TO_HOST;
        prefetch.exclusive = true;
        prefetch.duration_ns = cost.ns;
        prefetch.link_ns = cost.link_ns;
        prefetch.own_ns = cost.call_ns;
        if (certainty == XFW_LOW) {
            prefetch.awaits = XFW_AWAITS_ITSELF;
            xfw_player_play(player, &prefetch);
        } else {
            behind_kernel(use.until, player, op, &prefetch);
        }
    }
    op->gap_ns -= faults;
    op->fetched = (struct xfw_moved){0};
}

/* At worst moves were only recording: all stays as it is. */
static bool moves_unsure(const struct xfw_change *change, const struct xfw_player *player)
{
    return xfw_player_certainty(player) == XFW_LOW &&
           !xfw_records_cost_of(&change->analysis->achievable, 0).moves_known;
}

/* The thread does not wait for its faults, but for what it prefetched. */
static double prefetch_begins(const struct xfw_change *change, const void *self,
                              const struct xfw_player *player, const struct xfw_op *op,
                              double begins)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (!op->fetched.bytes || is_by_apply(change) || moves_unsure(change, player))
        return begins;
    double faults = spared_ns(&change->analysis->achievable, self, op, certainty);
    struct prefetching cost = prefetching(change, XFT_DIR_D2H, &op->fetched, certainty);
    if (!(cost.ns < faults))
        return begins;
    if (certainty == XFW_LOW)
        return begins - faults + cost.ns;
    double there = use_of(self, op->fetched.allocations).until + cost.ns;
    return fmax(begins - faults, there + op->gap_ns - faults);
}

static void prefetch_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                        struct xfw_op *op)
{
    struct prefetch_state *state = self;
    note_use(state, player);
    xfw_prefetch_trials_op(&state->trials, player);
    xfw_memories_op(&state->memories, op);
    if ((op->fetched.bytes || op->demanded.bytes) && moves_unsure(change, player))
        return;
    uint64_t fetched = op->fetched.allocations;
    if (op->fetched.bytes && !is_by_apply(change))
        before_host(change, state, player, op);
    state->results &= ~fetched;
    if (op->demanded.bytes && op->stream != XFW_NONE)
        before_kernel(change, state, player, op);
    if (op->engine == XFW_COMPUTE && xfw_op_is_work(op) && op->stream != XFW_NONE)
        kernel(state, player, op);
}

static void prefetch_end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_memories_free(&((struct prefetch_state *)self)->memories);
}

static struct xfw_change *new_prefetch(const struct xfa_analysis *analysis, bool by_apply)
{
    static const struct xfw_change_type type = {.name = "prefetch",
                                                .state_bytes = sizeof(struct prefetch_state),
                                                .op = prefetch_op,
                                                .begins = prefetch_begins,
                                                .end = prefetch_end};
    struct prefetch *prefetch = xfw_change_new(sizeof *prefetch, &type, analysis, NULL);
    prefetch->by_apply = by_apply;
    return &prefetch->change;
}

struct xfw_change *xfw_change_prefetch(const struct xfa_analysis *analysis)
{
    return new_prefetch(analysis, false);
}

struct xfw_change *xfw_change_prefetch_by_apply(const struct xfa_analysis *analysis)
{
    return new_prefetch(analysis, true);
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

/* The part of what moved that the kernel touched, as likely: what it has time for beyond waiting
 * for it. Where that is no more than the least work takes it says nothing, but pages that faults
 * brought one by one do. */
static double share_touched(const struct xfa_achievable *achievable, const struct xfw_op *op,
                            double own)
{
    double bytes = (double)op->demanded.bytes;
    if (op->demanded.pages > 0 && op->demanded.pages < XFW_PAGES_TOGETHER &&
        own <= xfw_device_least_ns(achievable, op->gpu))
        return op->demanded.pages * XFW_PAGE_BYTES / bytes;
    return own / (xfw_device_byte_ns(achievable, op->gpu) * bytes);
}

static void stay_kernel(const struct xfw_change *change, struct stay *state,
                        struct xfw_player *player, struct xfw_op *op)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    double own = fmax(0, op->duration_ns - op->demanded.stalled_ns);
    double share = share_touched(achievable, op, own);
    double over_link = over_link_ns(achievable, op, share * (double)op->demanded.bytes,
                                    xfw_player_certainty(player));
    if (!(share < XFW_READ_IN_PART) || !(over_link > 0))
        return;
    op->duration_ns = fmin(op->duration_ns, fmax(own, over_link));
    op->link_ns = 0;
    state->stayed += op->demanded.bytes;
    op->demanded = (struct xfw_moved){0};
}

/* At best the thread did nothing else between the first page and the last. */
static double host_faults_ns(const struct xfw_change *change, const struct xfw_op *op,
                             enum xfw_certainty certainty)
{
    double ns = xfw_fetched_ns(&change->analysis->achievable, op, certainty);
    return certainty == XFW_HIGH ? fmin(op->gap_ns, fmax(ns, op->fetched.span_us * 1e3)) : ns;
}

static void stay_host(const struct xfw_change *change, struct stay *state,
                      struct xfw_player *player, struct xfw_op *op)
{
    uint64_t stayed = op->fetched.bytes < state->stayed ? op->fetched.bytes : state->stayed;
    double part = (double)stayed / (double)op->fetched.bytes;
    op->gap_ns -= part * host_faults_ns(change, op, xfw_player_certainty(player));
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

/* ---- memory of the device -------------------------------------------------------------------- */

#define LEAST_PART 0.5 /* of the time in which faults were served */

static void device_memory_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                             struct xfw_op *op)
{
    (void)change, (void)self;
    if (op->what != XFW_KERNEL || op->demanded.bytes > 0 || !(op->demanded.stalled_ns > 0))
        return;
    double part = xfw_player_certainty(player) == XFW_LOW ? LEAST_PART : 1;
    op->duration_ns = xfw_max(0, op->duration_ns - part * op->demanded.stalled_ns);
    op->link_ns = 0;
    op->demanded = (struct xfw_moved){0};
}

struct xfw_change *xfw_change_device_memory(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {.name = "device memory", .op = device_memory_op};
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, NULL);
}
