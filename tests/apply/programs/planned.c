/*
 * Call sites of which a plan says something, in situations in which it must not be done, or must be
 * done right: planned MODE. Prints what the device has after each round; alone and with the plan it
 * must be the same. The planned sites are in upload(), upload_async() and allocate().
 *
 * What kernels nobody sees do is played by the host: the simulated GPU's memory is the host's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "tests/apply/programs/applied.h"

xrt_error cudaMemset(void *p, int value, size_t bytes);
xrt_error cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height);
xrt_error cudaMemGetInfo(size_t *left, size_t *total);
xrt_error cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height);

#define ROUNDS 24
#define BYTES MIB

static char *source, *other, *pinned, *found;
static char *device, *second;
static xcu_stream streams[2];

__attribute__((noipa)) static void upload(char *to, const char *from, size_t bytes)
{
    MUST(cudaMemcpy(to, from, bytes, XRT_COPY_H2D));
}

__attribute__((noipa)) static void upload_async(char *to, const char *from, size_t bytes,
                                                xcu_stream stream)
{
    MUST(cudaMemcpyAsync(to, from, bytes, XRT_COPY_H2D, stream));
}

__attribute__((noipa)) static char *allocate(size_t bytes)
{
    void *p;
    MUST(cudaMalloc(&p, bytes));
    return p;
}

static void show(int round, const char *from, size_t bytes)
{
    MUST(cudaMemcpy(found, from, bytes, XRT_COPY_D2H));
    printf("round %d: %016llx\n", round, (unsigned long long)sum(found, bytes));
}

/* ---- uploads --------------------------------------------------------------------------------- */

static void same(int round)
{
    upload(device, source, BYTES);
    show(round, device, BYTES);
}

static void long_same(int round)
{
    for (int i = 0; i < 8; i++)
        upload(device, source, BYTES);
    show(round, device, BYTES);
}

static void longer_same(int round)
{
    for (int i = 0; i < 80; i++)
        upload(device, source, BYTES);
    if (round % 8 == 7)
        show(round, device, BYTES);
}

static void changed(int round)
{
    source[(size_t)round * 4093 % BYTES] += (char)(round % 3 == 0);
    same(round);
}

static void last_byte(int round)
{
    source[BYTES - 1] = (char)(round / 5);
    same(round);
}

/* By Async the driver waits for the stream's work from 3 MiB on, and so does what is left out. */
static void uploads_async(int round, size_t bytes)
{
    static char *there, *from;
    if (there == NULL) {
        MUST(cudaMalloc((void **)&there, bytes));
        from = malloc(bytes);
        fill(from, bytes, 3);
    }
    upload_async(there, from, bytes, streams[0]);
    MUST(cudaStreamSynchronize(streams[0]));
    show(round, there + bytes - BYTES, BYTES);
}

static void async_at_once(int round)
{
    uploads_async(round, 2 * MIB);
}

static void async_that_waits(int round)
{
    uploads_async(round, 3 * MIB);
}

static void set(int round)
{
    same(round);
    MUST(cudaMemset(device + BYTES / 2, round, 64));
}

static void set_rows(int round)
{
    same(round);
    MUST(cudaMemset2D(device + 4096, 8192, round, 100, 10));
}

/* Every form of the driver's, one a round, between two uploads of which one is needed; those
 * without a stream do not look at it. */
static const char *const set_form_names[ROUNDS] = {
#define SET_FORMS(row, rows)                                                                       \
    "cuMemset" row "_v2", "cuMemset" row "_v2_ptds", "cuMemset" row "Async",                       \
        "cuMemset" row "Async_ptsz", "cuMemset" rows "_v2", "cuMemset" rows "_v2_ptds",            \
        "cuMemset" rows "Async", "cuMemset" rows "Async_ptsz"
    SET_FORMS("D8", "D2D8"), SET_FORMS("D16", "D2D16"), SET_FORMS("D32", "D2D32")};

