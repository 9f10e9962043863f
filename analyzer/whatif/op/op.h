/*
 * An op: one call of the recorded run, or one that a change inserted, in a form that can be played
 * again. It has no dates but durations, and what the call and its device work wait for. whatif.h
 * draws them and says how an op is made and played.
 *
 * Times are ns. Those under "as recorded" count from the start of the process's recording, all
 * others are durations.
 */
#ifndef XFW_OP_H
#define XFW_OP_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct xfp_path;

/* Of what few ops need: inlined it would have all others save its registers, too. */
#define XFW_RARE __attribute__((noinline))
/* Of what each op of each way goes through, and is called at two places or three. */
#define XFW_USUAL __attribute__((always_inline)) static inline

/* fmax() and fmin() inline: libm's are calls. */
static inline double xfw_max(double a, double b)
{
    return b != b || a > b ? a : b;
}
static inline double xfw_min(double a, double b)
{
    return b != b || a < b ? a : b;
}

enum xfw_what {
    XFW_CALL, /* takes host time only; may wait for the device (cudaFree, ...) */
    XFW_COPY,
    XFW_SET,
    XFW_KERNEL,
    XFW_GRAPH,         /* a launched graph, as one piece of work */
    XFW_HOST_FUNCTION, /* cudaLaunchHostFunc: the stream calls a function of the host, and goes on
                          when that returns */
    XFW_PREFETCH,
    XFW_RECORD,  /* of a CUDA event */
    XFW_WAIT,    /* a stream waits for a CUDA event */
    XFW_QUERY,   /* the query that found the work done; the thread had polled until then */
    XFW_RANGE,   /* a phase (NVTX range) begins or ends */
    XFW_MESSAGE, /* a message or collective of MPI begins, or a call returns that waited for it:
                    only where ranks are played together (together.h) */
    XFW_MEETING, /* a part of a kernel of NCCL that other ranks' kernels wait for has begun, or
                    those that it waits for have (meetings.h) */
};

/* What the call waits for before it returns. */
enum xfw_awaits {
    XFW_AWAITS_NOTHING,
    XFW_AWAITS_ITSELF, /* the end of the work that it submits */
    XFW_AWAITS_ITS_START,
    XFW_AWAITS_STREAM,
    XFW_AWAITS_EVENT,
    XFW_AWAITS_DEVICE, /* all streams */
    XFW_AWAITS_RANKS,  /* that others have begun their part of a message (board.h) */
};

/* Parts of a message that have begun: in a collective all that count are sent. NEW: it is the first
 * part, and the slot was another message's before. */
enum xfw_of_ranks { XFW_OF_SENT = 1, XFW_OF_GOT = 2, XFW_OF_NEW = 4 };

/* The engine of a GPU that does the work. */
enum xfw_engine {
    XFW_NO_ENGINE,
    XFW_TO_DEVICE, /* copies from the host, and migrations */
    XFW_TO_HOST,
    XFW_PEER, /* copies to other GPUs */
    XFW_COMPUTE,
    XFW_MOVES_IN, /* the driver, which serves a GPU's faults and prefetches one after the other: to
                     the device, to the host. xfw_op_engine() has them, no op. */
    XFW_MOVES_OUT,
    XFW_CALLS, /* the driver's thread that calls host functions, one after the other */
    XFW_ENGINES
};

/* Of a thread that sleeps in its own time before a call until others of the program, which make no
 * calls, have something for it (paces.h): at which certainties (change.h) that is so. */
enum xfw_paced { XFW_PACED_NOT, XFW_PACED_AT_WORST, XFW_PACED_LIKELY, XFW_PACED_AT_BEST };
#define XFW_OF_ALL UINT16_MAX /* a whole */

/* Work of the legacy default stream waits for earlier work of blocking streams, and theirs for its
 * (CUDA programming guide, default streams). */
enum xfw_stream_kind { XFW_NONBLOCKING, XFW_BLOCKING, XFW_LEGACY };

