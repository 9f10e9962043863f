/*
 * A field on the GPUs of several ranks, in slabs: each step updates it and exchanges the planes at
 * the borders of the slabs (a halo exchange). As halo.cu, after what xferscope advises there
 * (docs/walk-halo.md): the planes go through page-locked memory, in pieces.
 *
 * nvcc -g -ccbin mpicxx halo.cu -o halo
 */
#include <stdio.h>

#include <cuda_runtime_api.h>
#include <mpi.h>

enum { STEPS = 40, PLANES = 8, SIDE = 1024, CELLS = SIDE * SIDE };
enum { PIECES = 4, PIECE = CELLS / PIECES };
static const size_t PLANE_BYTES = CELLS * sizeof(float), PIECE_BYTES = PIECE * sizeof(float);

static int rank, above, below;
static cudaStream_t down, up;
static cudaEvent_t fetched[2 * PIECES];

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "halo: %s: %s\n", what, cudaGetErrorString(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Each cell takes the mean of itself and of those above and below. */
__global__ void update(const float *from, float *to)
{
    size_t cell = blockIdx.x * (size_t)blockDim.x + threadIdx.x + CELLS;
    to[cell] = (from[cell - CELLS] + from[cell] + from[cell + CELLS]) / 3;
}

/* Planes 1 to PLANES are this rank's; 0 and PLANES + 1 are copies of its neighbours'. A plane goes
 * in pieces: one is sent while the next one comes from the GPU. */
static void exchange(float *field, float *out, float *in)
{
    const float *edges[] = {field + CELLS, field + (size_t)PLANES * CELLS};
    float *ghosts[] = {field + (size_t)(PLANES + 1) * CELLS, field};
    int to[] = {below, above}, from[] = {above, below};
    MPI_Request received[2 * PIECES], sent[2 * PIECES];

    check(cudaStreamSynchronize(0), "update");
    for (int k = 0; k < 2 * PIECES; k++) {
        int side = k / PIECES, at = k % PIECES * PIECE;
        MPI_Irecv(in + (size_t)k * PIECE, PIECE, MPI_FLOAT, from[side], k, MPI_COMM_WORLD,
                  &received[k]);
        check(cudaMemcpyAsync(out + (size_t)k * PIECE, edges[side] + at, PIECE_BYTES,
                              cudaMemcpyDeviceToHost, down),
              "fetch");
        check(cudaEventRecord(fetched[k], down), "fetch");
    }
    for (int k = 0; k < 2 * PIECES; k++) {
        check(cudaEventSynchronize(fetched[k]), "fetch");
        MPI_Isend(out + (size_t)k * PIECE, PIECE, MPI_FLOAT, to[k / PIECES], k, MPI_COMM_WORLD,
                  &sent[k]);
    }
    for (int i = 0; i < 2 * PIECES; i++) {
        int k;
        MPI_Waitany(2 * PIECES, received, &k, MPI_STATUS_IGNORE);
        check(cudaMemcpyAsync(ghosts[k / PIECES] + k % PIECES * PIECE, in + (size_t)k * PIECE,
                              PIECE_BYTES, cudaMemcpyHostToDevice, up),
              "send");
    }
    MPI_Waitall(2 * PIECES, sent, MPI_STATUSES_IGNORE);
    check(cudaStreamSynchronize(up), "send");
}

static void start_field(float *field, float *plane)
{
    for (int i = 0; i < CELLS; i++)
        plane[i] = (float)((i + rank) % 1000);
    for (size_t i = 0; i < PLANES + 2; i++)
        check(cudaMemcpy(field + i * CELLS, plane, PLANE_BYTES, cudaMemcpyHostToDevice), "start");
}

static void report(const float *field, float *plane, double seconds)
{
    double sum = 0, all;

    check(cudaMemcpy(plane, field + CELLS, PLANE_BYTES, cudaMemcpyDeviceToHost), "result");
    for (int i = 0; i < CELLS; i++)
        sum += plane[i];
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d steps in %.1f ms, sum %.0f\n", STEPS, seconds * 1e3, all);
}

int main(int argc, char **argv)
{
    int size, gpus;
    float *field, *next, *out, *in;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    above = (rank + 1) % size;
    below = (rank + size - 1) % size;
    check(cudaGetDeviceCount(&gpus), "GPUs");
    check(cudaSetDevice(rank % gpus), "GPU");
    check(cudaMalloc((void **)&field, (PLANES + 2) * PLANE_BYTES), "memory");
    check(cudaMalloc((void **)&next, (PLANES + 2) * PLANE_BYTES), "memory");
    check(cudaMallocHost((void **)&out, 2 * PLANE_BYTES), "memory");
    check(cudaMallocHost((void **)&in, 2 * PLANE_BYTES), "memory");
    check(cudaStreamCreate(&down), "stream");
    check(cudaStreamCreate(&up), "stream");
    for (int k = 0; k < 2 * PIECES; k++)
        check(cudaEventCreateWithFlags(&fetched[k], cudaEventDisableTiming), "event");
    start_field(field, out);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    for (int i = 0; i < STEPS; i++) {
        float *now = field;
        update<<<PLANES * CELLS / 256, 256>>>(field, next);
        check(cudaGetLastError(), "update");
        field = next;
        next = now;
        exchange(field, out, in);
    }
    report(field, out, MPI_Wtime() - begun);
    MPI_Finalize();
    return 0;
}
