/*
 * Copies of odd shapes, and copies that fail, between good ones: no bytes, ranges that overlap or
 * touch, rows with huge pitches, 3D, across allocations, over the end; what they return, what stays
 * as the last error, and all that the memory holds then.
 */
#include <string.h>
#include <sys/mman.h>

#include "tests/apply/programs/applied.h"

#define BYTES (6 * MIB)
#define ALL (4 * BYTES)
enum { ROUNDS = 6 };

xrt_error cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                            size_t width, size_t height, int kind, xcu_stream stream);
xrt_error cudaMemcpy3D(const struct xrt_memcpy3d *parameters);
xrt_error cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height);

static char *device, *second, *host, *found;

static void said(const char *what, int status)
{
    int peeked = cudaPeekAtLastError(), last = cudaGetLastError();
    printf("%s: %d, %d, %d\n", what, status, peeked, last);
}

static void show(int round)
{
    MUST(cudaMemcpy(found, device, ALL, XRT_COPY_D2H));
    printf("round %d: %016llx, host %016llx\n", round, (unsigned long long)sum(found, ALL),
           (unsigned long long)sum(host, ALL));
}

static void no_bytes(void)
{
    said("none up", cudaMemcpy(device, host, 0, XRT_COPY_H2D));
    said("none from nowhere", cudaMemcpy(NULL, NULL, 0, XRT_COPY_H2D));
    said("none down, async", cudaMemcpyAsync(host, device, 0, XRT_COPY_D2H, NULL));
    said("no rows", cudaMemcpy2D(device, 8, host, 8, 8, 0, XRT_COPY_H2D));
    said("rows of none", cudaMemcpy2D(device, 8, host, 8, 0, 8, XRT_COPY_H2D));
}

static void overlapping(void)
{
    said("device onto itself", cudaMemcpy(device, device, BYTES, XRT_COPY_D2D));
    said("host onto itself", cudaMemcpy(host, host, BYTES, XRT_COPY_H2H));
    said("touching", cudaMemcpy(device + BYTES, device, BYTES, XRT_COPY_DEFAULT));
    said("odd up", cudaMemcpy(device + 13, host + 7, BYTES + 3, XRT_COPY_H2D));
    said("odd down", cudaMemcpyAsync(host + 11, device + 5, BYTES + 1, XRT_COPY_D2H, NULL));
    said("same place up and down", cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
    said("same place up and down", cudaMemcpy(host, device, BYTES, XRT_COPY_D2H));
}

static void rows(void)
{
    said("rows", cudaMemcpy2D(device, 8192, host, 4096, 4096, 1000, XRT_COPY_H2D));
    said("huge pitch", cudaMemcpy2D(device, BYTES, host, BYTES, 64, 4, XRT_COPY_H2D));
    said("a row of all", cudaMemcpy2D(device, BYTES, host, BYTES, BYTES, 4, XRT_COPY_H2D));
    said("pitch too small", cudaMemcpy2D(device, 8, host, 8, 16, 4, XRT_COPY_H2D));
    said("pitch of pitches",
         cudaMemcpy2D(device, (size_t)1 << 62, host, (size_t)1 << 62, 16, 4, XRT_COPY_H2D));
    said("over the end", cudaMemcpy2D(device, BYTES, host, BYTES, BYTES, 5, XRT_COPY_H2D));
    said("rows down, async",
         cudaMemcpy2DAsync(host, 4096, device, 8192, 4096, 1000, XRT_COPY_D2H, NULL));
}

static void solids(void)
{
    struct xrt_memcpy3d solid = {.src_ptr = {host, 4096, 4096, 32},
                                 .dst_ptr = {device, 8192, 4096, 32},
                                 .extent = {4096, 32, 20},
                                 .kind = XRT_COPY_H2D};
    said("3D", cudaMemcpy3D(&solid));
    solid.extent = (struct xcu_extent){4096, 32, 4096};
    said("3D over the end", cudaMemcpy3D(&solid));
    solid.extent = (struct xcu_extent){4096, 0, 20};
    said("3D of nothing", cudaMemcpy3D(&solid));
}

static void failing(void)
{
    char *gap = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    said("over the end", cudaMemcpy(device + 3 * BYTES, host, 2 * BYTES, XRT_COPY_H2D));
    said("beyond", cudaMemcpy(device + ALL + BYTES, host, BYTES, XRT_COPY_H2D));
    said("wrong way", cudaMemcpy(device, host, BYTES, XRT_COPY_D2H));
    said("no way", cudaMemcpy(device, host, BYTES, 77));
    said("to nothing", cudaMemcpy(NULL, host, BYTES, XRT_COPY_H2D));
    said("more than there is", cudaMemcpy(device, host, (size_t)1 << 46, XRT_COPY_H2D));
    said("all of it", cudaMemcpy(device, host, (size_t)-1, XRT_COPY_H2D));
    said("to the last byte", cudaMemcpy(device + 3 * BYTES, host, BYTES, XRT_COPY_H2D));
    said("of fresh memory", cudaMemcpy(device, gap, 2 * BYTES, XRT_COPY_H2D));
    munmap(gap, 2 * BYTES);
}

static void pitched(void)
{
    void *p;
    size_t pitch;
    MUST(cudaMallocPitch(&p, &pitch, 5000, 1000));
    said("pitched up", cudaMemcpy2D(p, pitch, host, 5000, 5000, 1000, XRT_COPY_H2D));
    said("as one", cudaMemcpy(host, p, pitch * 1000, XRT_COPY_D2H));
    MUST(cudaFree(p));
}

int main(void)
{
    host = malloc(WARM_BYTES);
    found = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc((void **)&second, WARM_BYTES));
    warm_up(second, host);
    MUST(cudaMalloc((void **)&device, ALL));
    for (int i = 0; i < ROUNDS; i++) {
        fill(host, ALL, (uint64_t)i);
        MUST(cudaMemcpy(device, host, ALL, XRT_COPY_H2D));
        no_bytes();
        overlapping();
        show(i);
        rows();
        show(i);
        solids();
        failing();
        pitched();
        show(i);
    }
    return 0;
}