/* Work that begins within this time of its predecessor's end was queued behind it (a guess). */
#define XFW_QUEUED_NS 5000.0

#define XFW_REMEMBERED 1024u /* calls before one, which it may count from */

#define XFW_NONE UINT32_MAX
#define XFW_MOST_TOGETHER 256 /* processes: each way has a state of each of them at one time */
#define XFW_ANY_SIDE 0xff

/* The process's streams have even numbers. The odd ones are for streams that the program is taken
 * to have made, one for each of its threads: all changes treat them as the process's. */
#define XFW_STREAM_STEP 2
static inline uint32_t xfw_stream_of_thread(uint32_t thread)
{
    return XFW_STREAM_STEP * thread + 1;
}

#define XFW_GPUS 64 /* GPUs beyond share the last place */
static inline size_t xfw_place_of_gpu(int gpu)
{
    return gpu < 0 ? 0 : gpu < XFW_GPUS ? (size_t)gpu : XFW_GPUS - 1;
}

struct xfw_op {
    /* What is known only as it is played, or set by a change: 0 until then (op_store.h keeps none
     * of it). */
    const struct xfp_path *path; /* a copy to which a change gave that path's times; NULL: memory
                                    and places are as recorded */
    uint64_t under_way; /* calls of other threads that it may wait for in the driver: a bit for the
                           place of each (callers.h) */
    union {
        double hidden_ns; /* a change: the thread works meanwhile, and waits so much less */
        struct { /* of other calls: behind which other thread's turn it began (handovers.h); 0:
                    none */
            float behind_ns, likely_ns;
        };
    };

    uint64_t number;     /* in the process, by order of calls; an inserted op has its neighbour's */
    uint8_t what;        /* enum xfw_what */
    uint8_t awaits;      /* enum xfw_awaits */
    uint8_t engine;      /* enum xfw_engine */
    uint8_t kind;        /* enum xft_event_kind of the call */
    uint8_t stream_kind; /* enum xfw_stream_kind */
    bool exclusive;      /* its engine does nothing else meanwhile */
    bool first;          /* the first op of a thread that no other thread is seen to have started */
    bool last;           /* its thread's last */
    bool one_engine;     /* its GPU copies in one direction at a time */
    bool begins;         /* XFW_RANGE, XFW_MESSAGE, XFW_MEETING: it begins; else it ends. Of a call
                            that a change made up: others count from it, not from the op behind it */
    bool made_up;        /* inserted by a change: not in the trace */
    bool opens;       /* the process's first call: no other one is seen to have made its context */
    bool overtook;    /* it ran before work that another thread had begun to submit earlier */
    bool last_piece;  /* the device's record is of the last piece of a copy; XFW_MEETING: it is
                         the last part of the kernel's */
    bool in_one;      /* a 2D copy that a change has made contiguous */
    uint8_t side;     /* XFW_MESSAGE: enum xfa_message_side; XFW_ANY_SIDE: of a request */
    uint8_t of_ranks; /* XFW_MESSAGE, XFW_MEETING: sum of enum xfw_of_ranks, what begins or is
                         awaited */
    bool bare_known; /* bare_ns was measured of such calls; else it is as it would be of launches */
    bool in_one_call; /* XFW_MESSAGE: the call that begins it ends it, too */
    bool was_legacy;  /* a change has taken it out of the default stream */
    bool late_in;     /* it comes behind calls that began later (xfw_op_late_ns()) */
    bool meets;       /* XFW_KERNEL: it ends when an XFW_MEETING says; XFW_MEETING: the kernel is
                         still to come */
    int16_t gpu;      /* of the device work, the run's number; -1: not known */
    int16_t peer;     /* XFW_PEER: the other GPU */
    uint16_t slept_parts; /* of the time since its call before: asleep; in XFW_OF_ALL */
    uint32_t thread, stream, event, range; /* the process's numbers, from 0; XFW_NONE: none */
    int32_t tid;                           /* the system's number of the thread */

