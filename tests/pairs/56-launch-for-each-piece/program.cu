/*
 * Gradient descent on a model of many small tensors of different sizes, which lie in one block of
 * memory: after each gradient of the whole model every tensor is moved by a rate of its own, in a
 * launch of its own. The GPU waits for the launches.
 *
 * AFTER: One launch moves all tensors: each of its blocks looks up in a table, which is sent once,
 * which part of which tensor is its own.
 */
#include "../pair.h"

#include <algorithm>
#include <vector>

enum { TENSORS = 96, ROUNDS = 8, ALIGNED = 32 };
static const unsigned PART = 1024; /* elements of a block at most */

struct part {
    unsigned first, count;
    float rate;
};

/* Whole numbers all the way, so that sums are the same in any order. */
__global__ void move(float *weights, const float *gradient, unsigned n, float rate)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        weights[i] += rate * gradient[i];
}

__global__ void move_all(float *weights, const float *gradient, const part *parts)
{
    const part p = parts[blockIdx.x];
    for (unsigned i = threadIdx.x; i < p.count; i += blockDim.x)
        weights[p.first + i] += p.rate * gradient[p.first + i];
}

__global__ void take_gradient(const float *weights, float *gradient, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        gradient[i] = weights[i] < 512 ? 1.0f : -1.0f;
}

static void host_move(float *weights, const float *gradient, unsigned n, float rate)
{
    for (unsigned i = 0; i < n; i++)
        weights[i] += rate * gradient[i];
}

PAIR_TWIN(_Z4movePfPKfjf, 8, 8, 4, 4)
{
    host_move(*(float **)args[0], *(const float **)args[1], *(unsigned *)args[2],
              *(float *)args[3]);
}

static unsigned parts_of_model; /* blocks of move_all, for its twin */

PAIR_TWIN(_Z8move_allPfPKfPK4part, 8, 8, 8)
{
    const part *parts = *(const part **)args[2];
    for (unsigned i = 0; i < parts_of_model; i++)
        host_move(*(float **)args[0] + parts[i].first, *(const float **)args[1] + parts[i].first,
                  parts[i].count, parts[i].rate);
}

PAIR_TWIN(_Z13take_gradientPKfPfj, 8, 8, 4)
{
    const float *weights = *(const float **)args[0];
    float *gradient = *(float **)args[1];
    for (unsigned i = 0; i < *(unsigned *)args[2]; i++)
        gradient[i] = weights[i] < 512 ? 1.0f : -1.0f;
}

/* The tensors, one behind the other; the largest has `most` elements. Returns all elements. */
static unsigned make_tensors(std::vector<part> &tensors, unsigned most)
{
    unsigned first = 0;
    for (unsigned i = 0; i < TENSORS; i++) {
        unsigned count = i % 2 ? most / 16 : most - i;
        tensors.push_back({first, count, (float)(1 + i % 3)});
        first += (count + ALIGNED - 1) / ALIGNED * ALIGNED;
    }
    return first;
}

/* Those of at most PART elements, one for each block. */
static std::vector<part> cut(const std::vector<part> &tensors)
{
    std::vector<part> parts;
    for (const part &t : tensors)
        for (unsigned at = 0; at < t.count; at += PART)
            parts.push_back({t.first + at, std::min(t.count - at, PART), t.rate});
    return parts;
}

int main(int argc, char **argv)
{
    struct pair p =
        pair_options(argc, argv, {false, 60, 8192 * sizeof(float)}, {true, 4, 512 * sizeof(float)});
    std::vector<part> tensors;
    const unsigned n = make_tensors(tensors, (unsigned)(p.bytes / sizeof(float)));
    const std::vector<part> parts = cut(tensors);
    float *weights, *gradient, found = 0;
    part *d_parts;

    parts_of_model = (unsigned)parts.size();
    PAIR_CHECK(cudaMalloc(&weights, n * sizeof *weights));
    PAIR_CHECK(cudaMalloc(&gradient, n * sizeof *gradient));
    PAIR_CHECK(cudaMalloc(&d_parts, parts.size() * sizeof(part)));
    PAIR_CHECK(
        cudaMemcpy(d_parts, parts.data(), parts.size() * sizeof(part), cudaMemcpyHostToDevice));
    pair_device_fill(weights, n);
    for (long step = -1; step < p.steps; step++) { /* the first warms up */
        if (step == 0)
            pair_begin();
        for (int round = 0; round < ROUNDS; round++) {
            take_gradient<<<(n + PAIR_THREADS - 1) / PAIR_THREADS, PAIR_THREADS>>>(weights,
                                                                                   gradient, n);
#ifdef AFTER
            move_all<<<parts_of_model, PAIR_THREADS>>>(weights, gradient, d_parts);
#else
            for (const part &t : tensors)
                move<<<(t.count + PAIR_THREADS - 1) / PAIR_THREADS, PAIR_THREADS>>>(
                    weights + t.first, gradient + t.first, t.count, t.rate);
#endif
        }
        PAIR_CHECK(cudaMemcpy(&found, weights, sizeof found, cudaMemcpyDeviceToHost));
    }
    pair_stop();
    pair_end(pair_device_sum(weights, n), (unsigned long long)p.steps);
    PAIR_CHECK(cudaFree(weights));
    PAIR_CHECK(cudaFree(gradient));
    PAIR_CHECK(cudaFree(d_parts));
    return 0;
}
