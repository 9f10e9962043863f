/*
 * Threads that take turns: each works with the GPU, waits until that is done, and only then the
 * next one begins, though nothing on the device makes its call wait. So do threads that hold one
 * lock meanwhile. In one stream (the legacy default stream, too) a thread that holds none calls
 * while another one's work is under way. A turn is a thread's calls from its first work to the wait
 * behind which it has none. Private to whatif/ and findings/.
 *
 * A turn is a hand-over's where its thread made no call while another one's turn was under way, and
 * began soon behind the end of that: within a half of the time without a call, and most_ns; or
 * later, where it slept for most of the time until that end, and no longer. Work of the host may
 * lie between, which the lock holds, too.
 * Observers pass events, the replay ops. Times are ns.
 */
#ifndef XFW_HANDOVERS_H
#define XFW_HANDOVERS_H

#include "analyzer/whatif/op/op.h"

#define XFW_HANDOVER_THREADS 64      /* further ones are not followed */
#define XFW_TURN_ENDS 64             /* places: what ends turns in two that share one is alike */
#define XFW_HANDOVER_MOST_NS 500000. /* a guess, as in wakers.c: from what wakes to the call */

struct xfw_turn_call {
    int32_t tid;
    bool work, waits; /* it gives the GPU work; waits until work is done */
    double start_ns, end_ns;
    double worked_ns; /* of a thread's first: the processor's time before; 0: not known */
    double slept_ns;  /* since its thread's call before, by the processor's time */
    uint32_t place;   /* where in the program; others may share it */
};

struct xfw_handovers { /* zeroed at first, but for most_ns */
    double most_ns;
    struct xfw_turn_thread {
        int32_t tid;
        bool open;        /* its turn is not over */
        bool worked;      /* it has had one */
        double waited_ns; /* before the turn it waited for another thread's to be over, and called
                             so long behind that; 0: it did not wait */
        double begun_ns;  /* its last turn */
        double ended_ns;  /* the same, once it is over */
        double called_ns; /* end of its last call */
        double first_own_ns; /* processor's time before its first call; 0: not known */
        uint32_t end_place;  /* of the call that ended its last turn */
        bool alone;          /* behind that nobody has begun a turn so far */
    } threads[XFW_HANDOVER_THREADS];
    unsigned count;
    uint8_t ends[XFW_TURN_ENDS]; /* by place: enum, what comes behind calls that end turns there */
    double free_ns, free_until_ns; /* the last time that no turn was under way, and one began that
                                      was no hand-over's */
};

struct xfw_handover {
    bool followed;     /* else nothing is known of the thread */
    unsigned thread;   /* its place */
    bool begins, ends; /* a turn of it: both for a call that waits for its own work */
    bool released;     /* ends: other threads have begun turns behind calls of this place, or it is
                          not known yet; else only this thread itself has */
    double waited_ns;  /* that turn is a hand-over's, whose thread called so long behind the end of
                          another's; 0: it is none */
    bool beside;       /* a turn begins while another thread's is under way */
    unsigned from;     /* behind_ns: whose turn was over before */
    double behind_ns;  /* this call began so long behind the end of another's turn; 0: it is none */
    double likely_ns; /* then, the thread's own time: as much of the processor's as before its first
                         call, where that began a turn; else half of that turn as well */
    double least_ns;  /* then, how long the thread can have had no need of a turn: until one began
                         that was to be had, for longer than twice behind_ns */
    double gap_ns;    /* begins: so long behind the end of the last turn of another thread, of which
                         none was under way; 0: it is not known, or the thread's first one */
    double other_ns;  /* then, how long that turn was */
    double idle_ns;   /* then, since the thread's own last call */
};
/* The next call of the process, in the order of their starts. */
struct xfw_handover xfw_handovers_call(struct xfw_handovers *handovers,
                                       const struct xfw_turn_call *call);

/* The same of an op, as recorded: sets behind_ns, with least_ns, likely_ns, begins_turn and
 * ends_turn. */
void xfw_handovers_meet(struct xfw_handovers *handovers, struct xfw_op *op);

#endif
