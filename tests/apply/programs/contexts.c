/*
 * Contexts that come and go between copies: cudaDeviceReset, and contexts of the driver's interface
 * that are made, used from two threads, and destroyed; streams of another context than the current.
 */
#include <dlfcn.h>
#include <string.h>

#include "tests/apply/programs/applied.h"

#define BYTES (5 * MIB)

static xcu_result (*create)(xcu_context *, void *, unsigned, xcu_device);
static xcu_result (*destroy)(xcu_context);
static xcu_result (*set)(xcu_context);
static xcu_result (*alloc)(xcu_deviceptr *, size_t);
static xcu_result (*up)(xcu_deviceptr, const void *, size_t, xcu_stream);
static xcu_result (*down)(void *, xcu_deviceptr, size_t);
static xcu_result (*stream_create)(xcu_stream *, unsigned);
static xcu_result (*synchronize)(void);
static xcu_result (*reset)(xcu_device);

#define LOOK_UP(field, name) field = (__typeof__(field))dlsym(driver, name)

static void resets(char *host, char *found)
{
    for (uint64_t i = 0; i < 2; i++) {
        void *device;
        MUST(cudaMalloc(&device, WARM_BYTES));
        warm_up(device, found);
        fill(host, BYTES, i);
        MUST(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
        MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
        printf("reset %d: %s\n", (int)i, memcmp(host, found, BYTES) == 0 ? "same" : "different");
        if (i & 1)
            must(reset(0), "reset"); /* the older function of that name */
        else
            MUST(cudaDeviceReset());
    }
}

static void own_contexts(char *host, char *found)
{
    for (uint64_t i = 0; i < 3; i++) {
        xcu_context context, other;
        xcu_deviceptr device;
        xcu_stream stream, foreign;
        must(create(&other, NULL, 0, 0), "create");
        must(stream_create(&foreign, 0), "stream");
        must(create(&context, NULL, 0, 0), "create");
        must(alloc(&device, BYTES), "alloc");
        must(stream_create(&stream, 0), "stream");
        for (uint64_t round = 0; round < 8; round++) {
            fill(host, BYTES, round + 10 * i);
            must(up(device, host, BYTES, round & 1 ? stream : NULL), "up");
            must(down(found, device, BYTES), "down");
            if (memcmp(host, found, BYTES) != 0)
                printf("context %d, round %d: different\n", (int)i, (int)round);
        }
        int foreign_status = up(device, host, BYTES, foreign);
        must(synchronize(), "synchronize");
        printf("context %d done, a stream of another: %d\n", (int)i, foreign_status);
        must(destroy(context), "destroy");
        must(destroy(other), "destroy");
    }
}

int main(void)
{
    char *host = malloc(WARM_BYTES), *found = malloc(WARM_BYTES);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    memset(found, 1, WARM_BYTES);
    LOOK_UP(create, "cuCtxCreate_v4");
    LOOK_UP(destroy, "cuCtxDestroy_v2");
    LOOK_UP(set, "cuCtxSetCurrent");
    LOOK_UP(alloc, "cuMemAlloc_v2");
    LOOK_UP(up, "cuMemcpyHtoDAsync_v2");
    LOOK_UP(down, "cuMemcpyDtoH_v2");
    LOOK_UP(stream_create, "cuStreamCreate");
    LOOK_UP(synchronize, "cuCtxSynchronize");
    LOOK_UP(reset, "cuDevicePrimaryCtxReset");
    resets(host, found);
    own_contexts(host, found);
    return 0;
}