static void set_forms(int round)
{
    union {
        void *found;
        int (*row)(char *, unsigned, size_t, xcu_stream);
        int (*rows)(char *, size_t, unsigned, size_t, size_t, xcu_stream);
    } driver = {dlsym(dlopen("libcuda.so.1", RTLD_NOW), set_form_names[round])};
    char *at = device + BYTES / 2;
    unsigned value = (unsigned)round + 1;
    MUST(round % 8 < 4 ? driver.row(at, value, 64, streams[0])
                       : driver.rows(at, 8192, value, 64, 3, streams[0]));
    MUST(cudaDeviceSynchronize());
    show(round, device, BYTES);
    for (volatile int i = 0; i < 2; i++) /* from one place */
        same(round);
}

static void copied_there(int round)
{
    same(round);
    MUST(cudaMemcpy(device + 300 * 1024, second, 1024, XRT_COPY_D2D));
}

static void rows_there(int round)
{
    same(round);
    MUST(cudaMemcpy2D(device + 300 * 1024, 4096, other, 4096, 100, 10, XRT_COPY_H2D));
}

static void elsewhere_uploaded(int round)
{
    same(round);
    other[0] = (char)round;
    MUST(cudaMemcpy(device + BYTES - 64, other, 128, XRT_COPY_H2D));
}

static void set_elsewhere(int round)
{
    same(round);
    MUST(cudaMemset(second, round, BYTES));
}

static void freed(int round)
{
    same(round);
    MUST(cudaFree(device));
    device = NULL;
    MUST(cudaMalloc((void **)&device, 2 * BYTES));
    if (round % 2)
        memset(device, 0, 2 * BYTES); /* new memory has anything */
}

static void shorter(int round)
{
    size_t bytes = BYTES - (size_t)(round % 4) * 8192;
    upload(device, source, bytes);
    show(round, device, bytes);
}

/* In turn: each stream's own order says when the bytes are there. */
static void two_streams(int round)
{
    upload_async(device, source, BYTES, streams[round / 3 % 2]);
    MUST(cudaStreamSynchronize(streams[round / 3 % 2]));
    show(round, device, BYTES);
}

