/*
 * Ranks that call the recorded functions of MPI that few programs call, and say of each call what
 * it moved (messages.h): neighbors in a topology, persistent collectives, matched probes, types of
 * each rank's own, requests of windows; by an MPI of version 4 large counts and messages in parts.
 *
 * usage: messages_more DIRECTORY      by MPI's launcher, in two ranks or three
 */
#include "messages.h"

#if MPI_VERSION >= 4
#define INIT(name) MPI_##name##_init
#else /* Open MPI's extension */
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#endif

enum { PLACES = 8 };

/* ---- neighbors ------------------------------------------------------------------------------- */

/* By place in the communicator's order; -1: the place of a grid's edge. */
struct side {
    int places, ranks[PLACES];
};
struct topology {
    MPI_Comm comm;
    struct side from, to;
};

static struct topology line(int closed)
{
    struct topology of = {.from = {2, {rank - 1, rank < size - 1 ? rank + 1 : -1}}};
    if (closed)
        of.from = (struct side){2, {(rank + size - 1) % size, (rank + 1) % size}};
    of.to = of.from;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &closed, 0, &of.comm);
    return of;
}

static struct topology ring(void)
{
    int each = size == 2 ? 1 : 2, index[PLACES], edges[2 * PLACES];
    struct topology of = {.from = {each, {(rank + 1) % size, (rank + size - 1) % size}}};
    for (int i = 0; i < size; i++) {
        index[i] = each * (i + 1);
        edges[each * i] = (i + 1) % size;
        edges[each * i + each - 1] = (i + size - 1) % size;
    }
    of.from.ranks[0] = edges[each * rank];
    of.to = of.from;
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &of.comm);
    return of;
}

/* Each rank sends to all that are lower. */
static struct topology downwards(void)
{
    struct topology of = {.from = {size - 1 - rank, {rank + 1, rank + 2}}, .to = {rank, {0, 1}}};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, of.from.places, of.from.ranks, ones,
                                   of.to.places, of.to.ranks, ones, MPI_INFO_NULL, 0, &of.comm);
    return of;
}

static int neighbors(const struct side *side)
{
    int count = 0;
    for (int i = 0; i < side->places; i++)
        count += side->ranks[i] >= 0;
    return count;
}

/* What two ranks exchange: as many elements, of a type, each way. At an edge counts say nothing. */
struct parts {
    int counts[PLACES], at[PLACES];
    MPI_Aint bytes_at[PLACES];
    MPI_Datatype types[PLACES];
    long elements, bytes;
};

static struct parts parts_of(const struct side *side)
{
    struct parts parts = {.elements = 0};
    for (int i = 0; i < PLACES; i++) {
        int other = i < side->places ? side->ranks[i] : -1;
        int count = other < 0 ? 9 : rank + other + 1, even = (rank + other) % 2 == 0;
        parts.counts[i] = count;
        parts.types[i] = even ? MPI_INT : MPI_DOUBLE;
        parts.at[i] = 16 * i;
        parts.bytes_at[i] = 128 * (MPI_Aint)i;
        parts.elements += other < 0 ? 0 : count;
        parts.bytes += other < 0 ? 0 : count * (even ? 4 : 8);
    }
    return parts;
}

static void exchange_in_background(const struct topology *of, struct parts in, struct parts goes)
{
    MPI_Request requests[3];
    MPI_Ineighbor_allgather(sent, 3, MPI_DOUBLE, got, 3, MPI_DOUBLE, of->comm, &requests[0]);
    said("neighbor-all-gather", "Ineighbor_allgather", neighbors(&of->to) ? 24 : 0,
         24L * neighbors(&of->from), -1, -1, 0, world());
    MPI_Ineighbor_alltoallv(sent, goes.counts, goes.at, MPI_INT, got + 1000, in.counts, in.at,
                            MPI_INT, of->comm, &requests[1]);
    said("neighbor-all-to-all", "Ineighbor_alltoallv", 4 * goes.elements, 4 * in.elements, -1, -1,
         0, world());
    MPI_Ineighbor_alltoallw(sent, goes.counts, goes.bytes_at, goes.types, got + 2000, in.counts,
                            in.bytes_at, in.types, of->comm, &requests[2]);
    said("neighbor-all-to-all", "Ineighbor_alltoallw", goes.bytes, in.bytes, -1, -1, 0, world());
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    wait_said("Waitall", 3);
}

