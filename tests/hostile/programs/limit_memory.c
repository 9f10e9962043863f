/* May not have more memory than it has (RLIMIT_AS), from its first copies on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static size_t pages_of(const char *path)
{
    unsigned long pages = 0;
    FILE *file = fopen(path, "r");
    must(file && fscanf(file, "%lu", &pages) == 1, path);
    fclose(file);
    return pages;
}

static __attribute__((noinline)) void go(unsigned way, int depth)
{
    if (depth == 0)
        round_trip(0, 64);
    else if (way & 1)
        go(way >> 1, depth - 1);
    else
        go(way >> 1, depth - 1);
    __asm__ volatile("" ::: "memory");
}

int main(void)
{
    begin();
    round_trips(0, 100);
    size_t now = pages_of("/proc/self/statm") * (size_t)sysconf(_SC_PAGESIZE);
    struct rlimit all = {now + (64 << 10), RLIM_INFINITY}, before;
    getrlimit(RLIMIT_AS, &before);
    must(setrlimit(RLIMIT_AS, &all) == 0, "setrlimit");
    void *more = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("8 MiB more: %s", more == MAP_FAILED ? strerror(errno) : "given");
    for (unsigned way = 0; way < 4096; way++)
        go(way, 12);
    must(setrlimit(RLIMIT_AS, &before) == 0, "setrlimit");
    moved();
    return 0;
}