/* The source is written by the stream's own order, before the upload reads it. */
static void in_the_order_of_a_stream(int round)
{
    other[7] = (char)round;
    MUST(cudaMemcpy(second, other, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpyAsync(pinned, second, BYTES, XRT_COPY_D2H, streams[0]));
    upload_async(device, pinned, BYTES, streams[0]);
    MUST(cudaStreamSynchronize(streams[0]));
    show(round, device, BYTES);
}

/* The same by what the legacy stream waits for. */
static void in_the_order_of_the_default_stream(int round)
{
    other[7] = (char)round;
    MUST(cudaMemcpy(second, other, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpyAsync(pinned, second, BYTES, XRT_COPY_D2H, streams[0]));
    upload(device, pinned, BYTES);
    show(round, device, BYTES);
}

static void pinned_same(int round)
{
    upload(device, pinned, BYTES);
    show(round, device, BYTES);
}

static void reused(int round)
{
    fill(source, BYTES, (uint64_t)round / 6);
    upload_async(device, source, BYTES, streams[0]);
    memset(source, 0, BYTES); /* an upload of pageable memory has read it when it returns */
    MUST(cudaStreamSynchronize(streams[0]));
    show(round, device, BYTES);
}

static void unseen(int round)
{
    same(round);
    device[BYTES / 3] ^= 1;
}

static void unseen_late(int round)
{
    same(round);
    device[BYTES / 3] ^= (char)(round > 11);
}

static void failing(int round)
{
    if (round % 4 == 3)
        printf("round %d: %s\n", round,
               cudaGetErrorName(cudaMemcpy((void *)16, source, BYTES, XRT_COPY_H2D)));
    same(round);
    printf("last error %d\n", cudaGetLastError());
}

static void *uploads_alone(void *of)
{
    char *mine = of;
    for (int i = 0; i < ROUNDS; i++) {
        mine[0] = (char)(i / 5);
        upload(second, mine, BYTES);
    }
    return NULL;
}

static void two_threads(int round)
{
    pthread_t thread;
    if (round > 1)
        return;
    if (pthread_create(&thread, NULL, uploads_alone, other) != 0)
        exit(1);
    for (int i = 0; i < ROUNDS; i++)
        same(i);
    pthread_join(thread, NULL);
    show(round, second, BYTES);
}

/* ---- allocations ----------------------------------------------------------------------------- */

static void pool(int round)
{
    size_t bytes = BYTES + (size_t)(round / 6 % 3) * 4096;
    char *a = allocate(bytes), *b = allocate(bytes);
    printf("%d\n", a != b);
    MUST(cudaMemcpy(a, source, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpy(b, other, BYTES, XRT_COPY_H2D));
    show(round, a, BYTES);
    show(round, b, BYTES);
    MUST(cudaFree(b));
    MUST(cudaFree(a));
}

/* A free waits for what still uses the memory. */
static void pool_waits(int round)
{
    char *a = allocate(BYTES);
    source[1] = (char)round;
    MUST(cudaMemcpyAsync(a, source, BYTES, XRT_COPY_H2D, streams[0]));
    MUST(cudaMemcpyAsync(pinned, a, BYTES, XRT_COPY_D2H, streams[0]));
    MUST(cudaFree(a));
    printf("round %d: %016llx\n", round, (unsigned long long)sum(pinned, BYTES));
}

/* Memory that is kept is there for others, too. */
static void pool_full(int round)
{
    size_t left, total, pitch;
    void *most;
    MUST(cudaMemGetInfo(&left, &total));
    char *a = allocate(total / 20);
    MUST(cudaFree(a));
    if (round % 2)
        MUST(cudaMalloc(&most, left - total / 40));
    else
        MUST(cudaMallocPitch(&most, &pitch, 1 << 20, (left - total / 40) >> 20));
    MUST(cudaFree(most));
    printf("round %d: there was room\n", round);
}

/* Twice is an error, as it always is. */
static void pool_twice(int round)
{
    char *a = allocate(BYTES);
    MUST(cudaFree(a));
    printf("round %d: %s\n", round, cudaGetErrorName(cudaFree(a)));
    (void)cudaGetLastError();
}

static void pool_reset(int round)
{
    char *a = allocate(BYTES);
    if (round % 2)
        MUST(cudaFree(a));
    MUST(cudaDeviceReset());
    a = allocate(BYTES);
    MUST(cudaMemcpy(a, source, BYTES, XRT_COPY_H2D));
    show(round, a, BYTES);
    MUST(cudaFree(a));
}

static const struct mode {
    const char *name;
    void (*round)(int round);
} modes[] = {
#define MODE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    MODE(same),
    MODE(long_same),
    MODE(longer_same),
    MODE(changed),
    MODE(last_byte),
    MODE(async_at_once),
    MODE(async_that_waits),
    MODE(set),
    MODE(set_rows),
    MODE(set_forms),
    MODE(copied_there),
    MODE(rows_there),
    MODE(elsewhere_uploaded),
    MODE(set_elsewhere),
    MODE(freed),
    MODE(shorter),
    MODE(two_streams),
    MODE(in_the_order_of_a_stream),
    MODE(in_the_order_of_the_default_stream),
    MODE(pinned_same),
    MODE(reused),
    MODE(unseen),
    MODE(unseen_late),
    MODE(failing),
    MODE(two_threads),
    MODE(pool),
    MODE(pool_waits),
    MODE(pool_full),
    MODE(pool_twice),
    MODE(pool_reset),
};

int main(int argc, char **argv)
{
    source = malloc(BYTES);
    other = malloc(BYTES);
    found = malloc(BYTES);
    fill(source, BYTES, 1);
    fill(other, BYTES, 2);
    MUST(cudaMalloc((void **)&device, 2 * BYTES));
    MUST(cudaMalloc((void **)&second, BYTES));
    MUST(cudaMallocHost((void **)&pinned, BYTES));
    memcpy(pinned, other, BYTES);
    MUST(cudaMemcpy(second, other, BYTES, XRT_COPY_H2D));
    MUST(cudaStreamCreate(&streams[0]));
    MUST(cudaStreamCreate(&streams[1]));
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        for (int round = 0; strcmp(argv[1], modes[i].name) == 0 && round < ROUNDS; round++)
            modes[i].round(round);
    return 0;
}