static void exchange_again(const struct topology *of, struct parts in, struct parts goes)
{
    MPI_Request request;
    INIT(Neighbor_alltoallw)
    (sent, goes.counts, goes.bytes_at, goes.types, got, in.counts, in.bytes_at, in.types, of->comm,
     MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        said("neighbor-all-to-all", "Start", goes.bytes, in.bytes, -1, -1, 0, world());
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wait_said("Wait", 1);
    }
    MPI_Request_free(&request);
}

static void exchange_with(struct topology of)
{
    struct parts in = parts_of(&of.from), goes = parts_of(&of.to);
    long sources = neighbors(&of.from), targets = neighbors(&of.to);
    MPI_Neighbor_allgather(sent, 3, MPI_DOUBLE, got, 3, MPI_DOUBLE, of.comm);
    said("neighbor-all-gather", "Neighbor_allgather", targets ? 24 : 0, 24 * sources, -1, -1, 0,
         world());
    MPI_Neighbor_allgatherv(sent, 1, MPI_DOUBLE, got, ones, places, MPI_DOUBLE, of.comm);
    said("neighbor-all-gather", "Neighbor_allgatherv", targets ? 8 : 0, 8 * sources, -1, -1, 0,
         world());
    MPI_Neighbor_alltoall(sent, 3, MPI_INT, got, 3, MPI_INT, of.comm);
    said("neighbor-all-to-all", "Neighbor_alltoall", 12 * targets, 12 * sources, -1, -1, 0,
         world());
    MPI_Neighbor_alltoallv(sent, goes.counts, goes.at, MPI_DOUBLE, got, in.counts, in.at,
                           MPI_DOUBLE, of.comm);
    said("neighbor-all-to-all", "Neighbor_alltoallv", 8 * goes.elements, 8 * in.elements, -1, -1, 0,
         world());
    MPI_Neighbor_alltoallw(sent, goes.counts, goes.bytes_at, goes.types, got, in.counts,
                           in.bytes_at, in.types, of.comm);
    said("neighbor-all-to-all", "Neighbor_alltoallw", goes.bytes, in.bytes, -1, -1, 0, world());
    exchange_in_background(&of, in, goes);
    exchange_again(&of, in, goes);
    MPI_Comm_free(&of.comm);
}

/* ---- all ranks ------------------------------------------------------------------------------- */

static struct side everybody(void)
{
    struct side all = {.places = size};
    for (int i = 0; i < size; i++)
        all.ranks[i] = i;
    return all;
}

static void types_of_their_own(void)
{
    struct side all = everybody();
    struct parts parts = parts_of(&all);
    int at[PLACES];
    MPI_Request request;
    for (int i = 0; i < PLACES; i++)
        at[i] = 128 * i;
    MPI_Alltoallw(sent, parts.counts, at, parts.types, got, parts.counts, at, parts.types,
                  MPI_COMM_WORLD);
    said("all-to-all", "Alltoallw", parts.bytes, parts.bytes, -1, -1, 0, world());
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, got, parts.counts, at, parts.types,
                  MPI_COMM_WORLD);
    said("all-to-all", "Alltoallw", parts.bytes, parts.bytes, -1, -1, 0, world());
    MPI_Ialltoallw(sent, parts.counts, at, parts.types, got, parts.counts, at, parts.types,
                   MPI_COMM_WORLD, &request);
    said("all-to-all", "Ialltoallw", parts.bytes, parts.bytes, -1, -1, 0, world());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wait_said("Wait", 1);
}

/* Made in one order, and started in another by some: the tag says which is which. */
enum { BARRIER, SUM, BCAST, GATHER, ALLTOALL, SCAN, PERSISTENT };

