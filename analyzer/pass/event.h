/*
 * One event of a run, decoded once: who, when and where in fields that mean the same in every kind;
 * what it is in a struct of its kind; of a transfer also the device's record of it, its class, and
 * what the machine could have given. Observers, the timeline, exports, lists of transfers and the
 * replay read this, and nothing of the file.
 *
 * Units: times are ns of the process's clock, without what lies outside its periods (periods.h),
 * 0 = not known; durations are ns, NAN = not known. GPUs are the run's numbers. Ids (call, stack,
 * names, arguments) are the trace's: run.h and read.h have what they stand for, and a site is
 * looked for only when it is asked for: the first stack of a site that is stands for it.
 *
 * Ownership: an event lasts for the one call that it is passed to; so do its class and range.
 * Processes, sites, functions and the numbers of classes and rows outlive it.
 *
 * Errors: there are none. What the file does not say is 0 or the enum's "unknown"; an event of a
 * kind that this version does not know has only what all have.
 */
#ifndef XFA_EVENT_H
#define XFA_EVENT_H

#include "analyzer/pass/class.h"
#include "analyzer/pass/ranges.h"
#include "analyzer/read/merge.h"
#include "xferscope/message.h"

/* The device's copies of one call, added up: the device's record of the call. */
struct xfa_device_copy {
    uint64_t start_ns, end_ns;    /* of the first and the last of them */
    uint64_t bytes;               /* of all */
    uint32_t count;               /* 0: there is no record */
    int16_t src_place, dst_place; /* of the first, as are the next; as in trace_events.h */
    uint8_t direction, src_mem, dst_mem;
    bool by_events; /* CUDA events around the call, not the device's record */
};

/* Where a time comes from. */
enum xfa_timed {
    XFA_TIMED_NOT,
    XFA_TIMED_DEVICE, /* device timestamps */
    XFA_TIMED_HOST, /* the host's time in a call that blocks: it may wait for earlier work as well,
                       so that the transfer took at most this */
    XFA_TIMED_SAMPLE, /* device timestamps of others of its class and size (samples.h): their mean
                       */
};

/* TRANSFER. From `class` on only of those that moved something, once they leave the walk's window:
 * of what failed, was captured or is of 0 bytes these are zero. */
struct xfa_transfer {
    uint64_t src, dst; /* addresses; handles of arrays */
    uint64_t width;    /* bytes of one contiguous row */
    uint64_t reach;    /* of rows on the host, from where they begin to the last one's end; no less
                          than their bytes, which it is where nothing is known, or of other copies */
    uint32_t copies;   /* 1, or those of a batch; 0 as 1 */
    uint32_t faults_within, faults_before; /* of the thread in the call, and since its last large
                                              copy of pageable memory; 0 too where not known */
    bool new_memory;                       /* the host's memory was mapped anew since that copy */
    struct xfa_device_copy device;
    const struct xfa_class *class;
    enum xfa_timed timed;
    bool blocks; /* the call returned when the data was there, or staged */
    double achieved_ns;
    /* XFA_TIMED_SAMPLE: how much such transfers differ, and the error of their mean; as parts of
     * the mean, NAN = not known. */
    float sample_error, class_error;
    double host_ns;                 /* in a call that blocks */
    struct xfp_estimate achievable; /* basis XFP_UNKNOWN: none */
    double submit_ns;               /* host time of submitting it asynchronously */
    double lost_ns;                 /* max(0, achieved - achievable) */
};

/* ALLOC, FREE, REGISTER, UNREGISTER, SET. */
struct xfa_memory_call {
    uint64_t address;
    uint64_t row_bytes; /* of a SET */
    uint64_t flags;     /* of an ALLOC of page-locked memory; 0: none */
};

/* Managed memory: PREFETCH, ADVISE, MIGRATION, FAULT. */
struct xfa_managed_part {
    uint64_t address;
    uint64_t cause; /* of a MIGRATION: enum xft_migration_cause, or one of a later version */
    uint32_t count; /* faults in the group; of a PREFETCH 0: a further range of the call before */
};

