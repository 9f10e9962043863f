/*
 * Calls of NCCL with their kernels, matched across the ranks of a communicator: the n-th collective
 * of one rank with the n-th of all others, the n-th send of two ranks with the n-th receive. A
 * process may have several ranks. What belongs together is a meeting: its kernels wait for each
 * other on the devices (whatif/together/kernel_links.h).
 *
 * Only where all sides recorded equally many calls, in a known order, and the kernels' times came.
 * At most XFA_MAX_NCCL_CALLS of the run are kept; of more a random part, all sides of a meeting or
 * none. Private to sums/ but for what is matched.
 */
#ifndef XFA_NCCL_CALLS_H
#define XFA_NCCL_CALLS_H

#include "analyzer/sums/communicators.h"
#include "analyzer/sums/kept_calls.h"

#define XFA_MAX_NCCL_CALLS (1u << 19)
#define XFA_MAX_NCCL_KERNELS (1u << 20) /* of a process, whose times are looked for */
#define XFA_NO_MESSAGE_ROW UINT32_MAX

struct xfa_nccl_call {
    struct xfa_channel_place at;
    uint32_t correlation;
    uint32_t root;             /* of a collective that has one; else XFT_RANK_NONE */
    uint64_t begin_ns, end_ns; /* of its kernel, by the process's clock; 0: not known */
    uint64_t bytes;            /* of all calls that have this kernel, */
    uint32_t row;              /* if these are of one row of messages; else XFA_NO_MESSAGE_ROW */
    uint32_t calls;            /* that have this kernel; 0: not known */
    uint32_t own_row;          /* of this call, */
    uint64_t own_bytes;        /* and its bytes */
};

struct xfa_nccl_calls {          /* zero to begin with */
    struct xfa_kept_calls kept;  /* struct xfa_nccl_call; most 0: XFA_MAX_NCCL_CALLS (a test sets
                                    less) */
    bool beyond;                 /* a process had more kernels than are looked for */
    struct xfa_process *process; /* at hand */
    struct xfa_table channels, kernels; /* of it; nccl_calls.c */
};

/* Before the first process; again after an xfa_nccl_free(). */
void xfa_nccl_init(struct xfa_nccl_calls *calls);

/* One process after the other: it begins, its calls that succeeded in a communicator that other
 * processes know by the same id, and kernels, in the order of time, it ends. */
void xfa_nccl_begin(struct xfa_nccl_calls *calls, struct xfa_process *process);
void xfa_nccl_call(struct xfa_nccl_calls *calls, const struct xfa_event *event,
                   const struct xfa_known_communicator *communicator, uint32_t row);
/* Of a kernel, as above. */
struct xfa_nccl_kernel {
    bool announced; /* it is known to be of a call that comes later */
    uint32_t row, calls;
    uint64_t bytes;
};
void xfa_nccl_kernel(struct xfa_nccl_calls *calls, const struct xfa_event *event,
                     const struct xfa_nccl_kernel *of);
void xfa_nccl_end(struct xfa_nccl_calls *calls);
void xfa_nccl_free(struct xfa_nccl_calls *calls);

/* Once, when all processes have ended, before the next. */
void xfa_nccl_sort(struct xfa_nccl_calls *calls);

/* Each meeting: a send and its receive, or a collective of all ranks, by rank. other: calls that
 * belong to none; NULL: nobody asks. */
typedef void xfa_nccl_fn(void *self, const struct xfa_nccl_call *all, size_t count);
void xfa_nccl_each(const struct xfa_nccl_calls *calls, xfa_nccl_fn *meeting, xfa_nccl_fn *other,
                   void *self);

#endif