static void make_persistent(MPI_Request made[PERSISTENT])
{
    INIT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &made[BARRIER]);
    INIT(Allreduce)
    (sent, got, 30, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &made[SUM]);
    INIT(Bcast)(sent + 100, 30, MPI_DOUBLE, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &made[BCAST]);
    INIT(Gatherv)
    (sent, 1, MPI_DOUBLE, got + 100, ones, places, MPI_DOUBLE, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
     &made[GATHER]);
    INIT(Alltoall)
    (sent, 2, MPI_DOUBLE, got + 200, 2, MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL, &made[ALLTOALL]);
    INIT(Scan)
    (sent, got + 300, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &made[SCAN]);
}

static void say_started(int which, const char *call)
{
    static const char *const ops[] = {"barrier", "all-reduce", "broadcast",
                                      "gather",  "all-to-all", "scan"};
    const long bytes[] = {0, 240, rank == 1 ? 240 : 0, 8, 16L * size, 20};
    const long width[] = {0, 240, rank == 1 ? 0 : 240, rank == 1 ? 8L * size : 0, 16L * size, 20};
    said(ops[which], call, bytes[which], width[which], which == BCAST || which == GATHER ? 1 : -1,
         -1, which + 1, world());
}

static void persistent(void)
{
    MPI_Request made[PERSISTENT];
    make_persistent(made);
    MPI_Startall(PERSISTENT, made);
    for (int i = 0; i < PERSISTENT; i++)
        say_started(i, "Startall");
    MPI_Waitall(PERSISTENT, made, MPI_STATUSES_IGNORE);
    wait_said("Waitall", PERSISTENT);
    for (int i = 0; i < PERSISTENT; i++) {
        int which = rank == 0 ? PERSISTENT - 1 - i : i;
        MPI_Start(&made[which]);
        say_started(which, "Start");
    }
    MPI_Waitall(PERSISTENT, made, MPI_STATUSES_IGNORE);
    wait_said("Waitall", PERSISTENT);
    for (int i = 0; i < PERSISTENT; i++)
        MPI_Request_free(&made[i]);
}

/* ---- rank 0 and 1 ---------------------------------------------------------------------------- */

static void matched(void)
{
    MPI_Message found;
    MPI_Status status;
    MPI_Request request;
    for (int i = 0; rank == 0 && i < 4; i++) {
        MPI_Send(sent, 100, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD);
        said("send", "Send", 800, 0, 1, -1, TAG, world());
    }
    if (rank != 1)
        return;
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status);
    MPI_Mrecv(got, MOST, MPI_DOUBLE, &found, &status);
    said("receive", "Mrecv", 0, 800, -1, 0, TAG, world());
    MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    MPI_Mrecv(got, MOST, MPI_DOUBLE, &found, MPI_STATUS_IGNORE);
    said("receive", "Mrecv", 0, 8L * MOST, -1, 0, TAG, world());
    for (int there = 0; !there;)
        MPI_Improbe(0, TAG, MPI_COMM_WORLD, &there, &found, MPI_STATUS_IGNORE);
    MPI_Imrecv(got, 200, MPI_DOUBLE, &found, &request);
    said("receive", "Imrecv", 0, 1600, -1, 0, TAG, world());
    MPI_Wait(&request, &status);
    wait_said("Wait", 1);
    MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &found, &status);
    MPI_Imrecv(got, 100, MPI_DOUBLE, &found, &request);
    said("receive", "Imrecv", 0, 800, -1, 0, TAG, world());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wait_said("Wait", 1);
    MPI_Mprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    MPI_Mrecv(got, 100, MPI_DOUBLE, &found, MPI_STATUS_IGNORE);
    said("receive", "Mrecv", 0, 0, -1, -1, TAG, world());
}

