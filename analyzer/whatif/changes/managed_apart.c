#include <math.h>

#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/managed.h"
#include "analyzer/whatif/op/recording_cost.h"

#define FEW_TURNS                                                                                  \
    3 /* before that nothing says that the driver left pages where they are: a guess */
#define SURE_RETURNS 2 /* and with fewer returns it is not sure: a guess */
#define MUCH_LONGER 2  /* times: what else may make a kernel longer is left alone, a guess */
#define SLOWLY 8       /* own_ns grows by so much of what is beyond it */

/* A kernel by its function and size. */
struct demander {
    struct demander_key {
        uint64_t name;
        uint64_t threads;
    } key;
    uint64_t allocations; /* from which the little came back to it */
    unsigned turns;       /* so many times */
    unsigned returns;     /* to that, from kernels that reached over the link */
    double own_ns;        /* what it takes once that is there */
    double reached_ns;    /* the last one of late, over the link; 0: none */
    double gap_ns;        /* the thread's own time before it, where no page comes; NAN: not met */
};

struct apart {
    struct xfa_table demanders;
    struct xfw_memories memories;
    uint64_t with_host; /* bytes that moved to the host when it came to them last; 0: not a few */
    uint64_t turn;      /* bytes that both sides touch in a turn */
    bool brought;       /* since the last wait the host's part was copied to the device */
    bool results;       /* and a kernel has used it */
    struct xfw_op last; /* that kernel */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    (void)change, (void)player;
    xfa_table_init(&((struct apart *)self)->demanders, sizeof(struct demander_key),
                   sizeof(struct demander));
}

static void end(const struct xfw_change *change, void *self)
{
    struct apart *apart = self;
    (void)change;
    xfa_table_free(&apart->demanders);
    xfw_memories_free(&apart->memories);
}

static struct demander *demander_of(struct apart *apart, const struct xfw_op *op)
{
    const struct demander_key key = {op->name, op->threads};
    struct demander *demander = xfa_table_get(&apart->demanders, &key);
    if (demander)
        return demander;
    demander = xfa_table_put(&apart->demanders, &key);
    demander->gap_ns = NAN;
    return demander;
}

/* Shorter at once, longer slowly. */
static double follow(double ns, double now)
{
    return now < ns ? now : ns + (now - ns) / SLOWLY;
}

/* ---- copies in place of pages ---------------------------------------------------------------- */

static void copy(const struct xfw_change *change, const struct apart *apart,
                 struct xfw_player *player, const struct xfw_op *kernel, struct xfw_op *op,
                 enum xft_direction direction)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    const struct xfp_path *path =
        xfw_host_path(achievable, direction, XFT_MEM_PINNED, -1, kernel->gpu);
    struct xfw_copy_cost cost = xfw_copy_cost(path, apart->turn, xfw_player_certainty(player));
    if (!cost.known)
        return;
    struct xfw_op copy = xfw_op_like(op);
    copy.what = XFW_COPY;
    copy.engine = direction == XFT_DIR_H2D ? XFW_TO_DEVICE : XFW_TO_HOST;
    copy.exclusive = true;
    copy.gpu = kernel->gpu;
    copy.stream = kernel->stream;
    copy.stream_kind = kernel->stream_kind;
    copy.bytes = apart->turn;
    xfw_copy_is_submitted(&copy, &cost, xfw_around_ns(achievable, direction, kernel->gpu));
    xfw_op_take_gap(&copy, op);
    xfw_player_play(player, &copy);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* It may be given memory from which the little comes: known not to be, where all pointers that it
 * was given are known. */
static bool is_given(const struct apart *apart, const struct xfw_player *player,
                     const struct xfw_op *op, const struct demander *demander)
{
    const struct xfa_process *process = xfw_player_process(player);
    uint64_t pointer;
    if (!op->arguments)
        return true;
    for (uint32_t k = 0; xfw_launch_pointer(process, op->arguments, k, &pointer); k++) {
        struct xfw_memory memory;
        if (xfw_memories_find(&apart->memories, pointer, &memory) &&
            memory.kind == XFT_MEM_MANAGED &&
            (!demander->allocations || demander->allocations & xfw_allocation_bit(memory.first)))
            return true;
    }
    return false;
}

