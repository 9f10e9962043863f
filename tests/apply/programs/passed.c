/*
 * Copies and page-locked memory while all is passed on for a while (preload/apply/apply.h): what is
 * copied arrives, and memory is given back by whichever way, made by the other. On standard error,
 * since it is not as alone: whether memory that is freed is still mapped (kept).
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/apply/programs/applied.h"

#define BYTES (20 * MIB)
#define LOCKED (40 * MIB)
#define PAUSE_NS 20000000

static void (*pass_on)(int);
static void *device;
static char *source, *found;

static void all_is_passed_on(int whether)
{
    if (pass_on)
        pass_on(whether);
}

static void copies(int count, uint64_t seed)
{
    for (int i = 0; i < count; i++) {
        fill(source, BYTES, seed + (uint64_t)i);
        uint64_t sent = sum(source, BYTES);
        MUST(cudaMemcpy(device, source, BYTES, XRT_COPY_H2D));
        memset(found, 0, BYTES);
        MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
        printf("%s ", sum(found, BYTES) == sent ? "same" : "different");
    }
    printf("\n");
}

static char *lock(void)
{
    char *memory = NULL;
    MUST(cudaMallocHost((void **)&memory, LOCKED));
    memset(memory, 1, LOCKED);
    MUST(cudaMemcpy(device, memory, BYTES, XRT_COPY_H2D));
    return memory;
}

static void free_it(char *memory, const char *when)
{
    unsigned char there;
    int error = cudaFreeHost(memory);
    int kept = mincore(memory, 4096, &there) == 0;
    printf("freed: %d, again: %d\n", error, cudaFreeHost(memory));
    (void)cudaGetLastError();
    fprintf(stderr, "%s: %s\n", when, kept ? "kept" : "gone");
}

static void locked(void)
{
    free_it(lock(), "first"); /* from the second of a size on it is kept */
    free_it(lock(), "second");
    char *ours = lock();
    all_is_passed_on(1);
    free_it(ours, "passed on");
    char *asked = lock();
    all_is_passed_on(0);
    free_it(asked, "the driver's");
    free_it(lock(), "last");
}

static void wait_ns(long ns)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void (*simulated)(uint64_t) =
        driver ? (void (*)(uint64_t))dlsym(driver, "xferscope_simgpu_spend_ns") : NULL;
    if (simulated)
        simulated((uint64_t)ns);
    else
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* While it is tried out every other copy is ours, and long nothing is seen behind every other one:
 * that is no loss. */
static void rounds(int count, int which)
{
    for (int i = 0; i < count; i++) {
        copies(1, (uint64_t)i);
        all_is_passed_on(1);
        if (i % 2 == which)
            wait_ns(PAUSE_NS);
        all_is_passed_on(0);
    }
}

int main(int argc, char **argv)
{
    pass_on = (void (*)(int))dlsym(RTLD_DEFAULT, "xferscope_apply_pass_on");
    source = malloc(BYTES);
    found = malloc(BYTES);
    MUST(cudaMalloc(&device, BYTES));
    if (argc > 1 && strcmp(argv[1], "locked") == 0) {
        locked();
    } else if (argc > 1 && strcmp(argv[1], "rounds") == 0) {
        rounds(40, argc > 2 ? atoi(argv[2]) : 0);
    } else {
        copies(3, 1);
        all_is_passed_on(1);
        copies(4, 10);
        all_is_passed_on(0);
        copies(2, 20);
    }
    printf("last error %d\n", cudaGetLastError());
    MUST(cudaFree(device));
    free(source);
    free(found);
    return 0;
}