/* Those of windows, in two ranks. */
static void one_sided(void)
{
    MPI_Win window;
    MPI_Request requests[2];
    MPI_Win_create(got, MOST * sizeof(double), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
    MPI_Rput(sent, 10, MPI_DOUBLE, 1 - rank, 0, 10, MPI_DOUBLE, window, &requests[0]);
    said("put", "Rput", 80, 0, 1 - rank, -1, 0, world());
    MPI_Rget(sent, 20, MPI_DOUBLE, 1 - rank, 100, 20, MPI_DOUBLE, window, &requests[1]);
    said("get", "Rget", 0, 160, -1, 1 - rank, 0, world());
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wait_said("Waitall", 2);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

/* ---- MPI 4 ----------------------------------------------------------------------------------- */

#if MPI_VERSION >= 4

static void in_parts(void)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Psend_init(sent, 4, 100, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(got, 2, 200, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        said(rank ? "receive" : "send", "Start", rank ? 0 : 3200, rank ? 3200 : 0, rank ? -1 : 1,
             rank ? 0 : -1, TAG, world());
        for (int part = 0; rank == 0 && part < 4; part++)
            MPI_Pready(part, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wait_said("Wait", 1);
    }
    MPI_Request_free(&request);
}

static void of_two_large(void)
{
    int other = 1 - rank;
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Send_c(sent, 100, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD);
        said("send", "Send_c", 800, 0, 1, -1, TAG, world());
    } else {
        MPI_Recv_c(got, MOST, MPI_DOUBLE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        said("receive", "Recv_c", 0, 8L * MOST, -1, -1, TAG, world());
    }
    MPI_Sendrecv_c(sent, 10, MPI_DOUBLE, other, TAG, got, 20, MPI_DOUBLE, other, TAG,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    said("send-receive", "Sendrecv_c", 80, 160, other, other, TAG, world());
    MPI_Irecv_c(got, MOST, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[0]);
    said("receive", "Irecv_c", 0, 8L * MOST, -1, other, 1, world());
    MPI_Isend_c(sent, MOST, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[1]);
    said("send", "Isend_c", 8L * MOST, 0, other, -1, 1, world());
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wait_said("Waitall", 2);
    MPI_Recv_init_c(got, 50, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init_c(sent, 50, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    said("receive", "Startall", 0, 200, -1, other, TAG, world());
    said("send", "Startall", 200, 0, other, -1, TAG, world());
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wait_said("Waitall", 2);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* More than an int holds, of which an MPI moves nothing: the rank is alone. */
static void more_than_int(void)
{
    const MPI_Count many = ((MPI_Count)1 << 31) + 5, each[1] = {2 * many};
    const MPI_Aint at[1] = {0};
    char own[16];
    snprintf(own, sizeof own, "%d", rank);
    MPI_Bcast_c(got, many, MPI_BYTE, 0, MPI_COMM_SELF);
    said("broadcast", "Bcast_c", many, 0, 0, -1, 0, own);
    MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, each, at, MPI_BYTE, MPI_COMM_SELF);
    said("all-gather", "Allgatherv_c", 2 * many, 2 * many, -1, -1, 0, own);
}

static void of_all_large(void)
{
    MPI_Count counts[PLACES], size_of_all = size;
    MPI_Aint at[PLACES];
    MPI_Request request;
    for (int i = 0; i < PLACES; i++) {
        counts[i] = 1;
        at[i] = i;
    }
    MPI_Allreduce_c(sent, got, 30, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    said("all-reduce", "Allreduce_c", 240, 240, -1, -1, 0, world());
    MPI_Alltoallv_c(sent, counts, at, MPI_DOUBLE, got, counts, at, MPI_DOUBLE, MPI_COMM_WORLD);
    said("all-to-all", "Alltoallv_c", 8 * size_of_all, 8 * size_of_all, -1, -1, 0, world());
    MPI_Ireduce_scatter_c(sent, got, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    said("reduce-scatter", "Ireduce_scatter_c", 8 * size_of_all, 8, -1, -1, 0, world());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wait_said("Wait", 1);
    MPI_Allgather_init_c(sent, 3, MPI_DOUBLE, got, 3, MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &request);
    MPI_Start(&request);
    said("all-gather", "Start", 24, 24 * size_of_all, -1, -1, PERSISTENT + 1, world());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wait_said("Wait", 1);
    MPI_Request_free(&request);
    more_than_int();
}

static void of_mpi_4(void)
{
    if (rank < 2) {
        in_parts();
        of_two_large();
    }
    of_all_large();
}

#else
static void of_mpi_4(void)
{
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    begin(argc > 1 ? argv[1] : ".");
    if (rank < 2)
        matched();
    if (size == 2)
        one_sided();
    types_of_their_own();
    persistent();
    exchange_with(line(0));
    exchange_with(line(1));
    exchange_with(ring());
    exchange_with(downwards());
    of_mpi_4();
    end();
    MPI_Finalize();
    return 0;
}
