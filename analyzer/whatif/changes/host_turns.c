#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/own_work.h"

/* Both changes of this file. */
struct host_change {
    struct xfw_change change;
    double part; /* of own time that is both, work on what was brought (own_work.h) */
};

/* How much of such time goes, as sure as asked for: nothing at worst, all at best. */
static double part_of(const struct xfw_player *player, double likely)
{
    const enum xfw_certainty certainty = xfw_player_certainty(player);
    return certainty == XFW_LIKELY ? likely : certainty == XFW_HIGH;
}

static double worked_part(const struct xfw_change *change, const struct xfw_player *player)
{
    return part_of(player, ((const struct host_change *)change)->part);
}

static double made_part(const struct xfw_change *change, const struct xfw_player *player)
{
    return part_of(player, 1 - ((const struct host_change *)change)->part);
}

struct turns {
    struct xfa_table fetched; /* struct xfw_fetched: of copies that go */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct turns *turns = self;
    (void)change;
    (void)player;
    xfa_table_init(&turns->fetched, sizeof(uint32_t), sizeof(struct xfw_fetched));
}

static void end(const struct xfw_change *change, void *self)
{
    struct turns *turns = self;
    (void)change;
    xfa_table_free(&turns->fetched);
}

/* The copy goes. */
static void fetch(struct turns *turns, struct xfw_fetched *fetched, struct xfw_op *op)
{
    if (!fetched)
        fetched = xfa_table_put(&turns->fetched, &op->thread);
    xfw_fetched_copy(fetched, op);
    xfw_op_drop(op);
}

/* A copy to the device of what the host has made of it, behind that work. */
static bool is_result(const struct xfw_fetched *fetched, const struct xfw_op *op)
{
    return fetched->worked && xfw_fetched_equals(fetched, op);
}

/* The thread's own time that was work on it goes. */
static void work_on(struct xfw_fetched *fetched, struct xfw_op *op, double part)
{
    fetched->worked = fetched->worked || op->gap_ns > XFW_BUSY_NS;
    op->gap_ns -= xfw_fetched_work_ns(fetched, op, part);
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct turns *turns = self;
    bool goes = op->what == XFW_COPY && op->class != XFW_NONE &&
                xfw_set_has(&change->set, op->class) && xfw_player_take(player, op);
    if (xfw_player_certainty(player) != XFW_HIGH && !change->assured)
        return;
    struct xfw_fetched *fetched = xfa_table_get(&turns->fetched, &op->thread);
    bool waits = fetched && xfw_fetched_awaits(fetched, op);
    if (fetched && fetched->there)
        work_on(fetched, op, worked_part(change, player));
    if (fetched)
        fetched->there = false;
    if (fetched && is_result(fetched, op)) {
        xfw_op_drop(op);
        fetched->there = true; /* of the next of several results */
    } else if (goes) {
        fetch(turns, fetched, op);
    } else if (waits) {
        fetched->under_way = false;
        fetched->there = true;
        xfw_op_drop(op);
    } else if (fetched && xfw_op_is_work(op) && op->what != XFW_COPY) {
        fetched->worked = false;
        fetched->count = 0;
    }
}

static struct xfw_change *change_of(const struct xfw_change_type *type,
                                    const struct xfa_analysis *analysis, struct xfw_set *classes,
                                    double part)
{
    struct host_change *own = xfw_change_new(sizeof *own, type, analysis, classes);
    own->part = part;
    own->change.shares = XFW_TAKES;
    own->change.least_part = XFW_TURNS_LEAST;
    own->change.of_span = true;
    own->change.from = XFW_HIGH;
    own->change.doubted = true; /* how much of the time goes */
    return &own->change;
}

struct xfw_change *xfw_change_host_turns(const struct xfa_analysis *analysis,
                                         struct xfw_set *classes, double part)
{
    static const struct xfw_change_type type = {
        .name = "host turns",
        .by_ops = true,
        .state_bytes = sizeof(struct turns),
        .begin = begin,
        .op = op,
        .end = end,
    };
    return change_of(&type, analysis, classes, part);
}

/* ---- what the host makes --------------------------------------------------------------------- */

