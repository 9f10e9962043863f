#include "analyzer/whatif/changes/handed.h"

#include <math.h>

#include "analyzer/whatif/schedule/handovers.h"

#define SOON_PART 0.5

static bool waited(const struct xfw_handed *handed, const struct xfw_op *op, uint64_t most)
{
    double behind = op->start_ns - handed->gave_ns;
    return handed->gives > 0 && handed->giver != op->thread && handed->held + 1 == most &&
           behind >= 0 && behind <= fmin(SOON_PART * op->gap_ns, XFW_HANDOVER_MOST_NS);
}

void xfw_handed_take(struct xfw_handed *handed, struct xfw_op *op, uint64_t most, bool alone,
                     double now_ns)
{
    if (alone && waited(handed, op, most)) {
        if (handed->fills > 0 && handed->takes >= most && most <= XFW_HANDED_MOST) {
            double free_ns = handed->given_ns[(handed->takes - most) % XFW_HANDED_MOST];
            op->gap_ns = fmax(fmin(op->gap_ns, handed->fills_ns), free_ns - now_ns);
            op->woken_by = XFW_NONE;
            op->woken_by_stream = 0;
        }
    } else if (alone) {
        handed->fills++;
        handed->fills_ns += (op->gap_ns - handed->fills_ns) / (double)handed->fills;
    }
    handed->takes++;
    handed->held++;
}

void xfw_handed_give(struct xfw_handed *handed, const struct xfw_op *op, double given_ns)
{
    handed->given_ns[handed->gives % XFW_HANDED_MOST] = given_ns;
    handed->gives++;
    handed->held -= handed->held > 0;
    handed->gave_ns = op->end_ns;
    handed->giver = op->thread;
}
