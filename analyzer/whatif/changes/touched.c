#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

/*
 * touched memory: copies from and to pageable memory that was new take what those of memory that is
 * used again do, and the thread's own time before them has no page faults.
 */

#define PAGE 4096u
#define OF_HUGE 0.25 /* of what as many ordinary pages take */

/* Of one ordinary page: the fault, clearing it, and giving it back (guesses, but for the most: so
 * much was measured on a virtual machine, docs/method.md). */
static const double page_ns[] = {[XFW_LOW] = 250, [XFW_LIKELY] = 700, [XFW_HIGH] = 1600};

#define MOST_OF_CALL 0.75    /* faults take no more of a call: it copies, too */
#define FILL_NS_PER_BYTE 0.1 /* at best: the program need not fill it, either, at 10 GB/s */

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
    enum xfw_certainty dear = certainty == XFW_LOW ? XFW_LIKELY : XFW_HIGH;
    most = xfw_min(most, xfw_max(0, took - touched.blocking_ns));
    return xfw_min(most, pages * page_ns[dear]);
}

static void touch(const struct xfw_change *self, void *state, struct xfw_player *player,
                  struct xfw_op *op)
{
    const struct xfw_touched *what = &((const struct touched *)self)->what;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    uint32_t process = xfw_player_process(player)->number;
    (void)state;
    if (op->what != XFW_COPY || op->class == XFW_NONE || !xfw_set_has(&self->set, op->class))
        return;
    bool huge = xfw_marked(what->huge, process, op->transfer);
    double pages = (double)op->bytes / PAGE * (huge ? OF_HUGE : 1);
    if (xfw_marked(what->within, process, op->transfer))
        shorten(op, within_ns(self, op, certainty, pages));
    if (!xfw_marked(what->before, process, op->transfer) ||
        (certainty != XFW_HIGH && !self->assured))
        return;
    double cost = pages * page_ns[certainty];
    if (certainty == XFW_HIGH)
        cost += FILL_NS_PER_BYTE * (double)op->bytes;
    op->gap_ns = xfw_max(0, op->gap_ns - cost);
}

struct xfw_change *xfw_change_touched(const struct xfa_analysis *analysis,
                                      const struct xfw_touched *what)
{
    static const struct xfw_change_type type = {.name = "touched memory", .op = touch};
    struct xfw_set classes = what->classes;
    struct touched *change = xfw_change_new(sizeof *change, &type, analysis, &classes);
    change->what = *what;
    return &change->change;
}
