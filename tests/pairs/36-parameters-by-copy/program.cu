/*
 * Each step of an integrator fills in a structure of parameters, 96 bytes, sends it to a buffer of
 * the device, and launches a kernel that is given a pointer to it. The GPU's copy engine has to
 * begin and end a copy between two kernels that take hardly longer.
 *
 * AFTER: The structure is an argument of the kernel: the launch takes it along.
 */
#include "../pair.h"

struct parameters {
    float add[24];
};

#ifdef AFTER
extern "C" __global__ void integrate(float *data, size_t n, struct parameters parameters)
{
    const struct parameters *p = &parameters;
#else
extern "C" __global__ void integrate(float *data, size_t n, const struct parameters *p)
{
#endif
    size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride)
        data[i] += p->add[i % 24];
}

static void host_integrate(float *data, size_t n, const struct parameters *p)
{
    pair_touch(data, n * sizeof *data, true);
    for (size_t i = 0; i < n; i++)
        data[i] += p->add[i % 24];
}

#ifdef AFTER
PAIR_TWIN(integrate, 8, 8, sizeof(struct parameters))
{
    host_integrate(*(float **)args[0], *(size_t *)args[1], (const struct parameters *)args[2]);
}
#else
PAIR_TWIN(integrate, 8, 8, 8)
{
    host_integrate(*(float **)args[0], *(size_t *)args[1], *(const struct parameters **)args[2]);
}
#endif

int main(int argc, char **argv)
{
    enum { RING = 64 }; /* the host does not fill in what is still being copied */
    struct pair p = pair_options(argc, argv, {false, 6400, 1 << 16}, {true, 64, 1 << 12});
    size_t n = p.bytes / sizeof(float);
    float *d_data;
    cudaStream_t stream;
    struct parameters *parameters;
#ifndef AFTER
    struct parameters *d_parameters;
    PAIR_CHECK(cudaMalloc(&d_parameters, sizeof *d_parameters));
#endif

    PAIR_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    PAIR_CHECK(cudaMallocHost(&parameters, RING * sizeof *parameters));
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    PAIR_CHECK(cudaMemset(d_data, 0, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        struct parameters *now = &parameters[(step + 1) % RING];

        if (step == 0)
            pair_begin();
        for (int i = 0; i < 24; i++)
            now->add[i] = (float)((step + i) & 3);
#ifdef AFTER
        integrate<<<pair_blocks(n), PAIR_THREADS, 0, stream>>>(d_data, n, *now);
#else
        PAIR_CHECK(cudaMemcpyAsync(d_parameters, now, sizeof *now, cudaMemcpyHostToDevice, stream));
        integrate<<<pair_blocks(n), PAIR_THREADS, 0, stream>>>(d_data, n, d_parameters);
#endif
        if ((step + 2) % RING == 0)
            PAIR_CHECK(cudaStreamSynchronize(stream));
    }
    pair_stop();
#ifdef AFTER
    pair_end(pair_device_sum(d_data, n), 0);
#else
    pair_end(pair_device_sum(d_data, n), (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_parameters));
#endif
    PAIR_CHECK(cudaFree(d_data));
    PAIR_CHECK(cudaFreeHost(parameters));
    PAIR_CHECK(cudaStreamDestroy(stream));
    return 0;
}
