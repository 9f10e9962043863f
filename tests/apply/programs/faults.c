/*
 * Memory that is not there is the program's fault, at its call, in its thread: a handler that makes
 * it readable, or writable, lets the call go on; without one the process dies of it.
 *
 *     faults mend | die
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/apply/programs/applied.h"

#define BYTES (6 * MIB)

static pthread_t own;
static volatile int faults;
static char *memory;

static void mend(int number)
{
    (void)number;
    faults++;
    if (!pthread_equal(pthread_self(), own))
        _Exit(9);
    mprotect(memory, BYTES, PROT_READ | PROT_WRITE);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "die";
    char *host = malloc(WARM_BYTES);
    void *device;
    struct sigaction action = {.sa_handler = mend};
    own = pthread_self();
    memset(host, 1, WARM_BYTES);
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    if (strcmp(how, "die") != 0)
        sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 6; i++) {
        int down = i & 1;
        memset(memory, 7, BYTES);
        mprotect(memory + 3 * MIB, MIB, down ? PROT_READ : PROT_NONE);
        if (down)
            MUST(cudaMemcpy(memory, device, BYTES, XRT_COPY_D2H));
        else
            MUST(cudaMemcpy(device, memory, BYTES, XRT_COPY_H2D));
        printf("%d: came through\n", i);
        fflush(stdout);
        mprotect(memory, BYTES, PROT_READ | PROT_WRITE);
    }
    printf("%d faults\n", faults);
    return 0;
}