static void learn(struct demander *demander, const struct xfw_op *op)
{
    double own = fmax(0, op->duration_ns - op->demanded.stalled_ns);
    demander->allocations |= op->demanded.allocations;
    demander->own_ns = demander->turns ? follow(demander->own_ns, own) : own;
    demander->returns += demander->reached_ns > MUCH_LONGER * own;
    demander->reached_ns = 0;
    demander->turns++;
}

/* The page came back to the kernel: it waited for that alone, or for others, too. */
static void came_back(struct apart *apart, struct demander *demander, struct xfw_op *op)
{
    double part = op->demanded.bytes > apart->with_host
                      ? (double)apart->with_host / (double)op->demanded.bytes
                      : 1;
    if (part >= 1)
        learn(demander, op);
    op->duration_ns = fmax(0, op->duration_ns - part * op->demanded.stalled_ns);
    if (part >= 1) {
        op->link_ns = 0;
        op->demanded = (struct xfw_moved){0};
    }
    apart->with_host = 0;
}

/* It comes back no more, though the host had it last: the driver left it there. */
static bool was_left(const struct apart *apart, const struct xfw_player *player,
                     struct demander *demander, struct xfw_op *op)
{
    bool worst = xfw_player_certainty(player) == XFW_LOW;
    double own = (worst ? MUCH_LONGER : 1) * demander->own_ns;
    if (!apart->with_host || demander->turns < FEW_TURNS ||
        !(op->duration_ns > MUCH_LONGER * demander->own_ns) ||
        !is_given(apart, player, op, demander))
        return false;
    demander->reached_ns = op->duration_ns;
    demander->gap_ns = isnan(demander->gap_ns) ? op->gap_ns : follow(demander->gap_ns, op->gap_ns);
    if (worst && demander->returns < SURE_RETURNS)
        return false;
    op->duration_ns = fmin(op->duration_ns, own);
    op->link_ns = op->reach_ns = 0;
    return true;
}

static void kernel(const struct xfw_change *change, struct apart *apart, struct xfw_player *player,
                   struct xfw_op *op)
{
    struct demander *demander = demander_of(apart, op);
    bool moved = xfw_has_moved(&op->demanded);
    bool altered = moved ? apart->with_host > 0 : was_left(apart, player, demander, op);
    if (moved && altered)
        came_back(apart, demander, op);
    if (!altered || op->stream == XFW_NONE)
        return;
    if (!apart->brought)
        copy(change, apart, player, op, op, XFT_DIR_H2D);
    apart->brought = apart->results = true;
    apart->last = *op;
}

/* ---- the host -------------------------------------------------------------------------------- */

/* A thread whose faults come too often the driver has wait, beyond what a fault takes: as likely it
 * did no more than where no page comes. */
static double faults_ns(const struct xfw_change *change, struct apart *apart,
                        const struct xfw_player *player, const struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    double ns = xfw_fetched_ns(&change->analysis->achievable, op, certainty);
    double gap = op->what == XFW_KERNEL ? demander_of(apart, op)->gap_ns : NAN;
    return certainty == XFW_LOW || isnan(gap) ? ns : fmax(ns, op->gap_ns - gap);
}

static void touched(const struct xfw_change *change, struct apart *apart, struct xfw_player *player,
                    struct xfw_op *op)
{
    uint64_t bytes = op->fetched.bytes;
    apart->with_host = bytes <= XFW_APART_BYTES ? bytes : 0;
    if (!apart->with_host)
        return;
    apart->turn = bytes;
    op->gap_ns -= faults_ns(change, apart, player, op);
    op->fetched = (struct xfw_moved){0};
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct apart *apart = self;
    xfw_memories_op(&apart->memories, op);
    if (xfw_player_certainty(player) == XFW_LOW &&
        !xfw_records_cost_of(&change->analysis->achievable, 0).moves_known)
        return; /* moves may be recording alone */
    if (op->fetched.bytes > 0)
        touched(change, apart, player, op);
    if (op->what == XFW_KERNEL)
        kernel(change, apart, player, op);
    if (op->kind != XFT_EVENT_SYNC || op->awaits == XFW_AWAITS_NOTHING)
        return;
    if (apart->results)
        copy(change, apart, player, &apart->last, op, XFT_DIR_D2H);
    apart->brought = apart->results = false;
}

struct xfw_change *xfw_change_apart(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "apart", .state_bytes = sizeof(struct apart), .begin = begin, .op = op, .end = end};
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, NULL);
}
