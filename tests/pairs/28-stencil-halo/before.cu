/*
 * A stencil over two GPUs, the upper half of the grid on one and the lower on the other. In each
 * step the rows at the seam change sides by way of pageable host memory, with blocking copies, and
 * the inflow is put into the grid's first column: rows of four bytes, 32 KiB apart. The GPUs stand
 * still meanwhile.
 */
#include "jacobi.h"

static float *grid[2][2], *inflow[2];

/* The edge row of one half becomes the other half's halo, through the host. */
static void exchange(float *const at[2], float *staged, size_t rows)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        size_t edge = gpu == 0 ? rows : 1, halo = gpu == 0 ? 0 : rows + 1;

        PAIR_CHECK(cudaSetDevice(gpu));
        PAIR_CHECK(cudaMemcpy(staged, at[gpu] + edge * WIDTH, WIDTH * sizeof *staged,
                              cudaMemcpyDeviceToHost));
        PAIR_CHECK(cudaSetDevice(1 - gpu));
        PAIR_CHECK(cudaMemcpy(at[1 - gpu] + halo * WIDTH, staged, WIDTH * sizeof *staged,
                              cudaMemcpyHostToDevice));
    }
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 150, 256 << 20}, {true, 4, 1 << 20});
    size_t rows = p.bytes / sizeof(float) / WIDTH, cells = (rows + 2) * WIDTH;
    float *staged = (float *)pair_malloc(WIDTH * sizeof *staged);
    unsigned long long sum = 0;

    pair_gpus(2);
    for (int gpu = 1; gpu >= 0; gpu--) {
        inflow[gpu] = (float *)pair_malloc(rows * sizeof *inflow[gpu]);
        PAIR_CHECK(cudaSetDevice(gpu));
        for (int i = 0; i < 2; i++) {
            PAIR_CHECK(cudaMalloc(&grid[gpu][i], cells * sizeof(float)));
            pair_device_fill(grid[gpu][i], cells);
        }
    }
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        int now = (int)(step & 1);
        float *at[2] = {grid[0][now], grid[1][now]};

        if (step == 0)
            pair_begin();
        exchange(at, staged, rows);
        for (int gpu = 0; gpu < 2; gpu++) {
            PAIR_CHECK(cudaSetDevice(gpu));
            fill_inflow(inflow[gpu], rows, gpu, step);
            PAIR_CHECK(cudaMemcpy2D(at[gpu] + WIDTH, WIDTH * sizeof(float), inflow[gpu],
                                    sizeof(float), sizeof(float), rows, cudaMemcpyHostToDevice));
            step_rows(at[gpu], grid[gpu][1 - now], at[gpu], WIDTH, 1, rows + 1, 0);
        }
    }
    pair_stop();
    for (int gpu = 0; gpu < 2; gpu++) {
        PAIR_CHECK(cudaSetDevice(gpu));
        sum += sum_of(grid[gpu][p.steps & 1], rows);
        for (int i = 0; i < 2; i++)
            PAIR_CHECK(cudaFree(grid[gpu][i]));
        free(inflow[gpu]);
    }
    free(staged);
    pair_end(sum, 6 * (unsigned long long)p.steps);
    return 0;
}
