#include "analyzer/whatif/changes/touched.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"

/*
 * touched memory: copies from and to pageable memory that was new take what those of memory that is
 * used again do, and the thread's own time before them has no page faults.
 */

#define PAGE 4096u
#define OF_HUGE 0.25 /* of what as many ordinary pages take */

/* Of one ordinary page: the fault, clearing it, and giving it back. Guesses: on a virtual machine
 * it took 1.6 to 5 us (docs/method.md). most: where the time that it is taken from is known to be
 * for nothing else. */
static const double page_ns[] = {[XFW_LOW] = 250, [XFW_LIKELY] = 700, [XFW_HIGH] = 1600};
static const double most_page_ns[] = {[XFW_LOW] = 700, [XFW_LIKELY] = 6400, [XFW_HIGH] = 6400};
static const double own_page_ns[] = {[XFW_LOW] = 250, [XFW_LIKELY] = 1600, [XFW_HIGH] = 6400};

#define MOST_OF_CALL 0.75    /* faults take no more of a call: it copies, too */
#define FILL_NS_PER_BYTE 0.1 /* the program need not fill it, either: at 10 GB/s */

/* A thread's own time. */
struct own {
    double since_ns;    /* since its last large copy of pageable memory, longer ones together */
    double needless_ns; /* to be taken from those to come */
};

struct owns {
    struct own *threads; /* by number */
    size_t count, capacity;
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

/* What the call took beyond a copy of memory that was touched before, by the profile, as far as it
 * can be page faults; without that figure an estimate. */
static double within_ns(const struct xfw_change *change, const struct xfw_op *op,
                        enum xfw_certainty certainty, double pages)
{
    const struct xfa_row_key *row = &xfa_class_at(&change->analysis->classes, op->class)->key.row;
    const struct xfp_path *path =
        xfw_host_path(&change->analysis->achievable, (enum xft_direction)row->direction,
                      XFT_MEM_PAGEABLE, -1, op->gpu);
    struct xfw_copy_cost touched = {0};
    if (path)
        touched = xfw_copy_cost(path, op->bytes, XFW_LIKELY);
    double took = xfw_op_took(op), most = MOST_OF_CALL * took;
    if (!touched.known)
        return xfw_min(most, pages * page_ns[certainty]);
    most = xfw_min(most, xfw_max(0, took - touched.blocking_ns));
    return xfw_min(most, pages * most_page_ns[certainty]);
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

static void touch(const struct xfw_change *self, void *state, struct xfw_player *player,
                  struct xfw_op *op)
{
    const struct xfw_touched *what = &((const struct touched *)self)->what;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    uint32_t process = xfw_player_process(player)->number;
    struct own *own = pass_own(state, op);
    if (op->what != XFW_COPY || op->class == XFW_NONE || !xfw_set_has(&self->set, op->class))
        return;
    bool huge = xfw_marked(what->huge, process, op->transfer);
    double pages = (double)op->bytes / PAGE * (huge ? OF_HUGE : 1);
    if (xfw_marked(what->within, process, op->transfer))
        shorten(op, within_ns(self, op, certainty, pages));
    if (xfw_marked(what->before, process, op->transfer) && (certainty == XFW_HIGH || self->assured))
        shorten_own(own, op, pages * own_page_ns[certainty] + FILL_NS_PER_BYTE * (double)op->bytes);
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
