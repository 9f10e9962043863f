/* The functions of empty_nccl.c that calls.c calls. */
#ifndef XFERSCOPE_BENCH_EMPTY_NCCL_H
#define XFERSCOPE_BENCH_EMPTY_NCCL_H

#include <stddef.h>

struct empty_nccl_id {
    char bytes[128];
};

int ncclCommInitRank(void **comm, int ranks, struct empty_nccl_id id, int rank);
int ncclAllReduce(const void *sent, void *received, size_t count, int type, int op, void *comm,
                  void *stream);
int ncclSend(const void *sent, size_t count, int type, int peer, void *comm, void *stream);
int ncclRecv(void *received, size_t count, int type, int peer, void *comm, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);

/* What it launches from now on, in place of a kernel of NCCL's; NULL: nothing. */
void empty_nccl_launches(void (*one)(void));

#endif
