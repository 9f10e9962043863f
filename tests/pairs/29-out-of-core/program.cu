/*
 * An array larger than the device's buffer goes through it in pieces, in several sweeps: a piece
 * up, the kernel over it, and down again. The array is pageable, so that each copy runs at the
 * speed of the driver's staging; each step waits for the one before, so that of the link's two
 * directions and the GPU one works at a time.
 *
 * AFTER: The array is page-locked, and three pieces are under way at a time, each in a stream and a
 * device buffer of its own: one goes up while the kernel works on another and a third comes down. A
 * piece is always in the same stream, which keeps its sweeps in order.
 */
#include "../pair.h"

#ifndef AFTER
enum { PIECES = 8 };
#else
enum { PIECES = 8, UNDER_WAY = 3 };
#endif

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 5, 256 << 20}, {true, 2, 1 << 18});
    size_t n = p.bytes / sizeof(float) / PIECES, bytes = n * sizeof(float);
#ifndef AFTER
    float *array = (float *)pair_malloc(p.bytes), *d_piece;
#else
    float *array, *d_piece[UNDER_WAY];
    cudaStream_t stream[UNDER_WAY];
#endif

#ifdef AFTER
    PAIR_CHECK(cudaMallocHost(&array, p.bytes));
#endif
    pair_fill(array, n * PIECES, 0);
#ifndef AFTER
    PAIR_CHECK(cudaMalloc(&d_piece, bytes));
#else
    for (int i = 0; i < UNDER_WAY; i++) {
        PAIR_CHECK(cudaMalloc(&d_piece[i], bytes));
        PAIR_CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
    }
#endif
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        for (size_t i = 0; i < PIECES; i++) {
#ifndef AFTER
            float *piece = array + i * n;
#else
            float *piece = array + i * n, *d = d_piece[i % UNDER_WAY];
            cudaStream_t s = stream[i % UNDER_WAY];
#endif

#ifndef AFTER
            PAIR_CHECK(cudaMemcpy(d_piece, piece, bytes, cudaMemcpyHostToDevice));
            pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_piece, n, 1);
            PAIR_CHECK(cudaMemcpy(piece, d_piece, bytes, cudaMemcpyDeviceToHost));
#else
            PAIR_CHECK(cudaMemcpyAsync(d, piece, bytes, cudaMemcpyHostToDevice, s));
            pair_add<<<pair_blocks(n), PAIR_THREADS, 0, s>>>(d, n, 1);
            PAIR_CHECK(cudaMemcpyAsync(piece, d, bytes, cudaMemcpyDeviceToHost, s));
#endif
        }
    }
    pair_stop();
    pair_end(pair_host_sum(array, n * PIECES), 2 * PIECES * (unsigned long long)p.steps);
#ifndef AFTER
    PAIR_CHECK(cudaFree(d_piece));
    free(array);
#else
    for (int i = 0; i < UNDER_WAY; i++) {
        PAIR_CHECK(cudaStreamDestroy(stream[i]));
        PAIR_CHECK(cudaFree(d_piece[i]));
    }
    PAIR_CHECK(cudaFreeHost(array));
#endif
    return 0;
}
