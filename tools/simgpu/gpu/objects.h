/*
 * The objects of the simulated driver, and the state that all its sources share.
 *
 * One lock guards everything. A function of the driver holds it from its begin to its end; it is
 * released only while a function of the program runs, and while a wait needs another thread.
 * Handles are pointers to these objects; sim_handle_is() tells whether one is live.
 *
 * An operation is executed, with its data, when it is submitted. One that has to wait for the host
 * (an xfp_gate kernel), and all that depends on it, stays in the queue (queue.h). Times are
 * computed: an operation has a start and an end on the simulated clock, and nothing waits for them
 * in real time. What an operation does to memory may be put off until something waits for it
 * (lazy.h).
 *
 * The sources of this directory, each of which uses only those above it:
 *
 * - clock.c, machine.c: the clock; the profile that is simulated, and the settings;
 * - objects.c: the lock, threads, live handles, devices, the current context;
 * - range.c, nodes.c (or host_nodes.c): addresses, and on which NUMA node they are;
 * - paths.c, managed.c, copy.c: how long a copy takes; where managed memory is; what copies do;
 * - known_kernels.c, kernel.c: the probe's kernels; what kernels are given;
 * - effect.c: what operations do to memory;
 * - op.c: operations, and graphs of them, as data;
 * - link.c: kernels that reach over the link;
 * - capture.c, streams.c: stream capture; streams;
 * - lazy.c, execute.c, queue.c: what is left to be done; one operation; their order, and waits;
 * - memory.c: allocation.
 *
 * The functions of the interface (driver/) use them; none is used from here.
 */
#ifndef SIM_OBJECTS_H
#define SIM_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/simgpu/gpu/clock.h"
#include "tools/simgpu/gpu/machine.h"
#include "tools/simgpu/simgpu.h"
#include "xferscope/cuda_abi.h"
#include "xferscope/terms.h"

enum sim_handle {
    SIM_CONTEXT = 1,
    SIM_STREAM,
    SIM_EVENT,
    SIM_ARRAY,
    SIM_MIPMAP,
    SIM_POOL,
    SIM_MODULE,
    SIM_FUNCTION,
    SIM_GRAPH,
    SIM_NODE,
    SIM_GRAPH_EXEC,
    SIM_VMM,
};

enum sim_engine_kind { SIM_H2D, SIM_D2H, SIM_D2D, SIM_P2P, SIM_ENGINES };

/* A copy engine: one copy at a time (engine.h). */
enum { SIM_GAPS = 32 };
struct sim_engine {
    uint64_t end; /* of its latest copy */
    struct sim_gap {
        uint64_t from, to;
    } gaps[SIM_GAPS]; /* between copies, the last ones, in order */
    unsigned gap_count;
};

struct sim_region;
struct sim_pool;
struct sim_graph;

struct sim_device {
    int ordinal;
    struct xfp_gpu *gpu;
    struct sim_region *region; /* addresses of its memory */
    uint64_t used;             /* bytes */
    struct sim_engine engines[SIM_ENGINES];
    struct sim_engine moves[SIM_D2H + 1]; /* of managed memory: the driver's time (managed.c) */
    uint64_t kernel_start;                /* start of the kernel that began last */
    struct sim_engine functions;          /* of the host: the time of the thread that calls them */
    struct sim_context *primary;
    unsigned primary_flags;
    struct sim_pool *default_pool, *pool;
};
extern struct sim_device sim_devices[SIM_MAX_DEVICES];
extern int sim_device_count;
int sim_number_of(int ordinal); /* of a device: its number in the profile */

struct sim_context {
    int device;
    unsigned id, flags;
    unsigned retained; /* primary: times retained */
    bool primary;
    uint32_t peers; /* bit per device this context may reach */
    struct sim_stream *legacy, *streams;
    uint64_t tail;          /* end of the latest work */
    uint64_t blocking_tail; /* the same of blocking streams, the legacy one apart */
    uint64_t needed, legacy_needed, blocking_needed; /* lazy.c */
    size_t stack_limit[16];
    struct sim_context *next;
};

struct sim_capture;
struct sim_node;

/* Nodes that the next captured operation depends on. */
struct sim_deps {
    struct sim_node **nodes;
    size_t count, room;
};

struct sim_stream {
    struct sim_context *context;
    unsigned id, flags;
    int priority;
    uint64_t owner; /* per-thread default stream: its thread */
    /*
     * tail: end of all work so far. hard: end of what the next copy on tail_engine has to wait for;
     * behind a copy on the same engine, that is the work before that copy (queue.c).
     */
    uint64_t tail, hard;
    struct sim_engine *tail_engine;
    unsigned pending; /* operations in the queue */
    unsigned owed;    /* operations whose effect is still to come (lazy.h) */
    uint64_t needed;  /* lazy.c */
    bool doomed;      /* destroyed once they are done */
    uint64_t stays;   /* the last pass over the queue in which one of them stayed (queue.c) */
    struct sim_capture *capture;
    struct sim_deps deps;
    struct sim_stream *next;
};
enum { SIM_STREAM_NON_BLOCKING = 1 };

/* A record of an event, shared with the waits for it. */
struct sim_mark {
    unsigned holders;
    bool done;
    uint64_t time;
    int device;      /* that recorded it */
    uint64_t needed; /* lazy.c */
};

struct sim_event {
    struct sim_context *context;
    unsigned flags;
    struct sim_mark *mark; /* NULL: never recorded */
    struct sim_capture *capture;
    struct sim_deps deps;
};
enum { SIM_EVENT_BLOCKING = 1, SIM_EVENT_NO_TIMING = 2 };

/* ---- the lock and threads -------------------------------------------------------------------- */

/* The call of the interface that a thread is in (driver/call.h). */
struct sim_call {
    unsigned function; /* enum sim_function_id */
    unsigned need;
    bool per_thread; /* the _ptds or _ptsz variant */
    uint32_t correlation;
};

struct sim_thread {
    struct sim_context *stack[64];
    int depth;
    int numa;
    bool warm; /* it has just written the host memory that it copies */
    bool in_callback;
    int capture_mode; /* cuThreadExchangeStreamCaptureMode */
    struct sim_call *call;
    uint64_t *kernel_ns;  /* inside a host twin: time of what it touches */
    uint64_t *kernel_set; /* and of the kernel itself */
    int kernel_device;
    uint64_t kernel_start;
};
extern _Thread_local struct sim_thread sim_thread;
extern bool sim_initialised; /* cuInit was called */
extern bool sim_forked;      /* a child of an initialised process: CUDA does not survive fork */

void sim_lock(void);
void sim_unlock(void);
uint64_t sim_thread_id(void);

extern const struct xferscope_simgpu_hooks *sim_hooks;

#define SIM_EXPORT __attribute__((visibility("default")))

/* ---- handles ------------------------------------------------------------------------------- */

bool sim_handle_add(const void *object, enum sim_handle type);
void sim_handle_remove(const void *object);
bool sim_handle_is(const void *object, enum sim_handle type);

/* ---- devices and contexts ------------------------------------------------------------------ */

struct sim_context *sim_current(void);

/* The context of a handle (NULL: the current one), or NULL. */
struct sim_context *sim_context_of(xcu_context handle);
extern struct sim_context *sim_contexts;

bool sim_peer_enabled(int from, int to);

static inline uint64_t sim_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
