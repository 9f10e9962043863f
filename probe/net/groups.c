#include "probe/net/groups.h"

#include <stdlib.h>

#include "probe/net/collect.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

static int ranks_on(const int *hosts, int count, int host)
{
    int ranks = 0;

    for (int i = 0; i < count; i++)
        ranks += hosts[i] == host;
    return ranks;
}

static int count_hosts(const int *hosts, int count)
{
    int all = 0;

    for (int i = 0; i < count; i++)
        all += hosts[i] == i;
    return all;
}

/* On each host at least. */
static int fewest_ranks(const int *hosts, int count)
{
    int fewest = count;

    for (int i = 0; i < count; i++)
        if (hosts[i] == i && ranks_on(hosts, count, i) < fewest)
            fewest = ranks_on(hosts, count, i);
    return fewest;
}

struct list {
    struct xfp_net_shape_of_ranks *shapes;
    size_t count;
    int hosts, each, ranks; /* of all */
};

static void add(struct list *list, int hosts, int each)
{
    if (hosts < 1 || each < 1 || hosts > list->hosts || each > list->each || hosts * each < 2 ||
        hosts * each == list->ranks || list->count == XFP_NET_MOST_SHAPES)
        return;
    for (size_t i = 0; i < list->count; i++)
        if (list->shapes[i].hosts == hosts && list->shapes[i].each == each)
            return;
    list->shapes[list->count++] = (struct xfp_net_shape_of_ranks){hosts, each};
}

size_t xfp_net_list_shapes(const int *hosts, int count,
                           struct xfp_net_shape_of_ranks shapes[XFP_NET_MOST_SHAPES])
{
    struct list list = {.shapes = shapes,
                        .hosts = count_hosts(hosts, count),
                        .each = fewest_ranks(hosts, count),
                        .ranks = count};

    add(&list, 1, list.each);
    add(&list, list.hosts, 1);
    add(&list, 1, 2);
    add(&list, 2, 1);
    add(&list, 1, list.each / 2);
    add(&list, list.hosts, list.each / 2);
    add(&list, list.hosts / 2, list.each);
    for (int n = 2; n <= list.each; n *= 2)
        add(&list, 1, n);
    for (int n = 2; n <= list.hosts; n *= 2)
        add(&list, n, 1);
    for (int n = 2; n <= list.hosts; n *= 2)
        for (int each = 2; each <= list.each; each *= 2)
            add(&list, n, each);
    return list.count;
}

int xfp_net_group_number(const int *hosts, int count, struct xfp_net_shape_of_ranks shape, int rank)
{
    int place = 0, number = 0;

    for (int i = 0; i < rank; i++)
        place += hosts[i] == hosts[rank]; /* among those of its host */
    for (int i = 0; i < hosts[rank]; i++)
        number += hosts[i] == i && ranks_on(hosts, count, i) >= shape.each;
    if (place >= shape.each || ranks_on(hosts, count, hosts[rank]) < shape.each)
        return -1;
    return shape.hosts == 1 ? number : number < shape.hosts ? 0 : -1;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int *hosts_of(struct xfp_net_run *run)
{
    int *hosts = calloc((size_t)run->count, sizeof(*hosts));

    if (!hosts)
        xfp_net_give_up(run, "out of memory");
    for (int i = 0; i < run->count; i++)
        hosts[i] = run->hellos[i].host;
    return hosts;
}

struct xfp_net_group xfp_net_all_ranks(struct xfp_net_run *run)
{
    int *hosts = hosts_of(run), all = count_hosts(hosts, run->count);

    free(hosts);
    return (struct xfp_net_group){.run = run,
                                  .rank = run->rank,
                                  .count = run->count,
                                  .hosts = all,
                                  .data = run->data,
                                  .results = run->results};
}

static MPI_Comm split(struct xfp_net_run *run, int number)
{
    MPI_Comm part = MPI_COMM_NULL;

    xfp_net_mpi(run,
                MPI_Comm_split(run->results, number < 0 ? MPI_UNDEFINED : number, run->rank, &part),
                "choosing ranks");
    if (part != MPI_COMM_NULL)
        MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
    return part;
}

bool xfp_net_open_group(struct xfp_net_run *run, struct xfp_net_shape_of_ranks shape,
                        struct xfp_net_group *group)
{
    int *hosts = hosts_of(run);
    int number = xfp_net_group_number(hosts, run->count, shape, run->rank);

    free(hosts);
    *group = (struct xfp_net_group){.run = run, .hosts = shape.hosts, .is_part = true};
    group->data = split(run, number);
    group->results = split(run, number < 0 ? number : 0);
    if (number < 0)
        return false;
    MPI_Comm_rank(group->data, &group->rank);
    MPI_Comm_size(group->data, &group->count);
    return true;
}

bool xfp_net_close_group(struct xfp_net_group *group, bool right)
{
    int own = right, all = 0;

    xfp_net_sleep_until_all(group->run);
    if (group->data != MPI_COMM_NULL)
        MPI_Comm_free(&group->data);
    if (group->results != MPI_COMM_NULL)
        MPI_Comm_free(&group->results);
    xfp_net_mpi(group->run, MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, group->run->results),
                "agreeing");
    return all;
}
