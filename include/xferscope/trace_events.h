/*
 * Events of the trace: what a row of an EVENTS segment or of a slab says (trace.h has how they are
 * stored, message.h the numbers of MESSAGE and COMMUNICATOR). Part of the trace format
 * (docs/trace-format.md): never renumber, only append.
 */
#ifndef XFERSCOPE_TRACE_EVENTS_H
#define XFERSCOPE_TRACE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum xft_event_kind {
    XFT_EVENT_NONE = 0,
    XFT_EVENT_TRANSFER = 1,      /* an explicit copy, or a batch of them (count > 1); of 0 bytes it
                                    moved nothing and counts as no transfer; aux = of rows between
                                    host and device how many bytes they reach on the host; of
                                    contiguous pageable memory, page faults (xft_faults()); 0 = not
                                    known, or none */
    XFT_EVENT_ALLOC = 2,         /* dst = address, dst_mem = kind, bytes; aux = host flags */
    XFT_EVENT_FREE = 3,          /* dst = address; bytes, dst_mem where known */
    XFT_EVENT_REGISTER = 4,      /* cudaHostRegister: dst, bytes */
    XFT_EVENT_UNREGISTER = 5,    /* dst */
    XFT_EVENT_PREFETCH = 6,      /* managed memory: src = address, bytes, dst_place = destination
                                    device, or XFT_PLACE_HOST */
    XFT_EVENT_ADVISE = 7,        /* managed memory: src = address, bytes, aux = the advice */
    XFT_EVENT_PEER = 8,          /* peer access enabled (aux = 1) or disabled (aux = 0):
                                    src_place = this device, dst_place = the peer */
    XFT_EVENT_SYNC = 9,          /* the host waited for a stream, event or context (device): aux =
                                    enum xft_sync; stream, or src = the event waited for */
    XFT_EVENT_DEVICE_COPY = 10,  /* a copy as the device ran it: start_ns and end_ns are device
                                   timestamps converted to CLOCK_MONOTONIC; correlation joins it
                                   to its call; src_mem, dst_mem, direction as the device saw it;
                                   aux = the device's stream number, as in a STREAM */
    XFT_EVENT_GRAPH_LAUNCH = 11, /* src = executable graph; count = its copy nodes, which follow as
                                    TRANSFER events with XFT_GRAPH; aux = 1 if it has conditional
                                    nodes, whose copies are not known */
    XFT_EVENT_KERNEL = 12,       /* a kernel as the device ran it: src = its name in NAMES (0 = not
                                    known), dst = threads in all, aux = the device's stream number;
                                    correlation is the launch's */
    XFT_EVENT_MEMSET = 13,       /* a memset as the device ran it; aux as above */
    /* since 1.1 */
    XFT_EVENT_MIGRATION = 14,   /* managed memory moved by the driver: src = address, bytes,
                                   direction, places, aux = enum xft_migration_cause; device time */
    XFT_EVENT_FAULT = 15,       /* managed memory touched where it was not: src = address, count =
                                   faults in the group, device = the GPU, or XFT_PLACE_HOST for a
                                   CPU's; aux = enum xft_fault_access; start_ns to end_ns until it
                                   was served (end_ns 0 = not known); stack = of a CPU's, one frame:
                                   the instruction after the one that touched */
    XFT_EVENT_RANGE_BEGIN = 16, /* NVTX: aux = text in NAMES, src = domain in NAMES (0 = default);
                                   dst = 0: nested in the thread (push); else the id of a range of
                                   the process (start) */
    XFT_EVENT_RANGE_END = 17,   /* its end: dst, src as there; aux = 0 */
    XFT_EVENT_CONTENT = 18,     /* the content of a TRANSFER: start_ns, bytes, src and dst are the
                                   transfer's (of several equal ones in one launch: in order);
                                   aux = XXH3_64bits of the bytes hashed, width = their number
                                   (less than bytes: sampled, see docs/trace-format.md),
                                   count = ns that hashing took */
    /*
     * since 1.2, for the replay of a run: driver calls that succeeded, through which runtime calls
     * go too; XFT_CAPTURED as with copies. They are recorded from the first call on that can move
     * data, streams from the first CUDA call. `device` only where the stream does not determine it:
     * else XFT_PLACE_UNKNOWN. No stacks, except for SET, HOST_FUNCTION and streams.
     */
    XFT_EVENT_LAUNCH = 19, /* a kernel was launched: src = its name in NAMES, dst = threads in all,
                              aux = id in ARGUMENTS; each 0 = not known. width, of record --verify:
                              bit k, what was copied and is reached from pointer k of ARGUMENTS is
                              as it was before; bit 32 + k: it is not; neither: not known */
    XFT_EVENT_SET = 20,    /* a memset was called: dst, dst_mem, bytes; width = bytes of a row */
    XFT_EVENT_RECORD = 21, /* an event was recorded on a stream: src = the event */
    XFT_EVENT_WAIT = 22,   /* a stream was made to wait for an event: src = the event */
    XFT_EVENT_QUERY = 23,  /* as SYNC, but the host only queried, and the work was done; a query of
                              unfinished work is no event. count = queries before it that ended a
                              polled wait: of this thread for the same, unfinished, without another
                              recorded call in between (0 = there were none). Of such a wait: width =
                              ns from the start of the first of these queries to start_ns, dst =
                              xft_polled(), stack */
    XFT_EVENT_HOST_FUNCTION = 24, /* a host function was submitted to a stream: src = it */
    XFT_EVENT_STREAM = 25, /* a stream was created, and exists from end_ns on: stream = its handle,
                              src = the device's number of it (aux of DEVICE_COPY, MEMSET and
                              KERNEL; 0 = not known), aux = enum xft_stream, width = its priority
                              (two's complement), device */
    XFT_EVENT_STREAM_END = 26, /* it is destroyed from start_ns on; its handle may be reused */
    XFT_EVENT_RECORDS = 27, /* from start_ns until the next such event device records of these kinds
                               are made: aux = sum of enum xft_records; 0: none; count = enum
                               xft_records_why, src = enum xft_records_sample */
    XFT_EVENT_OVERHEAD = 28, /* no call: work of the recorder in the thread that it does not do at
                                every call: aux = sum of enum xft_overhead; count = the event kind
                                of the call after which it was done, whose usual cost (META
                                cost.KIND.ns) is in the time; 0 = after none. They may overlap.
                                Of a thread's first event, where count is 0: dst = processor time
                                of the thread before start_ns, ns; 0 = not known */
    XFT_EVENT_PERIOD = 29,   /* recording is limited (META periods.*): from start_ns on calls are
                                recorded, or are not: aux = enum xft_period */
    XFT_EVENT_HOST_ACCESS = 30, /* what the host did with the memory of a TRANSFER, whose bytes, src
                                   and dst these are, and aux its start_ns: count = sum of enum
                                   xft_host_access; width = of a copy to the device the start_ns of
                                   the copy since which its source was watched */
    /*
     * Calls of MPI and NCCL (message.h has their numbers). call has level MPI or NCCL; status is
     * what the call returned (0 = success). Recorded from the first CUDA call of the process on.
     */
    XFT_EVENT_MESSAGE = 31,     /* src, src_mem, src_place: what is sent, bytes of it; dst, dst_mem,
                                   dst_place: where it arrives, width bytes at most (of a blocking call
                                   what arrived, where it is known); 0 = nothing. aux = peers; count =
                                   operation and communicator. MPI: stream = the request where there is
                                   one (XFT_ASYNC), correlation = the tag (two's complement). NCCL:
                                   stream and flags as of a launch; correlation joins its kernels,
                                   which, in a group, are those of ncclGroupEnd. Of a WAIT: only times
                                   and stack */
    XFT_EVENT_MESSAGE_END = 32, /* behind the WAIT that saw it: a request is complete. stream = the
                                   request; aux = start_ns of the MESSAGE (same process and stream)
                                   that began it; start_ns, end_ns: of the call that found it
                                   complete; width = bytes that arrived, src = rank of the sender +
                                   1, where it is known (0 = not); XFT_FAILED if it was cancelled or
                                   failed */
    XFT_EVENT_COMMUNICATOR = 33, /* count = its number in the file, from 1 on; width = its size, src
                                    = this process's rank in it, dst = in NAMES its ranks; aux = a
                                    number that is equal in all its processes, and differs between
                                    communicators as far as can be known (0 = not known) */
    XFT_EVENT_GRAPH_CALL = 34, /* a driver call makes, updates or destroys an executable graph: aux
                                  = enum xft_graph_call, src = the executable graph, dst = the graph
                                  (0 of a DESTROYED), count = its nodes, those of child graphs
                                  included, width = hash of their kinds in the driver's order (0 =
                                  not known). Of an UPDATED that failed (XFT_FAILED) only the times
                                  and handles */
    XFT_EVENT_PROCESSOR = 35, /* no call: from start_ns to end_ns the thread had aux ns of processor
                                 time, and the other threads of its process width - 1 (0 = not
                                 known); src = enum xft_processor. Only of threads that have slept
                                 between calls; OF_OTHERS: of no thread that made it, see there */
    XFT_EVENT_CONTEXT = 36,   /* a driver call made a context of `device` behind the process's first
                                 work; most often within a runtime call, beside whose event it is */
};

