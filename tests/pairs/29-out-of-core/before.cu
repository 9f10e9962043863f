/*
 * An array larger than the device's buffer goes through it in pieces, in several sweeps: a piece
 * up, the kernel over it, and down again. The array is pageable, so that each copy runs at the
 * speed of the driver's staging; each step waits for the one before, so that of the link's two
 * directions and the GPU one works at a time.
 */
#include "../pair.h"

enum { PIECES = 8 };

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 5, 256 << 20}, {true, 2, 1 << 18});
    size_t n = p.bytes / sizeof(float) / PIECES, bytes = n * sizeof(float);
    float *array = (float *)pair_malloc(p.bytes), *d_piece;

    pair_fill(array, n * PIECES, 0);
    PAIR_CHECK(cudaMalloc(&d_piece, bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        for (size_t i = 0; i < PIECES; i++) {
            float *piece = array + i * n;

            PAIR_CHECK(cudaMemcpy(d_piece, piece, bytes, cudaMemcpyHostToDevice));
            pair_add<<<pair_blocks(n), PAIR_THREADS>>>(d_piece, n, 1);
            PAIR_CHECK(cudaMemcpy(piece, d_piece, bytes, cudaMemcpyDeviceToHost));
        }
    }
    pair_stop();
    pair_end(pair_host_sum(array, n * PIECES), 2 * PIECES * (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(d_piece));
    free(array);
    return 0;
}
