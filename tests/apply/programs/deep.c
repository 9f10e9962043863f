/*
 * The runtime opened with RTLD_DEEPBIND, and its functions taken by name: the copies are made,
 * whichever way they go.
 */
#include <dlfcn.h>
#include <string.h>

#include "tests/apply/programs/applied.h"

#define BYTES (5 * MIB)

int main(void)
{
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    __typeof__(&cudaMemcpy) copy = (__typeof__(copy))dlsym(runtime, "cudaMemcpy");
    char *host = malloc(WARM_BYTES), *found = malloc(WARM_BYTES);
    void *device;
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    for (uint64_t i = 0; i < 10; i++) {
        fill(host, BYTES, i);
        MUST(copy(device, host, BYTES, XRT_COPY_H2D));
        MUST(copy(found, device, BYTES, XRT_COPY_D2H));
        if (memcmp(host, found, BYTES) != 0)
            printf("round %d: different\n", (int)i);
    }
    printf("last error %d\n", cudaGetLastError());
    return 0;
}
