/* A recorded run made of steps, in ops: of threads that take turns, each a copy, a kernel,
 * something else of the host, and a wait for both. */
#ifndef TAPE_H
#define TAPE_H

#include "tests/analyzer/lab/hand_ops.h"

enum { TAPE_THREADS = 3, TAPE_STEP = 4 /* ops */ };

struct tape {
    struct xfw_op *ops; /* room for all that are added */
    size_t count;
    double end[TAPE_THREADS]; /* as recorded, by thread */
};

/* By chance, 0 to 1; the state goes on. */
double tape_chance(uint64_t *state);

/* The next op of the thread; good until it is freed. */
struct xfw_op *tape_add(struct tape *tape, enum xfw_what what, enum xft_event_kind kind,
                        uint32_t thread, double gap_ns, double own_ns);

/* slack_ns: from when the step begins to when the wait returns, beyond copy and kernel. */
struct tape_step {
    double copy_ns, kernel_ns, gap_ns, slack_ns;
};
void tape_add_step(struct tape *tape, uint32_t thread, const struct tape_step *step);

/* Copies take half of their time. */
extern struct xfw_change tape_halved;

#endif
