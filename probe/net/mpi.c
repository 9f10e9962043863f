#include "probe/net/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "probe/measure/budget.h"

/* A rank's part. Rank 0 is the root. */
struct part {
    struct xfp_net_run *run;
    float *src, *dst;
};

static int call(const struct part *p, enum xft_message what, size_t bytes)
{
    MPI_Comm comm = p->run->data;
    int count = (int)(bytes / sizeof(float)), part = count / p->run->count;

    switch ((unsigned)what) {
    case XFT_MESSAGE_BARRIER:
        return MPI_Barrier(comm);
    case XFT_MESSAGE_BCAST:
        return MPI_Bcast(p->run->rank ? p->dst : p->src, count, MPI_FLOAT, 0, comm);
    case XFT_MESSAGE_REDUCE:
        return MPI_Reduce(p->src, p->dst, count, MPI_FLOAT, MPI_SUM, 0, comm);
    case XFT_MESSAGE_ALLREDUCE:
        return MPI_Allreduce(p->src, p->dst, count, MPI_FLOAT, MPI_SUM, comm);
    case XFT_MESSAGE_ALLGATHER:
        return MPI_Allgather(p->src, part, MPI_FLOAT, p->dst, part, MPI_FLOAT, comm);
    case XFT_MESSAGE_REDUCE_SCATTER:
        return MPI_Reduce_scatter_block(p->src, p->dst, part, MPI_FLOAT, MPI_SUM, comm);
    default:
        return MPI_Alltoall(p->src, part, MPI_FLOAT, p->dst, part, MPI_FLOAT, comm);
    }
}

static void run_once(const struct part *p, enum xft_message what, size_t bytes)
{
    xfp_net_mpi(p->run, call(p, what, bytes), "measuring a collective");
}

static bool is_right(void *self, enum xft_message what, size_t bytes)
{
    struct part *p = self;

    memset(p->dst, 0xff, bytes); /* no number */
    run_once(p, what, bytes);
    return what == XFT_MESSAGE_BARRIER || xfp_net_is_result(p->run, what, bytes, p->dst);
}

/* As in the OSU benchmarks each call is timed by itself, behind a barrier: else roots and leaves
 * would go on to the next one while others are still in this one. */
static double timed(void *self, enum xft_message what, size_t bytes, int repeats)
{
    struct part *p = self;
    uint64_t sum_ns = 0;

    for (int i = 0; i < repeats; i++) {
        uint64_t before;

        xfp_net_mpi(p->run, MPI_Barrier(p->run->data), "starting a collective");
        before = xfp_wall_ns();
        run_once(p, what, bytes);
        sum_ns += xfp_wall_ns() - before;
    }
    return (double)sum_ns / repeats;
}

static int measure(struct xfp_net_run *run, const enum xft_message *operations, size_t count)
{
    size_t most = run->session.sys.most_bytes;
    struct part p = {.run = run,
                     .src = malloc(most + sizeof(float)),
                     .dst = (float *)(void *)run->session.sys.check};
    const struct xfp_net_library mpi = {"MPI", "mpi", &p, timed, is_right};
    bool right = xfp_net_all_say(run, p.src != NULL);

    if (!right && !run->rank)
        xfp_warn(&run->session.sys, "MPI's collectives: not measured: out of memory");
    if (p.src)
        xfp_net_fill(p.src, most / sizeof(float), run->rank);
    right = right && xfp_net_measure_collectives(run, &mpi, operations, count);
    free(p.src);
    return right ? 0 : -1;
}

int xfp_net_measure_mpi(struct xfp_net_run *run)
{
    static const enum xft_message operations[] = {XFT_MESSAGE_BARRIER,   XFT_MESSAGE_BCAST,
                                                  XFT_MESSAGE_REDUCE,    XFT_MESSAGE_ALLREDUCE,
                                                  XFT_MESSAGE_ALLGATHER, XFT_MESSAGE_REDUCE_SCATTER,
                                                  XFT_MESSAGE_ALLTOALL};
    const size_t count = sizeof(operations) / sizeof(*operations);

    return xfp_net_choose_collectives(run, "mpi", operations, count)
               ? measure(run, operations, count)
               : 0;
}
