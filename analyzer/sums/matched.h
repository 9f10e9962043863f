/*
 * What matching the calls of all processes found: of messages (message_match.h) and of NCCL's
 * meetings (nccl_match.h).
 */
#ifndef XFA_MATCHED_H
#define XFA_MATCHED_H

#include "analyzer/sums/host_clocks.h"
#include "xferscope/message.h"

#define XFA_CLOCK_PART 0.1 /* of a time, that the clocks' error may be */

/* What is known of a process. */
struct xfa_message_process_sum {
    uint64_t collectives; /* whose waits were divided */
    uint64_t last;        /* of these, in which it came last */
    double others_ns;     /* what others waited for it there, added up */
    uint64_t peers;       /* with which it had messages of sizes that XFA_LEAST_RANKS pairs have */
    double slower;   /* what these took, as a part of what the median takes: with the fastest of
                        them; NAN = not known */
    bool stands_out; /* it is slower than the others */
};

struct xfa_matched {
    bool any;                                  /* a message was recorded */
    uint64_t messages;                         /* matched: both sides count once */
    uint64_t alone;                            /* kept calls whose other side is not known */
    uint64_t meetings;                         /* of NCCL (nccl_calls.h) */
    uint64_t unmet;                            /* calls of NCCL that belong to none */
    struct xfa_message_process_sum *processes; /* by number */
    size_t process_count;
    double usual; /* median of `slower` */
    struct xfa_host_clocks clocks;
};

/* Each rank needs what all others gave. */
static inline bool xfa_message_is_of_all(unsigned what)
{
    return what == XFT_MESSAGE_BARRIER || what == XFT_MESSAGE_ALLREDUCE ||
           what == XFT_MESSAGE_ALLGATHER || what == XFT_MESSAGE_ALLTOALL ||
           what == XFT_MESSAGE_REDUCE_SCATTER;
}

#endif
