/*
 * Memory that a plan says to place on a NUMA node: placed MODE. Prints what the GPU has
 * of it, and the thread's memory policy; alone and with the plan it must be the same. Says on
 * standard error what the simulated clock shows, and on which node the kernel has the memory.
 * The planned sites are in allocate(), page_lock(), upload() and download().
 */
#include <dlfcn.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (4 * MIB)
#define ROUNDS 60
#define MANY 200 /* that moving the memory pays for */
#define PAGE 4096
#define OFFSET 100 /* so that it is not whole pages */

static void *device;
static char *found;
static size_t bytes = BYTES;

__attribute__((noipa)) static char *allocate(size_t count)
{
    void *memory = NULL;
    MUST(cudaMallocHost(&memory, count));
    return memory;
}

__attribute__((noipa)) static int page_lock(char *memory, size_t count)
{
    volatile int status = cudaHostRegister(memory, count, 0); /* no tail call: it is a site */
    return status;
}

__attribute__((noipa)) static void upload(const char *memory, size_t count)
{
    MUST(cudaMemcpy(device, memory, count, XRT_COPY_H2D));
}

__attribute__((noipa)) static void download(char *memory, size_t count)
{
    MUST(cudaMemcpy(memory, device, count, XRT_COPY_D2H));
}

static char *map(void)
{
    char *memory =
        mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    fill(memory, bytes + PAGE, 5);
    return memory + OFFSET;
}

static int node_of(char *memory)
{
    void *page = (void *)((uintptr_t)(memory + bytes / 2) & ~(uintptr_t)(PAGE - 1));
    int node = -1;
    return syscall(SYS_move_pages, 0, 1ul, &page, NULL, &node, 0) == 0 ? node : -1;
}

static void use(char *memory, int rounds)
{
    int policy = -1;
    for (int i = 0; i < rounds; i++) {
        memory[(size_t)i * PAGE] = (char)i;
        MUST(cudaMemcpy(device, memory, bytes, XRT_COPY_H2D));
    }
    MUST(cudaMemcpy(found, device, bytes, XRT_COPY_D2H));
    (void)syscall(SYS_get_mempolicy, &policy, NULL, 0ul, NULL, 0ul);
    printf("%016llx, policy %d\n", (unsigned long long)sum(found, bytes), policy);
    fprintf(stderr, "node: %d\n", node_of(memory));
}

static void own_policy(int mode)
{
    unsigned long node = 1;
    if (syscall(SYS_set_mempolicy, mode, mode == MPOL_DEFAULT ? NULL : &node,
                mode == MPOL_DEFAULT ? 0ul : 64ul) != 0)
        exit(1);
}

/* ---- the modes ------------------------------------------------------------------------------- */

static void pinned(void)
{
    char *memory = allocate(bytes);
    fill(memory, bytes, 1);
    use(memory, ROUNDS);
    MUST(cudaFreeHost(memory));
}

static void large(void)
{
    bytes = 64 * MIB;
    pinned();
}

static void registered(void)
{
    char *memory = map();
    MUST(page_lock(memory, bytes));
    use(memory, MANY);
    printf("again: %s\n", cudaGetErrorName(page_lock(memory, bytes)));
    MUST(cudaHostUnregister(memory));
}

static void registered_each_time(void)
{
    char *memory = map();
    for (int i = 0; i < 8; i++) {
        MUST(page_lock(memory, bytes));
        use(memory, 1);
        MUST(cudaHostUnregister(memory));
    }
}

/* The same call sites, for GPUs on both nodes. */
static void both(void)
{
    MUST(cudaSetDevice(2));
    MUST(cudaMalloc(&device, bytes));
    pinned();
    MUST(cudaSetDevice(0));
    MUST(cudaMalloc(&device, bytes));
    pinned();
}

/* What is there on the other node was bound to it by the program. */
static void bound(void)
{
    own_policy(MPOL_BIND);
    char *memory = allocate(bytes), *mine = map();
    MUST(page_lock(mine, bytes));
    use(memory, 4);
    use(mine, 4);
}

