/*
 * A server of small requests, as first versions are. For each request it allocates device memory
 * and frees it, uploads eight fields of 4 KiB one by one from pageable memory, and fetches the
 * result with a blocking copy; before every tenth request it "refreshes" weights that have not
 * changed. The GPU works for a few microseconds of all that.
 *
 * AFTER: Device memory is allocated once, the weights are sent once, before the first request. The
 * fields are packed into page-locked memory and go up in one copy; the result comes down into
 * page-locked memory, and the host waits once for each request.
 */
#include "model.h"

#ifndef AFTER

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

#else

struct server {
    float *packed, *output; /* page-locked */
    float *d_input, *d_weights, *d_products, *d_output;
};

static unsigned long long serve(const struct server *s, float *const field[FIELDS])
{
    for (int i = 0; i < FIELDS; i++)
        memcpy(s->packed + i * FIELD, field[i], FIELD * sizeof(float));
    PAIR_CHECK(
        cudaMemcpyAsync(s->d_input, s->packed, INPUTS * sizeof(float), cudaMemcpyHostToDevice));
    PAIR_CHECK(cudaMemsetAsync(s->d_output, 0, OUTPUTS * sizeof(float)));
    infer(s->d_input, s->d_weights, s->d_products, s->d_output);
    PAIR_CHECK(
        cudaMemcpyAsync(s->output, s->d_output, OUTPUTS * sizeof(float), cudaMemcpyDeviceToHost));
    PAIR_CHECK(cudaStreamSynchronize(0));
    return pair_host_sum(s->output, OUTPUTS);
}

static void start(struct server *s, const float *weights)
{
    PAIR_CHECK(cudaMallocHost(&s->packed, INPUTS * sizeof(float)));
    PAIR_CHECK(cudaMallocHost(&s->output, OUTPUTS * sizeof(float)));
    PAIR_CHECK(cudaMalloc(&s->d_input, INPUTS * sizeof(float)));
    PAIR_CHECK(cudaMalloc(&s->d_weights, WEIGHTS * sizeof(float)));
    PAIR_CHECK(cudaMalloc(&s->d_products, WEIGHTS * sizeof(float)));
    PAIR_CHECK(cudaMalloc(&s->d_output, OUTPUTS * sizeof(float)));
    PAIR_CHECK(cudaMemcpy(s->d_weights, weights, WEIGHTS * sizeof(float), cudaMemcpyHostToDevice));
}

static void stop(struct server *s)
{
    PAIR_CHECK(cudaFree(s->d_output));
    PAIR_CHECK(cudaFree(s->d_products));
    PAIR_CHECK(cudaFree(s->d_weights));
    PAIR_CHECK(cudaFree(s->d_input));
    PAIR_CHECK(cudaFreeHost(s->output));
    PAIR_CHECK(cudaFreeHost(s->packed));
}

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 400, 1}, {true, 12, 1});
    unsigned long long sum = 0;
    float *field[FIELDS], *weights;
    struct server server;

    for (int i = 0; i < FIELDS; i++)
        field[i] = (float *)pair_malloc(FIELD * sizeof(float));
    weights = (float *)pair_malloc(WEIGHTS * sizeof(float));
    fill_small(weights, WEIGHTS, 0);
    start(&server, weights);
    for (long step = -10; step < p.steps; step++) { /* those below 0 warm up */
        if (step == 0) {
            pair_begin();
            sum = 0;
        }
        for (int i = 0; i < FIELDS; i++)
            fill_small(field[i], FIELD, step + 10 + i);
        sum += serve(&server, field);
    }
    pair_end(sum, 2 * (unsigned long long)p.steps);
    stop(&server);
    free(weights);
    for (int i = 0; i < FIELDS; i++)
        free(field[i]);
    return 0;
}

#endif
