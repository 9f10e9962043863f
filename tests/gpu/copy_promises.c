/*
 * What the driver's calls do with pageable memory and page-locked memory, beyond what is
 * documented: what `apply` keeps (docs/apply.md) is compared with this.
 *
 *     copy_promises
 *
 * Rows `waits`: a function of the host keeps the stream busy for HELD_MS and then writes the
 * source: how long the call took, and whether it read the source before or after. Rows `alloc`,
 * `register`: what the driver says about memory that it allocated, and memory that it registered.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"
#include "tests/gpu/clocked.h"

enum { HELD_MS = 60 };

xrt_error cudaHostAlloc(void **pointer, size_t bytes, unsigned flags);
xrt_error cudaHostGetFlags(unsigned *flags, void *pointer);
xrt_error cudaHostGetDevicePointer(void **device, void *host, unsigned flags);
xrt_error cudaLaunchHostFunc(xcu_stream stream, void (*function)(void *), void *user);
xrt_error cudaMemset(void *memory, int value, size_t bytes);
xrt_error cudaStreamCreateWithFlags(xcu_stream *stream, unsigned flags);

static char *source;
static size_t source_bytes;

static void hold(void *unused)
{
    (void)unused;
    usleep(HELD_MS * 1000);
    memset(source, 2, source_bytes);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void wait_row(size_t bytes, int async, int down, xcu_stream stream, const char *which)
{
    void *device;
    source = malloc(bytes);
    source_bytes = bytes;
    char *found = calloc(1, bytes);
    MUST(cudaMalloc(&device, bytes));
    memset(source, 1, bytes);
    MUST(cudaMemset(device, 3, bytes));
    MUST(cudaDeviceSynchronize());
    MUST(cudaLaunchHostFunc(stream, hold, NULL));
    double begun = now_ms();
    int kind = down ? XRT_COPY_D2H : XRT_COPY_H2D;
    void *dst = down ? (void *)found : device, *src = down ? device : (void *)source;
    if (async)
        MUST(cudaMemcpyAsync(dst, src, bytes, kind, stream));
    else
        MUST(cudaMemcpy(dst, src, bytes, kind));
    double took = now_ms() - begun;
    int there = down ? found[bytes - 1] == 3 : 0;
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy(found, device, bytes, XRT_COPY_D2H));
    printf("waits %s %s %s %zu KiB: call %.1f ms (held %d), source read %s, last byte %d%s\n",
           down ? "D2H" : "H2D", async ? "async" : "sync", which, bytes >> 10, took, HELD_MS,
           found[0] == 1   ? "before"
           : found[0] == 2 ? "after"
                           : "-",
           found[bytes - 1], down ? there ? ", data there" : ", data NOT there" : "");
    MUST(cudaFree(device));
    free(found);
    free(source);
}

/* ---- page-locked memory ---------------------------------------------------------------------- */

typedef int attribute_function(void *, int, xcu_deviceptr);
typedef int range_function(xcu_deviceptr *, size_t *, xcu_deviceptr);
static attribute_function *attribute;
static range_function *range;

static void attributes(const char *what, char *memory)
{
    unsigned flags = 77;
    void *device = NULL;
    xcu_deviceptr base = 0;
    size_t bytes = 0;
    int r = cudaHostGetFlags(&flags, memory), d = cudaHostGetDevicePointer(&device, memory, 0);
    printf("%s: flags %u (%d), device pointer %s (%d), range", what, flags, r,
           device == memory ? "same" : "other", d);
    if (range)
        r = range(&base, &bytes, (uintptr_t)memory);
    printf(" %+ld %zu (%d), attributes", (long)(base - (uintptr_t)memory), bytes, r);
    for (int i = 1; i <= 21 && attribute; i++) {
        unsigned char value[80] = {0};
        unsigned long long word;
        if (i == 5 || i == 20 || i == 21) /* tokens, and what has no plain value */
            continue;
        int status = attribute(value, i, (uintptr_t)memory);
        memcpy(&word, value, sizeof word);
        if (word > (uintptr_t)memory - 4096 && word < (uintptr_t)memory + ((size_t)1 << 31))
            printf(" %d=+%llu", i, word - (uintptr_t)memory);
        else if (i == 1 || i == 7)
            printf(" %d=%s", i, word ? "set" : "none");
        else
            printf(" %d=%llu", i, word);
        if (status)
            printf("(%d)", status);
    }
    printf("\n");
}

static char *mapped(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 0, bytes);
    return memory;
}

