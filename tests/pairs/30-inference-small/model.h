/*
 * The model of this pair, the same before and after: outputs of a dense layer, by way of all
 * products in a scratch buffer. Small whole numbers, so that all sums are exact.
 */
#include "../pair.h"

enum {
    FIELDS = 8,
    FIELD = 1024,
    INPUTS = FIELDS * FIELD,
    OUTPUTS = 128,
    WEIGHTS = INPUTS * OUTPUTS
};

__global__ void multiply(const float *input, const float *weights, float *products)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    products[i] = input[i % INPUTS] * weights[i];
}

__global__ void add_up(const float *products, float *output)
{
    float own = 0;

    for (int i = threadIdx.x; i < INPUTS; i += blockDim.x)
        own += products[blockIdx.x * INPUTS + i];
    atomicAdd(&output[blockIdx.x], own);
}

PAIR_TWIN(_Z8multiplyPKfS0_Pf, 8, 8, 8)
{
    const float *input = *(float **)args[0], *weights = *(float **)args[1];

    for (int i = 0; i < WEIGHTS; i++)
        (*(float **)args[2])[i] = input[i % INPUTS] * weights[i];
}

PAIR_TWIN(_Z6add_upPKfPf, 8, 8)
{
    for (int i = 0; i < WEIGHTS; i++)
        (*(float **)args[1])[i / INPUTS] += (*(float **)args[0])[i];
}

/* output is 0 before. */
static void infer(const float *d_input, const float *d_weights, float *d_products, float *d_output)
{
    multiply<<<WEIGHTS / PAIR_THREADS, PAIR_THREADS>>>(d_input, d_weights, d_products);
    add_up<<<OUTPUTS, PAIR_THREADS>>>(d_products, d_output);
}

static void fill_small(float *data, size_t n, long from)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (float)((i + (size_t)from) % 13);
}
