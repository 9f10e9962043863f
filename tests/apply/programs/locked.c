/*
 * Large page-locked allocations: what CUDA says of the memory, what it holds, what wrong calls
 * about it return, and copies of it; given back by the program, and with the context. With `fork`,
 * whether a child shares it; with `inherited`, whether what the child has stays as it was when the
 * parent frees the memory and allocates as much again; with `threads`, allocations of many at once.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (40 * MIB + 5)

xrt_error cudaHostAlloc(void **pointer, size_t bytes, unsigned flags);
xrt_error cudaHostGetFlags(unsigned *flags, void *pointer);
xrt_error cudaHostGetDevicePointer(void **device, void *host, unsigned flags);

static xcu_result (*attribute)(void *, int, xcu_deviceptr);

static void about(const char *memory, size_t inside)
{
    static const int which[] = {XCU_PTR_MEMORY_TYPE, XCU_PTR_IS_MANAGED, XCU_PTR_DEVICE_ORDINAL,
                                XCU_PTR_RANGE_SIZE};
    unsigned flags = 99;
    void *device = NULL;
    xcu_deviceptr start = 0;
    int error = cudaHostGetFlags(&flags, (char *)memory + inside);
    printf("  flags %u (%d), ", flags, error);
    error = cudaHostGetDevicePointer(&device, (char *)memory + inside, 0);
    printf("device pointer %s (%d), ", device == memory + inside ? "same" : "other", error);
    attribute(&start, XCU_PTR_RANGE_START, (uintptr_t)memory + inside);
    printf("range %+ld", (long)(start - (uintptr_t)memory));
    for (int i = 0; i < 4; i++) {
        unsigned long value = 0;
        error = attribute(&value, which[i], (uintptr_t)memory + inside);
        printf(", %lu (%d)", value, error);
    }
    printf("\n");
}

static void wrong_calls(char *memory)
{
    int unregister = cudaHostUnregister(memory), inside = cudaFreeHost(memory + 4096);
    int again = cudaHostRegister(memory, BYTES, 0), part = cudaHostRegister(memory + MIB, MIB, 0);
    printf("  unregister %d, free inside %d, register %d, a part %d, last %d\n", unregister, inside,
           again, part, cudaGetLastError());
}

static void use(char *memory, void *device)
{
    size_t sum_of_new = 0;
    for (size_t i = 0; i < BYTES; i += 509)
        sum_of_new += (unsigned char)memory[i];
    fill(memory, BYTES, (uint64_t)sum_of_new);
    uint64_t sent = sum(memory, BYTES);
    MUST(cudaMemcpyAsync(device, memory, BYTES, XRT_COPY_H2D, NULL));
    MUST(cudaDeviceSynchronize());
    memset(memory, 0, BYTES);
    MUST(cudaMemcpy(memory, device, BYTES, XRT_COPY_D2H));
    printf("  new memory has %zu, copies %s\n", sum_of_new,
           sum(memory, BYTES) == sent ? "same" : "different");
}

static int forked(void)
{
    char *memory;
    MUST(cudaMallocHost((void **)&memory, BYTES));
    memory[MIB] = 1;
    pid_t pid = fork();
    if (pid == 0) {
        memory[MIB]++;
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    printf("after the child %d\n", memory[MIB]);
    printf("free %d\n", cudaFreeHost(memory));
    return 0;
}

static char *allocate(void)
{
    char *memory;
    MUST(cudaMallocHost((void **)&memory, BYTES));
    return memory;
}

static int inherited(void)
{
    int ready[2];
    char byte = 0;
    for (int i = 0; i < 3; i++)
        MUST(cudaFreeHost(allocate()));
    char *memory = allocate();
    memset(memory, 1, BYTES);
    if (pipe(ready) != 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        if (read(ready[0], &byte, 1) != 1)
            _exit(2);
        for (size_t i = 0; i < BYTES; i++)
            if (memory[i] != 1)
                _exit(1);
        _exit(0);
    }
    MUST(cudaFreeHost(memory));
    memory = allocate();
    memset(memory, 2, BYTES);
    int status = -1;
    if (write(ready[1], &byte, 1) != 1)
        return 1;
    waitpid(pid, &status, 0);
    printf("the child's memory %s\n", status == 0 ? "is as it was" : "has changed");
    MUST(cudaFreeHost(memory));
    return 0;
}

static int wrong;

static void *allocate_often(void *number)
{
    for (int i = 0; i < 8; i++) {
        char *memory = allocate();
        for (size_t at = 0; at < BYTES; at += 509)
            if (memory[at] != 0)
                __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        memset(memory, (int)(uintptr_t)number, BYTES);
        for (size_t at = 0; at < BYTES; at += 509)
            if (memory[at] != (char)(uintptr_t)number)
                __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        MUST(cudaFreeHost(memory));
    }
    return NULL;
}

static int threads_allocate(void)
{
    pthread_t made[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&made[i], NULL, allocate_often, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(made[i], NULL);
    printf("wrong %d\n", wrong);
    return 0;
}

/* By the older function of that name, as runtimes do it. */
static void reset_by_driver(void *driver)
{
    xcu_result (*reset)(xcu_device) = (__typeof__(reset))dlsym(driver, "cuDevicePrimaryCtxReset");
    char *memory;
    MUST(cudaMallocHost((void **)&memory, BYTES));
    must(reset(0), "reset");
    printf("after the driver's reset: free %d, ", cudaFreeHost(memory));
    printf("free %d, last %d\n", cudaFreeHost(memory), cudaGetLastError());
}

int main(int argc, char **argv)
{
    char *memory, *flagged;
    void *device;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    attribute = (__typeof__(attribute))dlsym(driver, "cuPointerGetAttribute");
    MUST(cudaMalloc(&device, BYTES));
    if (argc > 1 && strcmp(argv[1], "fork") == 0)
        return forked();
    if (argc > 1 && strcmp(argv[1], "inherited") == 0)
        return inherited();
    if (argc > 1 && strcmp(argv[1], "threads") == 0)
        return threads_allocate();
    for (int i = 0; i < 14; i++) {
        MUST(i & 1 ? cudaMallocHost((void **)&memory, BYTES)
                   : cudaHostAlloc((void **)&memory, BYTES, 0));
        printf("%d:\n", i);
        about(memory, 0);
        about(memory, 3 * MIB + 17);
        wrong_calls(memory);
        use(memory, device);
        int error = cudaFreeHost(memory);
        printf("  free %d, again %d, last %d\n", error, cudaFreeHost(memory), cudaGetLastError());
    }
    MUST(cudaHostAlloc((void **)&flagged, BYTES, XCU_HOST_PORTABLE));
    about(flagged, 5);
    reset_by_driver(driver);
    MUST(cudaHostAlloc((void **)&flagged, BYTES, XCU_HOST_PORTABLE));
    MUST(cudaMallocHost((void **)&memory, BYTES)); /* goes with its context */
    MUST(cudaDeviceReset());
    printf("after the reset: free %d, ", cudaFreeHost(memory));
    printf("free %d, last %d\n", cudaFreeHost(flagged), cudaGetLastError());
    return 0;
}