static void locked_rows(void)
{
    char *memory, *own = mapped(4 * MIB);
    for (unsigned flags = 0; flags < 8; flags++) {
        char what[32];
        MUST(cudaHostAlloc((void **)&memory, 3 * MIB + 5, flags));
        snprintf(what, sizeof what, "alloc %u", flags);
        attributes(what, memory);
        attributes("  inside", memory + 4097);
        if (flags == 0) {
            printf("  unregister %d, ", cudaHostUnregister(memory));
            printf("register %d, free inside %d, ", cudaHostRegister(memory, 4096, 0),
                   cudaFreeHost(memory + 4096));
            printf("aligned %lu\n", (unsigned long)((uintptr_t)memory & (2 * MIB - 1)));
        }
        printf("  free %d, again %d\n", cudaFreeHost(memory), cudaFreeHost(memory));
    }
    for (unsigned flags = 0; flags < 4; flags++) {
        char what[32];
        MUST(cudaHostRegister(own, 3 * MIB + 4096, flags));
        snprintf(what, sizeof what, "register %u", flags);
        attributes(what, own);
        attributes("  inside", own + 4097);
        if (flags == 0)
            printf("  free %d\n", cudaFreeHost(own));
        printf("  unregister %d\n", cudaHostUnregister(own));
    }
}

static void allocation_times(void)
{
    for (size_t mib = 1; mib <= 256; mib *= 4) {
        void *memory;
        double begun = now_ms();
        MUST(cudaMallocHost(&memory, mib * MIB));
        double allocated = now_ms();
        MUST(cudaFreeHost(memory));
        double freed = now_ms();
        char *own = mapped(mib * MIB);
        double touched = now_ms();
        MUST(cudaHostRegister(own, mib * MIB, 3));
        double registered = now_ms();
        MUST(cudaHostUnregister(own));
        printf("times %zu MiB: allocate %.2f ms, free %.2f, touch %.2f, register %.2f, unregister "
               "%.2f\n",
               mib, allocated - begun, freed - allocated, touched - freed, registered - touched,
               now_ms() - registered);
        munmap(own, mib * MIB);
    }
}

/* What the kernel says about the mapping: "dc" is not copied by fork, "lo" is locked. */
static void kernel_flags(const char *what, const char *memory)
{
    char line[512];
    int within = 0;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long low, high;
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2) {
            within = (uintptr_t)memory >= low && (uintptr_t)memory < high;
            if (within)
                printf("mapping of %s: %s", what, line);
        } else if (within && strncmp(line, "VmFlags", 7) == 0) {
            printf("mapping of %s: %s", what, line);
        }
    }
    if (maps)
        fclose(maps);
}

/* Whether giving memory back waits for work of a stream that has nothing to do with it. */
static void give_back_rows(xcu_stream stream)
{
    char *memory, *own = mapped(4 * MIB);
    source = malloc(16);
    source_bytes = 16;
    for (int round = 0; round < 2; round++) {
        MUST(cudaMallocHost((void **)&memory, 32 * MIB));
        kernel_flags("allocated memory", memory);
        memset(memory, 0, 32 * MIB);
        MUST(cudaHostRegister(own, 4 * MIB, 0));
        MUST(cudaLaunchHostFunc(stream, hold, NULL));
        double begun = now_ms();
        MUST(cudaFreeHost(memory));
        double freed = now_ms();
        MUST(cudaDeviceSynchronize());
        MUST(cudaLaunchHostFunc(stream, hold, NULL));
        double again = now_ms();
        MUST(cudaHostUnregister(own));
        printf("gives back beside %d ms of work: free %.1f ms, unregister %.1f ms\n", HELD_MS,
               freed - begun, now_ms() - again);
        MUST(cudaDeviceSynchronize());
    }
    free(source);
}

/* Whether memory that was registered without flags is page-locked for another device, too. */
static void other_device_rows(void)
{
    char *memory, *own = mapped(4 * MIB);
    if (cudaSetDevice(1) != 0)
        return;
    MUST(cudaFree(NULL));
    MUST(cudaSetDevice(0));
    MUST(cudaMallocHost((void **)&memory, 4 * MIB));
    MUST(cudaHostRegister(own, 4 * MIB, 0));
    MUST(cudaSetDevice(1));
    attributes("alloc 0, seen from device 1", memory);
    attributes("register 0, seen from device 1", own);
    printf("freed from device 1: %d, %d\n", cudaFreeHost(memory), cudaHostUnregister(own));
    MUST(cudaSetDevice(0));
}

int main(void)
{
    static const size_t sizes[] = {MIB / 32, MIB, MIB * 3 / 2, 2 * MIB, 3 * MIB, 4 * MIB, 64 * MIB};
    xcu_stream stream, apart;
    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamCreateWithFlags(&apart, XCU_STREAM_NON_BLOCKING));
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    attribute = (attribute_function *)dlsym(driver, "cuPointerGetAttribute");
    range = (range_function *)dlsym(driver, "cuMemGetAddressRange_v2");
    for (int i = 0; i < 7; i++)
        for (int down = 0; down < 2; down++) {
            wait_row(sizes[i], 0, down, NULL, "default");
            wait_row(sizes[i], 0, down, stream, "beside");
            wait_row(sizes[i], 1, down, NULL, "default");
            wait_row(sizes[i], 1, down, stream, "stream");
            wait_row(sizes[i], 1, down, apart, "apart");
        }
    locked_rows();
    give_back_rows(stream);
    allocation_times();
    other_device_rows();
    return 0;
}
