/*
 * A change: what a library makes and destroys again and again is made once. Calls that the library
 * made meanwhile go.
 */
#ifndef XFW_MADE_ONCE_H
#define XFW_MADE_ONCE_H

#include "analyzer/whatif/changes/changes.h"

/* Calls of a thread, one after the other, by which a library makes or destroys something. Times as
 * recorded, ns from the start of the process's recording. */
struct xfw_setup {
    uint32_t process; /* number */
    int32_t tid;
    double from_ns, to_ns; /* start of the first, of the last of them */
    double most_ns;        /* that, as likely, goes of the thread's own time before the first */
    bool other;            /* only at best the same as one before */
    bool stays;            /* a call of the program's: only the own time before it goes */
};

/*
 * The calls go, with what they wait for, and the thread's own time between them; of that before the
 * first, in which the library may have been at work, too, at best all, at worst none. setups: the
 * change owns them; in any order, none overlap in a thread.
 */
struct xfw_change *xfw_change_made_once(const struct xfa_analysis *analysis,
                                        struct xfw_setup *setups, size_t count);

#endif
