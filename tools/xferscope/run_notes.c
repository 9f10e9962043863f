#include "tools/xferscope/run_notes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

static int make_memory(struct run_notes *notes)
{
    unsigned long long random = draw();
    char name[64];
    int fd;

    snprintf(name, sizeof name, XFS_NOTES_NAME "%016llx", random);
    fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0) /* before Linux 6.3 */
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    snprintf(notes->run, sizeof notes->run, "%ld.%d.%016llx", (long)getpid(), fd, random);
    return fd;
}

void run_notes_open(struct run_notes *notes, const char *directory, const char *started)
{
    int fd = make_memory(notes);
    void *map = MAP_FAILED;

    notes->page = NULL;
    if (fd < 0)
        return;
    if (ftruncate(fd, sizeof *notes->page) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        map = mmap(NULL, sizeof *notes->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return;
    notes->page = map;
    snprintf(notes->page->directory, sizeof notes->page->directory, "%s", directory);
    snprintf(notes->page->started, sizeof notes->page->started, "%s", started);
}

void run_notes_read(const struct run_notes *notes, struct run_told *told)
{
    memset(told, 0, sizeof *told);
    if (!notes->page)
        return;
    told->begun = __atomic_load_n(&notes->page->begun, __ATOMIC_ACQUIRE);
    told->refused = __atomic_load_n(&notes->page->refused, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&notes->page->why_state, __ATOMIC_ACQUIRE) != XFS_WHY_THERE)
        return;
    memcpy(told->why, notes->page->why, sizeof told->why - 1);
}
