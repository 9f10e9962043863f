/*
 * Threads that copy page-locked memory in the legacy default stream at the same time, as the host
 * sees it: run alone and under `xferscope apply --plan`, in turn. All data is compared.
 *
 *     apply_streams WHAT [THREADS [MIB [ROUNDS]]]
 *
 * up, down: each uploads, or downloads; both: every second thread downloads, the others upload;
 * order: each uploads, copies within the device by Async, in the same stream, and downloads; loop:
 * each uploads, fills 64 bytes, launches a kernel, and downloads; table: the same, and every kernel
 * reads one memory of all; shared: it writes one; hidden: it writes one that it finds by a pointer
 * in memory, which no parameter names. Prints a row: what, threads, MiB, rounds, ms, GB/s of all
 * threads together, copies that were different.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define CALLS(X)                                                                                   \
    X(cuMemsetD8_v2, (xcu_deviceptr, unsigned char, size_t))                                       \
    X(cuModuleLoadData, (void **, const void *))                                                   \
    X(cuModuleGetFunction, (void **, void *, const char *))                                        \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, xcu_stream, void **, void **))

#include "tests/apply/programs/applied.h"
#include "tests/gpu/clocked.h"
#include "tests/programs/calls_by_name.h"

#define BLOCKS 32 /* of a kernel, so that several fit on a GPU */
#define BLOCK 256
#define STEPS 64 /* of each word */
#define FILLED 64
#define WITHIN 8 /* copies within the device, before a download */
enum { MOST = 16 };

struct worker {
    pthread_t thread;
    bool up, down, order, loop;
    char *host, *asked, *device, *other,
        *none; /* none: memory with no pointer in it, or with one */
    int number, different;
};

static size_t bytes = 16 * MIB;
static int rounds = 200;
static pthread_barrier_t all;
static void *turn;   /* the kernel */
static char *of_all; /* memory of all threads, that begins with a pointer to its second half */
static char *table;  /* that begins with no pointer */
static bool shares, hides, reads;

/* Each word is taken STEPS times by 5, and 1 more; and the first one of `more`, and of what *more
 * points to, if it is not 0, by one thread. */
