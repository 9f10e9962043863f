/*
 * Work that is done only when something waits for it (XFERSCOPE_SIMGPU_LAZY=1).
 *
 * An operation has its start and its end as soon as what is before it has (queue.h), in this mode
 * too: both modes give the same times. What it does to memory is owed until the host waits for it,
 * for something that has to follow it, or asks for either when its time has come. Where that says
 * how long it takes (a kernel with a host twin, a function of the host), the operation stays in the
 * queue until then, and with it what has to follow.
 *
 * Outside this mode nothing is ever owed, and these functions do nothing.
 */
#ifndef SIM_LAZY_H
#define SIM_LAZY_H

#include "tools/simgpu/driver/queue.h"

/* What is waited for: one of the three, all else NULL; nothing: all there is. */
struct sim_awaited {
    struct sim_stream *stream;
    struct sim_context *context;
    struct sim_mark *mark;
};

/* Does an operation's effect now, or owes it. */
void sim_effect(struct sim_op *op);
/* What is submitted: a kernel whose parameters cannot be kept is waited for at once. */
void sim_take(struct sim_op *op);
/* Is it to stay in the queue until something waits for it? */
bool sim_stays_for_demand(const struct sim_op *op);
/* All that it has to follow is done, and its effects are no longer owed until sim_done_now(). */
void sim_do_now(const struct sim_op *op);
void sim_done_now(void);

/* The host waits: what is in the queue may go on, and what is owed is done. */
void sim_demand(struct sim_awaited what);
void sim_settle(struct sim_awaited what);
/* The host asks: the queue goes on as far as the clock is. */
void sim_ask(struct sim_awaited what);
/* Memory goes: no effect may come later. */
void sim_settle_all(void);

#endif
