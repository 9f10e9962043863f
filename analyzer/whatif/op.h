/*
 * What a run did, one call at a time, in the form in which it can be played again: not when things
 * happened, but how long they took by themselves and what they waited for.
 *
 * Times are ns. start_ns and the others under "as recorded" count from the beginning of the
 * process's recording; the rest are durations. A copy of an op that is changed (change.h) and
 * scheduled (schedule.h) is how a what-if is asked.
 *
 * The graph that ops stand for: a call begins when the thread's own time after the call before is
 * over (gap_ns). Device work begins when it was submitted (latency_ns behind the call's beginning),
 * what came before it in its stream is done (space_ns behind that), what its stream was made to
 * wait for is done, and its engine is free. A call that waits returns wake_ns behind what it waited
 * for.
 */
#ifndef XFW_OP_H
#define XFW_OP_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct xfp_path;

/* fmax() and fmin(), which are calls, in place. */
static inline double xfw_max(double a, double b)
{
    return b != b || a > b ? a : b;
}
static inline double xfw_min(double a, double b)
{
    return b != b || a < b ? a : b;
}

enum xfw_what {
    XFW_CALL, /* takes the host's time and nothing else; may wait for the device (frees, ...) */
    XFW_COPY,
    XFW_SET,
    XFW_KERNEL,
    XFW_GRAPH, /* all of a launched graph as one piece of work */
    XFW_HOST_FUNCTION,
    XFW_PREFETCH,
    XFW_RECORD,
    XFW_WAIT,  /* a stream for an event */
    XFW_QUERY, /* it was done: the thread had asked before, and did so until it was */
    XFW_RANGE, /* a phase of the program begins or ends */
};

/* What the call waits for before it returns. */
enum xfw_awaits {
    XFW_AWAITS_NOTHING,
    XFW_AWAITS_ITSELF, /* the work that it submits */
    XFW_AWAITS_ITS_START,
    XFW_AWAITS_STREAM,
    XFW_AWAITS_EVENT,
    XFW_AWAITS_DEVICE, /* all streams */
};

/* What does work of a GPU: one piece at a time where it is exclusive. */
enum xfw_engine {
    XFW_NO_ENGINE,
    XFW_TO_DEVICE, /* copies from the host, and migrations */
    XFW_TO_HOST,
    XFW_PEER, /* to other GPUs */
    XFW_COMPUTE,
    XFW_ENGINES
};

/* Work of the legacy default stream waits for what blocking streams were given before, theirs for
 * what it was given (CUDA programming guide, default streams). */
enum xfw_stream_kind { XFW_NONBLOCKING, XFW_BLOCKING, XFW_LEGACY };

/* Work that follows its predecessor so soon was queued behind it. */
#define XFW_QUEUED_NS 5000.0

#define XFW_NONE UINT32_MAX
#define XFW_GPUS 64                            /* further ones count as the last */
static inline size_t xfw_place_of_gpu(int gpu) /* where there is one place for each */
{
    return gpu < 0 ? 0 : gpu < XFW_GPUS ? (size_t)gpu : XFW_GPUS - 1;
}

struct xfw_op {
    uint64_t
        number;   /* in the process, in the order of calls; what is inserted has its neighbour's */
    uint8_t what; /* enum xfw_what */
    uint8_t awaits;      /* enum xfw_awaits */
    uint8_t engine;      /* enum xfw_engine */
    uint8_t kind;        /* enum xft_event_kind of the call */
    uint8_t stream_kind; /* enum above */
    bool exclusive;      /* its engine does nothing else meanwhile */
    bool first;          /* of its thread, which nobody is seen to have begun */
    bool one_engine;     /* its GPU copies in one direction at a time */
    bool begins;         /* XFW_RANGE: else it ends */
    bool made_up;        /* not in the record: inserted by a change */
    bool overtook;       /* another thread's work, whose call had begun before: not in its order */
    bool last_piece;     /* the device's record is of the last piece of a copy */
    bool in_one;         /* a copy of rows that a change has made one piece of */
    int16_t gpu;         /* of the device work, the run's number; -1 = not known */
    int16_t peer;        /* XFW_PEER: the other one */
    uint32_t thread, stream, event, range; /* the process's, from 0 on; XFW_NONE: none */
    int32_t tid;                           /* the system's number of the thread */

    /* The host. */
    double gap_ns;      /* the thread's own time since its call before */
    uint32_t handed_by; /* another thread's last call was what it waited for meanwhile; XFW_NONE */
    uint64_t called_back; /* or a function that a stream called: that op's number + 1; 0: none */
    double handed_ns;     /* so long before this one: instead of gap_ns; less than 0: within that
                             last call */
    bool handed_within;   /* of a thread that begins: so long since that call began */
    double own_ns;        /* of the call, without what it waited for */
    double wake_ns;

