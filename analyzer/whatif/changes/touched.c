#include "analyzer/whatif/changes/touched.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/new_memory.h"

/*
 * touched memory: copies from and to pageable memory that was new take what those of memory that is
 * used again do, and the thread's own time before them has no page faults.
 */

/* Of one ordinary page in the program's own time: the fault, clearing it, and giving it back, where
 * the profile has no such figures. Guesses. */
static const double own_page_ns[] = {[XFW_LOW] = 250, [XFW_LIKELY] = 1600, [XFW_HIGH] = 6400};

#define FILL_NS_PER_BYTE 0.1 /* what is overwritten need not be filled: at 10 GB/s, a guess */
#define ENOUGH_KEPT 3        /* copies of touched memory in this run */
#define MOST_KEPT 1.5        /* of their mean: longer ones waited for something */

/* A thread's own time. */
struct own {
    double since_ns;    /* since its last large copy of pageable memory, longer ones together */
    double needless_ns; /* to be taken from those to come */
    bool fills;         /* it has copied new memory */
};

struct owns {
    struct own *threads; /* by number */
    size_t count, capacity;
    unsigned filling; /* of them */
};

struct touched {
    struct xfw_change change;
    struct xfw_touched what;
};

/* From the call that makes the copy, and from the copy itself, as far as the host takes part. */
static void shorten(struct xfw_op *op, double less)
{
    double took = xfw_op_took(op), left = took > 0 ? xfw_max(0, 1 - less / took) : 1;
    if (op->awaits == XFW_AWAITS_ITSELF) {
        op->wake_ns *= left;
        op->duration_ns *= left;
        op->latency_ns *= left;
    } else if (op->awaits == XFW_AWAITS_ITS_START) {
        op->wake_ns *= left;
        op->duration_ns = xfw_max(0, op->duration_ns - less);
    }
    op->own_ns = xfw_max(xfw_min(op->own_ns, XFW_SUBMIT_NS), op->own_ns - less);
    op->lead_ns = xfw_min(op->lead_ns, op->duration_ns);
}

/* A copy at hand. */
struct of_copy {
    const struct xfw_change *change;
    const struct touched *touched;
    const struct xfw_op *op;
    uint32_t process;
    enum xft_direction direction;
    bool huge, measured; /* the profile has what the program takes to touch them */
    double pages;        /* ordinary ones, or in place of huge ones; for guesses */
    enum xfw_certainty certainty;
};

/* What a copy as large takes in this run where its memory was touched before; NAN: it has too few
 * of them. */
static double kept_in_run(const struct of_copy *of)
{
    const struct xfw_kept_copies *all = of->touched->what.kept;
    if (!all || of->op->bytes == 0)
        return NAN;
    unsigned size = 63 - (unsigned)__builtin_clzll(of->op->bytes);
    const struct xfw_kept *kept = of->direction == XFT_DIR_H2D ? &all->up[size] : &all->down[size];
    if (kept->copies < ENOUGH_KEPT || kept->bytes == 0)
        return NAN;
    double mean = (double)kept->ns / (double)kept->bytes;
    double each = of->certainty == XFW_LOW    ? xfw_min(kept->most, MOST_KEPT * mean)
                  : of->certainty == XFW_HIGH ? kept->least
                                              : mean;
    return each * (double)of->op->bytes;
}

/* Of the call, page faults. */
static double within_ns(const struct of_copy *of)
{
    struct xfw_new_call call = {
        .achievable = &of->change->analysis->achievable,
        .direction = of->direction,
        .gpu = of->op->gpu,
        .bytes = of->op->bytes,
        .huge = of->huge,
        .took_ns = xfw_op_took(of->op),
        .kept_ns = kept_in_run(of),
    };
    if (isnan(call.kept_ns))
        call.kept_ns = xfw_kept_by_profile_ns(&call);
    return xfw_new_within_ns(&call, of->certainty);
}

/* The same of a buffer that is touched once: by the program, if that takes less. Where its page
 * faults are not known the call took longer for another reason, at worst. */
static double first_ns(const struct of_copy *of, bool faults)
{
    if (!faults && of->certainty == XFW_LOW)
        return 0;
    const struct xfw_new_cost touched =
        xfw_new_touched(&of->change->analysis->achievable, of->huge, 1, of->op->bytes);
    double once = touched.ns[xfw_opposite(of->certainty)];
    return touched.known ? xfw_max(0, within_ns(of) - once) : 0;
}

/* Of the thread's own time, where it touched this memory before the copy. */
static double before_ns(const struct of_copy *of, unsigned threads, enum xfw_certainty certainty)
{
    const struct xfw_new_cost touched =
        xfw_new_touched(&of->change->analysis->achievable, of->huge, threads, of->op->bytes);
    bool overwritten = of->direction == XFT_DIR_D2H;
    double fill = overwritten ? FILL_NS_PER_BYTE * (double)of->op->bytes : 0;
    if (!touched.known)
        return of->pages * own_page_ns[certainty] + fill;
    return touched.ns[certainty] + (certainty == XFW_LOW ? 0 : fill);
}

static double again_ns(const struct of_copy *of, enum xfw_certainty certainty)
{
    const struct xfw_new_cost released =
        xfw_new_released(&of->change->analysis->achievable, of->huge, of->op->bytes);
    return released.known ? released.ns[certainty] : 0;
}

/* From the thread's own time since its last such copy, right before this one first. What is to go
 * of earlier times is known only here: as much of its times to come goes. */
static void shorten_own(struct own *own, struct xfw_op *op, double cost)
{
    double less = xfw_min(cost, own->since_ns), here = xfw_min(less, op->gap_ns);
    op->gap_ns -= here;
    own->needless_ns += less - here;
    own->since_ns = 0;
}

