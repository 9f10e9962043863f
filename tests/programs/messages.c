/*
 * Ranks that call the recorded functions of MPI that most programs call, and say of each call what
 * it moved (messages.h). messages_more.c has the others.
 *
 * usage: messages DIRECTORY [all | again | reused | pair | threads | endless]   by MPI's launcher
 *
 *   all      everything, in two ranks or more
 *   again    everything three times, from the same places
 *   reused   types, memory and communicators that have the handle or the address of earlier ones,
 *            and calls that fail where others do not
 *   pair     one message between ranks 0 and 1
 *   threads  two threads in each rank exchange messages at once
 *   endless  rank 0 ends by SIGKILL amid messages
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "messages.h"

/* ---- one to another: rank 0 and 1 ------------------------------------------------------------ */

static void blocking(void)
{
    int other = 1 - rank;
    MPI_Status status;
    if (rank == 0) {
        MPI_Send(sent, 100, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD);
        said("send", "Send", 800, 0, 1, -1, TAG, world());
        MPI_Ssend(sent, 3, MPI_INT, 1, TAG, MPI_COMM_WORLD);
        said("send", "Ssend", 12, 0, 1, -1, TAG, world());
        MPI_Send(sent, 5, MPI_CHAR, MPI_PROC_NULL, TAG, MPI_COMM_WORLD);
        said("send", "Send", 0, 0, -1, -1, TAG, world());
        MPI_Send(sent, 0, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
        said("send", "Send", 0, 0, 1, -1, TAG, world());
    } else {
        MPI_Recv(got, MOST, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        said("receive", "Recv", 0, 800, -1, 0, MPI_ANY_TAG, world());
        MPI_Recv(got, 10, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        said("receive", "Recv", 0, 40, -1, 0, TAG, world());
        MPI_Recv(got, 10, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &status);
        said("receive", "Recv", 0, 0, -1, 0, TAG, world());
    }
    MPI_Sendrecv(sent, 10, MPI_DOUBLE, other, TAG, got, 20, MPI_DOUBLE, other, TAG, MPI_COMM_WORLD,
                 &status);
    said("send-receive", "Sendrecv", 80, 80, other, other, TAG, world());
    MPI_Sendrecv_replace(got, 10, MPI_DOUBLE, other, TAG, other, TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    said("send-receive", "Sendrecv_replace", 80, 80, other, other, TAG, world());
}

/* Large ones, whose requests are not complete at once, and small ones, which may share one. */
static void begin_four(MPI_Request requests[4])
{
    int other = 1 - rank;
    MPI_Irecv(got, MOST, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[0]);
    said("receive", "Irecv", 0, 8L * MOST, -1, other, 1, world());
    MPI_Irecv(got + MOST, MOST, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[1]);
    said("receive", "Irecv", 0, 8L * MOST, -1, -1, 2, world());
    MPI_Isend(sent, MOST, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[2]);
    said("send", "Isend", 8L * MOST, 0, other, -1, 1, world());
    MPI_Isend(sent, 1, MPI_DOUBLE, other, 2, MPI_COMM_WORLD, &requests[3]);
    said("send", "Isend", 8, 0, other, -1, 2, world());
}

static void with_requests(void)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int index, flag = 0, done = 0, indices[4];

    begin_four(requests);
    for (int i = 0; i < 4; i++) {
        MPI_Wait(&requests[i], &statuses[0]);
        wait_said("Wait", 1);
    }
    begin_four(requests);
    MPI_Waitall(4, requests, statuses);
    wait_said("Waitall", 4);
    begin_four(requests);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    wait_said("Waitall", 4);
    begin_four(requests);
    for (int i = 0; i < 4; i++) {
        MPI_Waitany(4, requests, &index, &statuses[0]);
        wait_said("Waitany", 1);
    }
    begin_four(requests);
    for (int some; done < 4; done += some) {
        MPI_Waitsome(4, requests, &some, indices, statuses);
        wait_said("Waitsome", some);
    }
    begin_four(requests);
    while (!flag)
        MPI_Testall(4, requests, &flag, statuses);
    wait_said("Testall", 4);
    begin_four(requests);
    for (int i = 0; i < 4; i++) {
        for (flag = 0; !flag;)
            MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        wait_said("Test", 1);
    }
    begin_four(requests);
    for (int i = 0; i < 4; i++) {
        for (flag = 0; !flag;)
            MPI_Testany(4, requests, &index, &flag, &statuses[0]);
        wait_said("Testany", 1);
    }
    begin_four(requests);
    for (int some, all = 0; all < 4; all += some) {
        MPI_Testsome(4, requests, &some, indices, statuses);
        if (some > 0)
            wait_said("Testsome", some);
    }
}

static void persistent(void)
{
    MPI_Request requests[2];
    int other = 1 - rank;
    MPI_Recv_init(got, 50, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(sent, 50, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        if (i == 0) {
            MPI_Start(&requests[0]);
            MPI_Start(&requests[1]);
        } else {
            MPI_Startall(2, requests);
        }
        said("receive", i ? "Startall" : "Start", 0, 200, -1, other, TAG, world());
        said("send", i ? "Startall" : "Start", 200, 0, other, -1, TAG, world());
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        wait_said("Waitall", 2);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void one_sided(void)
{
    MPI_Win window;
    MPI_Win_create(got, MOST * sizeof(double), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(sent, 10, MPI_DOUBLE, 1 - rank, 0, 10, MPI_DOUBLE, window);
    said("put", "Put", 80, 0, 1 - rank, -1, 0, world());
    MPI_Get(sent, 20, MPI_DOUBLE, 1 - rank, 100, 20, MPI_DOUBLE, window);
    said("get", "Get", 0, 160, -1, 1 - rank, 0, world());
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void rooted(MPI_Comm comm, const char *ranks)
{
    int at_root = rank == 1;
    MPI_Bcast(sent, 30, MPI_DOUBLE, 1, comm);
    said("broadcast", "Bcast", at_root ? 240 : 0, at_root ? 0 : 240, 1, -1, 0, ranks);
    MPI_Reduce(sent, got, 30, MPI_DOUBLE, MPI_SUM, 1, comm);
    said("reduce", "Reduce", 240, at_root ? 240 : 0, 1, -1, 0, ranks);
    MPI_Gather(sent, 3, MPI_DOUBLE, got, 3, MPI_DOUBLE, 1, comm);
    said("gather", "Gather", 24, at_root ? 24L * size : 0, 1, -1, 0, ranks);
    MPI_Gatherv(sent, 1, MPI_DOUBLE, got, ones, places, MPI_DOUBLE, 1, comm);
    said("gather", "Gatherv", 8, at_root ? 8L * size : 0, 1, -1, 0, ranks);
    MPI_Scatter(sent, 3, MPI_DOUBLE, got, 3, MPI_DOUBLE, 1, comm);
    said("scatter", "Scatter", at_root ? 24L * size : 0, 24, 1, -1, 0, ranks);
    MPI_Scatterv(sent, ones, places, MPI_DOUBLE, got, 1, MPI_DOUBLE, 1, comm);
    said("scatter", "Scatterv", at_root ? 8L * size : 0, 8, 1, -1, 0, ranks);
}

static void unrooted(MPI_Comm comm, const char *ranks)
{
    MPI_Barrier(comm);
    said("barrier", "Barrier", 0, 0, -1, -1, 0, ranks);
    MPI_Allreduce(sent, got, 30, MPI_DOUBLE, MPI_SUM, comm);
    said("all-reduce", "Allreduce", 240, 240, -1, -1, 0, ranks);
    MPI_Allreduce(MPI_IN_PLACE, got, 30, MPI_DOUBLE, MPI_SUM, comm);
    said("all-reduce", "Allreduce", 240, 240, -1, -1, 0, ranks);
    MPI_Allgather(sent, 3, MPI_DOUBLE, got, 3, MPI_DOUBLE, comm);
    said("all-gather", "Allgather", 24, 24L * size, -1, -1, 0, ranks);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, ones, places, MPI_DOUBLE, comm);
    said("all-gather", "Allgatherv", 8, 8L * size, -1, -1, 0, ranks);
    MPI_Alltoall(sent, 2, MPI_DOUBLE, got, 2, MPI_DOUBLE, comm);
    said("all-to-all", "Alltoall", 16L * size, 16L * size, -1, -1, 0, ranks);
    MPI_Alltoallv(sent, ones, places, MPI_DOUBLE, got, ones, places, MPI_DOUBLE, comm);
    said("all-to-all", "Alltoallv", 8L * size, 8L * size, -1, -1, 0, ranks);
    MPI_Reduce_scatter(sent, got, ones, MPI_DOUBLE, MPI_SUM, comm);
    said("reduce-scatter", "Reduce_scatter", 8L * size, 8, -1, -1, 0, ranks);
    MPI_Reduce_scatter_block(sent, got, 4, MPI_DOUBLE, MPI_SUM, comm);
    said("reduce-scatter", "Reduce_scatter_block", 32L * size, 32, -1, -1, 0, ranks);
    MPI_Scan(sent, got, 5, MPI_INT, MPI_SUM, comm);
    said("scan", "Scan", 20, 20, -1, -1, 0, ranks);
    MPI_Exscan(sent, got, 5, MPI_INT, MPI_SUM, comm);
    said("scan", "Exscan", 20, 20, -1, -1, 0, ranks);
}

static void in_background(MPI_Comm comm, const char *ranks)
{
    MPI_Request requests[4];
    MPI_Ibarrier(comm, &requests[0]);
    said("barrier", "Ibarrier", 0, 0, -1, -1, 0, ranks);
    MPI_Iallreduce(sent, got, 30, MPI_DOUBLE, MPI_SUM, comm, &requests[1]);
    said("all-reduce", "Iallreduce", 240, 240, -1, -1, 0, ranks);
    MPI_Ibcast(sent + 100, 30, MPI_DOUBLE, 0, comm, &requests[2]);
    said("broadcast", "Ibcast", rank ? 0 : 240, rank ? 240 : 0, 0, -1, 0, ranks);
    MPI_Ialltoall(sent, 2, MPI_DOUBLE, got + 100, 2, MPI_DOUBLE, comm, &requests[3]);
    said("all-to-all", "Ialltoall", 16L * size, 16L * size, -1, -1, 0, ranks);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    wait_said("Waitall", 4);
}

/* The same ranks in other orders and numbers. */
static void communicators(void)
{
    MPI_Comm reversed, alone, twin;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Barrier(reversed);
    said("barrier", "Barrier", 0, 0, -1, -1, 0, size == 2 ? "1,0" : "2,1,0");
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    MPI_Barrier(alone);
    char own[16];
    snprintf(own, sizeof own, "%d", rank);
    said("barrier", "Barrier", 0, 0, -1, -1, 0, own);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    unrooted(twin, world());
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&alone);
    MPI_Comm_free(&twin);
}

/* ---- other ways ------------------------------------------------------------------------------ */

enum { ROUNDS = 200 };

static void *exchange(void *number)
{
    int tag = 100 + (int)(long)number, other = 1 - rank;
    double value = tag;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_DOUBLE, other, tag, MPI_COMM_WORLD, &request);
        MPI_Send(&value, 1, MPI_DOUBLE, other, tag, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check(value != tag, "another thread's message came");
    return NULL;
}

static void threads(void)
{
    pthread_t others[2];
    for (long i = 0; i < 2; i++)
        check(pthread_create(&others[i], NULL, exchange, (void *)i), "no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(others[i], NULL);
    for (int i = 0; i < 2 * ROUNDS; i++) {
        said("receive", "Irecv", 0, 8, -1, 1 - rank, 100 + i % 2, world());
        said("send", "Send", 8, 0, 1 - rank, -1, 100 + i % 2, world());
        wait_said("Wait", 1);
    }
}

/* ---- handles and addresses that are used again -------------------------------------------------
 */

enum { REUSED = 6, PAGE = 4096, OF_TYPE = 50, OF_MEMORY, OF_COMM };

/* All from the same place: what was learned of the one before is at hand. */
__attribute__((noinline)) static void pass(void *memory, int count, MPI_Datatype type, long bytes,
                                           int tag, MPI_Comm comm)
{
    MPI_Status status;
    if (rank == 0) {
        MPI_Send(memory, count, type, 1, tag, comm);
        said("send", "Send", bytes, 0, 1, -1, tag, world());
    } else {
        MPI_Recv(memory, count, type, 0, tag, comm, &status);
        said("receive", "Recv", 0, bytes, -1, 0, tag, world());
    }
}

static int reused_types(void)
{
    int same = 0;
    MPI_Datatype type, before = MPI_DATATYPE_NULL;
    for (int i = 1; i <= REUSED; i++) {
        MPI_Type_contiguous(i, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        for (int twice = 0; twice < 2; twice++)
            pass(got, 2, type, 16L * i, OF_TYPE, MPI_COMM_WORLD);
        same += type == before;
        before = type;
        MPI_Type_free(&type);
    }
    return same;
}

/* One page, locked by CUDA and not, in turn; and unmapped and mapped again in between. */
static void reused_memory(void)
{
    void *page = NULL;
    for (int i = 0; i < REUSED; i++) {
        int fixed = page ? MAP_FIXED_NOREPLACE : 0;
        page = mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
        check(page == MAP_FAILED, "no memory");
        for (int twice = 0; twice < 2; twice++)
            pass(page, 8, MPI_BYTE, 8, OF_MEMORY, MPI_COMM_WORLD);
        check(cudaHostRegister(page, PAGE, 0) != 0, "memory cannot be locked");
        for (int twice = 0; twice < 2; twice++)
            pass(page, 8, MPI_BYTE, 8, OF_MEMORY, MPI_COMM_WORLD);
        cudaHostUnregister(page);
        munmap(page, PAGE);
    }
}

static int reused_communicators(void)
{
    int same = 0;
    MPI_Comm twin, before = MPI_COMM_NULL;
    for (int i = 0; i < REUSED; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &twin);
        for (int twice = 0; twice < 2; twice++)
            pass(got, 8, MPI_BYTE, 8, OF_COMM, twin);
        same += twin == before;
        before = twin;
        MPI_Comm_free(&twin);
    }
    return same;
}

/* Every other one fails, as there is no such rank. */
static void failing(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < REUSED; i++) {
        if (rank == 1) {
            MPI_Recv(got, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            said("receive", "Recv", 0, 8, -1, 0, TAG, world());
        }
        for (int to = 1; rank == 0 && to < 100; to += 98) {
            int sent_it = MPI_Send(got, 8, MPI_BYTE, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS;
            check(sent_it != (to == 1), "a call returned what MPI did not");
            if (sent_it)
                said("send", "Send", 8, 0, to, -1, TAG, world());
            else
                fprintf(out, "%d send MPI_Send 0 0 failed - 0 ?\n", rank);
        }
    }
}

static void reused(void)
{
    failing();
    int types = reused_types(), communicators = reused_communicators();
    reused_memory();
    printf("%d: again types %d communicators %d\n", rank, types, communicators);
}

static void endless(void)
{
    for (int i = 0;; i++) {
        if (rank == 0 && i == 1000) {
            kill(getpid(), SIGKILL);
        }
        if (rank == 0)
            MPI_Send(sent, 10, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(got, 10, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

__attribute__((noinline)) static void all(void)
{
    if (rank < 2) {
        blocking();
        with_requests();
        persistent();
    }
    if (size == 2)
        one_sided();
    rooted(MPI_COMM_WORLD, world());
    unrooted(MPI_COMM_WORLD, world());
    in_background(MPI_COMM_WORLD, world());
    communicators();
}

static void again(void)
{
    for (volatile int i = 0; i < 3; i++)
        all();
}

#ifdef MESSAGES_PLUGIN /* opened by messages_loader.c, as Python opens its extensions */
#define main messages_main
#endif
int main(int argc, char **argv);
int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "all";
    int provided;
    MPI_Init_thread(&argc, &argv, strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &provided);
    begin(argc > 1 ? argv[1] : ".");
    if (strcmp(what, "all") == 0)
        all();
    else if (strcmp(what, "again") == 0)
        again();
    else if (strcmp(what, "reused") == 0)
        reused();
    else if (strcmp(what, "pair") == 0)
        blocking();
    else if (strcmp(what, "threads") == 0)
        threads();
    else
        endless();
    end();
    MPI_Finalize();
    return 0;
}
