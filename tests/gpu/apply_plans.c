/*
 * What classes of apply do that need a plan, or the profile of two GPUs, as the host sees it: run
 * alone and under `xferscope apply`, in turn. All that comes back is compared.
 *
 *     apply_plans relay | relay-async | managed | resident | keep | changes [MIB [ROUNDS]]
 *
 * relay: uploads of page-locked memory to GPU 0, of a program that has a context on GPU 1, with
 * peer access; managed: the host writes managed memory, a kernel adds to it, the host reads it;
 * resident: the host reads nothing before the end; keep: the same bytes of pageable memory are
 * uploaded in each round, a kernel adds them up; changes: of them one in the middle is another.
 * Prints a row: what, MiB, rounds, ms of all, the median of a round, that of the second half (us),
 * rounds that were wrong.
 */
#define CALLS(X)                                                                                   \
    X(cuMemAllocManaged, (xcu_deviceptr *, size_t, unsigned))                                      \
    X(cuModuleLoadData, (void **, const void *))                                                   \
    X(cuModuleGetFunction, (void **, void *, const char *))                                        \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, xcu_stream, void **, void **))

#include <dlfcn.h>

#include "tests/apply/programs/applied.h"
#include "tests/gpu/clocked.h"
#include "tests/programs/calls_by_name.h"
#include "tools/simgpu/simgpu.h"

#define BLOCKS 128
#define BLOCK 256
#define GLOBAL 1u /* CU_MEM_ATTACH_GLOBAL */

xrt_error cudaDeviceEnablePeerAccess(int peer, unsigned flags);

static void *add, *sum_up;
static size_t bytes = 64 * MIB;
static int rounds = 100, wrong;
static int (*touched)(const void *, size_t, int); /* of the simulated GPU */

