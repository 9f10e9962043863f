/*
 * An NCCL for tests that moves nothing, and launches kernels as NCCL does: for each communicator
 * and stream with work one, in the call itself or in the last ncclGroupEnd.
 */
#include <stdlib.h>
#include <string.h>

#include "kernel_client.h"

#define SHOWN __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID = 4, MOST = 1024 };

struct id {
    char bytes[128];
};

struct comm {
    int rank, count;
};

static const char kernel;
static _Thread_local int depth, waiting;       /* of a thread's group */
static _Thread_local xcu_stream streams[MOST]; /* of the group's work, each once */

static int launch(xcu_stream stream)
{
    static int known;
    if (!known++)
        register_kernel(&kernel, "ncclDevKernel");
    return launch_kernel(&kernel, 8, 64, stream) == 0 ? SUCCESS : INVALID;
}

static int submit(int type, xcu_stream stream)
{
    if (type < 0 || type > 11)
        return INVALID;
    if (depth == 0)
        return launch(stream);
    for (int i = 0; i < waiting; i++)
        if (streams[i] == stream)
            return SUCCESS;
    streams[waiting++] = stream;
    return SUCCESS;
}

/* name, parameters */
#define MOVE(name, ...)                                                                            \
    SHOWN int name(__VA_ARGS__, int type, struct comm *comm, xcu_stream stream);                   \
    int name(__VA_ARGS__, int type, struct comm *comm, xcu_stream stream)                          \
    {                                                                                              \
        return submit(type, stream);                                                               \
    }
#define MOVE_BY(name, what, ...)                                                                   \
    SHOWN int name(__VA_ARGS__, int type, int what, struct comm *comm, xcu_stream stream);         \
    int name(__VA_ARGS__, int type, int what, struct comm *comm, xcu_stream stream)                \
    {                                                                                              \
        return submit(type, stream);                                                               \
    }
MOVE(ncclAllGather, const void *sent, void *got, size_t count)
MOVE_BY(ncclAllReduce, op, const void *sent, void *got, size_t count)
MOVE_BY(ncclReduceScatter, op, const void *sent, void *got, size_t count)
MOVE_BY(ncclBroadcast, root, const void *sent, void *got, size_t count)
MOVE(ncclAlltoAll, const void *sent, void *got, size_t count)
MOVE_BY(ncclGather, root, const void *sent, void *got, size_t count)
MOVE_BY(ncclScatter, root, const void *sent, void *got, size_t count)
MOVE_BY(ncclSend, peer, const void *sent, size_t count)
MOVE_BY(ncclRecv, peer, void *got, size_t count)

SHOWN int ncclReduce(const void *sent, void *got, size_t count, int type, int op, int root,
                     struct comm *comm, xcu_stream stream);
int ncclReduce(const void *sent, void *got, size_t count, int type, int op, int root,
               struct comm *comm, xcu_stream stream)
{
    return submit(type, stream);
}

/* By the one above, as NCCL does it. */
SHOWN int ncclBcast(void *buffer, size_t count, int type, int root, struct comm *comm,
                    xcu_stream stream);
int ncclBcast(void *buffer, size_t count, int type, int root, struct comm *comm, xcu_stream stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

SHOWN int ncclGroupStart(void);
int ncclGroupStart(void)
{
    depth++;
    return SUCCESS;
}

SHOWN int ncclGroupEnd(void);
int ncclGroupEnd(void)
{
    int status = SUCCESS;
    if (--depth > 0)
        return SUCCESS;
    for (int i = 0; i < waiting; i++)
        status |= launch(streams[i]);
    waiting = 0;
    return status;
}

static struct comm *made(int rank, int count)
{
    struct comm *comm = malloc(sizeof *comm);
    *comm = (struct comm){rank, count};
    return comm;
}

SHOWN int ncclGetUniqueId(struct id *id);
int ncclGetUniqueId(struct id *id)
{
    memset(id, 7, sizeof *id);
    return SUCCESS;
}

SHOWN int ncclCommInitRank(struct comm **comm, int count, struct id id, int rank);
int ncclCommInitRank(struct comm **comm, int count, struct id id, int rank)
{
    *comm = made(rank, count);
    return id.bytes[127] == 7 ? SUCCESS : INVALID;
}

SHOWN int ncclCommInitAll(struct comm **comms, int count, const int *devices);
int ncclCommInitAll(struct comm **comms, int count, const int *devices)
{
    for (int i = 0; i < count; i++)
        comms[i] = made(i, count);
    return SUCCESS;
}

SHOWN int ncclCommSplit(struct comm *comm, int color, int key, struct comm **part, void *config);
int ncclCommSplit(struct comm *comm, int color, int key, struct comm **part, void *config)
{
    *part = color < 0 ? NULL : made(0, 1);
    return SUCCESS;
}

SHOWN int ncclCommCount(const struct comm *comm, int *count);
int ncclCommCount(const struct comm *comm, int *count)
{
    *count = comm->count;
    return SUCCESS;
}

SHOWN int ncclCommUserRank(const struct comm *comm, int *rank);
int ncclCommUserRank(const struct comm *comm, int *rank)
{
    *rank = comm->rank;
    return SUCCESS;
}

SHOWN int ncclCommDestroy(struct comm *comm);
int ncclCommDestroy(struct comm *comm)
{
    free(comm);
    return SUCCESS;
}
