/*
 * Threads that have little: tight stacks | ends | handlers | cancelled. The smallest stacks there
 * are, copies while a thread's own data is destroyed, in handlers on small stacks, and behind
 * pthread_cancel in every state.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (12 * MIB)
enum { THREADS = 4, ROUNDS = 6 };

static char *host;
static int wrong;

struct copier {
    void *device;
    char *found;
};

static void make(struct copier *copier)
{
    MUST(cudaMalloc(&copier->device, BYTES));
    copier->found = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void there_and_back(struct copier *copier)
{
    int status = cudaMemcpy(copier->device, host, BYTES, XRT_COPY_H2D);
    status |= cudaMemcpy(copier->found, copier->device, BYTES, XRT_COPY_D2H);
    if (status != 0 || memcmp(copier->found, host, BYTES) != 0)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static void *copy(void *copier)
{
    for (int i = 0; i < ROUNDS; i++)
        there_and_back(copier);
    return NULL;
}

/* Ever further down a stack that has not been used yet. */
static void copy_deeper(struct copier *copier, int left)
{
    volatile char used[3 * 4096];
    used[0] = (char)left;
    errno = 77;
    there_and_back(copier);
    if (errno != 77)
        printf("errno %d\n", errno);
    if (left > 0)
        copy_deeper(copier, left - 1);
    used[1] = used[0];
}

static void *copy_deep(void *copier)
{
    copy_deeper(copier, 16);
    return NULL;
}

static void in_threads(void *(*work)(void *), size_t stack)
{
    struct copier copiers[THREADS];
    pthread_t made[THREADS];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack && pthread_attr_setstacksize(&attributes, stack) != 0)
        exit(1);
    for (int i = 0; i < THREADS; i++) {
        make(&copiers[i]);
        if (pthread_create(&made[i], &attributes, work, &copiers[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(made[i], NULL);
}

/* ---- the end of a thread ----------------------------------------------------------------------
 */

static pthread_key_t keys[3];
static int rounds_of_ends;

static void copy_at_the_end(void *copier)
{
    there_and_back(copier);
    if (__atomic_fetch_add(&rounds_of_ends, 1, __ATOMIC_RELAXED) < 2 * THREADS)
        pthread_setspecific(keys[1], copier); /* once more, behind the others */
}

static void *leave_copies(void *copier)
{
    for (int i = 0; i < 3; i++)
        pthread_setspecific(keys[i], copier);
    there_and_back(copier);
    return NULL;
}

/* ---- handlers -------------------------------------------------------------------------------- */

static __thread struct copier *volatile of_this_thread;
static int handled;

static void copy_in_handler(int number)
{
    (void)number;
    if (of_this_thread == NULL)
        _Exit(9);
    there_and_back(of_this_thread);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void *raise_often(void *copier)
{
    size_t bytes = 256 << 10; /* a real driver needs its room */
    char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t alternate = {.ss_sp = stack, .ss_size = bytes}, none = {.ss_flags = SS_DISABLE};
    sigaltstack(&alternate, NULL);
    of_this_thread = copier;
    for (int i = 0; i < ROUNDS; i++) {
        there_and_back(copier);
        raise(i & 1 ? SIGUSR1 : SIGUSR2);
    }
    sigaltstack(&none, NULL);
    munmap(stack, bytes);
    return NULL;
}

/* ---- cancelled --------------------------------------------------------------------------------
 */

static void *copy_for_ever(void *copier)
{
    for (;;) {
        there_and_back(copier);
        pthread_testcancel();
    }
    return NULL;
}

static void *copy_although_cancelled(void *copier)
{
    int state, before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_cancel(pthread_self());
    copy(copier);
    pthread_setcancelstate(state, &before);
    if (before != PTHREAD_CANCEL_DISABLE || state != PTHREAD_CANCEL_ENABLE)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    pthread_testcancel();
    return NULL;
}

static void cancel(void *(*work)(void *), int other)
{
    struct copier copier;
    make(&copier);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t made;
        void *result = NULL;
        pthread_create(&made, NULL, work, &copier);
        if (other) {
            usleep((unsigned)i * 900);
            pthread_cancel(made);
        }
        pthread_join(made, &result);
        printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
        there_and_back(&copier);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "stacks";
    struct sigaction on_stack = {.sa_handler = copy_in_handler, .sa_flags = SA_ONSTACK};
    struct sigaction plain = {.sa_handler = copy_in_handler};
    void *device;
    host = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    fill(host, BYTES, 9);
    if (strcmp(how, "stacks") == 0) {
        in_threads(copy, (size_t)PTHREAD_STACK_MIN + (48 << 10)); /* what a real driver needs */
        in_threads(copy_deep, (size_t)64 << 20);
    } else if (strcmp(how, "ends") == 0) {
        for (int i = 0; i < 3; i++)
            pthread_key_create(&keys[i], copy_at_the_end);
        in_threads(leave_copies, 0);
        printf("%s\n", rounds_of_ends > 3 * THREADS ? "more than once" : "once");
    } else if (strcmp(how, "handlers") == 0) {
        sigaction(SIGUSR1, &on_stack, NULL);
        sigaction(SIGUSR2, &plain, NULL);
        in_threads(raise_often, 0);
        printf("%d handled\n", handled);
    } else {
        cancel(copy_for_ever, 1);
        cancel(copy_although_cancelled, 0);
    }
    printf("%d wrong, last error %d\n", wrong, cudaGetLastError());
    return 0;
}
