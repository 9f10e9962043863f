/*
 * Two stages in streams of their own: the first works on a buffer, the second one adds it up. The
 * CPU waits for the device behind the first stage, so that the second does not begin before that,
 * and for the second's stream, so that the first does not go on with what is still being read.
 *
 * AFTER: Events between the two streams say so, and the CPU waits at the end.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 4000, 1 << 20}, {true, 40, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *start, *d_data;
    cudaStream_t first, second;
    cudaEvent_t made, used;
    double *d_sum = pair_new_sum();

    PAIR_CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    PAIR_CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    PAIR_CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    PAIR_CHECK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
    PAIR_CHECK(cudaMallocHost(&start, p.bytes));
    pair_fill(start, n, 0);
    PAIR_CHECK(cudaMemcpy(d_data, start, p.bytes, cudaMemcpyHostToDevice));
    for (long step = -1; step < p.steps; step++) { /* the first warms up */
        if (step == 0)
            pair_begin();
#ifdef AFTER
        PAIR_CHECK(cudaStreamWaitEvent(first, used, 0)); /* not recorded yet: none */
#endif
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, first>>>(d_data, n, 1);
#ifdef AFTER
        PAIR_CHECK(cudaEventRecord(made, first));
        PAIR_CHECK(cudaStreamWaitEvent(second, made, 0));
#else
        PAIR_CHECK(cudaDeviceSynchronize());
#endif
        pair_sum<<<pair_blocks(n), PAIR_THREADS, 0, second>>>(d_data, n, d_sum);
#ifdef AFTER
        PAIR_CHECK(cudaEventRecord(used, second));
#else
        PAIR_CHECK(cudaStreamSynchronize(second));
#endif
    }
    pair_stop();
    pair_end(pair_take_sum(d_sum), 0);
    PAIR_CHECK(cudaFreeHost(start));
    PAIR_CHECK(cudaFree(d_data));
    PAIR_CHECK(cudaEventDestroy(made));
    PAIR_CHECK(cudaEventDestroy(used));
    PAIR_CHECK(cudaStreamDestroy(first));
    PAIR_CHECK(cudaStreamDestroy(second));
    return 0;
}
