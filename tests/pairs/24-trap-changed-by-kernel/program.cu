/*
 * A trap: the same bytes are sent in each step to the same place. But a kernel works in that place
 * and changes all of it, so that the start values are no longer there: the upload restores them.
 * Uploads and kernels of two runs overlap, and the link is busy all the time.
 *
 * AFTER: The same program: the upload cannot be left out, the results would be others.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 80, 64 << 20}, {true, 4, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *start, *d_state[2];
    cudaStream_t stream[2];
    double *d_sum = pair_new_sum();

    PAIR_CHECK(cudaMallocHost(&start, p.bytes));
    pair_fill(start, n, 0);
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaMalloc(&d_state[i], p.bytes));
        PAIR_CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
    }
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        int i = (int)(step & 1);

        if (step == 0)
            pair_begin();
        PAIR_CHECK(cudaMemcpyAsync(d_state[i], start, p.bytes, cudaMemcpyHostToDevice, stream[i]));
        pair_add<<<pair_blocks(n), PAIR_THREADS, 0, stream[i]>>>(d_state[i], n, (float)(step + 3));
        pair_sum<<<pair_blocks(n), PAIR_THREADS, 0, stream[i]>>>(d_state[i], n, d_sum);
    }
    pair_stop();
    pair_end(pair_take_sum(d_sum), (unsigned long long)p.steps);
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaStreamDestroy(stream[i]));
        PAIR_CHECK(cudaFree(d_state[i]));
    }
    PAIR_CHECK(cudaFreeHost(start));
    return 0;
}
