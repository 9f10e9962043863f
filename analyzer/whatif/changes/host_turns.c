#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

#define MOST_FETCHED 8
#define WAITS_SOON_NS 50000.0 /* between a copy and a framework's wait for it */

/* What a thread has fetched, that the change leaves out. */
struct fetched {
    uint32_t thread; /* key */
    bool under_way;  /* no wait since */
    bool there;      /* the thread's own time is about it */
    bool worked;     /* it was, and was long enough to be work; no kernel since */
    unsigned count;
    uint64_t bytes[MOST_FETCHED]; /* of each copy since the last kernel, a ring */
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
    fetched->bytes[fetched->count++ % MOST_FETCHED] = op->bytes;
    xfw_op_drop(op);
}

/* A copy to the device of what the host has made of it: of as many bytes, behind that work. */
static bool is_result(struct fetched *fetched, const struct xfw_op *op)
{
    if (!fetched->worked || op->what != XFW_COPY || op->engine != XFW_TO_DEVICE)
        return false;
    for (unsigned i = 0; i < MOST_FETCHED && i < fetched->count; i++)
        if (fetched->bytes[i] == op->bytes)
            return true;
    return false;
}

/* A wait for the copy; right behind one that blocks (frameworks wait behind each), too. */
static bool waits_for_it(const struct fetched *fetched, const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_SYNC && op->awaits != XFW_AWAITS_NOTHING &&
           (fetched->under_way || (fetched->there && op->gap_ns <= WAITS_SOON_NS));
}

/* The thread's own time, which goes, was work. */
static void work_on(struct fetched *fetched, struct xfw_op *op)
{
    fetched->worked = fetched->worked || op->gap_ns > XFW_BUSY_NS;
    op->gap_ns = 0;
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
    bool waits = fetched && waits_for_it(fetched, op);
    if (fetched && fetched->there)
        work_on(fetched, op);
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
    change->of_span = true;
    change->from = XFW_HIGH;
    return change;
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

/* Threads that have just made something, whose copies go. */
struct makes {
    struct xfa_table made;
};

struct made {
    uint32_t thread; /* key */
    bool open;       /* no kernel since, nor longer own time */
};

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
    bool made = is_made(self, op, goes);
    bool converted = goes && op->gap_ns >= XFW_READ_NS_PER_BYTE * (double)op->bytes &&
                     op->gap_ns <= XFW_CONVERT_NS_PER_BYTE * (double)op->bytes;
    if (!made && !converted)
        return;
    op->gap_ns = 0;
    if (made)
        xfw_op_drop(op);
    else
        shrink(op);
}

struct xfw_change *xfw_change_host_converts(const struct xfa_analysis *analysis,
                                            struct xfw_set *classes)
{
    static const struct xfw_change_type type = {
        .name = "host converts",
        .state_bytes = sizeof(struct makes),
        .begin = begin_makes,
        .op = convert,
        .end = end_makes,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, classes);
    change->shares = XFW_TAKES;
    change->least_part = XFW_TURNS_LEAST;
    change->of_span = change->beyond_set = true;
    change->from = XFW_HIGH;
    return change;
}