    /* The host. A thread that something woke (wakers.h) begins the call woken_after_ns behind that,
     * instead of gap_ns behind its own call before. */
    union {
        double gap_ns;     /* the thread's own time since its call before */
        double opening_ns; /* until that is known (recorded.h): of overhead_ns what passed until
                              recording had begun */
    };
    uint32_t woken_by; /* the thread whose last call woke this one; XFW_NONE: none */
    bool joins; /* woken_by is the last of several that it waited for: those that it has made since
                   it last did so, and that had made their calls by then, as recorded */
    bool job_counts;  /* for_job: a change has it wait there, as for a stream: of the span, too */
    bool within_call; /* of a thread's first op: woken_after_ns counts from that call's start */
    bool for_job;     /* its own time begins woken_after_ns behind the job of the function
                         woken_by_stream, or as usual */
    uint64_t woken_by_stream; /* the host function that woke it: that op's number + 1; 0: none */
    uint64_t woken_by_call;   /* of a thread's first op: which call of that thread, the op's
                                 number + 1; 0: its last */
    double woken_after_ns;    /* less than 0: within that last call */
    double own_ns;            /* of the call, without what it waits for */
    double wake_ns;           /* from the end of what the call waits for to its return */

    /* The device. */
    double latency_ns, space_ns, duration_ns;
    double lead_ns; /* of duration_ns: a copy that queues behind another one on its engine begins so
                       much before that one's end (Lo - g of the transfer's model) */
    union {
        struct {                   /* of a graph */
            double up_ns, down_ns; /* of duration_ns: its copies to the device, to the host; lead_ns
                                      is that of the first one to the device */
            uint64_t up_bytes, down_bytes; /* of these, what is page-locked memory of the host */
        };
        struct { /* XFW_QUERY: see polled.h */
            double polled_ns, since_ns;
            uint32_t queries;
            bool polled_waits; /* the thread did little else */
            bool at_once;      /* it was the first one, and found the work done */
        };
    };
    double reach_ns; /* of duration_ns of a kernel: until it reaches memory of the host in place; of
                        a call that frees device memory: what it takes, waits apart; of a host
                        function: how long one that does nothing holds its stream up; of a graph:
                        how long nothing of it ran between its beginning and the end of its call,
                        which was still submitting it; 0: not known */
    double
        link_ns;     /* of duration_ns of a kernel: then, how long it needs the link for that. Of a
                        prefetch, and of what a kernel demanded, it is the end, when the pages move */
    double slowdown; /* of a copy: factor on its time while the other direction is busy; 0 or 1:
                        not slower, or duration_ns has it already */

    /* As recorded. */
    double start_ns, end_ns;
    double device_start_ns, device_end_ns; /* NAN: no record */

    /* What changes ask. */
    uint32_t class;     /* of a transfer (pass/class.h); XFW_NONE */
    uint64_t transfer;  /* its number among the process's transfers, from 0; of a kernel that of the
                           next one */
    uint64_t bytes;     /* of copies, memsets, allocations, registrations, messages that begin */
    uint64_t src, dst;  /* addresses; 0: none. Of a graph: page-locked memory that its first copy
                           to the device sends, its first to the host fills; of a GRAPH_CALL the
                           form of the graph, and the executable graph */
    uint64_t threads;   /* of a kernel; of a graph the executable graph; of a GRAPH_CALL nodes */
    uint32_t arguments; /* of a kernel: id in ARGUMENTS; 0: not known. Of a graph: its copies */
    uint32_t name;      /* of a kernel: id in NAMES; 0: not known */
    uint32_t site;      /* of calls with a stack: number; XFW_NONE */
    uint32_t stack;     /* the trace's id, as long as the site was not looked for; 0: none */
    uint8_t memory;     /* enum xft_memory of an ALLOC, FREE, SET; enum xft_graph_call of a
                           GRAPH_CALL that succeeded */
    bool pooled : 1;    /* an ALLOC, FREE of a memory pool, in a stream's order */
    bool flagged : 1;   /* an ALLOC of page-locked memory with flags */
    uint8_t held : 3;   /* a bit for each certainty (change.h) at which its thread makes no call
                           before others have worked as much as by then (paces.h) */
    bool anew : 1;      /* behind a cut: what it waited for before is no matter */
    bool begins_turn : 1; /* of a thread that takes turns (handovers.h), none of another one was
                             under way; it ends one behind which others have begun theirs: known
                             once it is played */
    bool ends_turn : 1;
    uint8_t paced;  /* enum xfw_paced: of the sleep in gap_ns */
    uint8_t caller; /* under_way: its own thread's place, from 1; 0: none */
    float
        most_ns; /* XFW_MESSAGE: a change: it is under way for no more than that; 0: as recorded */

