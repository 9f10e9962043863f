#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"

/* What a thread has fetched, that the change leaves out. */
struct fetched {
    uint32_t thread; /* key */
    bool under_way;  /* no wait since */
    bool there;      /* the thread's own time is about it */
};

struct turns {
    struct xfa_table fetched;
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct turns *turns = self;
    (void)change;
    (void)player;
    xfa_table_init(&turns->fetched, sizeof(uint32_t), sizeof(struct fetched));
}

static void end(const struct xfw_change *change, void *self)
{
    struct turns *turns = self;
    (void)change;
    xfa_table_free(&turns->fetched);
}

/* The copy goes: what its thread waits for next is the copy, and its own time behind that the work
 * on it. */
static void fetch(struct turns *turns, struct fetched *fetched, struct xfw_op *op)
{
    if (!fetched)
        fetched = xfa_table_put(&turns->fetched, &op->thread);
    fetched->under_way = op->awaits == XFW_AWAITS_NOTHING;
    fetched->there = !fetched->under_way;
    xfw_op_drop(op);
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct turns *turns = self;
    bool goes = op->what == XFW_COPY && op->class != XFW_NONE &&
                xfw_set_has(&change->set, op->class) && xfw_player_take(player, op);
    if (xfw_player_certainty(player) != XFW_HIGH && !change->assured)
        return;
    struct fetched *fetched = xfa_table_get(&turns->fetched, &op->thread);
    if (fetched && fetched->there)
        op->gap_ns = 0;
    if (fetched)
        fetched->there = false;
    if (goes) {
        fetch(turns, fetched, op);
    } else if (fetched && fetched->under_way && op->kind == XFT_EVENT_SYNC &&
               op->awaits != XFW_AWAITS_NOTHING) {
        fetched->under_way = false;
        fetched->there = true;
        xfw_op_drop(op);
    }
}

struct xfw_change *xfw_change_host_turns(const struct xfa_analysis *analysis,
                                         struct xfw_set *classes)
{
    static const struct xfw_change_type type = {
        .name = "host turns",
        .state_bytes = sizeof(struct turns),
        .begin = begin,
        .op = op,
        .end = end,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, classes);
    change->shares = XFW_TAKES;
    change->least_part = XFW_TURNS_LEAST;
    return change;
}
