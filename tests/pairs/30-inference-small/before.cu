/*
 * A server of small requests, as first versions are. For each request it allocates device memory
 * and frees it, uploads eight fields of 4 KiB one by one from pageable memory, and fetches the
 * result with a blocking copy; before every tenth request it "refreshes" weights that have not
 * changed. The GPU works for a few microseconds of all that.
 */
#include "model.h"

enum { REFRESH = 10 };

static unsigned long long serve(float *const field[FIELDS], const float *d_weights, float *output)
{
    float *d_input, *d_products, *d_output;
    unsigned long long sum;

    PAIR_CHECK(cudaMalloc(&d_input, INPUTS * sizeof(float)));
    PAIR_CHECK(cudaMalloc(&d_products, WEIGHTS * sizeof(float)));
    PAIR_CHECK(cudaMalloc(&d_output, OUTPUTS * sizeof(float)));
    for (int i = 0; i < FIELDS; i++)
        PAIR_CHECK(cudaMemcpy(d_input + i * FIELD, field[i], FIELD * sizeof(float),
                              cudaMemcpyHostToDevice));
    PAIR_CHECK(cudaMemset(d_output, 0, OUTPUTS * sizeof(float)));
    infer(d_input, d_weights, d_products, d_output);
    PAIR_CHECK(cudaMemcpy(output, d_output, OUTPUTS * sizeof(float), cudaMemcpyDeviceToHost));
    sum = pair_host_sum(output, OUTPUTS);
    PAIR_CHECK(cudaFree(d_output));
    PAIR_CHECK(cudaFree(d_products));
    PAIR_CHECK(cudaFree(d_input));
    return sum;
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 400, 1}, {true, 12, 1});
    unsigned long long sum = 0, refreshes = 0;
    float *field[FIELDS], *weights, *d_weights, output[OUTPUTS];

    for (int i = 0; i < FIELDS; i++)
        field[i] = (float *)pair_malloc(FIELD * sizeof(float));
    weights = (float *)pair_malloc(WEIGHTS * sizeof(float));
    fill_small(weights, WEIGHTS, 0);
    PAIR_CHECK(cudaMalloc(&d_weights, WEIGHTS * sizeof(float)));
    for (long step = -REFRESH; step < p.steps; step++) { /* those below 0 warm up */
        if (step == 0) {
            pair_begin();
            sum = refreshes = 0;
        }
        for (int i = 0; i < FIELDS; i++)
            fill_small(field[i], FIELD, step + REFRESH + i);
        if (step % REFRESH == 0) {
            PAIR_CHECK(
                cudaMemcpy(d_weights, weights, WEIGHTS * sizeof(float), cudaMemcpyHostToDevice));
            refreshes++;
        }
        sum += serve(field, d_weights, output);
    }
    pair_end(sum, (FIELDS + 1) * (unsigned long long)p.steps + refreshes);
    PAIR_CHECK(cudaFree(d_weights));
    free(weights);
    for (int i = 0; i < FIELDS; i++)
        free(field[i]);
    return 0;
}