/* Each word takes 1 more. */
static const char add_source[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n"
    ".reg .u64 %d<3>;\n.reg .u32 %r<9>;\n.reg .pred %q<2>;\n"
    "ld.param.u64 %d1, [p];\nld.param.u32 %r1, [n];\n"
    "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\n"
    "mad.lo.u32 %r6, %r3, %r4, %r5;\nmov.u32 %r7, %nctaid.x;\nmul.lo.u32 %r7, %r7, %r4;\n"
    "WORDS:\nsetp.ge.u32 %q1, %r6, %r1;\n@%q1 bra DONE;\n"
    "mul.wide.u32 %d2, %r6, 4;\nadd.u64 %d2, %d1, %d2;\nld.global.u32 %r8, [%d2];\n"
    "add.u32 %r8, %r8, 1;\nst.global.u32 [%d2], %r8;\n"
    "add.u32 %r6, %r6, %r7;\nbra WORDS;\nDONE:\nret;\n}\n";

/* The words are added to *to. */
static const char sum_source[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry sum_up(.param .u64 p, .param .u32 n, .param .u64 to)\n{\n"
    ".reg .u64 %d<4>;\n.reg .u32 %r<10>;\n.reg .pred %q<2>;\n"
    "ld.param.u64 %d1, [p];\nld.param.u32 %r1, [n];\nld.param.u64 %d3, [to];\n"
    "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\n"
    "mad.lo.u32 %r6, %r3, %r4, %r5;\nmov.u32 %r7, %nctaid.x;\nmul.lo.u32 %r7, %r7, %r4;\n"
    "mov.u32 %r9, 0;\n"
    "WORDS:\nsetp.ge.u32 %q1, %r6, %r1;\n@%q1 bra DONE;\n"
    "mul.wide.u32 %d2, %r6, 4;\nadd.u64 %d2, %d1, %d2;\nld.global.u32 %r8, [%d2];\n"
    "add.u32 %r9, %r9, %r8;\nadd.u32 %r6, %r6, %r7;\nbra WORDS;\n"
    "DONE:\nred.global.add.u32 [%d3], %r9;\nret;\n}\n";

/* The same on the simulated GPU. */
#pragma GCC visibility push(default)
xferscope_simgpu_twin xferscope_simgpu_kernel_add, xferscope_simgpu_kernel_sum_up;
extern const size_t xferscope_simgpu_params_add[], xferscope_simgpu_params_sum_up[];
#pragma GCC visibility pop
const size_t xferscope_simgpu_params_add[] = {8, 4, 0};
const size_t xferscope_simgpu_params_sum_up[] = {8, 4, 8, 0};

static void touch(const void *memory, size_t count, int write)
{
    if (touched)
        (void)touched(memory, count, write);
}

void xferscope_simgpu_kernel_add(void **values, const unsigned grid[3], const unsigned block[3])
{
    uint32_t *words = *(uint32_t **)values[0], n = *(uint32_t *)values[1];
    (void)grid, (void)block;
    touch(words, n * sizeof *words, 1);
    for (uint32_t i = 0; i < n; i++)
        words[i]++;
}

static uint32_t sum_of(const void *memory)
{
    const uint32_t *words = memory;
    uint32_t total = 0;
    for (size_t i = 0; i < bytes / 4; i++)
        total += words[i];
    return total;
}

void xferscope_simgpu_kernel_sum_up(void **values, const unsigned grid[3], const unsigned block[3])
{
    (void)grid, (void)block;
    **(uint32_t **)values[2] += sum_of(*(void **)values[0]);
}

static void load(void)
{
    void *module;
    CALL(cuModuleLoadData, &module, add_source);
    CALL(cuModuleGetFunction, &add, module, "add");
    CALL(cuModuleLoadData, &module, sum_source);
    CALL(cuModuleGetFunction, &sum_up, module, "sum_up");
    *(void **)&touched = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "xferscope_simgpu_touch");
}

/* ---- what a plan names ----------------------------------------------------------------------- */

__attribute__((noipa)) static void upload(void *device, const void *host)
{
    MUST(cudaMemcpy(device, host, bytes, XRT_COPY_H2D));
}

__attribute__((noipa)) static void upload_async(void *device, const void *host)
{
    MUST(cudaMemcpyAsync(device, host, bytes, XRT_COPY_H2D, NULL));
}

__attribute__((noipa)) static char *allocate(void)
{
    xcu_deviceptr memory = 0;
    CALL(cuMemAllocManaged, &memory, bytes, GLOBAL);
    return (char *)(uintptr_t)memory;
}

/* ---- a round of each; returns what it took, us ------------------------------------------------
 */

static char *host, *device, *found, *memory;
static uint32_t *total, before;

static void mark(char *at, int round)
{
    memcpy(at, &round, sizeof round);
    memcpy(at + bytes / 2 - 8, &round, sizeof round);
    memcpy(at + bytes - sizeof round, &round, sizeof round);
}

static double relay(int round, int async)
{
    mark(host, round);
    double begun = now_ms();
    if (async)
        upload_async(device, host);
    else
        upload(device, host);
    MUST(cudaDeviceSynchronize());
    double took = now_ms() - begun;
    memset(found, 0, bytes);
    MUST(cudaMemcpy(found, device, bytes, XRT_COPY_D2H));
    wrong += memcmp(found, host, bytes) != 0;
    return took * 1e3;
}

static double managed(int round, int all)
{
    uint32_t *words = (uint32_t *)(void *)memory, n = (uint32_t)(bytes / 4);
    void *values[] = {&memory, &n};
    double begun = now_ms();
    if (all || round == 0) {
        touch(memory, bytes, 1);
        for (uint32_t i = 0; i < n; i++)
            words[i] = i + (uint32_t)round;
    }
    CALL(cuLaunchKernel, add, BLOCKS, 1, 1, BLOCK, 1, 1, 0, NULL, values, NULL);
    MUST(cudaDeviceSynchronize());
    if (all || round == rounds - 1) {
        uint32_t bad = 0;
        touch(memory, bytes, 0);
        for (uint32_t i = 0; i < n; i++)
            bad += words[i] != i + (uint32_t)round + 1;
        wrong += bad != 0;
    }
    return (now_ms() - begun) * 1e3;
}

static double keep(int round, int changes)
{
    uint32_t n = (uint32_t)(bytes / 4), now, here;
    void *values[] = {&device, &n, &total};
    if (changes)
        host[bytes / 2 + 3] = (char)round;
    double begun = now_ms();
    upload(device, host);
    CALL(cuLaunchKernel, sum_up, BLOCKS, 1, 1, BLOCK, 1, 1, 0, NULL, values, NULL);
    MUST(cudaMemcpy(&now, total, sizeof now, XRT_COPY_D2H));
    double took = now_ms() - begun;
    here = sum_of(host);
    wrong += now - before != here;
    before = now;
    return took * 1e3;
}

static void prepare(int gpus)
{
    for (int gpu = gpus - 1; gpu >= 0; gpu--) {
        MUST(cudaSetDevice(gpu));
        MUST(cudaMalloc((void **)&device, bytes));
        if (gpus > 1)
            MUST(cudaDeviceEnablePeerAccess(!gpu, 0));
    }
    MUST(cudaMalloc((void **)&total, sizeof *total));
    MUST(cudaMemcpy(total, &before, sizeof before, XRT_COPY_H2D));
    found = malloc(bytes);
    if (gpus > 1)
        MUST(cudaMallocHost((void **)&host, bytes));
    else
        host = malloc(bytes);
    fill(host, bytes, 1);
}

static const struct mode {
    const char *name;
    double (*round)(int round, int how);
    int how, gpus;
} modes[] = {
    {"relay", relay, 0, 2},      {"relay-async", relay, 1, 2}, {"managed", managed, 1, 1},
    {"resident", managed, 0, 1}, {"keep", keep, 0, 1},         {"changes", keep, 1, 1},
};

int main(int argc, char **argv)
{
    static double took[CLOCKED_MOST];
    const struct mode *mode = modes;
    const struct mode *end = modes + sizeof modes / sizeof *modes;
    double all = 0;
    if (argc > 2)
        bytes = (size_t)atoi(argv[2]) * MIB;
    if (argc > 3)
        rounds = atoi(argv[3]) < CLOCKED_MOST ? atoi(argv[3]) : CLOCKED_MOST;
    while (argc > 1 && mode < end && strcmp(argv[1], mode->name) != 0)
        mode++;
    if (argc < 2 || mode == end || rounds < 1)
        return 2;
    find_calls();
    prepare(mode->gpus);
    load();
    if (mode->round == managed)
        memory = allocate();
    for (int round = 0; round < rounds; round++)
        all += took[round] = mode->round(round, mode->how);
    printf("%s %zu %d %.1f %.0f %.0f %d\n", argv[1], bytes / MIB, rounds, all / 1e3,
           median(took, rounds), median(took + rounds / 2, rounds - rounds / 2), wrong);
    return wrong != 0;
}
