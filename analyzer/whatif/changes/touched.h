/*
 * A change: memory of the host that is used again.
 */
#ifndef XFW_TOUCHED_H
#define XFW_TOUCHED_H

#include "analyzer/whatif/schedule/change.h"

/*
 * Pageable memory that copies read or write was touched before: the time of page faults in their
 * calls goes: what the call took beyond such a copy by the profile. That of page faults in
 * the thread's own time since its last such copy goes at best only, with filling the memory, since
 * no record shows whether they were of this memory.
 */
struct xfw_touched {
    const struct xfw_marks *within, *before; /* of which copies; borrowed */
    const struct xfw_marks *huge;            /* whose pages are huge */
    struct xfw_set classes;                  /* of the marked ones only these; the change's */
};
struct xfw_change *xfw_change_touched(const struct xfa_analysis *analysis,
                                      const struct xfw_touched *what);

#endif