/* src of a PROCESSOR: what ends it. It begins where the thread's processor time was last read, at
 * the edge of a call. Launches, and what else only submits to a stream, may lie in it. */
enum xft_processor {
    XFT_PROCESSOR_UNTIL_CALL = 1,   /* a call that is none of these begins: the thread was its own
                                       master, but for calls meanwhile, which have their events */
    XFT_PROCESSOR_UNTIL_RETURN = 2, /* such a call returned */
    XFT_PROCESSOR_OF_OTHERS = 3,    /* either, of any thread. Between, the busiest of the process's
                                       threads that have made no recorded call, the recorder's and
                                       the driver's left out, had aux ns of processor time, all of
                                       them width - 1; count = how many had more than 1/64 of the
                                       time between. No event where none had */
};

/* aux of a contiguous TRANSFER of pageable memory: page faults of its thread within the call, and
 * between the call and the thread's last such copy; each at most UINT32_MAX. */
static inline uint64_t xft_faults(uint64_t within, uint64_t before)
{
    uint64_t low = within < UINT32_MAX ? within : UINT32_MAX;
    return low | (before < UINT32_MAX ? before : UINT32_MAX) << 32;
}
static inline uint32_t xft_faults_within(uint64_t aux)
{
    return (uint32_t)aux;
}
static inline uint32_t xft_faults_before(uint64_t aux)
{
    return (uint32_t)(aux >> 32);
}

