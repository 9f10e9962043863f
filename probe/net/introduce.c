#include "probe/net/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/machine/machine_host.h"
#include "probe/net/direct.h"
#include "probe/net/ucx.h"

/* Never changes: ranks of other versions read it. */
struct version {
    char text[128];
};

static int disagree(const struct xfp_net_run *run, const struct version *all, int rank)
{
    if (!run->rank)
        xfp_net_say("rank %d has %s, rank 0 has %s: install the same on all hosts", rank,
                    all[rank].text, all[0].text);
    return XFP_PROBE_FAILED;
}

/* Before anything else is exchanged. */
static int compare_versions(struct xfp_net_run *run)
{
    struct version own = {{0}}, *all = calloc((size_t)run->count, sizeof(*all));
    int status = 0;

    snprintf(own.text, sizeof(own.text), "xferscope %.100s", run->version);
    if (!all)
        xfp_net_give_up(run, "out of memory");
    xfp_net_mpi(
        run, MPI_Allgather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, MPI_COMM_WORLD),
        "comparing versions");
    for (int i = 1; i < run->count && !status; i++) {
        all[i].text[sizeof(own.text) - 1] = '\0';
        if (strcmp(all[i].text, all[0].text))
            status = disagree(run, all, i);
    }
    free(all);
    return status;
}

