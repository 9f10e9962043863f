/*
 * An iteration on the device whose result the CPU needs before it can start the next one. It asks
 * whether the stream is done, and sleeps for 50 us where it is not: the result lies there for most
 * of that time, and for as long as the kernel needs to wake a thread.
 *
 * AFTER: cudaStreamSynchronize.
 */
#include "../pair.h"

static void await(cudaStream_t stream)
{
#ifdef AFTER
    PAIR_CHECK(cudaStreamSynchronize(stream));
#else
    cudaError_t error;

    while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady)
        pair_sleep(50000);
    PAIR_CHECK(error);
#endif
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 3000, 1 << 22}, {true, 60, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float value = 1;
    float *d_data, *found;
    size_t part = n < 1024 ? n : 1024; /* the result */
    cudaStream_t stream;

    PAIR_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    PAIR_CHECK(cudaMallocHost(&found, part * sizeof *found));
    pair_device_fill(d_data, n);
    for (long step = -1; step < p.steps; step++) { /* the first warms up */
        if (step == 0)
            pair_begin();
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, stream>>>(d_data, n, value);
        PAIR_CHECK(
            cudaMemcpyAsync(found, d_data, part * sizeof *found, cudaMemcpyDeviceToHost, stream));
        await(stream);
        value = found[part - 1] > 2048 ? -1.0f : 1.0f;
    }
    pair_stop();
    pair_end(pair_device_sum(d_data, n), p.steps);
    PAIR_CHECK(cudaFree(d_data));
    PAIR_CHECK(cudaFreeHost(found));
    PAIR_CHECK(cudaStreamDestroy(stream));
    return 0;
}
