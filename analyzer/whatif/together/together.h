/*
 * The ranks of a run played together: their ops in an order in which what one waits for comes
 * before. Each process goes on until a call waits for a part of a message that another process has
 * not begun; then another one's turn comes. A kernel of NCCL that waits for other ranks' kernels
 * (kernel_links.h) begins in its turn, and is open until an op comes that is behind it in its
 * stream, or waits for its device: that one's turn comes when those kernels have begun, too, in
 * other processes or in this one. The order is that of the recorded calls: it is the same
 * for all ways of the run, whose times differ. Private to whatif/.
 *
 * Calls of CUDA that MPI makes within a call of its own, once the other side had begun, come as
 * long behind that as they did.
 *
 * If all wait, since the record of clocks or threads contradicts itself, or since threads of one
 * process wait for each other's kernels, the call that was the first to be recorded is played by
 * itself, as long as it took; so is the kernel that it waits for.
 *
 * Ranks end together (MPI_Finalize): where a process was still there when the last one of all made
 * its last call, what it did until then behind its own last call was to wait, and only what comes
 * behind stays.
 */
#ifndef XFW_TOGETHER_H
#define XFW_TOGETHER_H

#include "analyzer/whatif/together/kernel_links.h"
#include "analyzer/whatif/ops/op_store.h"

/* Is a run to be played so: has it messages that were matched, or kernels of NCCL, and no more
 * processes? Of an analysis that is finished; for others too. */
bool xfw_together_is_asked(const struct xfa_analysis *analysis);

struct xfw_together;
/* NULL: the run has no processes with messages that were matched, or too many. */
struct xfw_together *xfw_together_new(const struct xfa_analysis *analysis);
void xfw_together_free(struct xfw_together *together); /* NULL is allowed */

/* When the process began, on the clock that all have in common, after the first one. */
double xfw_together_begun_ns(const struct xfw_together *together, uint32_t process);

/* Whose turn it is; a batch of its ops, at most XFW_BATCH, which may be changed; messages have
 * their slots. begins: the slot is another message's from now on. */
struct xfw_rank_turns {
    void (*turn)(void *self, size_t process);
    void (*batch)(void *self, struct xfw_op *ops, size_t count);
    void *self;
};

/* All ops of the run. keep: each message keeps its slot, for who plays the processes one by one
 * afterwards. */
void xfw_together_play(struct xfw_together *together, const struct xfw_op_store *store, bool keep,
                       const struct xfw_rank_turns *turns);

/* After that, with keep: an op of the process as it was played there, with those that come before
 * and behind it. Returns how many they are. */
#define XFW_MOST_AGAIN (2 + XFW_MOST_MEETINGS)
size_t xfw_together_again(struct xfw_together *together, uint32_t process, const struct xfw_op *op,
                          struct xfw_op all[XFW_MOST_AGAIN]);

/* After that: it has messages that were matched. */
bool xfw_together_has(const struct xfw_together *together, uint32_t process);

/* After that: what of one process comes behind its last call, from when the last call of all was
 * over; less than 0: it does not end with the others. */
double xfw_together_rest_ns(const struct xfw_together *together, const struct xfw_op_store *store,
                            uint32_t process);

/* What was played together, and what was not; processes 0: they were not. */
struct xfw_ranks {
    size_t processes;
    uint64_t messages; /* and collectives, that one waits for and another begins */
    uint64_t meetings; /* the same of NCCL's kernels */
    uint64_t apart;    /* calls and kernels that belong to these, and were played by themselves */
    uint64_t unmet;    /* calls of NCCL that were not matched: their kernels take what they took */
};
struct xfw_ranks xfw_together_ranks(const struct xfw_together *together);

#endif
