/*
 * The objects of the simulated driver, and what every API function shares.
 *
 * One lock guards everything: an API function holds it from sim_enter() to sim_leave(); it is
 * given up only while host callbacks run and while a wait needs another thread. Handles are
 * pointers to these objects; sim_handle_is() tells a live one from anything else.
 *
 * Work is executed, data and all, when it is submitted, unless it has to wait for the host (an
 * xfp_gate kernel): then it and whatever depends on it stays in the queue (queue.h). Time is
 * computed, never waited for: an operation has a start and an end on the simulated clock. What it
 * does to memory may be put off until something waits for it (lazy.h).
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/simgpu/simgpu.h"
#include "tools/simgpu/driver/clock.h"
#include "tools/simgpu/driver/machine.h"
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

/* A copy engine: one copy at a time. */
struct sim_engine {
    uint64_t end; /* of its latest copy */
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
    uint64_t kernel_start; /* when the latest began of the kernels launched so far */
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
     * When everything so far ends; and when what the next copy on tail_engine has to wait for
     * ends: behind a copy on the same engine, that is whatever came before it (queue.c).
     */
    uint64_t tail, hard;
    struct sim_engine *tail_engine;
    unsigned pending; /* operations in the queue */
    unsigned owed;    /* operations whose effect is still to come (lazy.h) */
    uint64_t needed;  /* lazy.c */
    bool doomed;      /* destroyed once they are done */
    uint64_t stays;   /* the last pass over the queue in which one of them had to (queue.c) */
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

/* ---- calls --------------------------------------------------------------------------------- */

/* What a function needs and how its host time is counted. */
enum sim_need {
    SIM_NOTHING = 0,
    SIM_INIT = 1,   /* cuInit was called, in this process */
    SIM_CTX = 3,    /* and a context is current */
    SIM_TIMED = 4,  /* it advances the clock itself */
    SIM_UNSAFE = 8, /* refused while a capture forbids it */
};

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
extern bool sim_initialised;

xcu_result sim_enter(struct sim_call *call);
xcu_result sim_leave(struct sim_call *call, xcu_result result);
void sim_lock(void);
void sim_unlock(void);
uint64_t sim_thread_id(void);
const char *sim_function_name(unsigned function);

extern const struct xferscope_simgpu_hooks *sim_hooks;

#define SIM_EXPORT __attribute__((visibility("default")))

#define SIM_WRAPPER(body, name, need, per_thread, params, args)                                    \
    SIM_EXPORT xcu_result name params;                                                             \
    xcu_result name params                                                                         \
    {                                                                                              \
        struct sim_call sim_frame = {SIM_FN_##name, need, per_thread, 0};                          \
        xcu_result sim_state = sim_enter(&sim_frame);                                              \
        return sim_leave(&sim_frame, sim_state ? sim_state : body args);                           \
    }

/* Defines an exported driver function; its body follows and returns a result. */
#define SIM_API(name, need, params, args)                                                          \
    static xcu_result name##_body params;                                                          \
    SIM_WRAPPER(name##_body, name, need, false, params, args)                                      \
    static xcu_result name##_body params

/* The same under two names: the legacy one, and one whose default stream is the thread's own. */
#define SIM_API_PT(name, variant, need, params, args)                                              \
    static xcu_result name##_body params;                                                          \
    SIM_WRAPPER(name##_body, name, need, false, params, args)                                      \
    SIM_WRAPPER(name##_body, variant, need, true, params, args)                                    \
    static xcu_result name##_body params

#define SIM_FUNCTION(base, symbol, version, variant) SIM_FN_##symbol,
enum sim_function_id {
#include "tools/simgpu/driver/functions.def"
    SIM_FUNCTION_COUNT
};
#undef SIM_FUNCTION

/* ---- handles ------------------------------------------------------------------------------- */

bool sim_handle_add(const void *object, enum sim_handle type);
void sim_handle_remove(const void *object);
bool sim_handle_is(const void *object, enum sim_handle type);

/* ---- contexts and streams ------------------------------------------------------------------ */

struct sim_context *sim_current(void);

/* The context of a handle (NULL: the current one), or NULL. */
struct sim_context *sim_context_of(xcu_context handle);
struct sim_context *sim_primary(int device);
xcu_result sim_context_new(int device, unsigned flags, struct sim_context **out);
extern struct sim_context *sim_contexts;

/* Resolves a stream argument, default streams included. 0 or an error. */
xcu_result sim_stream_of(xcu_stream handle, struct sim_stream **out);
xcu_result sim_stream_new(struct sim_context *context, unsigned flags, int priority,
                          struct sim_stream **out);
void sim_stream_free(struct sim_stream *stream);

bool sim_peer_enabled(int from, int to);

struct sim_mark *sim_mark_new(void);
void sim_mark_drop(struct sim_mark *mark);

#endif
