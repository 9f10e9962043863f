/*
 * Many calls of one kind, in bursts, for instructions.sh, which counts what happens in burst().
 *
 * usage: calls copy | wait | query | alloc | range | launch | launch-given | launch-only | send |
 * isend | recv | send-large | start | neighbors | matched | reduce | reduce-launch | group |
 *              group-launch | group-empty | clock
 *              BURSTS CALLS [times]
 *
 *   copy   cudaMemcpyAsync of 64 bytes from pinned memory
 *   wait   cudaStreamSynchronize of a stream with nothing in it
 *   alloc  cudaMalloc and cudaFree: two calls
 *   range  nvtxRangePushA and nvtxRangePop: two calls
 *   query  cudaStreamQuery of a stream whose kernel has not ended: it takes
 * XFERSCOPE_SIMGPU_KERNEL_NS, which is to be longer than all calls launch       cudaLaunchKernel of
 * a kernel without parameters, on a stream launch-given cudaLaunchKernel of one with four
 * parameters, three of them pointers send         MPI_Send of 64 bytes of the device, by an MPI
 * that does nothing recv         MPI_Recv of as many, with a status isend        MPI_Isend of them,
 * and MPI_Wait: two calls send-large   MPI_Send_c of them start        MPI_Start of a persistent
 * all-reduce, and MPI_Wait: two calls neighbors    MPI_Neighbor_alltoall with four neighbors
 *   matched      MPI_Mprobe, and MPI_Mrecv with a status: two calls
 *   reduce       ncclAllReduce of 64 bytes of the device, by an NCCL that does nothing
 *   reduce-launch  the same, by one that launches a kernel
 *   group        ncclGroupStart, ncclSend and ncclRecv of as many, ncclGroupEnd: four calls
 *   group-launch   the same, by one that launches a kernel when the group ends
 *   group-empty  ncclGroupStart and ncclGroupEnd: two calls
 *   clock        two readings of the processor's clock, by no MPI
 *
 *   launch-only  launch in a program that has called nothing that could move data
 *
 *   times    prints, of the bursts' processor times for one call, the lower quartile, the median
 *            and the upper quartile, in ns
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/empty_mpi.h"
#include "tests/bench/empty_nccl.h"
#include "tests/bench/times.h"
#include "tests/programs/nvtx_client.h"
#include "tests/programs/kernel_client.h"

static struct {
    void *device, *pinned;
    xcu_stream stream;
} gpu;

static void check(xrt_error error)
{
    if (error != 0) {
        fprintf(stderr, "calls: %s\n", cudaGetErrorName(error));
        exit(1);
    }
}

static void copy(void)
{
    check(cudaMemcpyAsync(gpu.device, gpu.pinned, 64, XRT_COPY_H2D, gpu.stream));
}

static void wait_for_stream(void)
{
    check(cudaStreamSynchronize(gpu.stream));
}

xrt_error cudaStreamQuery(xcu_stream stream);

static void query(void)
{
    xrt_error error = cudaStreamQuery(gpu.stream);
    if (error == XCU_ERROR_NOT_READY)
        return;
    check(error);
    fputs("calls: the kernel has ended; XFERSCOPE_SIMGPU_KERNEL_NS is too small\n", stderr);
    exit(1);
}

static void alloc(void)
{
    void *memory;
    check(cudaMalloc(&memory, 4096));
    check(cudaFree(memory));
}

static void range(void)
{
    nvtxRangePushA("a step");
    nvtxRangePop();
}

static const char kernel;

static void launch(void)
{
    check(launch_kernel(&kernel, 4, 32, gpu.stream));
}

__attribute__((visibility("default"))) extern const size_t xferscope_simgpu_params_given[];
const size_t xferscope_simgpu_params_given[] = {8, 8, 4, 8, 0};
static const char given;

static void launch_given(void)
{
    char *const middle = (char *)gpu.device + 32;
    int n = 64;
    void *values[] = {&gpu.device, &gpu.pinned, &n, (void *)&middle};
    check(cudaLaunchKernel(&given, 1ull << 32 | 4, 1, 1ull << 32 | 64, 1, values, 0, gpu.stream));
}

static void *world, *byte;

static void send(void)
{
    check(MPI_Send(gpu.device, 64, byte, 0, 1, world));
}

static void recv(void)
{
    char status[24];
    check(MPI_Recv(gpu.device, 64, byte, 0, 1, world, status));
}

static void isend(void)
{
    void *request;
    check(MPI_Isend(gpu.device, 64, byte, 0, 1, world, &request));
    check(MPI_Wait(&request, NULL));
}

static void send_large(void)
{
    check(MPI_Send_c(gpu.device, 64, byte, 0, 1, world));
}

static void start(void)
{
    static void *made;
    if (!made)
        check(MPI_Allreduce_init(gpu.device, gpu.device, 64, byte, NULL, world, NULL, &made));
    void *request = made;
    check(MPI_Start(&request));
    check(MPI_Wait(&request, NULL));
}

static void neighbors(void)
{
    check(MPI_Neighbor_alltoall(gpu.device, 16, byte, gpu.device, 16, byte, world));
}

static void matched(void)
{
    void *found;
    char status[24];
    check(MPI_Mprobe(0, 1, world, &found, NULL));
    check(MPI_Mrecv(gpu.device, 64, byte, &found, status));
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

enum { NCCL_BYTES = 0, NCCL_SUM = 0 };

static void *ranks; /* a communicator */

