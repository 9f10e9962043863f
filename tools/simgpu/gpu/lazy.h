/*
 * What is left to be done: operations that stay in the queue (queue.h), and with
 * XFERSCOPE_SIMGPU_LAZY=1 what operations owe.
 *
 * In this mode work is done only when something waits for it. An operation has its start and its
 * end as soon as what is before it has (queue.h), in this mode too: both modes give the same times.
 * What it does to memory is owed until the host waits for it, for something that has to follow it,
 * or asks for either when its time has come. Where that says how long it takes (a kernel with a
 * host twin, a function of the host), the operation stays in the queue until then, and with it what
 * has to follow.
 *
 * Outside this mode nothing is ever owed, and these functions do nothing.
 */
#ifndef SIM_LAZY_H
#define SIM_LAZY_H

#include "tools/simgpu/gpu/op.h"

/* Operations in the order in which they are to be done. */
struct sim_ops {
    struct sim_op *first, *last;
};

/* A kept copy at the list's end: false when there is no memory for it. What pageable memory an
 * asynchronous call is to upload from has been read then. */
bool sim_ops_add(struct sim_ops *ops, const struct sim_op *op);
/* Out of the list, and away. */
void sim_ops_remove(struct sim_ops *ops, struct sim_op *op);

/* What has to wait for the host or for other streams stands here. */
extern struct sim_ops sim_queue;

/* What is waited for: one of the three, all else NULL; nothing: all there is. */
struct sim_awaited {
    struct sim_stream *stream;
    struct sim_context *context;
    struct sim_mark *mark;
};

/* Does an operation's effect now, or owes it. */
void sim_effect(struct sim_op *op);
/* Does it run code of the program: a function of the host, a kernel with a host twin? */
bool sim_runs_program(const struct sim_op *op);
/* Is it to stay in the queue until something waits for it? */
bool sim_stays_for_demand(const struct sim_op *op);
/* All that it has to follow is done, and its effects are no longer owed until sim_done_now(). */
void sim_do_now(const struct sim_op *op);
void sim_done_now(void);

/* Marks what has to be done for it, in the queue and of what is owed (op->wanted). */
void sim_look_for(struct sim_awaited what);
/* The host waits: what is in the queue may go on, and what is owed is done. */
void sim_demand(struct sim_awaited what);
void sim_settle(struct sim_awaited what);
/* Memory goes: no effect may come later. */
void sim_settle_all(void);

#endif
