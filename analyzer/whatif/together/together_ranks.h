/*
 * What together*.c know of the ranks of a run that are played together: whose turn it is
 * (together.c), what of NCCL's kernels is done (together_kernels.c), and groups
 * (together_groups.c). Private to these.
 */
#ifndef XFW_TOGETHER_RANKS_H
#define XFW_TOGETHER_RANKS_H

#include "analyzer/whatif/op/sample.h"
#include "analyzer/whatif/together/kernel_links.h"
#include "analyzer/whatif/together/together.h"

struct group {
    uint32_t posted, left; /* links that have begun; that wait and have not ended */
    uint32_t slot;
    bool open; /* it has the slot */
};

/* A call of MPI that a thread is in. */
struct within {
    uint32_t thread;
    const struct xfw_link *link; /* what it waits for; NULL: it is over, or waits for nothing */
};
#define MOST_WITHIN 16

/* A kernel of NCCL that has begun, and ends behind those of other ranks. */
struct open_kernel {
    struct xfw_op op; /* made up, like its own */
    uint32_t stream;
    const struct xfw_kernel *kernel;
};
#define MOST_OPEN 32
#define MOST_PUT_OFF 64

struct rank {
    const struct xfa_process *process;
    struct xfw_op_reader *reader;
    struct xfw_op held[MOST_PUT_OFF]; /* ops that wait, in their order */
    unsigned held_count;
    uint32_t thread;                    /* of its first op */
    bool several;                       /* it has others */
    bool ended, over;                   /* ended: it has no more ops */
    struct open_kernel open[MOST_OPEN]; /* in the order of their beginning */
    unsigned open_count;
    struct within within[MOST_WITHIN]; /* by thread */
    bool linked;                       /* it has a message that was matched */
    double begun_ns;                   /* xfw_together_begun_ns() */
    double last_ns;                    /* end of its last call, by the same clock */
};

struct xfw_together {
    const struct xfa_analysis *analysis;
    struct xfw_links *links;
    struct group *groups;
    struct rank *ranks;
    size_t count;
    double first_ns; /* when the first process began */
    uint32_t *free_slots;
    size_t free_count, free_capacity;
    uint32_t slots; /* so far */
    bool keep;
    const struct xfw_rank_turns *turns;
    struct xfw_op batch[XFW_BATCH];
    size_t batch_count;
    uint64_t played, apart;
    bool *alone; /* kernels, by place: played by themselves */
};

/* ---- groups (together_groups.c) -------------------------------------------------------------- */

/* NULL: it was not matched. */
const struct xfw_link *xfw_rank_link(const struct xfw_together *t, const struct rank *rank,
                                     const struct xfw_op *op);

/* A part of the group begins with this op: sets its slot, where anybody waits for it. */
void xfw_group_begin(struct xfw_together *t, uint32_t number, uint8_t posts, struct xfw_op *op);
/* All of its parts have. */
bool xfw_group_has_begun(const struct xfw_together *t, uint32_t number);
/* One less waits for it. */
void xfw_group_note_end(struct xfw_together *t, uint32_t number);

/* The rank plays the op, with the batch that it is in; that batch. */
void xfw_rank_put(struct xfw_together *t, struct rank *rank, const struct xfw_op *op);
void xfw_rank_play_batch(struct xfw_together *t);

/* ---- kernels (together_kernels.c) ------------------------------------------------------------ */

/* A kernel begins, and is open until an op is behind it. */
void xfw_rank_put_kernel(struct xfw_together *t, struct rank *rank, struct xfw_op *op,
                         const struct xfw_kernel *kernel);
/* Those that this op is behind (NULL: all) end. False: others have still to begin. */
bool xfw_rank_end_kernels(struct xfw_together *t, struct rank *rank, const struct xfw_op *op);
/* The kernel for which its first op waits is over without the others. False: it is none. */
bool xfw_rank_let_kernel_go(struct xfw_together *t, struct rank *rank);
/* Of a kernel of which is known when it ends the ops that say so, which come before; how many. */
size_t xfw_kernel_again(const struct xfw_together *t, uint32_t process, struct xfw_op *op,
                        struct xfw_op *before);

#endif
