/*
 * Large copies of which it is known what the host does with their memory. Each round sends a buffer
 * that it has written and a table that it has not; fetches a result that it reads, one that it does
 * not, one in page-locked memory that it does not, and a state that it sends back as it is. Prints
 * a sum over what it reads. With an argument it reads the last one in page-locked memory, or has
 * children that write to the table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_api.h"

enum { BYTES = 1 << 20, ROUNDS = 4, BUFFERS = 5 };

static unsigned long sum;

static void check(xrt_error error)
{
    if (error != 0) {
        fprintf(stderr, "accesses: %s\n", cudaGetErrorName(error));
        exit(1);
    }
}

static unsigned char *some_bytes(unsigned seed)
{
    unsigned char *bytes = malloc(BYTES);
    for (size_t i = 0; bytes && i < BYTES; i++)
        bytes[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
    return bytes;
}

static void add(const unsigned char *bytes)
{
    for (size_t i = 0; i < BYTES; i += 97)
        sum = sum * 31 + bytes[i];
}

/* Its pages are the child's own: the parent's were neither read nor written. */
static void write_in_a_child(unsigned char *bytes)
{
    pid_t child = fork();
    if (child == 0) {
        memset(bytes, 9, BYTES);
        _exit(bytes[BYTES - 1] == 9 ? 0 : 1);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        sum = 0;
}

int main(int argc, char **argv)
{
    const char *also = argc > 1 ? argv[1] : "";
    unsigned char *device, *fresh = some_bytes(1), *table = some_bytes(2);
    unsigned char *result = some_bytes(3), *ignored = some_bytes(4), *state = some_bytes(5),
                  *pinned;
    xcu_stream stream;
    check(cudaStreamCreate(&stream));
    check(cudaMalloc((void **)&device, (size_t)BUFFERS * BYTES));
    check(cudaMallocHost((void **)&pinned, BYTES));
    memset(pinned, 1, BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        fresh[BYTES / 2] = (unsigned char)round;
        check(cudaMemcpy(device, fresh, BYTES, XRT_COPY_H2D));         /* written */
        check(cudaMemcpy(device + BYTES, table, BYTES, XRT_COPY_H2D)); /* not written */
        if (strcmp(also, "fork") == 0)
            write_in_a_child(table);
        check(cudaMemcpy(result, device, BYTES, XRT_COPY_D2H)); /* read */
        add(result);
        check(cudaMemcpy(ignored, device + BYTES, BYTES, XRT_COPY_D2H));     /* not read */
        check(cudaMemcpyAsync(pinned, device, BYTES, XRT_COPY_D2H, stream)); /* not read, pinned */
        check(cudaStreamSynchronize(stream));
        check(cudaMemcpy(state, device + BYTES, BYTES, XRT_COPY_D2H)); /* to be sent back */
        check(cudaMemcpy(device + BYTES, state, BYTES, XRT_COPY_H2D)); /* as it came */
    }
    if (strcmp(also, "read") == 0)
        add(pinned);
    check(cudaFreeHost(pinned));
    check(cudaFree(device));
    printf("%lu\n", sum);
    return 0;
}