static void reduce(void)
{
    check(ncclAllReduce(gpu.device, gpu.device, 64, NCCL_BYTES, NCCL_SUM, ranks, gpu.stream));
}

static void group(void)
{
    check(ncclGroupStart());
    check(ncclSend(gpu.device, 64, NCCL_BYTES, 1, ranks, gpu.stream));
    check(ncclRecv(gpu.device, 64, NCCL_BYTES, 1, ranks, gpu.stream));
    check(ncclGroupEnd());
}

static void group_empty(void)
{
    check(ncclGroupStart());
    check(ncclGroupEnd());
}

static void make_ranks(const char *kind)
{
    check(ncclCommInitRank(&ranks, 2, (struct empty_nccl_id){"two"}, 0));
    if (strcmp(kind, "reduce-launch") == 0 || strcmp(kind, "group-launch") == 0)
        empty_nccl_launches(launch);
}

/* ---- bursts ---------------------------------------------------------------------------------- */

__attribute__((noinline)) static void burst(void (*one)(void), long calls)
{
    for (long i = 0; i < calls; i++)
        one();
    check(cudaStreamSynchronize(gpu.stream));
}

/* What queries ask about is launched before the burst, and done when it ends. */
static void burst_of(const char *kind, void (*one)(void), long calls)
{
    if (strcmp(kind, "query") == 0)
        launch();
    burst(one, calls);
}

/* What two readings of the processor's clock take, which a recorded call cannot do without. */
static void read_clock(void)
{
    __asm__ volatile("rdtsc\n\trdtsc" ::: "rax", "rdx");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*one)(void);
    } kinds[] = {{"copy", copy},
                 {"wait", wait_for_stream},
                 {"query", query},
                 {"alloc", alloc},
                 {"range", range},
                 {"launch", launch},
                 {"launch-only", launch},
                 {"send", send},
                 {"isend", isend},
                 {"launch-given", launch_given},
                 {"recv", recv},
                 {"send-large", send_large},
                 {"start", start},
                 {"neighbors", neighbors},
                 {"matched", matched},
                 {"clock", read_clock},
                 {"reduce", reduce},
                 {"group", group},
                 {"reduce-launch", reduce},
                 {"group-launch", group},
                 {"group-empty", group_empty}};
    bool timed = argc == 5 && strcmp(argv[4], "times") == 0;
    long bursts = argc >= 4 ? atol(argv[2]) : 0, calls = argc >= 4 ? atol(argv[3]) : 0;
    check(cudaMalloc(&gpu.device, 64));
    if (argc < 2 || strcmp(argv[1], "launch-only") != 0)
        check(cudaMallocHost(&gpu.pinned, 64));
    register_kernel(&kernel, (char[]){"step"});
    register_kernel(&given, (char[]){"given"});
    check(cudaStreamCreate(&gpu.stream));
    world = PMPI_Comm_f2c(0);
    byte = PMPI_Type_f2c(1);
    make_ranks(argc < 2 ? "" : argv[1]);
    for (size_t k = 0; (argc == 4 || timed) && k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(kinds[k].name, argv[1]) != 0)
            continue;
        if (timed)
            time_bursts(burst, kinds[k].one, bursts, calls);
        for (long i = 0; !timed && i < bursts; i++)
            burst_of(kinds[k].name, kinds[k].one, calls);
        return bursts > 0 && calls > 0 ? 0 : 2;
    }
    fprintf(stderr, "usage: calls "
                    "copy|wait|query|alloc|range|launch|launch-given|launch-only|send|isend|recv|"
                    "send-large|start|neighbors|matched|reduce|reduce-launch|group|group-launch|"
                    "group-empty|clock BURSTS CALLS [times]\n");
    return 2;
}
