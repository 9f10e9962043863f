/*
 * A trap. The uploads are page-locked, double-buffered and hidden behind kernels that take ten
 * times as long. They bring the same bytes each time, so that they could be left out; nothing would
 * be saved, since nothing waits for them.
 *
 * AFTER: The uploads are left out: each buffer keeps what it got before the first step. The loop
 * takes as long as its kernels, as before.
 */
#include "../pair.h"

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 50, 16 << 20}, {true, 4, 1 << 16});
    unsigned long long kernel_ns = p.quick ? 1000000 : 4000000;
    size_t n = p.bytes / sizeof(float);
    float *data, *d_data[2];
    double *d_sum, sum;
#ifndef AFTER
    cudaStream_t compute, copy;
    cudaEvent_t there[2], used[2];
#else
    cudaStream_t compute;
#endif

    PAIR_CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
#ifndef AFTER
    PAIR_CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
#endif
    PAIR_CHECK(cudaMallocHost(&data, p.bytes));
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    pair_fill(data, n, 0);
    for (int i = 0; i < 2; i++) {
#ifndef AFTER
        PAIR_CHECK(cudaEventCreateWithFlags(&there[i], cudaEventDisableTiming));
        PAIR_CHECK(cudaEventCreateWithFlags(&used[i], cudaEventDisableTiming));
#endif
        PAIR_CHECK(cudaMalloc(&d_data[i], p.bytes));
        PAIR_CHECK(cudaMemcpy(d_data[i], data, p.bytes, cudaMemcpyHostToDevice));
    }
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
#ifndef AFTER
        int now = (int)(step & 1), next = 1 - now;
#else
        int now = (int)(step & 1);
#endif
        if (step == 0) {
            PAIR_CHECK(cudaDeviceSynchronize());
            PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
            pair_begin();
        }
#ifndef AFTER
        PAIR_CHECK(cudaStreamWaitEvent(compute, there[now], 0));
#endif
        pair_sum<<<pair_blocks(n), PAIR_THREADS, 0, compute>>>(d_data[now], n, d_sum);
        pair_spin<<<1, 1, 0, compute>>>(kernel_ns);
#ifndef AFTER
        PAIR_CHECK(cudaEventRecord(used[now], compute));
        PAIR_CHECK(cudaStreamWaitEvent(copy, used[next], 0));
        PAIR_CHECK(cudaMemcpyAsync(d_data[next], data, p.bytes, cudaMemcpyHostToDevice, copy));
        PAIR_CHECK(cudaEventRecord(there[next], copy));
#endif
    }
    pair_stop();
    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
#ifndef AFTER
    pair_end((unsigned long long)sum, (unsigned long long)p.steps);
#else
    pair_end((unsigned long long)sum, 0);
#endif
    for (int i = 0; i < 2; i++)
        PAIR_CHECK(cudaFree(d_data[i]));
    PAIR_CHECK(cudaFree(d_sum));
    PAIR_CHECK(cudaFreeHost(data));
    return 0;
}
