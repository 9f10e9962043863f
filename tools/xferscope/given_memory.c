#include "tools/xferscope/given_memory.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

static uint64_t draw(void)
{
    struct timespec now;
    uint64_t value;

    if (getrandom(&value, sizeof value, GRND_NONBLOCK) == sizeof value)
        return value;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int make_memory(const char *prefix, char which[GIVEN_MEMORY_NAME])
{
    unsigned long long random = draw();
    char name[64];
    int fd;

    snprintf(name, sizeof name, "%s%016llx", prefix, random);
    fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0) /* before Linux 6.3 */
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    snprintf(which, GIVEN_MEMORY_NAME, "%ld.%d.%016llx", (long)getpid(), fd, random);
    return fd;
}

void *given_memory(const char *name, size_t bytes, char which[GIVEN_MEMORY_NAME])
{
    int fd = make_memory(name, which);
    void *map = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (ftruncate(fd, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}
