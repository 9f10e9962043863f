/*
 * Copies to a GPU from host memory that lies on a NUMA node of the machine, of which there are two:
 * what the kernel was asked for by the thread's policy.
 *
 * usage: nodes pageable|pinned|registered NODE GPU
 */
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/programs/runtime_api.h"

enum { BYTES = 4 << 20, TIMES = 10, TO_DEVICE = 1 };

static void check(int failed, const char *what)
{
    if (failed) {
        fprintf(stderr, "nodes: %s\n", what);
        exit(1);
    }
}
#define CHECK(call) check((call) != 0, #call)

static void *on_node(const char *how, int node)
{
    unsigned long nodes = 1ul << node;
    void *memory = NULL;
    check(syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 8 * sizeof nodes + 1) != 0,
          "set_mempolicy");
    if (strcmp(how, "pinned") == 0) {
        CHECK(cudaMallocHost(&memory, BYTES));
    } else {
        memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        check(memory == MAP_FAILED, "mmap");
    }
    memset(memory, 1, BYTES);
    if (strcmp(how, "registered") == 0)
        CHECK(cudaHostRegister(memory, BYTES, 0));
    check(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0) != 0, "set_mempolicy");
    return memory;
}

int main(int argc, char **argv)
{
    void *device;
    check(argc != 4, "usage: nodes pageable|pinned|registered NODE GPU");
    CHECK(cudaSetDevice(atoi(argv[3])));
    CHECK(cudaMalloc(&device, BYTES));
    void *host = on_node(argv[1], atoi(argv[2]));
    for (int i = 0; i < TIMES; i++)
        CHECK(cudaMemcpy(device, host, BYTES, TO_DEVICE));
    return 0;
}
