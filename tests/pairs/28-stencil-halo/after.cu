/*
 * The GPUs may reach each other's memory, and the seam's rows go directly from one to the other.
 * That row is computed first, in a stream of its own, so that it travels while the rest of the half
 * is worked on. The inflow comes in one piece from page-locked memory, into a column of its own
 * that the kernel reads. The host only gives orders.
 */
#include "jacobi.h"

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