static const char source[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry turn(.param .u64 p, .param .u32 n, .param .u32 steps, .param .u64 more)\n{\n"
    ".reg .u64 %d<6>;\n.reg .u32 %r<14>;\n.reg .pred %q<5>;\n"
    "ld.param.u64 %d1, [p];\nld.param.u32 %r1, [n];\nld.param.u32 %r2, [steps];\n"
    "ld.param.u64 %d3, [more];\n"
    "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\n"
    "mad.lo.u32 %r6, %r3, %r4, %r5;\nmov.u32 %r7, %nctaid.x;\nmul.lo.u32 %r7, %r7, %r4;\n"
    "setp.ne.u32 %q3, %r6, 0;\n@%q3 bra WORDS;\n"
    "ld.global.u64 %d4, [%d3];\nsetp.eq.u64 %q4, %d4, 0;\n@%q4 bra WORDS;\n"
    "ld.global.u32 %r10, [%d4];\nadd.u32 %r10, %r10, 1;\nst.global.u32 [%d4], %r10;\n"
    "WORDS:\nsetp.ge.u32 %q1, %r6, %r1;\n@%q1 bra DONE;\n"
    "mul.wide.u32 %d2, %r6, 4;\nadd.u64 %d2, %d1, %d2;\nld.global.u32 %r8, [%d2];\n"
    "mov.u32 %r9, 0;\n"
    "STEPS:\nsetp.ge.u32 %q2, %r9, %r2;\n@%q2 bra NEXT;\nmad.lo.u32 %r8, %r8, 5, 1;\n"
    "add.u32 %r9, %r9, 1;\nbra STEPS;\n"
    "NEXT:\nst.global.u32 [%d2], %r8;\nadd.u32 %r6, %r6, %r7;\nbra WORDS;\nDONE:\nret;\n}\n";

static uint32_t turned(uint32_t word)
{
    for (int i = 0; i < STEPS; i++)
        word = word * 5 + 1;
    return word;
}

/* The same on the simulated GPU. */
#pragma GCC visibility push(default)
void xferscope_simgpu_kernel_turn(void **values, const unsigned grid[3], const unsigned block[3]);
extern const size_t xferscope_simgpu_params_turn[];
#pragma GCC visibility pop
const size_t xferscope_simgpu_params_turn[] = {8, 4, 4, 8, 0};

void xferscope_simgpu_kernel_turn(void **values, const unsigned grid[3], const unsigned block[3])
{
    uint32_t *words = *(uint32_t **)values[0], *more = **(uint32_t ***)values[3];
    (void)grid, (void)block;
    for (unsigned i = 0; i < *(unsigned *)values[1]; i++)
        words[i] = turned(words[i]);
    if (more)
        ++*more;
}

__attribute__((noipa)) static void upload(void *device, const void *host)
{
    MUST(cudaMemcpy(device, host, bytes, XRT_COPY_H2D));
}

__attribute__((noipa)) static void download(void *host, const void *device)
{
    MUST(cudaMemcpy(host, device, bytes, XRT_COPY_D2H));
}

/* The first and last words say which round's copy it is. */
static void mark(struct worker *worker, int round)
{
    memcpy(worker->host, &round, sizeof round);
    memcpy(worker->host + bytes - sizeof round, &round, sizeof round);
}

static void in_order(struct worker *worker, int round)
{
    int first, last;
    mark(worker, round);
    upload(worker->device, worker->host);
    for (int i = 0; i < WITHIN; i++) {
        MUST(cudaMemcpyAsync(worker->other, worker->device, bytes, XRT_COPY_D2D, NULL));
        MUST(cudaMemcpyAsync(worker->device, worker->other, bytes, XRT_COPY_D2D, NULL));
    }
    memset(worker->asked, -1, 64);
    download(worker->asked, worker->other);
    memcpy(&first, worker->asked, sizeof first);
    memcpy(&last, worker->asked + bytes - sizeof last, sizeof last);
    worker->different += first != round || last != round;
}

/* Some words stand for all. */
static void in_a_loop(struct worker *worker, int round)
{
    unsigned words = (unsigned)(bytes / 4), steps = STEPS, wrong = 0;
    char *more = shares ? of_all : reads ? table : worker->none;
    void *values[] = {&worker->device, &words, &steps, &more};
    uint32_t sent, came;
    mark(worker, round);
    upload(worker->device, worker->host);
    CALL(cuMemsetD8_v2, (xcu_deviceptr)(uintptr_t)worker->device + bytes / 2, (unsigned char)round,
         FILLED);
    CALL(cuLaunchKernel, turn, BLOCKS, 1, 1, BLOCK, 1, 1, 0, NULL, values, NULL);
    memset(worker->asked, -1, 64);
    download(worker->asked, worker->device);
    for (size_t at = 0; at + 4 <= bytes; at += bytes / 64) {
        memcpy(&sent, worker->host + at, sizeof sent);
        if (at >= bytes / 2 && at < bytes / 2 + FILLED)
            memset(&sent, (unsigned char)round, sizeof sent);
        memcpy(&came, worker->asked + at, sizeof came);
        wrong += came != turned(sent);
    }
    memcpy(&sent, worker->host + bytes - sizeof sent, sizeof sent);
    memcpy(&came, worker->asked + bytes - sizeof came, sizeof came);
    worker->different += wrong || came != turned(sent);
}

/* Memory that kernels count in: how often they did. */
static void load(const char *what)
{
    void *module;
    find_calls();
    MUST(cudaFree(NULL)); /* makes the context */
    CALL(cuModuleLoadData, &module, source);
    CALL(cuModuleGetFunction, &turn, module, "turn");
    shares = strcmp(what, "shared") == 0;
    hides = strcmp(what, "hidden") == 0;
    reads = strcmp(what, "table") == 0;
    MUST(cudaMalloc((void **)&table, 16));
    CALL(cuMemsetD8_v2, (xcu_deviceptr)(uintptr_t)table, 0, 16);
    MUST(cudaMalloc((void **)&of_all, 16));
    CALL(cuMemsetD8_v2, (xcu_deviceptr)(uintptr_t)of_all, 0, 16);
    char *own = of_all + 8;
    MUST(cudaMemcpy(of_all, &own, sizeof own, XRT_COPY_H2D));
}

static int not_counted(int kernels)
{
    uint32_t counted = 0;
    MUST(cudaMemcpy(&counted, of_all + 8, sizeof counted, XRT_COPY_D2H));
    return (shares || hides) && counted != (uint32_t)kernels;
}

static void *work(void *of)
{
    struct worker *worker = of;
    MUST(cudaFree(NULL)); /* makes the context current */
    pthread_barrier_wait(&all);
    for (int round = 0; round < rounds; round++) {
        if (worker->loop)
            in_a_loop(worker, round);
        else if (worker->order)
            in_order(worker, round);
        else if (worker->up)
            upload(worker->device, worker->host);
        else
            download(worker->host, worker->device);
    }
    pthread_barrier_wait(&all);
    return NULL;
}

static void begin(struct worker *worker, const char *what, int number)
{
    worker->number = number;
    worker->order = strcmp(what, "order") == 0;
    worker->loop = strcmp(what, "loop") == 0 || shares || hides || reads;
    worker->down = strcmp(what, "down") == 0 || (strcmp(what, "both") == 0 && number % 2);
    worker->up = !worker->down;
    MUST(cudaMallocHost((void **)&worker->host, bytes));
    MUST(cudaMallocHost((void **)&worker->asked, bytes));
    MUST(cudaMalloc((void **)&worker->device, bytes));
    MUST(cudaMalloc((void **)&worker->other, bytes));
    MUST(cudaMalloc((void **)&worker->none, 16));
    char *hidden = hides ? of_all + 8 : NULL;
    MUST(cudaMemcpy(worker->none, &hidden, sizeof hidden, XRT_COPY_H2D));
    fill(worker->asked, bytes, (uint64_t)number + 1);
    memcpy(worker->host, worker->asked, bytes);
    if (!worker->down)
        return;
    MUST(cudaMemcpy(worker->device, worker->asked, bytes, XRT_COPY_H2D));
    memset(worker->host, 0, bytes);
}

static void compare(struct worker *worker)
{
    if (worker->order || worker->loop)
        return;
    if (worker->up) {
        memset(worker->host, 0, bytes);
        MUST(cudaMemcpy(worker->host, worker->device, bytes, XRT_COPY_D2H));
    }
    worker->different += memcmp(worker->host, worker->asked, bytes) != 0;
}

int main(int argc, char **argv)
{
    static struct worker workers[MOST];
    int count = argc > 2 ? atoi(argv[2]) : 2, different = 0;
    if (argc < 2 || count < 1 || count > MOST)
        return 2;
    if (argc > 3)
        bytes = (size_t)atoi(argv[3]) * MIB;
    if (argc > 4)
        rounds = atoi(argv[4]);
    load(argv[1]);
    pthread_barrier_init(&all, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        begin(&workers[i], argv[1], i);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    pthread_barrier_wait(&all);
    double begun = now_s();
    pthread_barrier_wait(&all);
    double took = now_s() - begun;
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        compare(&workers[i]);
        different += workers[i].different;
    }
    different += not_counted(count * rounds);
    int each = workers[0].order || workers[0].loop ? 2 : 1;
    printf("%s %d %zu %d %.1f %.2f %d\n", argv[1], count, bytes / MIB, rounds, took * 1e3,
           (double)bytes * each * count * rounds / took * 1e-9, different);
    return different != 0;
}