/* A copy of fewer bytes, as the driver makes it. */
static void shrink(struct xfw_op *op)
{
    const double less = 1 - XFW_RAW_PART;
    if (op->own_ns > XFW_SUBMIT_NS)
        op->own_ns -= less * (op->own_ns - XFW_SUBMIT_NS);
    if (op->awaits == XFW_AWAITS_ITS_START)
        op->wake_ns = xfw_max(0, op->wake_ns - less * op->duration_ns);
    op->duration_ns -= less * op->duration_ns;
    op->lead_ns = xfw_min(op->lead_ns, op->duration_ns);
    op->bytes = (uint64_t)((double)op->bytes * XFW_RAW_PART);
}

/* Threads that have just made something, or fetched. */
struct makes {
    struct xfa_table made;
};

struct made {
    uint32_t thread; /* key */
    bool open;       /* its copies go: no kernel since, nor longer own time */
    bool fetched;    /* its next own time is also about what a copy brought (own_work.h) */
};

/* Notes what the op leaves for the thread's own time behind it. Was that before it also about what
 * a copy brought? */
static bool is_mixed(struct makes *makes, const struct xfw_op *op)
{
    bool fetches = xfw_op_may_be_turn(op) && op->engine == XFW_TO_HOST;
    struct made *made = xfa_table_get(&makes->made, &op->thread);
    bool mixed = made && made->fetched && op->gap_ns > XFW_BUSY_NS;
    if (fetches)
        made = xfa_table_put(&makes->made, &op->thread);
    if (made && (fetches || mixed || (xfw_op_is_work(op) && op->what != XFW_COPY)))
        made->fetched = fetches;
    return mixed;
}

static void begin_makes(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct makes *makes = self;
    (void)change;
    (void)player;
    xfa_table_init(&makes->made, sizeof(uint32_t), sizeof(struct made));
}

static void end_makes(const struct xfw_change *change, void *self)
{
    struct makes *makes = self;
    (void)change;
    xfa_table_free(&makes->made);
}

/* Does the copy send what was made, in its thread's own time before or with another copy's? */
static bool is_made(struct makes *makes, const struct xfw_op *op, bool goes)
{
    struct made *made = xfa_table_get(&makes->made, &op->thread);
    bool works = op->gap_ns > XFW_BUSY_NS;
    bool made_now = op->gap_ns > XFW_CONVERT_NS_PER_BYTE * (double)op->bytes &&
                    op->gap_ns <= XFW_MAKE_NS_PER_BYTE * (double)op->bytes;
    if (made && (works || (xfw_op_is_work(op) && op->what != XFW_COPY)))
        made->open = false;
    if (goes && works && made_now) {
        made = xfa_table_put(&makes->made, &op->thread);
        made->open = true;
    }
    return goes && made && made->open;
}

static void convert(const struct xfw_change *change, void *self, struct xfw_player *player,
                    struct xfw_op *op)
{
    bool goes = op->what == XFW_COPY && op->class != XFW_NONE &&
                xfw_set_has(&change->set, op->class) && xfw_player_take(player, op);
    if (xfw_player_certainty(player) != XFW_HIGH && !change->assured)
        return;
    bool mixed = is_mixed(self, op), made = is_made(self, op, goes);
    bool converted = goes && op->gap_ns >= XFW_READ_NS_PER_BYTE * (double)op->bytes &&
                     op->gap_ns <= XFW_CONVERT_NS_PER_BYTE * (double)op->bytes;
    if (!made && !converted)
        return;
    op->gap_ns -= op->gap_ns * (mixed ? made_part(change, player) : 1);
    if (made)
        xfw_op_drop(op);
    else
        shrink(op);
}

struct xfw_change *xfw_change_host_converts(const struct xfa_analysis *analysis,
                                            struct xfw_set *classes, double part)
{
    static const struct xfw_change_type type = {
        .name = "host converts",
        .by_ops = true,
        .state_bytes = sizeof(struct makes),
        .begin = begin_makes,
        .op = convert,
        .end = end_makes,
    };
    struct xfw_change *change = change_of(&type, analysis, classes, part);
    change->beyond_set = true;
    return change;
}
