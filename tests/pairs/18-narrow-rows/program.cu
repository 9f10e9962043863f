/*
 * Each step works on one column group of a table that the host keeps row by row: 32 bytes out of
 * each row of 256. The copy engine fetches every 32 bytes on their own, far below the link's speed.
 * Uploads and kernels of two groups overlap.
 *
 * AFTER: The host keeps the table group by group, so that what is uploaded is one piece.
 */
#include "../pair.h"

#ifndef AFTER
enum { WIDTH = 32, GROUPS = 8, PITCH = WIDTH * GROUPS, FLOATS = WIDTH / sizeof(float) };
#else
enum { GROUPS = 8 };
#endif

/* Element i of a column group: its rows, one behind the other. */
#ifndef AFTER
static size_t place(size_t i, size_t group, size_t)
#else
static size_t place(size_t i, size_t group, size_t n)
#endif
{
#ifndef AFTER
    return i / FLOATS * (PITCH / sizeof(float)) + group * FLOATS + i % FLOATS;
#else
    return group * n + i;
#endif
}

static void upload(float *d_group, const float *table, size_t group, size_t bytes,
                   cudaStream_t stream)
{
#ifndef AFTER
    PAIR_CHECK(cudaMemcpy2DAsync(d_group, WIDTH, table + group * FLOATS, PITCH, WIDTH,
                                 bytes / WIDTH, cudaMemcpyHostToDevice, stream));
#else
    PAIR_CHECK(cudaMemcpyAsync(d_group, table + group * (bytes / sizeof *table), bytes,
                               cudaMemcpyHostToDevice, stream));
#endif
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 40, 8 << 20}, {true, 4, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float *table, *d_group[2];
    cudaStream_t stream[2];
    double *d_sum = pair_new_sum();

    PAIR_CHECK(cudaMallocHost(&table, p.bytes * GROUPS));
    for (size_t group = 0; group < GROUPS; group++) {
        for (size_t i = 0; i < n; i++)
            table[place(i, group, n)] = (float)((i + group * 7) & 1023u);
    }
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaMalloc(&d_group[i], p.bytes));
        PAIR_CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
    }
    for (long step = -2; step < p.steps; step++) { /* -2 and -1 warm up */
        int i = (int)(step & 1);

        if (step == 0)
            pair_begin();
        upload(d_group[i], table, (size_t)(step + 2) % GROUPS, p.bytes, stream[i]);
        pair_sum<<<pair_blocks(n), PAIR_THREADS, 0, stream[i]>>>(d_group[i], n, d_sum);
    }
    pair_stop();
    pair_end(pair_take_sum(d_sum), (unsigned long long)p.steps);
    for (int i = 0; i < 2; i++) {
        PAIR_CHECK(cudaStreamDestroy(stream[i]));
        PAIR_CHECK(cudaFree(d_group[i]));
    }
    PAIR_CHECK(cudaFreeHost(table));
    return 0;
}
