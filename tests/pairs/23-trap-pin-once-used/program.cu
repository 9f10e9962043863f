/*
 * A trap: each step reads a record of 1 MiB into new memory, which the program keeps for later, and
 * uploads it once, from where it is, in pageable memory. That is slower than from page-locked
 * memory, but page-locking a megabyte for a single use takes longer than what it saves.
 *
 * AFTER: What one would try: each record is page-locked for the one copy. The copy is faster, the
 * step is not.
 */
#include "../pair.h"

static void upload(float *d_record, float *record, size_t bytes)
{
#ifdef AFTER
    PAIR_CHECK(cudaHostRegister(record, bytes, cudaHostRegisterDefault));
#endif
    PAIR_CHECK(cudaMemcpy(d_record, record, bytes, cudaMemcpyHostToDevice));
#ifdef AFTER
    PAIR_CHECK(cudaHostUnregister(record));
#endif
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 300, 1 << 20}, {true, 3, 1 << 16});
    size_t n = p.bytes / sizeof(float);
    float **records = (float **)pair_malloc((size_t)(p.steps + 1) * sizeof *records), *d_record;
    double *d_sum = pair_new_sum();

    PAIR_CHECK(cudaMalloc(&d_record, p.bytes));
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        records[step + 1] = (float *)malloc(p.bytes);
        if (!records[step + 1])
            return 1;
        pair_fill(records[step + 1], n, (unsigned)step);
        upload(d_record, records[step + 1], p.bytes);
        pair_sum<<<pair_blocks(n), PAIR_THREADS>>>(d_record, n, d_sum);
        PAIR_CHECK(cudaDeviceSynchronize());
    }
    pair_stop();
    pair_end(pair_take_sum(d_sum), (unsigned long long)p.steps);
    for (long i = 0; i <= p.steps; i++)
        free(records[i]);
    free(records);
    PAIR_CHECK(cudaFree(d_record));
    return 0;
}
