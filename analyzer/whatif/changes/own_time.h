/* Calls of MPI that take less, as a change of the replayed run. A part of changes.h. */
#ifndef XFW_OWN_TIME_H
#define XFW_OWN_TIME_H

#include "analyzer/whatif/schedule/change.h"

/* A call of MPI that takes less. */
struct xfw_cut {
    uint32_t process;
    int32_t tid;
    double at_ns; /* when the call began whose time it is, since the process began to be recorded */
    double ns[XFW_CERTAINTIES];
    double began_ns; /* by the same clock: when its message began (a request: in an earlier call) */
    double most_ns;  /* where ranks are played together, in place of ns: it is under way for no more
                        than that; 0: as ns says */
    double first_ns; /* as likely the thread needs so much before it, once */
    uint8_t of;      /* enum xfw_cut_of */
};
enum xfw_cut_of {
    XFW_CUT_SENT, /* what is sent is under way for so much less */
    XFW_CUT_GOT,  /* what is received is under way for so much less */
    XFW_CUT_WAIT, /* the thread works meanwhile */
    XFW_CUT_COPY, /* a copy that begins at at_ns goes; at worst it stays. One to the host that made
                     the host wait leaves the wait for its stream: the data has to be there */
};
#define XFW_MOST_CUTS (1u << 18)

/* Where ranks are played together a cut is of its message, and of what the other rank waits;
 * elsewhere it is taken from the thread's own time that it lies in, of which no more goes than
 * there is. cuts: taken over. */
struct xfw_change *xfw_change_own_time(const struct xfa_analysis *analysis, struct xfw_cut *cuts,
                                       size_t count);

#endif