/* dst of a QUERY that ends a polled wait: ns from the start of the last query of unfinished work to
 * its own; processor time of the thread since the first one, and 1 ns (0: not known). Each at most
 * UINT32_MAX. */
static inline uint64_t xft_polled(uint64_t since_ns, bool known, uint64_t worked_ns)
{
    uint64_t low = since_ns < UINT32_MAX ? since_ns : UINT32_MAX;
    uint64_t high = worked_ns < UINT32_MAX ? worked_ns + 1 : UINT32_MAX;
    return low | (known ? high << 32 : 0);
}
static inline uint32_t xft_polled_since_ns(uint64_t dst)
{
    return (uint32_t)dst;
}
static inline uint32_t xft_polled_worked_ns(uint64_t dst)
{
    return (uint32_t)(dst >> 32);
}

/* What an event is of: bits, to ask for several (XFT_KINDS_OF). */
enum xft_event_of {
    XFT_OF_CALL = 1,      /* a call of the program */
    XFT_OF_WITHIN = 2,    /* a call of the driver, most often within another call */
    XFT_OF_SHOWN = 4,     /* what a call of MPI or NCCL showed, which has a MESSAGE of its own */
    XFT_OF_RANGE = 8,     /* a mark that a thread of the program made (NVTX) */
    XFT_OF_DEVICE = 16,   /* what a device did, or a CPU that touched managed memory */
    XFT_OF_RECORDER = 32, /* what the recorder did, or knows of the program */
    XFT_OF_PERIOD = 64,   /* calls are recorded from here on, or no longer */
};

