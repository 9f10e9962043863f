/*
 * Bandwidth of copies of pageable memory, as the host sees it: for each size, direction and form
 * the median of repeated copies, until the stream is idle. For docs/results/: run alone and under
 * `xferscope apply`, in turn. Every copy's data is compared at the end of its row.
 *
 *     apply_copies [MOST_MIB [SECONDS_PER_ROW]]
 *
 * A row: direction, form, memory, MiB, copies, median GB/s of all, and of the second half, ok.
 */
#include <string.h>
#include <sys/mman.h>

#include "tests/apply/programs/applied.h"
#include "tests/gpu/clocked.h"

enum { MOST_COPIES = CLOCKED_MOST };

static xcu_stream stream;
static double row_seconds = 0.4;

static char *fresh(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    return memory;
}

struct row {
    size_t bytes;
    int down, async, fresh;
};

static double one(const struct row *row, void *device, char *host)
{
    void *dst = row->down ? host : device, *src = row->down ? device : host;
    int kind = row->down ? XRT_COPY_D2H : XRT_COPY_H2D;
    double begun = now_s();
    if (row->async)
        MUST(cudaMemcpyAsync(dst, src, row->bytes, kind, stream));
    else
        MUST(cudaMemcpy(dst, src, row->bytes, kind));
    MUST(cudaStreamSynchronize(row->async ? stream : NULL));
    return now_s() - begun;
}

static void run(const struct row *row, void *device, char *host, char *other)
{
    double seconds[MOST_COPIES], begun = now_s();
    char *memory = host;
    int count = 0;
    fill(host, row->bytes, row->bytes + (size_t)row->down);
    MUST(cudaMemcpy(device, host, row->bytes, XRT_COPY_H2D));
    for (; count < MOST_COPIES && (count < 24 || now_s() - begun < row_seconds); count++) {
        if (row->fresh)
            memory = fresh(row->bytes);
        else if (row->down && count == 0)
            memory = other;
        seconds[count] = one(row, device, memory);
        if (row->fresh && count + 1 < 24)
            munmap(memory, row->bytes);
    }
    if (!row->down)
        MUST(cudaMemcpy(other, device, row->bytes, XRT_COPY_D2H));
    int ok =
        memcmp(row->down ? memory : other, host, row->bytes) == 0 || (row->fresh && !row->down);
    printf("%s %s %s %zu %d %.2f %.2f %s\n", row->down ? "D2H" : "H2D",
           row->async ? "async" : "sync", row->fresh ? "fresh" : "warm", row->bytes / MIB, count,
           (double)row->bytes / median(seconds, count) * 1e-9,
           (double)row->bytes / median(seconds + count / 2, count - count / 2) * 1e-9,
           ok ? "ok" : "DIFFERENT");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 4, 8, 16, 64, 256, 1024};
    size_t most = argc > 1 ? (size_t)atoi(argv[1]) : 256;
    void *device;
    if (argc > 2)
        row_seconds = atof(argv[2]);
    char *host = fresh(most * MIB), *other = fresh(most * MIB);
    memset(other, 1, most * MIB);
    MUST(cudaMalloc(&device, most * MIB));
    MUST(cudaStreamCreate(&stream));
    for (int i = 0; i < 7 && sizes[i] <= most; i++)
        for (int form = 0; form < 4; form++)
            run(&(struct row){sizes[i] * MIB, form & 1, form >> 1, 0}, device, host, other);
    for (int down = 0; down < 2; down++)
        run(&(struct row){64 * MIB, down, 0, 1}, device, host, other);
    return 0;
}
