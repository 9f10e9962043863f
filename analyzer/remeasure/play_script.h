/*
 * A script while it is made, private to play_*.c: play_list.c takes the ops, play_steps.c makes
 * steps of them, play_script.c has what both use.
 */
#ifndef XFA_PLAY_SCRIPT_H
#define XFA_PLAY_SCRIPT_H

#include "analyzer/remeasure/play_list.h"

#define XFA_PLAY_WORKS 4096 /* operations of GPUs that are remembered by their ends */
#define XFA_PLAY_ORDERS 16  /* waits of streams before the next op */
#define XFA_PLAY_PAIRS 128  /* of GPUs with peer access */
#define XFA_PLAY_MARKS 1024u
#define XFA_PLAY_FIRST_MARK 0xf0000000u /* number of the first mark among the events */

/* The moment at which a thread has made so many steps. */
struct xfa_play_moment {
    uint32_t thread;
    size_t steps; /* 0: never */
};

struct xfa_play_thread {
    struct xfp_play_step *steps;
    size_t count, capacity;
    bool begun;
    double owed_ns; /* time of the host that goes into the gap of the next step */
    double now_ns;  /* clock of the schedule */
    /* The last call of the program: its first step, its begin and end in the schedule. */
    size_t last_from;
    double last_begin_ns, last_end_ns;
    /* The same without the gap before it, which was last_owed_ns. */
    size_t last_call;
    double last_owed_ns;
    struct xfa_play_moment worked;      /* its last work for a GPU */
    size_t seen[XFP_PLAY_MOST_THREADS]; /* by thread: it has waited until that one made so many */
};

/* A stream on the stage. */
struct xfa_play_queue {
    uint32_t number; /* key: of the stream in the process */
    int device;
    enum xfp_play_stream_kind kind;
};

/* A CUDA event on the stage: the program's, or a mark behind work that a change waits for. */
struct xfa_play_event {
    uint32_t number; /* key */
    int device;
};

/* Memory that is allocated in the run. */
struct xfa_play_slot {
    uint64_t address; /* key */
    uint32_t slot;
    bool taken;
    struct xfa_play_moment by; /* when it is allocated */
};

/* An operation of a GPU: when it ends in the schedule, and the step that gives it. */
struct xfa_play_work {
    double end_ns;
    uint32_t stream, thread;
    size_t step;
};

/* A stream that has to wait until a time of the schedule. */
struct xfa_play_order {
    uint32_t stream;
    double ns;
};

/* Host memory that is registered. */
struct xfa_play_locked {
    uint64_t address, bytes;
    uint32_t kind;             /* of its memory (play_memory.h) */
    struct xfa_play_moment by; /* when it is registered */
};

struct xfa_play_script {
    struct xfa_play_setting *setting;
    uint64_t last_op;
    double end_ns;
    double busy_ns;  /* end of the work that ends last */
    double model_ns; /* end of the thread that is last */
    unsigned processes;
    struct xfa_play_account account;
    struct xfa_play_thread *threads;
    size_t thread_count, thread_capacity;
    struct xfa_play_work *works; /* a ring */
    size_t work_count;
    struct xfa_play_order orders[XFA_PLAY_ORDERS];
    unsigned order_count;
    struct xfa_play_locked *locked;
    size_t locked_count, locked_capacity;
    struct xfa_play_moment *recorded; /* by event of the stage: when it was last recorded */
    size_t recorded_count, recorded_capacity;
    struct xfa_play_moment *last_works; /* by stream of the stage: when it last got work */
    size_t last_work_count, last_work_capacity;
    struct xfa_table slots;
    size_t slots_used;
    uint32_t marks;
    struct xfp_play_pair pairs[XFA_PLAY_PAIRS];
    size_t pair_count;
    struct xfp_play_thread *list_threads;
    struct xfp_play_list list;
};

/* ---- steps ----------------------------------------------------------------------------------- */

/* Appends a step of this kind with all numbers unset and no gap. Valid until the next append. */
struct xfp_play_step *xfa_play_push(struct xfa_play_script *script, struct xfa_play_thread *thread,
                                    enum xfp_play_what what);
/* Takes the whole ns from thread->owed_ns: the gap of the next step. */
uint64_t xfa_play_owed(struct xfa_play_thread *thread);
/* Appends a step that has the thread's owed time as its gap. What own_ns exceeds UINT32_MAX by is
 * owed to the next step. */
struct xfp_play_step *xfa_play_call_step(struct xfa_play_script *script,
                                         struct xfa_play_thread *thread, enum xfp_play_what what,
                                         int device, double own_ns);

static inline uint64_t xfa_play_whole_ns(double ns)
{
    return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

/* ---- moments --------------------------------------------------------------------------------- */

struct xfa_play_moment xfa_play_now(const struct xfa_play_script *script,
                                    const struct xfa_play_thread *thread);
/* The thread goes on when that moment has come. */
void xfa_play_after(struct xfa_play_script *script, struct xfa_play_thread *thread,
                    struct xfa_play_moment moment);

/* ---- the stage ------------------------------------------------------------------------------- */

/* The GPU of this machine that stands for one of the run; the first one where that is not known. */
int xfa_play_device(const struct xfa_play_script *script, int gpu);
/* The place of a CUDA event among the stage's. It belongs to the device where it is met first. */
uint32_t xfa_play_event_of(struct xfa_play_script *script, uint32_t number, int device);
/* The place of the op's stream among the stage's; its GPU. */
uint32_t xfa_play_queue_of(struct xfa_play_script *script, const struct xfw_op *op);
int xfa_play_queue_device(const struct xfa_play_script *script, uint32_t queue);
/* The GPU is on the stage, even if no stream and no memory of it is. */
void xfa_play_use_device(struct xfa_play_script *script, int device);

/* ---- play_steps.c ---------------------------------------------------------------------------- */

/* Appends the waits of streams that the tap has reported since the last op (script->orders). */
void xfa_play_keep_orders(struct xfa_play_script *script, struct xfa_play_thread *thread,
                          const struct xfw_op *op);
/* Appends the steps of one op. recorded: the op before the changes; NULL: a change made it. */
void xfa_play_add(struct xfa_play_script *script, struct xfa_play_thread *thread,
                  const struct xfw_op *op, const struct xfw_op *recorded);

#endif
