/* What a script is while it is made: private to play_list.c and play_steps.c. */
#ifndef XFA_PLAY_SCRIPT_H
#define XFA_PLAY_SCRIPT_H

#include "analyzer/remeasure/play_list.h"

#define XFA_PLAY_WORKS 4096 /* that are remembered by when they end */
#define XFA_PLAY_ORDERS 16  /* that wait for the next op */
#define XFA_PLAY_PAIRS 128
#define XFA_PLAY_MARKS 1024u
#define XFA_PLAY_FIRST_MARK 0xf0000000u /* its number among the events */

/* A thread has taken so many steps. */
struct xfa_play_moment {
    uint32_t thread;
    size_t steps; /* 0: never */
};

struct xfa_play_thread {
    struct xfp_play_step *steps;
    size_t count, capacity;
    bool begun;
    double owed_ns;   /* of its own time, for the next step */
    double now_ns;    /* of the schedule's clock */
    size_t last_from; /* its last call: the steps before it, and when it was, as recorded */
    double last_begin_ns, last_end_ns;
    size_t last_call; /* likewise, without its own time before, which is last_owed_ns */
    double last_owed_ns;
    struct xfa_play_moment worked;      /* last; for those that wait for the device */
    size_t seen[XFP_PLAY_MOST_THREADS]; /* of other threads: it is behind these steps */
};

struct xfa_play_queue {
    uint32_t number; /* key */
    int device;
    enum xfp_play_stream_kind kind;
};

struct xfa_play_event {
    uint32_t number; /* key */
    int device;
};

struct xfa_play_slot {
    uint64_t address; /* key */
    uint32_t slot;
    bool taken;
    struct xfa_play_moment by;
};

struct xfa_play_work {
    double end_ns;
    uint32_t stream, thread;
    size_t step;
};

struct xfa_play_order {
    uint32_t stream;
    double ns;
};

/* Registered host memory. */
struct xfa_play_locked {
    uint64_t address, bytes;
    uint32_t kind; /* of its memory */
    struct xfa_play_moment by;
};

struct xfa_play_script {
    struct xfa_play_setting *setting;
    uint64_t last_op;
    double end_ns, busy_ns, model_ns;
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
    struct xfa_play_moment *recorded; /* of each event of the stage, in this script */
    size_t recorded_count, recorded_capacity;
    struct xfa_play_moment *last_works; /* of each stream likewise */
    size_t last_work_count, last_work_capacity;
    struct xfa_table slots;
    size_t slots_used;
    uint32_t marks;
    struct xfp_play_pair pairs[XFA_PLAY_PAIRS];
    size_t pair_count;
    struct xfp_play_thread *list_threads;
    struct xfp_play_list list;
};

/* A step of nothing, without its gap. Lasts until the next one. */
struct xfp_play_step *xfa_play_push(struct xfa_play_script *script, struct xfa_play_thread *thread,
                                    enum xfp_play_what what);
/* The thread goes on when that moment has come. */
void xfa_play_after(struct xfa_play_script *script, struct xfa_play_thread *thread,
                    struct xfa_play_moment moment);
/* The whole ns of its own time that it owes: for a step's gap. */
uint64_t xfa_play_owed(struct xfa_play_thread *thread);

/* Of registered memory, which is pageable memory that was registered. */
static const struct xfa_play_kind xfa_play_pageable = {XFT_MEM_PAGEABLE, 0, -1, -1};
#define XFA_PLAY_SAME_NS 0.5

/* Later than so long behind its call work does not begin, nor a thread go on behind what it waits
 * for, for reasons of their own; copies to the device that make the host wait may be staged first.
 */
#define XFA_PLAY_LATENCY_NS 50e3
#define XFA_PLAY_USUAL_NS 5e3 /* what it takes then for reasons of its own */
#define XFA_PLAY_STAGING_NS 1e6

/* A GPU of the run, here; the first one, where it is not known. */
int xfa_play_device(const struct xfa_play_script *script, int gpu);
static inline struct xfa_play_kind xfa_play_device_kind(const struct xfa_play_script *script,
                                                        int gpu)
{
    return (struct xfa_play_kind){XFT_MEM_DEVICE, 0, (int16_t)xfa_play_device(script, gpu), -1};
}

/* So that the GPU is on the stage, whatever else is. */
void xfa_play_use_device(struct xfa_play_script *script, int device);

struct xfa_play_moment xfa_play_now(const struct xfa_play_script *script,
                                    const struct xfa_play_thread *thread);

/* A step with the thread's own time before it; what is more than it can hold comes behind it. */
struct xfp_play_step *xfa_play_call_step(struct xfa_play_script *script,
                                         struct xfa_play_thread *thread, enum xfp_play_what what,
                                         int device, double own_ns);
/* A step in the op's stream. */
struct xfp_play_step *xfa_play_work_step(struct xfa_play_script *script,
                                         struct xfa_play_thread *thread, const struct xfw_op *op,
                                         enum xfp_play_what what);
/* The op's engine is busy for as long as it was. */
void xfa_play_copy_for(struct xfa_play_script *script, struct xfa_play_thread *thread,
                       const struct xfw_op *op);
/* play_copies.c */
void xfa_play_copy(struct xfa_play_script *script, struct xfa_play_thread *thread,
                   const struct xfw_op *op, const struct xfw_op *recorded);

/* play_held.c. False: it is none of these, or was taken out. */
bool xfa_play_memory_call(struct xfa_play_script *script, struct xfa_play_thread *thread,
                          const struct xfw_op *op, const struct xfw_op *recorded);
/* Such a call that a change has taken out; what is left of its time is no call's. */
bool xfa_play_gone(const struct xfw_op *op, const struct xfw_op *recorded);

/* play_steps.c: the streams that are to wait are made to, and the op becomes steps. */
void xfa_play_keep_orders(struct xfa_play_script *script, struct xfa_play_thread *thread,
                          const struct xfw_op *op);
void xfa_play_add(struct xfa_play_script *script, struct xfa_play_thread *thread,
                  const struct xfw_op *op, const struct xfw_op *recorded);

#endif
