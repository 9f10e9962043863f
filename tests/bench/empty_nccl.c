/*
 * An NCCL that does nothing, so that what a recorded call costs is counted without what NCCL does;
 * or it launches a kernel where NCCL does: in the call, or in the last ncclGroupEnd.
 */
#include "tests/bench/empty_nccl.h"

#include <stddef.h>

#define SHOWN __attribute__((visibility("default")))

static char communicator[64];
static int depth, waiting;
static void (*launch)(void);

SHOWN int ncclCommCount(const void *comm, int *count);
SHOWN int ncclCommUserRank(const void *comm, int *rank);

SHOWN void empty_nccl_launches(void (*one)(void))
{
    launch = one;
}

static int submitted(void)
{
    if (depth > 0)
        waiting = 1;
    else if (launch)
        launch();
    return 0;
}

SHOWN int ncclCommInitRank(void **comm, int ranks, struct empty_nccl_id id, int rank)
{
    *comm = communicator;
    return 0;
}

int ncclCommCount(const void *comm, int *count)
{
    *count = 2;
    return 0;
}

int ncclCommUserRank(const void *comm, int *rank)
{
    *rank = 0;
    return 0;
}

SHOWN int ncclAllReduce(const void *sent, void *received, size_t count, int type, int op,
                        void *comm, void *stream)
{
    return submitted();
}

SHOWN int ncclSend(const void *sent, size_t count, int type, int peer, void *comm, void *stream)
{
    return submitted();
}

SHOWN int ncclRecv(void *received, size_t count, int type, int peer, void *comm, void *stream)
{
    return submitted();
}

SHOWN int ncclGroupStart(void)
{
    depth++;
    return 0;
}

SHOWN int ncclGroupEnd(void)
{
    if (--depth == 0 && waiting && launch)
        launch();
    waiting = waiting && depth > 0;
    return 0;
}