    /* XFW_MESSAGE, XFW_MEETING. wake_ns is how long it is under way, from when what is awaited has
     * begun to when the call returns. */
    union {
        double began_ns; /* start of the call that began it, as recorded */
        double
            done_ns; /* XFW_HOST_FUNCTION: it had returned by then, as recorded; NAN: not known */
        double made_ns; /* held, of other ops: what the busiest of the others had worked by then,
                           as recorded */
    };
    union {
        double less_ns; /* a change: it is under way for so much less */
        double job_ns;  /* XFW_HOST_FUNCTION: what it gives a thread of the program's own to do
                           takes (jobs.h); 0: nothing that is waited for */
    };
    uint32_t slot; /* on the board; XFW_NONE: it is played by itself */
    uint32_t from; /* of copies with the host or GPUs, and graphs: the trace's id of the whole
                      stack; 0: not known */
    uint32_t correlation; /* XFW_KERNEL of a call of NCCL; 0: of none, or not known */

    /* For the run played on GPUs (remeasure/). */
    int16_t stream_gpu; /* where its stream was made; -1: not known */
    union {
        uint16_t rested_parts;  /* of the time since the thread's sleep before: others rested */
        uint16_t certain_parts; /* held: of made_ns, what was work in any case (paces.h) */
    };
    uint32_t row_bytes; /* of a 2D copy that is not contiguous; 0: contiguous */

    /* ---- only for changes of ops whose managed memory moved (xfw_op_copy()) ---- */

    /* Managed memory that moved on demand: while the device work ran (demanded), and in the
     * thread's own time before the call (fetched). */
    struct xfw_moved {
        uint64_t bytes;
        double stalled_ns;    /* demanded: of duration_ns, while pages moved or a fault was served;
                                 fetched: of gap_ns, while pages moved (the rest of a fault is not
                                 recorded) */
        uint64_t allocations; /* which: xfw_allocation_bit() of each */
        uint32_t records;
        union {
            uint32_t faults; /* fetched: of the host; 0: there are no records of them */
            float unseen_ns; /* demanded: of stalled_ns, as likely: while pages moved whose records
                                are missing */
        };
        int16_t gpu; /* to which, from which */
        union {
            uint16_t pages;   /* demanded: that faults brought, each alone; XFW_PAGES_TOGETHER: not
                                 so */
            uint16_t span_us; /* fetched: of gap_ns, from the first page that moved to the last;
                                 UINT16_MAX: or longer */
        };
        float records_ns; /* what recording them added to duration_ns, or gap_ns */
    } demanded, fetched;

    /* What recording added. It is in the times above until xfw_op_alone() takes it out. */
    double hook_ns;           /* the hook, in gap_ns or woken_after_ns; below 0 where what
                                 woken_after_ns counts from was held up for longer */
    double overhead_ns;       /* rare work of the recorder, in gap_ns */
    double worked_ns;         /* of a thread's first op: it was there at least so long before;
                                 0: not known */
    double records_ns;        /* CUPTI's records, in the call */
    double bare_ns;           /* what the call takes without them, by the profile; 0: not known */
    double records_device_ns; /* CUPTI's records on the device, in space_ns */
    union {
        double records_pieces_ns; /* the same, in duration_ns of a copy in pieces (last_piece), and
                                     of a graph */
        double records_lag_ns;    /* of other copies that their call does not wait for, before they
                                     begin: in latency_ns */
    };
    double paced_ns; /* of copies that queue: from start to start without records (the profile's
                        g + k G, van Werkhoven et al., section V); 0: not known */
};

