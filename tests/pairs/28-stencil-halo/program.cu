/*
 * A stencil over two GPUs, the upper half of the grid on one and the lower on the other. In each
 * step the rows at the seam change sides by way of pageable host memory, with blocking copies, and
 * the inflow is put into the grid's first column: rows of four bytes, 32 KiB apart. The GPUs stand
 * still meanwhile.
 *
 * AFTER: The GPUs may reach each other's memory, and the seam's rows go directly from one to the
 * other. That row is computed first, in a stream of its own, so that it travels while the rest of
 * the half is worked on. The inflow comes in one piece from page-locked memory, into a column of
 * its own that the kernel reads. The host only gives orders.
 */
#include "jacobi.h"

#ifndef AFTER

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

#else

struct half {
    float *grid[2], *inflow[2], *d_inflow[2]; /* of even and odd steps; d_inflow from row 0 on */
    cudaStream_t seam, rest;
    cudaEvent_t came[2];              /* the inflow */
    cudaEvent_t seam_done, rest_done; /* the last step's */
    cudaEvent_t halo;                 /* has reached the other half */
    size_t rows, edge, others_halo;   /* rows of its own, and the numbers of two rows */
};

static void start(struct half *h, int gpu, size_t rows)
{
    cudaEvent_t *events[] = {&h->came[0], &h->came[1], &h->seam_done, &h->rest_done, &h->halo};
    size_t cells = (rows + 2) * WIDTH;

    h->rows = rows;
    h->edge = gpu == 0 ? rows : 1;
    h->others_halo = gpu == 0 ? 0 : rows + 1;
    PAIR_CHECK(cudaSetDevice(gpu));
    PAIR_CHECK(cudaDeviceEnablePeerAccess(1 - gpu, 0));
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaMalloc(&h->grid[i], cells * sizeof(float)));
        pair_device_fill(h->grid[i], cells);
        PAIR_CHECK(cudaMallocHost(&h->inflow[i], rows * sizeof(float)));
        PAIR_CHECK(cudaMalloc(&h->d_inflow[i], (rows + 1) * sizeof(float)));
    }
    PAIR_CHECK(cudaStreamCreateWithFlags(&h->seam, cudaStreamNonBlocking));
    PAIR_CHECK(cudaStreamCreateWithFlags(&h->rest, cudaStreamNonBlocking));
    for (cudaEvent_t *event : events)
        PAIR_CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
}

static void send_inflow(struct half *h, int gpu, long step)
{
    int now = (int)(step & 1);

    PAIR_CHECK(cudaEventSynchronize(h->came[now])); /* the one before the last */
    fill_inflow(h->inflow[now], h->rows, gpu, step);
    PAIR_CHECK(cudaMemcpyAsync(h->d_inflow[now] + 1, h->inflow[now], h->rows * sizeof(float),
                               cudaMemcpyHostToDevice, h->seam));
    PAIR_CHECK(cudaEventRecord(h->came[now], h->seam));
}

/* Waits are for the step before: they are asked for before this step's events are recorded. */
static void step_half(const struct half *h, const struct half *other, int now)
{
    const float *in = h->grid[now], *left = h->d_inflow[now];
    float *out = h->grid[1 - now];
    size_t first = h->edge == 1 ? 2 : 1;

    PAIR_CHECK(cudaStreamWaitEvent(h->seam, h->rest_done, 0));
    PAIR_CHECK(cudaStreamWaitEvent(h->seam, other->halo, 0));
    PAIR_CHECK(cudaStreamWaitEvent(h->rest, h->seam_done, 0));
    PAIR_CHECK(cudaStreamWaitEvent(h->rest, h->came[now], 0));
    step_rows(in, out, left, 1, h->edge, h->edge + 1, h->seam);
    PAIR_CHECK(cudaEventRecord(h->seam_done, h->seam));
    step_rows(in, out, left, 1, first, first + h->rows - 1, h->rest);
    PAIR_CHECK(cudaEventRecord(h->rest_done, h->rest));
}

static void send_seam(const struct half *h, const struct half *other, int gpu, int next)
{
    PAIR_CHECK(cudaMemcpyPeerAsync(other->grid[next] + h->others_halo * WIDTH, 1 - gpu,
                                   h->grid[next] + h->edge * WIDTH, gpu, WIDTH * sizeof(float),
                                   h->seam));
    PAIR_CHECK(cudaEventRecord(h->halo, h->seam));
}

static unsigned long long stop(struct half *h, int gpu, int last)
{
    unsigned long long sum;

    PAIR_CHECK(cudaSetDevice(gpu));
    sum = sum_of(h->grid[last], h->rows);
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaFree(h->grid[i]));
        PAIR_CHECK(cudaFree(h->d_inflow[i]));
        PAIR_CHECK(cudaFreeHost(h->inflow[i]));
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 150, 256 << 20}, {true, 4, 1 << 20});
    struct half half[2];

    pair_gpus(2);
    for (int gpu = 1; gpu >= 0; gpu--)
        start(&half[gpu], gpu, p.bytes / sizeof(float) / WIDTH);
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        int now = (int)(step & 1);

        if (step == 0)
            pair_begin();
        for (int gpu = 0; gpu < 2; gpu++) {
            PAIR_CHECK(cudaSetDevice(gpu));
            send_inflow(&half[gpu], gpu, step);
            step_half(&half[gpu], &half[1 - gpu], now);
        }
        for (int gpu = 0; gpu < 2; gpu++) {
            PAIR_CHECK(cudaSetDevice(gpu));
            send_seam(&half[gpu], &half[1 - gpu], gpu, 1 - now);
        }
    }
    pair_stop();
    unsigned long long sum = stop(&half[0], 0, (int)(p.steps & 1));
    sum += stop(&half[1], 1, (int)(p.steps & 1));
    pair_end(sum, 4 * (unsigned long long)p.steps);
    return 0;
}

#endif
