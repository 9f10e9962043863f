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

/* Appends a copy of the operation; false: out of memory. Pageable memory that an asynchronous call
 * uploads from has been read when this returns. */
bool sim_ops_add(struct sim_ops *ops, const struct sim_op *op);
/* Takes the operation out of the list and frees it. A stream that was destroyed goes with its last
 * operation. */
void sim_ops_remove(struct sim_ops *ops, struct sim_op *op);

/* Operations that wait for the host or for other streams. */
extern struct sim_ops sim_queue;

/* What is waited for: one of the three; all NULL: everything. */
struct sim_awaited {
    struct sim_stream *stream;
    struct sim_context *context;
    struct sim_mark *mark;
};

/* Does what the operation does to memory, or owes it. */
void sim_effect(struct sim_op *op);
/* The operation runs code of the program: a function of the host, or a kernel with a host twin. */
bool sim_runs_program(const struct sim_op *op);
/* The operation stays in the queue until something waits for it. */
bool sim_stays_for_demand(const struct sim_op *op);
/* Does all that the operation has to follow. From here to sim_done_now() nothing is owed. */
void sim_do_now(const struct sim_op *op);
void sim_done_now(void);

/* Sets op->wanted of all operations that have to be done for it: in the queue, and of those whose
 * effect is owed. */
void sim_look_for(struct sim_awaited what);
/* The host waits. sim_demand(): its operations need not stay in the queue any more. sim_do_owed():
 * does what they owe. */
void sim_demand(struct sim_awaited what);
void sim_do_owed(struct sim_awaited what);
/* Does everything that is owed. Before memory is freed. */
void sim_do_all_owed(void);

#endif