static struct own *own_of(struct owns *state, uint32_t thread)
{
    state->threads =
        xfa_grown(state->threads, &state->capacity, &state->count, thread, sizeof *state->threads);
    return &state->threads[thread];
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    free(((struct owns *)self)->threads);
}

/* The thread's own time up to this op; and what is to go of it. */
static struct own *pass_own(struct owns *state, struct xfw_op *op)
{
    struct own *own = own_of(state, op->thread);
    if (op->gap_ns > XFW_BUSY_NS)
        own->since_ns += op->gap_ns;
    double needless = xfw_min(own->needless_ns, op->gap_ns);
    op->gap_ns -= needless;
    own->needless_ns -= needless;
    return own;
}

static unsigned filling(struct owns *state, struct own *own)
{
    state->filling += own->fills ? 0 : 1;
    own->fills = true;
    return state->filling;
}

/* What the copy's memory took of the thread's own time. */
static double own_ns(const struct of_copy *of, bool before, bool again, unsigned threads,
                     enum xfw_certainty certainty)
{
    return (before ? before_ns(of, threads, certainty) : 0) + (again ? again_ns(of, certainty) : 0);
}

/* Own time a little longer than the profile has it: this process takes longer for it than the
 * probe's did, or it is other work. As likely half of what is more; nothing where it is so much
 * more that there is other work. */
static double longer_here(double had, double likely, double most)
{
    double more = had - likely, varies = most - likely;
    return xfw_max(0, xfw_min(more, 2 * varies - more)) / 2;
}

static void own_goes(const struct of_copy *of, struct owns *state, struct own *own,
                     struct xfw_op *op, bool before)
{
    const struct xfw_touched *what = &of->touched->what;
    bool again = xfw_marked(what->again, of->process, op->transfer);
    bool proven = before && xfw_marked(what->proven, of->process, op->transfer);
    bool sure = !before || proven || of->change->assured;
    unsigned threads = before ? filling(state, own) : 0;
    double less = own_ns(of, before, again, threads, of->certainty);
    if (!sure && of->certainty != XFW_HIGH)
        return;
    if (before && of->certainty == XFW_LIKELY && of->measured)
        less += longer_here(own->since_ns, less, own_ns(of, before, again, 1, XFW_HIGH));
    if (less > 0)
        shorten_own(own, op, less);
}

static void touch(const struct xfw_change *self, void *state, struct xfw_player *player,
                  struct xfw_op *op)
{
    const struct touched *touched = (const struct touched *)self;
    const struct xfw_touched *what = &touched->what;
    uint32_t process = xfw_player_process(player)->number;
    struct own *own = pass_own(state, op);
    if (op->what != XFW_COPY || op->class == XFW_NONE || !xfw_set_has(&self->set, op->class))
        return;
    bool huge = xfw_marked(what->huge, process, op->transfer);
    bool within = xfw_marked(what->within, process, op->transfer);
    bool before = xfw_marked(what->before, process, op->transfer);
    const struct of_copy of = {
        .change = self,
        .touched = touched,
        .op = op,
        .process = process,
        .direction = xfa_class_key_at(&self->analysis->classes, op->class)->row.direction,
        .huge = huge,
        .measured = xfw_new_touched(&self->analysis->achievable, huge, 1, op->bytes).known,
        .pages = (double)op->bytes / XFW_PAGE * (huge ? XFW_OF_HUGE : 1),
        .certainty = xfw_player_certainty(player),
    };
    bool first = xfw_marked(what->first, process, op->transfer) ||
                 (of.certainty == XFW_LOW && xfw_marked(what->more, process, op->transfer));
    if (first)
        shorten(op, first_ns(&of, within));
    else if (within)
        shorten(op, within_ns(&of));
    if ((within || before) && !first) /* else the program touches it there */
        own_goes(&of, state, own, op, before);
    own->since_ns = 0;
}

struct xfw_change *xfw_change_touched(const struct xfa_analysis *analysis,
                                      const struct xfw_touched *what)
{
    static const struct xfw_change_type type = {
        .name = "touched memory",
        .state_bytes = sizeof(struct owns),
        .op = touch,
        .end = end,
    };
    struct xfw_set classes = what->classes;
    struct touched *change = xfw_change_new(sizeof *change, &type, analysis, &classes);
    change->what = *what;
    return &change->change;
}

/* ---- copies of touched memory in the run ----------------------------------------------------- */

void xfw_kept_add(struct xfw_kept_copies *kept, enum xft_direction direction, uint64_t bytes,
                  double ns)
{
    if (bytes == 0 || !(ns > 0))
        return;
    unsigned size = 63 - (unsigned)__builtin_clzll(bytes);
    struct xfw_kept *of = direction == XFT_DIR_H2D ? &kept->up[size] : &kept->down[size];
    double each = ns / (double)bytes;
    of->least = of->copies ? xfw_min(of->least, each) : each;
    of->most = xfw_max(of->most, each);
    of->copies++;
    of->bytes += bytes;
    of->ns += (uint64_t)ns;
}

static void merge(struct xfw_kept *into, const struct xfw_kept *from)
{
    if (from->copies == 0)
        return;
    into->least = into->copies ? xfw_min(into->least, from->least) : from->least;
    into->most = xfw_max(into->most, from->most);
    into->copies += from->copies;
    into->bytes += from->bytes;
    into->ns += from->ns;
}

void xfw_kept_merge(struct xfw_kept_copies *into, const struct xfw_kept_copies *from)
{
    for (unsigned i = 0; i < XFW_KEPT_SIZES; i++) {
        merge(&into->up[i], &from->up[i]);
        merge(&into->down[i], &from->down[i]);
    }
}