/* The word of each kind, and what it is of; `with` is given to each row. */
#define XFT_EVENT_LIST(X, with)                                                                    \
    X(XFT_EVENT_TRANSFER, "transfer", XFT_OF_CALL, with)                                           \
    X(XFT_EVENT_ALLOC, "alloc", XFT_OF_CALL, with)                                                 \
    X(XFT_EVENT_FREE, "free", XFT_OF_CALL, with)                                                   \
    X(XFT_EVENT_REGISTER, "register", XFT_OF_CALL, with)                                           \
    X(XFT_EVENT_UNREGISTER, "unregister", XFT_OF_CALL, with)                                       \
    X(XFT_EVENT_PREFETCH, "prefetch", XFT_OF_CALL, with)                                           \
    X(XFT_EVENT_ADVISE, "advise", XFT_OF_CALL, with)                                               \
    X(XFT_EVENT_PEER, "peer", XFT_OF_CALL, with)                                                   \
    X(XFT_EVENT_SYNC, "sync", XFT_OF_CALL, with)                                                   \
    X(XFT_EVENT_DEVICE_COPY, "device-copy", XFT_OF_DEVICE, with)                                   \
    X(XFT_EVENT_GRAPH_LAUNCH, "graph-launch", XFT_OF_CALL, with)                                   \
    X(XFT_EVENT_KERNEL, "kernel", XFT_OF_DEVICE, with)                                             \
    X(XFT_EVENT_MEMSET, "memset", XFT_OF_DEVICE, with)                                             \
    X(XFT_EVENT_MIGRATION, "migration", XFT_OF_DEVICE, with)                                       \
    X(XFT_EVENT_FAULT, "fault", XFT_OF_DEVICE, with)                                               \
    X(XFT_EVENT_RANGE_BEGIN, "range-begin", XFT_OF_RANGE, with)                                    \
    X(XFT_EVENT_RANGE_END, "range-end", XFT_OF_RANGE, with)                                        \
    X(XFT_EVENT_CONTENT, "content", XFT_OF_RECORDER, with)                                         \
    X(XFT_EVENT_LAUNCH, "launch", XFT_OF_CALL, with)                                               \
    X(XFT_EVENT_SET, "set", XFT_OF_CALL, with)                                                     \
    X(XFT_EVENT_RECORD, "record", XFT_OF_CALL, with)                                               \
    X(XFT_EVENT_WAIT, "wait", XFT_OF_CALL, with)                                                   \
    X(XFT_EVENT_QUERY, "query", XFT_OF_CALL, with)                                                 \
    X(XFT_EVENT_HOST_FUNCTION, "host-function", XFT_OF_CALL, with)                                 \
    X(XFT_EVENT_STREAM, "stream", XFT_OF_CALL, with)                                               \
    X(XFT_EVENT_STREAM_END, "stream-end", XFT_OF_CALL, with)                                       \
    X(XFT_EVENT_RECORDS, "records", XFT_OF_RECORDER, with)                                         \
    X(XFT_EVENT_OVERHEAD, "overhead", XFT_OF_RECORDER, with)                                       \
    X(XFT_EVENT_PERIOD, "period", XFT_OF_PERIOD, with)                                             \
    X(XFT_EVENT_HOST_ACCESS, "host-access", XFT_OF_RECORDER, with)                                 \
    X(XFT_EVENT_MESSAGE, "message", XFT_OF_CALL, with)                                             \
    X(XFT_EVENT_MESSAGE_END, "message-end", XFT_OF_SHOWN, with)                                    \
    X(XFT_EVENT_COMMUNICATOR, "communicator", XFT_OF_SHOWN, with)                                  \
    X(XFT_EVENT_GRAPH_CALL, "graph-call", XFT_OF_CALL, with)                                       \
    X(XFT_EVENT_PROCESSOR, "processor", XFT_OF_RECORDER, with)                                     \
    X(XFT_EVENT_CONTEXT, "context", XFT_OF_WITHIN, with)

/* NULL for a kind that this version does not know. */
static inline const char *xft_event_word(unsigned kind)
{
#define XFT_WORD_ROW(symbol, word, of, with)                                                       \
    case symbol:                                                                                   \
        return word;
    switch ((enum xft_event_kind)kind) { /* without default: the compiler misses a kind */
        XFT_EVENT_LIST(XFT_WORD_ROW, )
    case XFT_EVENT_NONE:
        break;
    }
#undef XFT_WORD_ROW
    return (const char *)0;
}

