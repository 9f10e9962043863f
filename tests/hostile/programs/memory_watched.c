/* Copies large buffers to the GPU and back, and meanwhile protects, empties, unmaps, moves and
 * remaps them, has the kernel and children write to them, and copies from several threads. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { BYTES = 256 << 10, TIMES = 30, THREADS = 4 };

static unsigned char *map(void *at)
{
    int fixed = at ? MAP_FIXED : 0;
    unsigned char *memory =
        mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    must(memory != MAP_FAILED, "mmap");
    return memory;
}

/* Up, and down to another place; both are as they should be. */
static void there_and_back(const unsigned char *from, unsigned char *to, unsigned slot)
{
    xcu_deviceptr device = on_device + (xcu_deviceptr)slot * BYTES;
    must(cu.htod(device, from, BYTES) == 0, "upload");
    must(cu.dtoh(to, device, BYTES) == 0, "download");
    must(memcmp(from, to, BYTES) == 0, "what came back");
    count_copy(BYTES);
    count_copy(BYTES);
}

static void fill_by_kernel(unsigned char *memory)
{
    int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    must(zeros >= 0 && read(zeros, memory, BYTES) == BYTES, "read into it");
    close(zeros);
    must(memory[BYTES - 1] == 0, "what was read");
}

static void write_in_a_child(unsigned char *memory)
{
    memory[1] = 7;
    pid_t child = fork();
    if (child == 0) {
        memset(memory, 9, BYTES);
        _exit(memory[BYTES - 1] == 9 ? 0 : 1);
    }
    must(child > 0, "fork");
    await(child, "child");
    must(memory[1] == 7, "the parent's own pages");
}

static void only_readable(unsigned char *memory, unsigned char *to)
{
    must(mprotect(memory, BYTES, PROT_READ) == 0, "mprotect");
    there_and_back(memory, to, 0);
    must(mprotect(memory, BYTES, PROT_READ | PROT_WRITE) == 0, "mprotect back");
    memory[0]++;
}

static unsigned char *moved_elsewhere(unsigned char *memory)
{
    unsigned char *other = map(NULL);
    unsigned char first = memory[0];
    must(mremap(memory, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other, "mremap");
    must(other[0] == first, "what was moved");
    return other;
}

static void work(unsigned number)
{
    unsigned char *from, *to;
    use_gpu();
    from = map(NULL);
    to = map(NULL);
    for (int i = 0; i < TIMES; i++) {
        memset(from, i, BYTES / 2);
        there_and_back(from, to, number);
        if (i % 5 == 0)
            madvise(from, BYTES, MADV_DONTNEED);
        if (i % 7 == 0)
            map(to);
        if (i % 11 == 0)
            fill_by_kernel(from);
    }
    munmap(from, BYTES);
    munmap(to, BYTES);
}

int main(void)
{
    begin();
    unsigned char *memory = map(NULL), *to = map(NULL);
    memset(memory, 1, BYTES);
    for (int i = 0; i < TIMES; i++) {
        there_and_back(memory, to, 0);
        only_readable(memory, to);
        if (i % 10 == 3)
            write_in_a_child(memory);
        if (i % 4 == 1)
            memory = moved_elsewhere(memory);
        madvise(memory, BYTES, MADV_HUGEPAGE);
    }
    munmap(memory, BYTES);
    in_threads(THREADS, 0, work);
    say("sum %d", to[BYTES - 1]);
    moved();
    return 0;
}
