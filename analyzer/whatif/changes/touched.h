/*
 * A change: memory of the host that is used again.
 */
#ifndef XFW_TOUCHED_H
#define XFW_TOUCHED_H

#include "analyzer/whatif/schedule/change.h"

/* Copies of memory that had been touched, in the run itself: by direction and by powers of two of
 * their bytes. Sums are whole, and so the same in whatever order they are added. */
#define XFW_KEPT_SIZES 64
struct xfw_kept {
    uint64_t copies, bytes, ns;
    double least, most; /* ns for a byte */
};
struct xfw_kept_copies {
    struct xfw_kept up[XFW_KEPT_SIZES], down[XFW_KEPT_SIZES];
};
void xfw_kept_add(struct xfw_kept_copies *kept, enum xft_direction direction, uint64_t bytes,
                  double ns);
void xfw_kept_merge(struct xfw_kept_copies *into, const struct xfw_kept_copies *from);

/*
 * Pageable memory that copies read or write was touched before: the time of page faults in their
 * calls goes: what the call took beyond such a copy, of this run where it has some, else by the
 * profile; and as far as the profile has what page faults take, no more than these. That of page
 * faults in the thread's own time since its last such copy goes at best only, with filling memory
 * that the copy overwrites, since no record shows whether they were of this memory. Where it was
 * given back in between, what that takes goes, too. Of the first use of what is kept less goes.
 */
struct xfw_touched {
    const struct xfw_marks *within, *before; /* of which copies; borrowed */
    const struct xfw_marks *huge;            /* whose pages are huge */
    const struct xfw_marks *again;  /* whose memory was there before, and was given back since */
    const struct xfw_marks *proven; /* of `before`: the page faults were of this memory */
    /* The first use of memory that is used again: it is touched then; more of these, where as
     * likely fewer buffers do. */
    const struct xfw_marks *first, *more;
    const struct xfw_kept_copies *kept;
    struct xfw_set classes; /* of the marked ones only these; the change's */
};
struct xfw_change *xfw_change_touched(const struct xfa_analysis *analysis,
                                      const struct xfw_touched *what);

#endif
