/*
 * A field on the GPUs of several ranks, in slabs: each step updates it and exchanges the planes at
 * the borders of the slabs (a halo exchange). As halo.cu, after what xferscope advises there where
 * MPI takes device memory (docs/walk-halo.md): the planes are sent from GPU to GPU.
 *
 * nvcc -g -ccbin mpicxx halo.cu -o halo
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <mpi.h>

enum { STEPS = 40, PLANES = 8, SIDE = 1024, CELLS = SIDE * SIDE };
static const size_t PLANE_BYTES = CELLS * sizeof(float);

static int rank, above, below;

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

/* Planes 1 to PLANES are this rank's; 0 and PLANES + 1 are copies of its neighbours'. MPI knows
 * nothing of what the GPU has still to do: what it sends has to be there. */
static void exchange(float *field)
{
    const float *edges[] = {field + CELLS, field + (size_t)PLANES * CELLS};
    float *ghosts[] = {field + (size_t)(PLANES + 1) * CELLS, field};
    int to[] = {below, above}, from[] = {above, below};

    check(cudaStreamSynchronize(0), "update");
    for (int i = 0; i < 2; i++)
        MPI_Sendrecv(edges[i], CELLS, MPI_FLOAT, to[i], i, ghosts[i], CELLS, MPI_FLOAT, from[i], i,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
    float *field, *next, *plane = (float *)malloc(PLANE_BYTES);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    above = (rank + 1) % size;
    below = (rank + size - 1) % size;
    check(cudaGetDeviceCount(&gpus), "GPUs");
    check(cudaSetDevice(rank % gpus), "GPU");
    check(cudaMalloc((void **)&field, (PLANES + 2) * PLANE_BYTES), "memory");
    check(cudaMalloc((void **)&next, (PLANES + 2) * PLANE_BYTES), "memory");
    start_field(field, plane);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    for (int i = 0; i < STEPS; i++) {
        float *now = field;
        update<<<PLANES * CELLS / 256, 256>>>(field, next);
        check(cudaGetLastError(), "update");
        field = next;
        next = now;
        exchange(field);
    }
    report(field, plane, MPI_Wtime() - begun);
    MPI_Finalize();
    return 0;
}
