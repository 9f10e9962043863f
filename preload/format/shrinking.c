#include "preload/format/shrinking.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>

static struct {
    uintptr_t start, end; /* of the file in memory */
    sigjmp_buf back;
    struct sigaction before;
} reading;

static void gone(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    (void)context;
    if (info->si_code == BUS_ADRERR && at >= reading.start && at < reading.end)
        siglongjmp(reading.back, 1);
    sigaction(number, &reading.before, NULL); /* and it comes again */
}

bool xfs_while_there(const void *file, size_t size, void (*work)(void *context), void *context)
{
    struct sigaction action = {.sa_sigaction = gone, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    reading.start = (uintptr_t)file;
    reading.end = reading.start + size;
    bool there = sigsetjmp(reading.back, 1) == 0;
    if (there) {
        sigaction(SIGBUS, &action, &reading.before);
        work(context);
    }
    sigaction(SIGBUS, &reading.before, NULL);
    return there;
}
