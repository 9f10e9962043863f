/* Catches SIGBUS of its own: the file that it copies from is cut while it is mapped. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { PAGES = 16, PAGE = 4096 };

static unsigned char *file;
static volatile sig_atomic_t faults;

static void on_fault(int number, siginfo_t *info, void *machine)
{
    (void)number, (void)machine;
    uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
    if (at < (uintptr_t)file || at >= (uintptr_t)file + (size_t)PAGES * PAGE)
        _exit(9);
    faults++;
    mmap((void *)at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

int main(void)
{
    unsigned char back[PAGE];
    unsigned long sum = 0;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    must(sigaction(SIGBUS, &action, NULL) == 0, "sigaction");
    begin();
    write_file("own", "sixteen bytes!!\n", PAGES * PAGE / 16);
    int fd = open("own", O_RDWR);
    file = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(file != MAP_FAILED, "mmap");
    for (int i = 0; i < PAGES; i++) {
        if (i == PAGES / 2)
            must(ftruncate(fd, 5 * PAGE) == 0, "ftruncate");
        if (!simulated())
            (void)*(volatile unsigned char *)(file + (size_t)i * PAGE);
        must(cu.htod(on_device, file + (size_t)i * PAGE, 2048) == 0, "up");
        count_copy(2048);
        must(cu.dtoh(back, on_device, 2048) == 0, "down");
        count_copy(2048);
        sum = sum * 31 + back[7];
    }
    struct sigaction now;
    sigaction(SIGBUS, NULL, &now);
    say("%d faults, sum %lx, handler %s", (int)faults, sum,
        now.sa_sigaction == on_fault ? "its own" : "another");
    say_file("own");
    moved();
    return 0;
}
