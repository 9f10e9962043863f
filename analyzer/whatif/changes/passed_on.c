#include "analyzer/whatif/changes/passed_on.h"

#include <math.h>

#include "analyzer/whatif/schedule/handovers.h"

#define SOON_PART 0.5

static bool waited(const struct xfw_passed *passed, const struct xfw_op *op, uint64_t most)
{
    double behind = op->start_ns - passed->gave_ns;
    return passed->gives > 0 && passed->giver != op->thread && passed->held + 1 == most &&
           behind >= 0 && behind <= fmin(SOON_PART * op->gap_ns, XFW_HANDOVER_MOST_NS);
}

void xfw_passed_take(struct xfw_passed *passed, struct xfw_op *op, uint64_t most, bool alone,
                     double now_ns)
{
    if (alone && waited(passed, op, most)) {
        if (passed->fills > 0 && passed->takes >= most && most <= XFW_PASSED_MOST) {
            double free_ns = passed->given_ns[(passed->takes - most) % XFW_PASSED_MOST];
            op->gap_ns = fmax(fmin(op->gap_ns, passed->fills_ns), free_ns - now_ns);
            op->woken_by = XFW_NONE;
            op->woken_by_stream = 0;
        }
    } else if (alone) {
        passed->fills++;
        passed->fills_ns += (op->gap_ns - passed->fills_ns) / (double)passed->fills;
    }
    passed->takes++;
    passed->held++;
}

void xfw_passed_give(struct xfw_passed *passed, const struct xfw_op *op, double given_ns)
{
    passed->given_ns[passed->gives % XFW_PASSED_MOST] = given_ns;
    passed->gives++;
    passed->held -= passed->held > 0;
    passed->gave_ns = op->end_ns;
    passed->giver = op->thread;
}