    /* The device. */
    double latency_ns, space_ns, duration_ns;
    double both_ways; /* of a copy: it takes so many times as long while copies go the other way; 0
                         or 1: no longer, or that is in duration_ns already */

    /* As recorded. */
    double start_ns, end_ns;
    double device_start_ns, device_end_ns; /* NAN: no record */

    /* What changes ask. */
    uint32_t class;     /* of a transfer (pass/class.h); XFW_NONE */
    uint64_t transfer;  /* its number among the process's transfers, from 0 on */
    uint64_t bytes;     /* of copies, memsets, allocations, registrations */
    uint64_t src, dst;  /* addresses */
    uint64_t threads;   /* of a kernel */
    uint32_t arguments; /* of a kernel: id in ARGUMENTS; 0 = not known */
    uint32_t name;      /* of a kernel: id in NAMES; 0 = not known */
    uint32_t site;      /* of calls with a stack: number; XFW_NONE */
    uint32_t stack;     /* the trace's id, as long as the site was not looked for; 0: none */
    uint8_t memory;     /* enum xft_memory: what an ALLOC, FREE, SET speaks of */
    bool pooled;        /* an ALLOC, FREE: of a pool, in a stream's order */

    /* How it is to be made where it is really made again (remeasure/): */
    int16_t stream_gpu;          /* where its stream was made; -1: not known */
    uint32_t row_bytes;          /* a copy of rows that are not contiguous; 0: of one piece */
    const struct xfp_path *path; /* a copy that a change has given that path's times; NULL: memory
                                    and places are as recorded */

    /* ---- changes have what comes here only where memory has moved (xfw_op_copy()) ---- */

    /* Managed memory that moved because it was touched where it was not: while the device work ran,
     * and in the thread's own time before the call. */
    struct xfw_moved {
        uint64_t bytes;
        double stalled_ns; /* in duration_ns: when it was moved, or a fault was served; in gap_ns:
                              when it was moved (what else a fault takes there is not recorded) */
        uint32_t records;
        int16_t gpu;       /* to which, from which */
        double records_ns; /* what recording that added to duration_ns, to gap_ns */
    } demanded, fetched;

    /* What recording added, and is still in the figures above (xfw_op_alone()). */
    double hook_ns;           /* to gap_ns, or handed_ns: less than none where what that counts from
                                 was held up for longer */
    double overhead_ns;       /* likewise, by what it does not do at every call */
    double records_ns;        /* to the call: what CUPTI's records cost it */
    double records_device_ns; /* likewise, on the device, to space_ns */
    double records_pieces_ns; /* likewise, to duration_ns: of a copy in pieces, one after another */
    double
        paced_ns; /* of copies: from the start of one to the next when they queue, without records
                     (the profile's g + k G, van Werkhoven et al., section V); 0: not known */
};

static inline bool xfw_has_moved(const struct xfw_moved *moved)
{
    return moved->bytes > 0 || moved->records > 0 || moved->stalled_ns > 0;
}

/* For changes. Most ops need less than two thirds of it. */
static inline void xfw_op_copy(struct xfw_op *to, const struct xfw_op *from)
{
    const size_t moved = offsetof(struct xfw_op, demanded);
    memcpy(to, from, moved);
    if (xfw_has_moved(&from->demanded) || xfw_has_moved(&from->fetched))
        memcpy(&to->demanded, &from->demanded, offsetof(struct xfw_op, hook_ns) - moved);
    else
        to->demanded = to->fetched = (struct xfw_moved){0};
}

/* A call of the host that takes no time and has nothing to do with anything. */
static inline struct xfw_op xfw_op_none(void)
{
    return (struct xfw_op){
        .peer = -1,
        .stream = XFW_NONE,
        .event = XFW_NONE,
        .handed_by = XFW_NONE,
        .range = XFW_NONE,
        .class = XFW_NONE,
        .site = XFW_NONE,
        .device_start_ns = NAN,
        .device_end_ns = NAN,
    };
}

static inline bool xfw_op_is_work(const struct xfw_op *op)
{
    return op->what == XFW_COPY || op->what == XFW_SET || op->what == XFW_KERNEL ||
           op->what == XFW_GRAPH || op->what == XFW_HOST_FUNCTION || op->what == XFW_PREFETCH;
}

/* Which of a GPU's engines does it. */
static inline enum xfw_engine xfw_op_engine(const struct xfw_op *op)
{
    bool shared = op->one_engine && op->engine == XFW_TO_HOST;
    return shared ? XFW_TO_DEVICE : (enum xfw_engine)op->engine;
}

/* The same without what recording added. */
void xfw_op_alone(struct xfw_op *op);

#endif