/* The kinds that are of any of these (a sum of enum xft_event_of): a bit for each. Kinds that this
 * version does not know are of none. */
#define XFT_KIND_IF_OF(symbol, word, of, any) | (uint64_t)(((of) & (any)) != 0) << (symbol)
#define XFT_KINDS_OF(any) (UINT64_C(0) XFT_EVENT_LIST(XFT_KIND_IF_OF, any))
static inline bool xft_is_one_of(unsigned kind, uint64_t kinds)
{
    return kind < 64 && (kinds >> kind & 1) != 0;
}

/* aux of a STREAM. */
enum xft_stream {
    XFT_STREAM_NONBLOCKING =
        1, /* it does not wait for the legacy default stream, nor that for it */
};

/* aux of a RECORDS. */
enum xft_records {
    XFT_RECORDS_COPIES = 1, /* DEVICE_COPY, MEMSET */
    XFT_RECORDS_KERNELS = 2,
};

/* count of a RECORDS: why they changed. */
enum xft_records_why {
    XFT_RECORDS_OTHERWISE = 0, /* they began, or another profiler took CUPTI over */
    XFT_RECORDS_BUDGET = 1,    /* they cost more than recording may (META budget) */
};

/* src of a RECORDS. */
enum xft_records_sample {
    XFT_SAMPLE_NONE = 0,
    XFT_SAMPLE_COPIES = 1, /* DEVICE_COPY, with XFT_BY_EVENTS, of some of the asynchronous copies */
};

/* count of a HOST_ACCESS. */
enum xft_host_access {
    XFT_HOST_READS_KNOWN = 1,  /* of a copy to the host, whether */
    XFT_HOST_READ = 2,         /* the host read what it brought */
    XFT_HOST_WRITES_KNOWN = 4, /* of a copy to the device, whether */
    XFT_HOST_WROTE = 8,        /* the host wrote its source since the copy before */
    XFT_HOST_SENT = 16,        /* of a copy to the host: copied to a device from there since */
};

/* aux of an OVERHEAD. */
enum xft_overhead {
    XFT_OVERHEAD_RECORDING = 1,  /* recording began */
    XFT_OVERHEAD_DEVICE = 2,     /* the device's records were switched on */
    XFT_OVERHEAD_THREAD = 4,     /* the thread's first event */
    XFT_OVERHEAD_SLAB = 8,       /* a slab for further events */
    XFT_OVERHEAD_STACK = 16,     /* a call stack that the file did not have yet */
    XFT_OVERHEAD_FUNCTION = 32,  /* a kernel that had not been launched before */
    XFT_OVERHEAD_ARGUMENTS = 64, /* arguments of a launch that the file did not have yet */
    XFT_OVERHEAD_GRAPH = 128,  /* a graph was made ready for launches: its copies were looked up */
    XFT_OVERHEAD_ACCESS = 256, /* what the host did with memory was asked (HOST_ACCESS) */
    XFT_OVERHEAD_VERIFY = 512, /* what a kernel or a copy left on the device was looked at */
};

/* aux of a PERIOD. */
enum xft_period {
    XFT_PERIOD_ENDS = 0,
    XFT_PERIOD_BEGINS = 1,
    XFT_PERIOD_FULL = 2, /* the last one ends: the run's files have reached their size limit */
};

/* aux of a GRAPH_CALL. */
enum xft_graph_call {
    XFT_GRAPH_INSTANTIATED = 1,
    XFT_GRAPH_UPDATED = 2, /* as a whole (cuGraphExecUpdate) */
    XFT_GRAPH_DESTROYED = 3,
};

/* aux of a SYNC. */
enum xft_sync {
    XFT_SYNC_EVENT = 1,  /* until an event was reached */
    XFT_SYNC_STREAM = 2, /* until a stream was empty */
    XFT_SYNC_CONTEXT = 3,
};

