/*
 * A relaxation sweeps over its data until a flag of the device says that it has converged. The host
 * fetches the flag, four bytes, behind each sweep: it waits for the sweep, for the copy, and then
 * the GPU waits for the next launch.
 *
 * AFTER: The host looks at the flag behind each 32nd sweep. A few sweeps more are made in the end.
 */
#include "../pair.h"

#ifdef AFTER
enum { LOOK = 32 };
#else
enum { LOOK = 1 };
#endif

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 6400, 1 << 16}, {true, 64, 1 << 12});
    size_t n = p.bytes / sizeof(float);
    unsigned long long looked = 0;
    float *d_data, *converged;

    PAIR_CHECK(cudaMallocHost(&converged, sizeof *converged));
    PAIR_CHECK(cudaMalloc(&d_data, p.bytes));
    PAIR_CHECK(cudaMemset(d_data, 0, p.bytes));
    for (long sweep = -LOOK; sweep < p.steps; sweep++) { /* those before 0 warm up */
        if (sweep == 0) {
            looked = 0;
            pair_begin();
        }
        pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_data, n, 1);
        if ((sweep + 1) % LOOK)
            continue;
        PAIR_CHECK(cudaMemcpyAsync(converged, d_data, sizeof *converged, cudaMemcpyDeviceToHost));
        PAIR_CHECK(cudaDeviceSynchronize());
        looked++;
        if (*converged > (float)(p.steps + 2 * LOOK))
            break;
    }
    pair_stop();
    PAIR_CHECK(cudaMemcpy(converged, d_data, sizeof *converged, cudaMemcpyDeviceToHost));
    pair_end((unsigned long long)*converged - LOOK, looked);
    PAIR_CHECK(cudaFree(d_data));
    PAIR_CHECK(cudaFreeHost(converged));
    return 0;
}
