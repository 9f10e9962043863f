/*
 * The stencil of this pair, the same before and after: one Jacobi step over rows [from, to) of a
 * grid of WIDTH columns, whose row 0 and last row are the neighbour's (or the fixed rim). What is
 * left of column 1 is given apart: left[y * left_pitch].
 */
#include "../pair.h"

enum { WIDTH = 8192 };

__global__ void jacobi(const float *in, float *out, const float *left, size_t left_pitch,
                       size_t from, size_t to)
{
    size_t x = blockIdx.x * (size_t)blockDim.x + threadIdx.x + 1, y = from + blockIdx.y;

    for (; x < WIDTH - 1 && y < to; y += gridDim.y) {
        size_t i = y * WIDTH + x;
        float west = x == 1 ? left[y * left_pitch] : in[i - 1];
        out[i] = 0.25f * (in[i - WIDTH] + in[i + WIDTH] + west + in[i + 1]);
    }
}

PAIR_TWIN(_Z6jacobiPKfPfS0_mmm, 8, 8, 8, 8, 8, 8)
{
    const float *in = *(float **)args[0], *left = *(float **)args[2];
    float *out = *(float **)args[1];
    size_t left_pitch = *(size_t *)args[3], to = *(size_t *)args[5];

    for (size_t y = *(size_t *)args[4]; y < to; y++) {
        for (size_t x = 1; x < WIDTH - 1; x++) {
            float west = x == 1 ? left[y * left_pitch] : in[y * WIDTH + x - 1];
            out[y * WIDTH + x] = 0.25f * (in[(y - 1) * WIDTH + x] + in[(y + 1) * WIDTH + x] + west +
                                          in[y * WIDTH + x + 1]);
        }
    }
}

static void step_rows(const float *in, float *out, const float *left, size_t left_pitch,
                      size_t from, size_t to, cudaStream_t stream)
{
    size_t rows = to - from;
    dim3 grid(WIDTH / PAIR_THREADS, (unsigned)(rows < 8192 ? rows : 8192));

    jacobi<<<grid, PAIR_THREADS, 0, stream>>>(in, out, left, left_pitch, from, to);
}

/* What flows in from the left, in each step something else; rows 1 to rows. */
static void fill_inflow(float *inflow, size_t rows, int gpu, long step)
{
    for (size_t y = 0; y < rows; y++)
        inflow[y] = (float)((y + (size_t)(step + 2) + 512 * (size_t)gpu) % 1024);
}

/* The sum of a half's own cells, without the column that the inflow may have been put into. */
static unsigned long long sum_of(float *grid, size_t rows)
{
    PAIR_CHECK(cudaMemset2D(grid + WIDTH, WIDTH * sizeof *grid, 0, sizeof *grid, rows));
    return pair_device_sum(grid + WIDTH, rows * WIDTH);
}
