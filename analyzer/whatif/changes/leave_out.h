/*
 * Transfers go, with what they made the host wait for. In their stead: nothing, a copy on the
 * device (from where the bytes are there), or a memset. Both are submitted and not waited for.
 *
 * At worst a copy that blocked leaves its wait behind: the program may rest on it. A copy on the
 * device takes what the profile says of it, and at best is not needed, since the program can use
 * the bytes where they are; a memset, which was not measured, takes at worst as long, likely half
 * as long: it writes and does not read. A kernel behind a copy that went begins as soon as one
 * behind another kernel of its stream. At best the time goes, too, that a thread which was woken or
 * handed something to do (whatif/handed.h) took until such a copy to the device, its first call.
 */
#ifndef XFW_CHANGE_LEAVE_OUT_H
#define XFW_CHANGE_LEAVE_OUT_H

#include "analyzer/whatif/change.h"

struct xfw_leave_out {
    /* By certainty: what goes from there on, towards the best. Borrowed, as are the others. */
    const struct xfw_marks *marks;
    struct xfw_set classes;          /* of the marked ones only these; the change's from then on */
    const struct xfw_marks *besides; /* likewise, of any class; NULL: none */
    const struct xfw_marks *copied;  /* those in whose stead the device copies; NULL: none */
    bool set;                        /* it sets the memory, in the stead of all */
};

struct xfw_change *xfw_change_leave_out(const struct xfa_analysis *analysis,
                                        const struct xfw_leave_out *what);

/* Does the profile know copies within this GPU (the run's number), for those in their stead? */
bool xfw_leave_out_knows(const struct xfa_analysis *analysis, int gpu);

#endif
