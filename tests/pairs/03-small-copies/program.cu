/*
 * Each step uploads one field of each record of an array, 256 B to 4 KiB, with a copy of its own.
 * The memory is page-locked and the calls are asynchronous, yet each copy costs a call, a command
 * and a start of the copy engine, for bytes that pass in a fraction of that time.
 *
 * AFTER: The CPU packs the fields into one page-locked buffer, and one copy takes them all.
 */
#include "../pair.h"

enum { RECORDS = 256, FIELD_BYTES_MAX = 4096 };

struct record {
    char other[4096];
    float field[FIELD_BYTES_MAX / sizeof(float)];
};

/* How much of its field a record uses: 256 B to 4 KiB. */
static size_t field_values(int i)
{
    return (256u << i % 5) / sizeof(float);
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 200, 1}, {true, 3, 1});
    struct record *records;
#ifndef AFTER
    float *d_fields;
#else
    float *packed, *d_fields;
#endif
    double *d_sum, sum;
    size_t n = 0;

    for (int i = 0; i < RECORDS; i++)
        n += field_values(i);
    PAIR_CHECK(cudaMallocHost(&records, RECORDS * sizeof *records));
    for (int i = 0; i < RECORDS; i++)
        pair_fill(records[i].field, field_values(i), (unsigned)i);
#ifdef AFTER
    PAIR_CHECK(cudaMallocHost(&packed, n * sizeof *packed));
#endif
    PAIR_CHECK(cudaMalloc(&d_fields, n * sizeof *d_fields));
    PAIR_CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0) {
            PAIR_CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
            pair_begin();
        }
        size_t at = 0;
        for (int i = 0; i < RECORDS; i++) {
            size_t values = field_values(i);
            records[i].field[0] = (float)(step + 2); /* the CPU changes something */
#ifndef AFTER
            PAIR_CHECK(cudaMemcpyAsync(d_fields + at, records[i].field, values * sizeof(float),
                                       cudaMemcpyHostToDevice));
#else
            memcpy(packed + at, records[i].field, values * sizeof(float));
#endif
            at += values;
        }
#ifdef AFTER
        PAIR_CHECK(cudaMemcpyAsync(d_fields, packed, n * sizeof(float), cudaMemcpyHostToDevice));
#endif
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_fields, n, d_sum);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
    PAIR_CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
#ifndef AFTER
    pair_end((unsigned long long)sum, (unsigned long long)p.steps * RECORDS);
#else
    pair_end((unsigned long long)sum, (unsigned long long)p.steps);
#endif
    PAIR_CHECK(cudaFree(d_sum));
    PAIR_CHECK(cudaFree(d_fields));
#ifdef AFTER
    PAIR_CHECK(cudaFreeHost(packed));
#endif
    PAIR_CHECK(cudaFreeHost(records));
    return 0;
}