static void say(const char *what, const char *memory, size_t count)
{
    int policy = -1;
    (void)syscall(SYS_get_mempolicy, &policy, NULL, 0ul, NULL, 0ul);
    printf("%s: %016llx, policy %d\n", what, (unsigned long long)sum(memory, count), policy);
}

/* Up and down, of other bytes each time. */
static void pageable(void)
{
    char *memory = map() - OFFSET, *back = map() - OFFSET;
    for (int i = 0; i < MANY; i++) {
        memory[(size_t)i * PAGE] = (char)i;
        upload(memory, bytes);
        download(back, bytes);
    }
    say("up", memory, bytes);
    say("down", back, bytes);
    fprintf(stderr, "node: %d\n", node_of(memory));
}

static void pageable_once_each(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        char *memory = map() - OFFSET;
        upload(memory, bytes);
        munmap(memory, bytes + PAGE);
    }
    download(found, bytes);
    say("once", found, bytes);
}

/* The first is moved first; whether that gains decides about the others. */
static void pageable_several(void)
{
    char *memory[4];
    for (int i = 0; i < 4; i++)
        memory[i] = map() - OFFSET;
    for (int i = 0; i < MANY; i++) {
        memory[i % 4][(size_t)i * PAGE] = (char)i;
        upload(memory[i % 4], bytes);
    }
    download(found, bytes);
    say("several", found, bytes);
}

/* For GPUs on both nodes. */
static void pageable_both(void)
{
    char *memory = map() - OFFSET;
    void *other, *first = device;
    MUST(cudaSetDevice(2));
    MUST(cudaMalloc(&other, bytes));
    for (int i = 0; i < ROUNDS; i++) {
        device = i % 2 ? first : other;
        MUST(cudaSetDevice(i % 2 ? 0 : 2));
        upload(memory, bytes);
    }
    download(found, bytes);
    say("both", found, bytes);
}

/* Each is copied once or twice. */
static void pageable_new(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        char *memory = map();
        upload(memory, bytes);
    }
    download(found, bytes);
    say("new", found, bytes);
}

static void pageable_part(void)
{
    char *memory = map(), *back = map();
    for (int i = 0; i < ROUNDS; i++) {
        upload(memory, bytes);
        download(back, bytes);
    }
    say("part", back, bytes);
}

/* By the sites of pageable memory. */
static void locked(void)
{
    char *memory = allocate(bytes);
    fill(memory, bytes, 1);
    for (int i = 0; i < ROUNDS; i++)
        upload(memory, bytes);
    MUST(cudaMemcpy(found, device, bytes, XRT_COPY_D2H));
    say("locked", found, bytes);
}

/* By a thread with a policy of its own. */
static void pageable_bound(void)
{
    own_policy(MPOL_BIND);
    pageable();
}

static void no_memory(void)
{
    void *memory = NULL;
    printf("nothing: %s\n", cudaGetErrorName(cudaMallocHost(&memory, 0)));
    printf("nowhere: %s\n", cudaGetErrorName(page_lock((char *)PAGE, 0)));
    pinned();
}

static const struct mode {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"pinned", pinned},
    {"large", large},
    {"registered", registered},
    {"registered_each_time", registered_each_time},
    {"both", both},
    {"bound", bound},
    {"no_memory", no_memory},
    {"pageable", pageable},
    {"pageable_once_each", pageable_once_each},
    {"pageable_several", pageable_several},
    {"pageable_both", pageable_both},
    {"pageable_bound", pageable_bound},
    {"pageable_new", pageable_new},
    {"pageable_part", pageable_part},
    {"locked", locked},
};

int main(int argc, char **argv)
{
    union {
        void *found;
        uint64_t (*now_ns)(void);
    } clock;
    MUST(cudaSetDevice(argc > 2 ? atoi(argv[2]) : 0));
    found = malloc(64 * MIB);
    MUST(cudaMalloc(&device, 64 * MIB));
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            modes[i].run();
    clock.found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "xferscope_simgpu_now_ns");
    fprintf(stderr, "simulated: %llu ns\n", (unsigned long long)(clock.found ? clock.now_ns() : 0));
    return 0;
}
