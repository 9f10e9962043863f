/*
 * In place of nodes.c: the simulated machine's nodes are those of the host, as the kernel reports
 * them. So recorder and probe work as on a real machine: without xferscope_simgpu_numa_of and
 * xferscope_simgpu_bind_numa they ask the kernel, and bind (tests/numa/run).
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/simgpu/gpu/nodes.h"
#include "tools/simgpu/gpu/objects.h"

#define PAGE 4096u

int sim_host_numa(const void *address)
{
    void *page = (void *)((uintptr_t)address & ~(uintptr_t)(PAGE - 1));
    int status = -1;

    if (!address || syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0) || status < 0)
        return 0;
    return status;
}

/* Under the policy of the calling thread, as a driver does it. */
int sim_locked_numa(void *address, size_t bytes)
{
    uintptr_t begin = (uintptr_t)address & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)address + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

    madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
    return sim_host_numa(address);
}