/* KERNEL, MEMSET, DEVICE_COPY: what the device did. */
struct xfa_work {
    uint64_t stream;  /* the device's number of it */
    uint64_t name;    /* of a kernel, in NAMES; 0 = not known */
    uint64_t threads; /* of a kernel, in all; 0 = not known */
};

/* LAUNCH of a kernel. */
struct xfa_launch {
    uint64_t name, threads; /* as above */
    uint64_t arguments;     /* id in ARGUMENTS; 0 = not known */
    uint32_t kept, changed; /* record --verify: bit k, all that copies had to do with and is reached
                               from pointer k is as it was before; some of it is not */
};

/* SYNC, QUERY: of what; RECORD, WAIT: XFT_SYNC_EVENT. */
struct xfa_wait_call {
    uint64_t event; /* handle of the CUDA event */
    uint8_t what;   /* enum xft_sync; 0 = not known */
    /* QUERY that ends a polled wait (trace_events.h): */
    uint32_t queries;   /* before it; 0: it ends none, and the others are 0 */
    uint64_t polled_ns; /* since the first of them began */
    uint32_t since_ns;  /* since the last one did, at most polled_ns */
    uint32_t worked_ns; /* processor time of the thread in that, and 1; 0: not known */
};

/* The thread waited from the first query on: little of that was its own work, or that is not known
 * (it did not sleep between the queries). */
#define XFA_POLLED_MOST_WORKED 0.25
static inline bool xfa_polled_is_wait(const struct xfa_wait_call *wait)
{
    return wait->queries > 0 && wait->polled_ns > 0 &&
           (wait->worked_ns == 0 ||
            wait->worked_ns - 1 <= XFA_POLLED_MOST_WORKED * (double)wait->polled_ns);
}

/* RANGE_BEGIN, RANGE_END (NVTX). */
struct xfa_range_call {
    uint64_t id;           /* 0: nested in the thread; else of a range of the process */
    uint64_t domain, name; /* in NAMES; 0: the default domain, no name */
};

/* CONTENT: what a transfer moved, hashed. */
struct xfa_content_hash {
    uint64_t src, dst; /* the transfer's */
    uint64_t hash;
    uint64_t width; /* bytes hashed */
    uint32_t ns;    /* that took */
};

/* HOST_ACCESS: what the host did with the memory of a transfer. */
struct xfa_host_access {
    uint64_t src, dst;  /* the transfer's, as is the number of bytes */
    uint64_t copied_ns; /* when its call began */
    uint64_t since_ns;  /* to the device: when that of the copy before began, since which its source
                           was watched */
    uint32_t what;      /* sum of enum xft_host_access */
};

/* MESSAGE: a call of MPI or NCCL (message.h). Of the event's own fields: `bytes` are sent, of the
 * kind of memory src_mem; `stream` is the request of one that is XFT_ASYNC (MPI); `correlation` is
 * NCCL's alone, MPI has the tag. */
struct xfa_message {
    uint64_t src, dst;     /* addresses of what is sent, and of where it arrives; 0 = none */
    uint64_t arrives;      /* bytes, at most or as known */
    uint32_t to, from;     /* ranks of the communicator, or XFT_RANK_NONE, _ANY */
    uint32_t communicator; /* its number in the file; 0 = not known */
    int32_t tag;           /* 0 for NCCL */
    uint8_t what;          /* enum xft_message, or one of a later version */
    uint8_t level;         /* enum xft_level; 0 = not known */
};

/* MESSAGE_END: the request `stream` is complete; the event's times are those of the call that saw
 * it. */
struct xfa_message_end {
    uint64_t began_ns; /* start of the MESSAGE that began it */
    uint64_t arrived;  /* bytes */
    uint32_t from;     /* rank of the sender, or XFT_RANK_ANY: not known */
};

/* COMMUNICATOR */
struct xfa_communicator {
    uint64_t id;    /* equal in all its processes; 0 = not known */
    uint64_t ranks; /* in NAMES: which ranks of the run they are; 0 = not known */
    uint64_t size;
    uint64_t rank; /* of this process */
    uint32_t number;
};

