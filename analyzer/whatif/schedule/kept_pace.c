#include "analyzer/whatif/schedule/kept_pace.h"

#include "analyzer/whatif/schedule/schedule.h"

#define WHILE_NS 10e6 /* two windows and more: in them others are taken to work evenly */

/* By how much the others have worked until it begins, as recorded. */
static double made(const struct xfw_op *op, unsigned certainty)
{
    return certainty == XFW_LIKELY ? op->made_ns * op->certain_parts / XFW_OF_ALL : op->made_ns;
}

/* How long others have rested since the thread's sleep before. */
static double rested(const struct xfw_kept_pace *pace, const struct xfw_op *op, unsigned certainty)
{
    double since = op->start_ns - pace->woke_ns;
    if (xfw_is_held(op, certainty))
        return since - (made(op, certainty) - pace->woke_made_ns);
    return since * op->rested_parts / XFW_OF_ALL;
}

double xfw_begins_paced(const struct xfw_kept_pace *pace, const struct xfw_op *op,
                        unsigned certainty, double now, double recorded)
{
    double usual = now + op->gap_ns;
    double slept = xfw_min(op->gap_ns, (op->start_ns - recorded) * op->slept_parts / XFW_OF_ALL);
    double early = pace->paced && !op->anew ? op->start_ns + pace->paced_ns - usual : 0;
    return usual +
           (early > 0 ? xfw_max(0, early - rested(pace, op, certainty)) : xfw_max(early, -slept));
}

double xfw_begins_held(const struct xfw_kept_pace *pace, const struct xfw_op *op,
                       unsigned certainty, double usual)
{
    bool waits = pace->held && !op->anew && op->gap_ns > 0 && op->what != XFW_QUERY;
    return waits ? xfw_max(usual, pace->held_ns + made(op, certainty)) : usual;
}

/* The thread woke: the others are as late as they were, or earlier where they did without rest. */
void xfw_note_paced(struct xfw_kept_pace *pace, const struct xfw_op *op, unsigned certainty,
                    double call)
{
    double late = call - op->start_ns;
    pace->paced_ns = pace->paced ? xfw_min(pace->paced_ns, late) : late;
    pace->paced = true;
    pace->woke_ns = op->start_ns;
    pace->woke_made_ns = made(op, certainty);
}

/* Who rests has done what there was to do, and goes on when the thread comes for more: what others
 * rested before that they are not ahead by, but as much as the thread is. */
void xfw_note_held(struct xfw_kept_pace *pace, const struct xfw_op *op, unsigned certainty,
                   double call)
{
    double done = made(op, certainty);
    if (!pace->held) {
        pace->held = true;
        pace->held_ns = call - done;
        pace->marked_ns = op->start_ns;
        pace->ahead_ns = op->start_ns - call;
    }
    if (op->start_ns - pace->marked_ns < WHILE_NS)
        return;
    double ahead = op->start_ns - done - pace->held_ns;
    pace->ahead_ns = xfw_min(ahead, xfw_max(pace->ahead_ns, op->start_ns - call));
    pace->held_ns += ahead - pace->ahead_ns;
    pace->marked_ns = op->start_ns;
}
