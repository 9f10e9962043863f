#include "probe/net/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "probe/measure/budget.h"

/* A rank's part. Rank 0 is the root. */
struct part {
    struct xfp_net_run *run;
    float *src, *dst;
    int *parts; /* of each rank, for functions that take as many counts */
    bool block; /* the function that takes one */
};

static int reduce_scatter(const struct part *p, int part)
{
    if (p->block)
        return MPI_Reduce_scatter_block(p->src, p->dst, part, MPI_FLOAT, MPI_SUM, p->run->data);
    for (int i = 0; i < p->run->count; i++)
        p->parts[i] = part;
    return MPI_Reduce_scatter(p->src, p->dst, p->parts, MPI_FLOAT, MPI_SUM, p->run->data);
}

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
        return reduce_scatter(p, part);
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

static const enum xft_message operations[] = {
    XFT_MESSAGE_BARRIER,   XFT_MESSAGE_BCAST,          XFT_MESSAGE_REDUCE,  XFT_MESSAGE_ALLREDUCE,
    XFT_MESSAGE_ALLGATHER, XFT_MESSAGE_REDUCE_SCATTER, XFT_MESSAGE_ALLTOALL};
static const enum xft_message reduce_scatters[] = {XFT_MESSAGE_REDUCE_SCATTER};
enum { OPERATIONS = sizeof(operations) / sizeof(*operations) };

/* What the second way takes of the time, if both are measured. */
#define BLOCK_PART (1.0 / (OPERATIONS + 1))

static bool measure(struct part *p, const struct xfp_net_library *usual,
                    const struct xfp_net_library *block)
{
    bool has_usual = xfp_net_choose_collectives(p->run, usual, operations, OPERATIONS);
    bool has_block = xfp_net_choose_collectives(p->run, block, reduce_scatters, 1);
    double part = !has_usual ? 1 : has_block ? BLOCK_PART : 0;

    if (!xfp_net_measure_collectives(p->run, usual, operations, OPERATIONS, 1 - part))
        return false;
    p->block = true;
    return xfp_net_measure_collectives(p->run, block, reduce_scatters, 1, part);
}

static bool measure_all(struct part *p, const struct xfp_net_library *usual,
                        const struct xfp_net_library *block)
{
    struct xfp_net_run *run = p->run;
    size_t most = run->session.sys.most_bytes;
    bool right;

    p->src = malloc(most + sizeof(float));
    p->parts = calloc((size_t)run->count, sizeof(*p->parts));
    right = xfp_net_all_say(run, p->src && p->parts);
    if (!right && !run->rank)
        xfp_warn(&run->session.sys, "MPI's collectives: not measured: out of memory");
    if (p->src)
        xfp_net_fill(p->src, most / sizeof(float), run->rank);
    right = right && measure(p, usual, block);
    free(p->src);
    free(p->parts);
    return right;
}

int xfp_net_measure_mpi(struct xfp_net_run *run)
{
    struct part p = {.run = run, .dst = (float *)(void *)run->session.sys.check};
    const struct xfp_net_library usual = {"MPI", "mpi", "", &p, timed, is_right};
    const struct xfp_net_library block = {"MPI", "mpi", "-block", &p, timed, is_right};

    if (!xfp_net_choose_collectives(run, &usual, operations, OPERATIONS) &&
        !xfp_net_choose_collectives(run, &block, reduce_scatters, 1))
        return 0;
    return measure_all(&p, &usual, &block) ? 0 : -1;
}