/* Enumerator, number, word, and the cause of a migration. */
#define XFT_CAUSE_LIST(X)                                                                          \
    X(XFT_CAUSE_UNKNOWN, 0, "unknown", "for unknown reasons")                                      \
    X(XFT_CAUSE_USER, 1, "prefetch", "by prefetches")                                              \
    X(XFT_CAUSE_COHERENCE, 2, "fault", "by faults")                                                \
    X(XFT_CAUSE_PREFETCH, 3, "driver", "by the driver's guess")                                    \
    X(XFT_CAUSE_EVICTION, 4, "eviction", "by eviction")                                            \
    X(XFT_CAUSE_ACCESS_COUNTERS, 5, "access-counters", "by access counters")
#define XFT_CAUSE_ROW(symbol, number, word, phrase) symbol = number,
enum xft_migration_cause { XFT_CAUSE_LIST(XFT_CAUSE_ROW) };
#undef XFT_CAUSE_ROW

enum xft_fault_access {
    XFT_ACCESS_UNKNOWN = 0,
    XFT_ACCESS_READ = 1,
    XFT_ACCESS_WRITE = 2,
    XFT_ACCESS_ATOMIC = 3,
    XFT_ACCESS_PREFETCH = 4,
};

enum xft_event_flags {
    XFT_ASYNC = 1,      /* the Async form was called */
    XFT_CAPTURED = 2,   /* recorded into a graph: nothing moved; bytes is what a launch moves */
    XFT_FAILED = 4,     /* the call returned an error (status): nothing is known to have moved */
    XFT_PER_THREAD = 8, /* the per-thread default stream variant (_ptds, _ptsz) */
    XFT_GUESSED = 16, /* the direction is not the pointers': taken from the call's kind argument, or
                         an end is managed memory, which counts as device memory */
    XFT_STREAM_KNOWN = 32, /* stream holds the handle passed; else the default stream was meant */
    XFT_GRAPH = 64, /* a copy node of a launched graph: call, times and stack are the launch's */
    XFT_PEER_ACCESS = 128, /* P2P: peer access was enabled between the two by calls (memory of
                              pools, of cuMemSetAccess and of IPC may have it without them) */
    XFT_BY_EVENTS = 256,   /* DEVICE_COPY: timed by CUDA events around the call, which takes some us
                              longer than the copy */
    XFT_OWN_COUNTS = 512,  /* MESSAGE, all-to-all: each rank's part has a count of its own */
    XFT_NEW_MEMORY = 1024, /* TRANSFER with page faults: at a call since the thread's last such
                              copy, the host's memory at this address was not mapped */
};

#define XFT_PLACE_UNKNOWN (-1)
#define XFT_PLACE_HOST (-2) /* host, NUMA node not known */

/*
 * One event, as it lies in a slab. In EVENTS segments the same fields are columns; a column that
 * is absent means 0 in every row.
 */
struct xft_event {
    uint64_t start_ns; /* host clock at entry of the call */
    uint64_t end_ns;   /* host clock when the call returned */
    uint64_t bytes;    /* payload of the transfer: width * rows, summed over a batch */
    uint64_t dst;      /* address, or array handle where dst_mem is XFT_MEM_ARRAY */
    uint64_t src;
    uint64_t stream;      /* handle; see XFT_STREAM_KNOWN */
    uint64_t width;       /* bytes of one contiguous row; equals bytes in a linear copy */
    uint64_t aux;         /* see xft_event_kind */
    uint32_t count;       /* copies in this call: 1, or those of a batch that move bytes */
    uint32_t stack;       /* id in STACKS; 0 = none */
    uint32_t correlation; /* joins DEVICE_COPY to its call; 0 = none */
    int32_t status;       /* CUresult or cudaError_t */
    uint16_t call;        /* id in CALLS */
    uint16_t flags;       /* enum xft_event_flags */
    int16_t src_place;    /* device ordinal for device memory; NUMA node for host memory */
    int16_t dst_place;
    int16_t device; /* the current device of the calling thread, or XFT_PLACE_UNKNOWN */
    uint8_t kind;   /* enum xft_event_kind */
    uint8_t direction;
    uint8_t src_mem;
    uint8_t dst_mem;
    uint8_t reserved[2];
};

#endif