/* GRAPH_CALL */
struct xfa_graph_call {
    uint64_t exec, form; /* form: a hash of its nodes' kinds; 0 = not known */
    uint32_t nodes;
    uint8_t what; /* enum xft_graph_call; 0 = one of a later version */
};

struct xfa_event {
    struct xfa_process *process;
    uint64_t start_ns, end_ns; /* of the call, or of the device's work */
    uint64_t bytes;
    uint64_t stream;               /* handle; see XFT_STREAM_KNOWN */
    const struct xfa_range *range; /* of a range call its own, NULL: an end without a beginning, or
                                      one that is not followed; of a transfer the innermost that its
                                      thread has open, NULL: none, or no observer wants ranges */
    uint32_t lane;
    int32_t tid;
    uint32_t stack, correlation; /* 0 = none */
    int32_t status;
    uint16_t call;
    uint16_t flags;                      /* enum xft_event_flags */
    int16_t src_place, dst_place;        /* as in trace_events.h: of a GPU the process's ordinal */
    int16_t gpu;                         /* XFT_PLACE_UNKNOWN; XFT_PLACE_HOST: a fault of a CPU's */
    bool last;                           /* of its thread */
    uint8_t kind;                        /* enum xft_event_kind */
    uint8_t direction, src_mem, dst_mem; /* as far as the event itself says */
    union {
        struct xfa_transfer transfer;
        struct xfa_memory_call memory;
        struct xfa_managed_part managed;
        struct xfa_work work;
        struct xfa_launch launch;
        struct xfa_wait_call wait;
        struct xfa_range_call nvtx;
        struct xfa_content_hash content;
        struct xfa_host_access access;
        struct xfa_message message;
        struct xfa_message_end message_end;
        struct xfa_communicator communicator;
        struct xfa_graph_call graph;
        uint64_t made; /* STREAM: enum xft_stream */
        struct xfa_graph_launch {
            uint64_t exec;
            uint32_t copies; /* its copy nodes */
        } launched;          /* GRAPH_LAUNCH */
        uint32_t records;    /* RECORDS: sum of enum xft_records */
        struct {
            uint32_t behind;    /* kind of the call behind which the recorder was at work */
            bool opens;         /* recording began */
            uint64_t worked_ns; /* of a thread's first: its processor time before; 0: not known */
        } overhead;
        struct xfa_processor {
            uint64_t own_ns, others_ns; /* processor time of the thread, of its process's others */
            bool others_known;
            uint8_t until; /* enum xft_processor, or one of a later version */
        } processor;       /* PROCESSOR */
    };
};

/* Of no thread of the program, or a part of another call. */
#define XFA_KINDS_OF_OTHERS                                                                        \
    XFT_KINDS_OF(XFT_OF_DEVICE | XFT_OF_RECORDER | XFT_OF_SHOWN | XFT_OF_WITHIN)

/* What a row of the file says. The caller sets the range. */
void xfa_event_read(struct xfa_event *event, struct xfa_process *process,
                    const struct xfa_merged *row);

/* Does it come as a transfer? */
static inline bool xfa_event_moves(const struct xfa_event *event)
{
    return xfa_moves(event->kind, event->flags, event->bytes);
}

static inline bool xfa_is_range(unsigned kind)
{
    return kind == XFT_EVENT_RANGE_BEGIN || kind == XFT_EVENT_RANGE_END;
}

/* Something that a thread of the program did, and no part of another call. Where recording begins
 * or ends counts as well: what is before it does not go on behind it. */
static inline bool xfa_is_of_thread(unsigned kind)
{
    return !xft_is_one_of(kind, XFA_KINDS_OF_OTHERS);
}

/* How long it lasted; 0 as well where that is not known. */
static inline double xfa_event_ns(const struct xfa_event *event)
{
    return event->end_ns > event->start_ns ? (double)(event->end_ns - event->start_ns) : 0;
}

static inline const struct xfa_site *xfa_site_of(const struct xfa_event *event)
{
    return xfa_process_site(event->process, event->stack);
}

static inline const struct xfa_function *xfa_function_of(const struct xfa_event *event)
{
    return xfa_process_function(event->process, event->call);
}

#endif
