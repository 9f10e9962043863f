/*
 * A step leaves its results in six small buffers of the device, and a function for each of them
 * fetches it: six copies of a kilobyte or less from six call sites, and then one wait.
 *
 * AFTER: The results lie one behind the other in one block of the device, and one copy takes all.
 */
#include "../pair.h"

enum { RESULTS = 6, MOST = 256, LAUNCHES = 3 };

static const size_t values[RESULTS] = {16, 256, 64, 128, 32, 200};

struct results {
    float *host[RESULTS], *device[RESULTS];
    cudaStream_t stream;
};

#ifdef AFTER
/* One behind the other: the first one's addresses are those of all. */
static size_t lay_out(struct results *r)
{
    size_t n = 0;

    for (int i = 0; i < RESULTS; i++)
        n += values[i];
    PAIR_CHECK(cudaMallocHost(&r->host[0], n * sizeof(float)));
    PAIR_CHECK(cudaMalloc(&r->device[0], n * sizeof(float)));
    for (int i = 1; i < RESULTS; i++) {
        r->host[i] = r->host[i - 1] + values[i - 1];
        r->device[i] = r->device[i - 1] + values[i - 1];
    }
    return n;
}
#else
static void lay_out(struct results *r)
{
    for (int i = 0; i < RESULTS; i++) {
        PAIR_CHECK(cudaMallocHost(&r->host[i], MOST * sizeof(float)));
        PAIR_CHECK(cudaMalloc(&r->device[i], MOST * sizeof(float)));
    }
}

#define FETCH(name, i)                                                                             \
    static __attribute__((noinline)) void name(const struct results *r)                            \
    {                                                                                              \
        PAIR_CHECK(cudaMemcpyAsync(r->host[i], r->device[i], values[i] * sizeof(float),            \
                                   cudaMemcpyDeviceToHost, r->stream));                            \
    }
FETCH(fetch_energy, 0)
FETCH(fetch_spectrum, 1)
FETCH(fetch_momentum, 2)
FETCH(fetch_histogram, 3)
FETCH(fetch_mass, 4)
FETCH(fetch_profile, 5)
#endif

int main(int argc, char **argv)
{
    struct pair p = pair_options(argc, argv, {false, 4000, 1}, {true, 20, 1});
    struct results r = {};
    unsigned long long sum = 0;
#ifdef AFTER
    size_t n = lay_out(&r);
#else
    lay_out(&r);
#endif
    PAIR_CHECK(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
    for (int i = 0; i < RESULTS; i++)
        pair_device_fill(r.device[i], values[i]);
    for (long step = -1; step < p.steps; step++) { /* step -1 warms up */
        if (step == 0)
            pair_begin();
        for (int i = 0; i < LAUNCHES; i++)
            pair_add<<<1, PAIR_THREADS, 0, r.stream>>>(r.device[i], values[i], 1.0f);
#ifdef AFTER
        PAIR_CHECK(cudaMemcpyAsync(r.host[0], r.device[0], n * sizeof(float),
                                   cudaMemcpyDeviceToHost, r.stream));
#else
        fetch_energy(&r);
        fetch_spectrum(&r);
        fetch_momentum(&r);
        fetch_histogram(&r);
        fetch_mass(&r);
        fetch_profile(&r);
#endif
        PAIR_CHECK(cudaStreamSynchronize(r.stream));
        for (int i = 0; i < RESULTS; i++)
            sum += (unsigned long long)r.host[i][0];
    }
    pair_stop();
#ifdef AFTER
    pair_end(sum, (unsigned long long)p.steps);
#else
    pair_end(sum, (unsigned long long)p.steps * RESULTS);
#endif
    return 0;
}
