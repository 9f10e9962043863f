/* Catches SIGSEGV of its own, as collectors of garbage do: what is copied lies in pages that may
 * not be touched. */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { PAGES = 32, PAGE = 4096, ROUNDS = 6 };

static unsigned char *heap;
static volatile sig_atomic_t faults, strange;

static void on_fault(int number, siginfo_t *info, void *machine)
{
    (void)number, (void)machine;
    uintptr_t at = (uintptr_t)info->si_addr, start = (uintptr_t)heap;
    if (at < start || at >= start + (size_t)PAGES * PAGE || strange > 1000) {
        strange++;
        _exit(9);
    }
    faults++;
    mprotect((void *)(at & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE);
}

int main(void)
{
    unsigned long sum = 0;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    begin();
    must(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
    heap = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0);
    must(heap != MAP_FAILED, "mmap");
    for (int round = 0; round < ROUNDS; round++) {
        memset(heap, round + 1, (size_t)PAGES * PAGE);
        must(mprotect(heap, (size_t)PAGES * PAGE, PROT_NONE) == 0, "mprotect");
        for (int i = 0; i < PAGES; i++) {
            unsigned char *page = heap + (size_t)i * PAGE;
            if (!simulated())
                (void)*(volatile unsigned char *)
                    page; /* a real driver may ask the kernel for the page */
            must(cu.htod(on_device, page + 64, 1000) == 0, "up");
            count_copy(1000);
            must(cu.dtoh(page + 2000, on_device, 1000) == 0, "down");
            count_copy(1000);
            sum = sum * 31 + page[2000];
        }
    }
    say("%d faults, sum %lx", (int)faults, sum);
    moved();
    return 0;
}
