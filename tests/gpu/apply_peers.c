/*
 * Bandwidth of copies between two GPUs, as the host sees it: for each size and form the median of
 * repeated copies, each until all work of both GPUs is over. For docs/results/: run alone and under
 * `xferscope apply`, in turn. The data of each row's last copy is compared.
 *
 *     apply_peers [MOST_MIB [SECONDS_PER_ROW]]
 *
 * A row: form, from and to which GPU, MiB, copies, GB/s of the first copy, the median of all, and
 * of the second half, ok.
 */
#include <string.h>

#include "tests/apply/programs/applied.h"
#include "tests/gpu/clocked.h"

enum { MOST_COPIES = CLOCKED_MOST, LEAST_COPIES = 32 };

xrt_error cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t bytes);
xrt_error cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes,
                              xcu_stream stream);

static const char *const forms[] = {"peer", "peer-async", "default", "default-async"};
static char *memory[2];
static xcu_stream streams[2];
static double row_seconds = 0.2;

static void wait_for_both(int current)
{
    MUST(cudaSetDevice(!current));
    MUST(cudaDeviceSynchronize());
    MUST(cudaSetDevice(current));
    MUST(cudaDeviceSynchronize());
}

static double one(int form, int from, size_t bytes)
{
    char *dst = memory[!from], *src = memory[from];
    double begun = now_s();
    if (form == 0)
        MUST(cudaMemcpyPeer(dst, !from, src, from, bytes));
    else if (form == 1)
        MUST(cudaMemcpyPeerAsync(dst, !from, src, from, bytes, streams[from]));
    else if (form == 2)
        MUST(cudaMemcpy(dst, src, bytes, XRT_COPY_DEFAULT));
    else
        MUST(cudaMemcpyAsync(dst, src, bytes, XRT_COPY_DEFAULT, streams[from]));
    wait_for_both(from);
    return now_s() - begun;
}

static void run(int form, int from, size_t bytes, char *host, char *other)
{
    double seconds[MOST_COPIES], begun = now_s();
    int count = 0;
    fill(host, bytes, bytes + (size_t)form * 2 + (size_t)from);
    MUST(cudaSetDevice(from));
    MUST(cudaMemcpy(memory[from], host, bytes, XRT_COPY_H2D));
    wait_for_both(from);
    while (count < MOST_COPIES && (count < LEAST_COPIES || now_s() - begun < row_seconds))
        seconds[count++] = one(form, from, bytes);
    MUST(cudaMemcpy(other, memory[!from], bytes, XRT_COPY_D2H));
    printf("%s gpu%d-gpu%d %zu %d %.2f %.2f %.2f %s\n", forms[form], from, !from, bytes / MIB,
           count, (double)bytes / seconds[0] * 1e-9, (double)bytes / median(seconds, count) * 1e-9,
           (double)bytes / median(seconds + count / 2, count - count / 2) * 1e-9,
           memcmp(host, other, bytes) == 0 ? "ok" : "DIFFERENT");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {4, 16, 64, 256};
    size_t most = argc > 1 ? (size_t)atoi(argv[1]) : 256;
    if (argc > 2)
        row_seconds = atof(argv[2]);
    char *host = malloc(most * MIB), *other = malloc(most * MIB);
    for (int gpu = 0; gpu < 2; gpu++) {
        MUST(cudaSetDevice(gpu));
        MUST(cudaMalloc((void **)&memory[gpu], most * MIB));
        MUST(cudaStreamCreate(&streams[gpu]));
    }
    for (int form = 0; form < 4; form++)
        for (int i = 0; i < 4 && sizes[i] <= most; i++)
            run(form, form & 1, sizes[i] * MIB, host, other);
    free(host);
    free(other);
    return 0;
}