/* "Open MPI v4.1.4": up to the first comma or line end. */
static void mpi_version(char *text, size_t bytes)
{
    char all[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    if (MPI_Get_library_version(all, &length))
        all[0] = '\0';
    snprintf(text, bytes, "%.*s", (int)strcspn(all, ",\n"), all);
}

static int open_session(struct xfp_net_run *run, struct xfp_net_hello *own)
{
    struct xfp_session *s = &run->session;
    const struct xfp_machine *m;

    if (xfp_session_open_any(s, &run->command->options))
        xfp_net_give_up(run, s->sys.error);
    m = &s->profile->machine;
    own->gpu = -1;
    own->simulated = m->simulated;
    own->driver_version = m->driver_version;
    snprintf(own->hostname, sizeof(own->hostname), "%.127s", m->hostname);
    snprintf(own->machine_id, sizeof(own->machine_id), "%.23s", m->machine_id);
    for (int i = 0; i < s->sys.numa_count && i < XFP_NET_MOST_NODES; i++)
        own->nodes.all[own->nodes.count++] = s->sys.numa_nodes[i];
    if (own->nodes.count < 2)
        own->nodes = (struct xfp_net_nodes){.count = 1, .all = {-1}};
    if (!s->sys.device_count)
        snprintf(own->no_gpu, sizeof(own->no_gpu), "%.199s", s->sys.error);
    return 0;
}

/* Hosts by name; of machines that are named alike, the id tells. */
static bool same_host(const struct xfp_net_hello *a, const struct xfp_net_hello *b)
{
    return !strcmp(a->hostname, b->hostname) && !strcmp(a->machine_id, b->machine_id);
}

static void exchange(struct xfp_net_run *run, const struct xfp_net_hello *own)
{
    xfp_net_mpi(run,
                MPI_Allgather(own, sizeof(*own), MPI_BYTE, run->hellos, sizeof(*own), MPI_BYTE,
                              MPI_COMM_WORLD),
                "introducing the ranks");
}

/* The user's choice, or one GPU for each rank of a host in turn. */
static void choose_gpu(struct xfp_net_run *run, struct xfp_net_hello *own)
{
    struct xfp_session *s = &run->session;
    int before = 0, wanted = run->command->options.device;
    const struct xfp_gpu *gpu;

    for (int i = 0; i < run->rank; i++)
        before += same_host(&run->hellos[i], own);
    if (!s->sys.device_count)
        return;
    if (wanted >= (int)s->sys.device_count) {
        snprintf(own->no_gpu, sizeof(own->no_gpu), "--device %d: there are %zu GPUs", wanted,
                 s->sys.device_count);
        return;
    }
    own->gpu = wanted >= 0 ? wanted : before % (int)s->sys.device_count;
    run->device = &s->sys.devices[own->gpu];
    gpu = &s->profile->machine.gpus[own->gpu];
    snprintf(own->gpu_name, sizeof(own->gpu_name), "%.95s", gpu->name);
    snprintf(own->gpu_uuid, sizeof(own->gpu_uuid), "%.63s", gpu->uuid);
    own->direct = xfp_net_try_device(own->gpu);
}

static void number_hosts(struct xfp_net_run *run)
{
    for (int i = 0; i < run->count; i++) {
        int first = 0;

        while (!same_host(&run->hellos[first], &run->hellos[i]))
            first++;
        run->hellos[i].host = first;
    }
}

static int fill_interfaces(const struct xfp_net_hello *hello, struct xfp_net_rank *rank)
{
    rank->interfaces = calloc((size_t)hello->port_count + 1, sizeof(*rank->interfaces));
    for (int i = 0; rank->interfaces && i < hello->port_count; i++) {
        const struct xfp_net_port *port = &hello->ports[i];
        struct xfp_net_interface *f = &rank->interfaces[rank->interface_count++];

        *f = (struct xfp_net_interface){.name = xfp_clean_text(port->name),
                                        .driver = xfp_clean_text(port->driver),
                                        .mbps = port->mbps,
                                        .mtu = port->mtu};
    }
    return rank->interfaces ? 0 : -1;
}

static int fill_ranks(struct xfp_net_run *run)
{
    struct xfp_network *n = xfp_net_of(run->session.profile);

    if (!n)
        return -1;
    n->mpi = xfp_clean_text(run->hellos[0].mpi);
    n->ucx = xfp_clean_text(run->hellos[0].ucx);
    n->ranks = calloc((size_t)run->count, sizeof(*n->ranks));
    for (int i = 0; n->ranks && i < run->count; i++) {
        const struct xfp_net_hello *h = &run->hellos[i];
        struct xfp_net_rank *rank = &n->ranks[n->rank_count++];

        *rank = (struct xfp_net_rank){.hostname = xfp_clean_text(h->hostname),
                                      .machine_id = xfp_clean_text(h->machine_id),
                                      .gpu = h->gpu,
                                      .gpu_name = xfp_clean_text(h->gpu_name),
                                      .gpu_uuid = xfp_clean_text(h->gpu_uuid),
                                      .driver_version = h->driver_version,
                                      .simulated = h->simulated,
                                      .direct = (enum xfp_net_direct)h->direct};
        if (fill_interfaces(h, rank))
            return -1;
    }
    return n->ranks && n->mpi && n->ucx ? 0 : -1;
}

/* What makes figures doubtful, or absent. */
static void warn(struct xfp_net_run *run)
{
    char who[XFP_NET_WHO_BYTES];

    for (int i = 0; i < run->count; i++) {
        const struct xfp_net_hello *h = &run->hellos[i];

        xfp_net_who(run, i, who);
        if (*h->no_gpu)
            xfp_warn(&run->session.sys, "%s: no copies between GPUs: %s", who, h->no_gpu);
        if (h->gpu >= 0 && h->direct != XFP_NET_TAKEN)
            xfp_warn(&run->session.sys, "%s: MPI does not take device memory (%s)", who,
                     xfp_net_direct_word((enum xfp_net_direct)h->direct));
        if (strcmp(h->mpi, run->hellos[0].mpi))
            xfp_warn(&run->session.sys, "%s runs %s, rank 0 %s", who, h->mpi, run->hellos[0].mpi);
    }
}

int xfp_net_introduce(struct xfp_net_run *run)
{
    struct xfp_net_hello own = {.gpu = -1};
    int status;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* duplicates have it, too */
    status = compare_versions(run);
    if (status)
        return status;
    if (run->count < 2) {
        xfp_net_say("--net needs two ranks: mpirun -n 2 --host a,b xferscope probe --net");
        return XFP_PROBE_USAGE;
    }
    run->hellos = calloc((size_t)run->count, sizeof(*run->hellos));
    if (!run->hellos)
        xfp_net_give_up(run, "out of memory");
    xfp_net_mpi(run, MPI_Comm_dup(MPI_COMM_WORLD, &run->orders), "beginning");
    xfp_net_mpi(run, MPI_Comm_dup(MPI_COMM_WORLD, &run->data), "beginning");
    xfp_net_mpi(run, MPI_Comm_dup(MPI_COMM_WORLD, &run->results), "beginning");
    open_session(run, &own);
    mpi_version(own.mpi, sizeof(own.mpi));
    xfp_net_ucx_version(own.ucx, sizeof(own.ucx));
    own.port_count = (int)xfp_net_read_ports(own.ports);
    exchange(run, &own);
    choose_gpu(run, &own);
    exchange(run, &own);
    number_hosts(run);
    if (!run->rank && fill_ranks(run))
        xfp_net_give_up(run, "out of memory");
    if (!run->rank)
        warn(run);
    return 0;
}
