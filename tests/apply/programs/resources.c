/*
 * What a process has after its copies: its threads, and kilobytes that it has mapped more than
 * before. Page-locked copies only, with `pinned`; one large pageable one, with `once`; none that is
 * large, with `none`; else many.
 */
#include <string.h>

#include "tests/apply/programs/applied.h"

static long mapped_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (file && fscanf(file, "%ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * 4;
}

int main(int argc, char **argv)
{
    char *host;
    void *device;
    MUST(cudaMalloc(&device, WARM_BYTES));
    if (argc > 1 && strcmp(argv[1], "pinned") == 0)
        MUST(cudaMallocHost((void **)&host, WARM_BYTES));
    else
        host = malloc(WARM_BYTES);
    if (argc == 1 || strcmp(argv[1], "none") != 0)
        memset(host, 1, WARM_BYTES);
    memset(host, 1, 4096);
    MUST(cudaMemcpy(device, host, 4096, XRT_COPY_H2D));
    long before = mapped_kib();
    if (argc > 1 && strcmp(argv[1], "once") == 0)
        MUST(cudaMemcpy(device, host, 16 * MIB, XRT_COPY_H2D));
    else if (argc == 1 || strcmp(argv[1], "none") != 0)
        warm_up(device, host);
    printf("threads %d, more %ld KiB\n", threads(), mapped_kib() - before);
    return 0;
}
