/*
 * Pageable memory of many sizes up and down, by every form of copy: what comes back is what went.
 * With a number as argument: so many rounds; "large" behind it: of the largest size alone.
 */
#include <string.h>

#include "tests/apply/programs/applied.h"

static const size_t sizes[] = {MIB, MIB + 1, 3 * MIB - 7, 8 * MIB, 17 * MIB + 5, 70 * MIB + 4097};
#define SIZES (sizeof sizes / sizeof *sizes)
#define MOST (71 * MIB)

enum form { SYNC, ASYNC_DEFAULT, ASYNC_STREAM, GUESSED, FORMS };

static xcu_stream stream;

static void copy(enum form form, void *dst, const void *src, size_t bytes, int kind)
{
    switch (form) {
    case SYNC:
        MUST(cudaMemcpy(dst, src, bytes, kind));
        break;
    case ASYNC_DEFAULT:
        MUST(cudaMemcpyAsync(dst, src, bytes, kind, NULL));
        break;
    case ASYNC_STREAM:
        MUST(cudaMemcpyAsync(dst, src, bytes, kind, stream));
        break;
    default:
        MUST(cudaMemcpy(dst, src, bytes, XRT_COPY_DEFAULT));
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    size_t least = argc > 2 ? SIZES - 1 : 0;
    char *source = malloc(MOST), *found = malloc(MOST);
    void *device;

    MUST(cudaMalloc(&device, MOST));
    MUST(cudaStreamCreate(&stream));
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < SIZES * FORMS; i++) {
            if (i % SIZES < least)
                continue;
            size_t bytes = sizes[i % SIZES], shift = i % 3;
            enum form form = (enum form)(i / SIZES);
            fill(source, bytes, i + 100 * (uint64_t)round);
            uint64_t sent = sum(source, bytes);
            copy(form, (char *)device + shift, source, bytes, XRT_COPY_H2D);
            memset(source, 0, bytes); /* an upload has read its source when it returns */
            copy(form, found + shift, (char *)device + shift, bytes, XRT_COPY_D2H);
            if (sum(found + shift, bytes) != sent)
                printf("round %d: %zu bytes by form %d are different\n", round, bytes, form);
        }
    }
    MUST(cudaDeviceSynchronize());
    printf("last error %d\n", cudaGetLastError());
    MUST(cudaStreamDestroy(stream));
    MUST(cudaFree(device));
    return 0;
}
