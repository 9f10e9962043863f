#include "probe/net/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "probe/measure/budget.h"

/* A rank's part. Rank 0 of the group is the root. */
struct part {
    const struct xfp_net_group *group;
    float *src, *dst;
    int *parts; /* of each rank, for functions that take as many counts */
    bool block; /* the function that takes one */
};

static int reduce_scatter(const struct part *p, int part)
{
    if (p->block)
        return MPI_Reduce_scatter_block(p->src, p->dst, part, MPI_FLOAT, MPI_SUM, p->group->data);
    for (int i = 0; i < p->group->count; i++)
        p->parts[i] = part;
    return MPI_Reduce_scatter(p->src, p->dst, p->parts, MPI_FLOAT, MPI_SUM, p->group->data);
}

static int call(const struct part *p, enum xft_message what, size_t bytes)
{
    MPI_Comm comm = p->group->data;
    int count = (int)(bytes / sizeof(float)), part = count / p->group->count;

    switch ((unsigned)what) {
    case XFT_MESSAGE_BARRIER:
        return MPI_Barrier(comm);
    case XFT_MESSAGE_BCAST:
        return MPI_Bcast(p->group->rank ? p->dst : p->src, count, MPI_FLOAT, 0, comm);
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
    xfp_net_mpi(p->group->run, call(p, what, bytes), "measuring a collective");
}

static bool is_right(void *self, enum xft_message what, size_t bytes)
{
    struct part *p = self;

    memset(p->dst, 0xff, bytes); /* no number */
    run_once(p, what, bytes);
    return what == XFT_MESSAGE_BARRIER || xfp_net_is_result(p->group, what, bytes, p->dst);
}

/* As in the OSU benchmarks each call is timed by itself, behind a barrier: else roots and leaves
 * would go on to the next one while others are still in this one. */
static double timed(void *self, enum xft_message what, size_t bytes, int repeats)
{
    struct part *p = self;
    uint64_t sum_ns = 0;

    for (int i = 0; i < repeats; i++) {
        uint64_t before;

        xfp_net_mpi(p->group->run, MPI_Barrier(p->group->data), "starting a collective");
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
    struct xfp_net_run *run = p->group->run;
    bool has_usual = xfp_net_choose_collectives(run, usual, NULL, operations, OPERATIONS);
    bool has_block = xfp_net_choose_collectives(run, block, NULL, reduce_scatters, 1);
    double part = !has_usual ? 1 : has_block ? BLOCK_PART : 0, seconds = xfp_net_collectives_s(run);
    bool right;

    if (!xfp_net_measure_collectives(p->group, usual, operations, OPERATIONS, (1 - part) * seconds))
        return false;
    p->block = true;
    right = xfp_net_measure_collectives(p->group, block, reduce_scatters, 1, part * seconds);
    p->block = false;
    return right;
}

static void fill(struct part *p)
{
    xfp_net_fill(p->src, p->group->run->session.sys.most_bytes / sizeof(float), p->group->rank);
}

static struct xfp_net_library usual_of(struct part *p)
{
    return (struct xfp_net_library){"MPI", "mpi", "", p, timed, is_right};
}

/* Of some of the ranks, without the second way. */
static bool measure_part(void *self, const struct xfp_net_group *group, double seconds)
{
    struct part *p = self;
    const struct xfp_net_library usual = usual_of(p);

    p->group = group;
    fill(p);
    return xfp_net_measure_collectives(group, &usual, operations, OPERATIONS, seconds);
}

int xfp_net_measure_mpi(struct xfp_net_run *run)
{
    const struct xfp_net_group all = xfp_net_all_ranks(run);
    struct part p = {.group = &all, .dst = (float *)(void *)run->session.sys.check};
    const struct xfp_net_library usual = usual_of(&p);
    const struct xfp_net_library block = {"MPI", "mpi", "-block", &p, timed, is_right};
    bool right;

    if (!xfp_net_choose_collectives(run, &usual, NULL, operations, OPERATIONS) &&
        !xfp_net_choose_collectives(run, &block, NULL, reduce_scatters, 1) &&
        !xfp_net_choose_parts_of(run, &usual, operations, OPERATIONS, XFP_NET_MOST_SHAPES))
        return 0;
    p.src = malloc(run->session.sys.most_bytes + sizeof(float));
    p.parts = calloc((size_t)run->count, sizeof(*p.parts));
    right = xfp_net_all_say(&all, p.src && p.parts);
    if (!right && !run->rank)
        xfp_warn(&run->session.sys, "MPI's collectives: not measured: out of memory");
    if (p.src)
        fill(&p);
    right = right && measure(&p, &usual, &block) &&
            xfp_net_measure_parts(run, &usual, operations, OPERATIONS, XFP_NET_MOST_SHAPES,
                                  measure_part);
    free(p.src);
    free(p.parts);
    return right ? 0 : -1;
}