/* A place for an allocation by its address, and the bit for it: two may have the same one. */
#define XFW_ALLOCATIONS 64
static inline unsigned xfw_allocation_place(uint64_t first)
{
    return (unsigned)(first * 0x9e3779b97f4a7c15u >> 58);
}
static inline uint64_t xfw_allocation_bit(uint64_t first)
{
    return (uint64_t)1 << xfw_allocation_place(first);
}

static inline bool xfw_has_moved(const struct xfw_moved *moved)
{
    return moved->bytes > 0 || moved->records > 0 || moved->stalled_ns > 0;
}

#define XFW_PAGES_TOGETHER UINT16_MAX
#define XFW_PAGE_BYTES 4096 /* a fault brings at least so much */

/* What a store keeps of an op begins there. */
#define XFW_KEPT_FROM offsetof(struct xfw_op, number)

/* A copy for a change to alter: what players fill in of an op. */
#define XFW_PLAYED_BYTES offsetof(struct xfw_op, hook_ns)
static inline void xfw_op_copy(struct xfw_op *to, const struct xfw_op *from)
{
    memcpy(to, from, XFW_PLAYED_BYTES);
}

/* A call of the host that takes no time and waits for nothing. */
static inline void xfw_op_make(struct xfw_op *op)
{
    *op = (struct xfw_op){
        .peer = -1,
        .stream = XFW_NONE,
        .event = XFW_NONE,
        .woken_by = XFW_NONE,
        .range = XFW_NONE,
        .class = XFW_NONE,
        .site = XFW_NONE,
        .slot = XFW_NONE,
        .device_start_ns = NAN,
        .device_end_ns = NAN,
    };
}
static inline struct xfw_op xfw_op_none(void)
{
    struct xfw_op none;
    xfw_op_make(&none);
    return none;
}

static inline bool xfw_op_is_work(const struct xfw_op *op)
{
    return op->what == XFW_COPY || op->what == XFW_SET || op->what == XFW_KERNEL ||
           op->what == XFW_GRAPH || op->what == XFW_HOST_FUNCTION || op->what == XFW_PREFETCH;
}

/* Others have no made_ns. */
static inline bool xfw_op_may_be_held(const struct xfw_op *op)
{
    return op->what != XFW_MESSAGE && op->what != XFW_MEETING && op->what != XFW_HOST_FUNCTION;
}

/* The engine that does it: a GPU with one copy engine has both directions on it. */
static inline enum xfw_engine xfw_op_engine(const struct xfw_op *op)
{
    if (op->what == XFW_PREFETCH)
        return op->engine == XFW_TO_HOST ? XFW_MOVES_OUT : XFW_MOVES_IN;
    bool shared = op->one_engine && op->engine == XFW_TO_HOST;
    return shared ? XFW_TO_DEVICE : (enum xfw_engine)op->engine;
}

/* Takes out of the op's times what recording added (recording_cost.c). */
void xfw_op_alone(struct xfw_op *op);

/* An op in the thread and stream of another: an XFW_CALL, made_up, that takes no time. */
struct xfw_op xfw_op_like(const struct xfw_op *op);

/* The thread's own time before `from`, and what woke the thread, come before `into` instead. */
void xfw_op_take_gap(struct xfw_op *into, struct xfw_op *from);

/* The call that launches a graph takes so much less: nothing of the graph waits for that. */
void xfw_op_launch_sooner(struct xfw_op *op, double less_ns);

/* The call goes, with its device work and what it waited for; the gap before it stays. */
void xfw_op_drop(struct xfw_op *op);

/* late_in: how long behind the beginning of its call the driver let the work in, as recorded: it
 * comes to the device soon behind that. */
double xfw_op_late_ns(const struct xfw_op *op);

/* Time of a copy's call, without what it waits for before the copy. */
double xfw_op_took(const struct xfw_op *op);

#endif
