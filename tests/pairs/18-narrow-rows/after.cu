/*
 * The host keeps the table group by group, so that what is uploaded is one piece.
 */
#include "../pair.h"

enum { GROUPS = 8 };

/* Element i of a column group: its rows, one behind the other. */
static size_t place(size_t i, size_t group, size_t n)
{
    return group * n + i;
}

static void upload(float *d_group, const float *table, size_t group, size_t bytes,
                   cudaStream_t stream)
{
    PAIR_CHECK(cudaMemcpyAsync(d_group, table + group * (bytes / sizeof *table), bytes,
                               cudaMemcpyHostToDevice, stream));
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
