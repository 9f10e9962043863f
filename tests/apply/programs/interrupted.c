/*
 * Threads that are interrupted in the middle of a copy: interrupted timer | profile | cancel |
 * copying | jump. (A thread that is cancelled asynchronously takes the driver's locks with it,
 * whoever copies.)
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (24 * MIB)
enum { ROUNDS = 16 };

xrt_error cudaLaunchHostFunc(xcu_stream stream, void (*function)(void *), void *user);

static void *device, *second;
static char *host, *found;
static volatile sig_atomic_t signals;
static pthread_t own;

static void there_and_back(int round)
{
    fill(host, BYTES, (uint64_t)round);
    uint64_t sent = sum(host, BYTES);
    MUST(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
    if (sum(found, BYTES) != sent)
        printf("round %d: different\n", round);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* A driver's own thread gets signals of the process as well, with or without us. */
static int of_the_driver(void)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    return !strncmp(name, "cuda", 4);
}

static void count(int number)
{
    (void)number;
    if (!pthread_equal(pthread_self(), own) && !of_the_driver())
        _Exit(9);
    signals++;
}

/* No SA_RESTART: what the library waits by has to go on by itself. */
static void timer(int which, int number)
{
    struct sigaction action = {.sa_handler = count};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    sigaction(number, &action, NULL);
    setitimer(which, &often, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        errno = 77;
        there_and_back(i);
        if (errno != 77)
            printf("round %d: errno %d\n", i, errno);
    }
    setitimer(which, &never, NULL);
    printf("signals %s\n", signals > 0 ? "came" : "did not come");
}

static char *other;
static volatile int errors, copied;

/* Not allowed in a handler, but it may come to it. */
static void copy_in_handler(int number)
{
    (void)number;
    if (copied < 2) {
        errors += cudaMemcpy(second, other, 64, XRT_COPY_H2D) != 0;
        copied++;
    }
}

static void copying(void)
{
    struct sigaction action = {.sa_handler = copy_in_handler};
    other = malloc(BYTES);
    memset(other, 3, BYTES);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        raise(SIGUSR1);
        there_and_back(i);
    }
    printf("%d errors\n", errors);
}

/* ---- threads that are cancelled -------------------------------------------------------------- */

static sem_t begun;
static volatile int finished;

static void note_end(void *unused)
{
    (void)unused;
    finished++;
}

static void *copy_for_ever(void *unused)
{
    char *mine = malloc(BYTES);
    (void)unused;
    memset(mine, 2, BYTES);
    pthread_cleanup_push(free, mine);
    pthread_cleanup_push(note_end, NULL);
    sem_post(&begun);
    for (;;) {
        cudaMemcpy(second, mine, BYTES, XRT_COPY_H2D);
        pthread_testcancel();
        cudaMemcpy(mine, second, BYTES, XRT_COPY_D2H);
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancel(void)
{
    sem_init(&begun, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        void *result = NULL;
        pthread_create(&thread, NULL, copy_for_ever, NULL);
        sem_wait(&begun);
        usleep((unsigned)(i * 733) % 5000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        printf("%s\n", result == PTHREAD_CANCELED && finished == i + 1 ? "cancelled" : "not");
        there_and_back(i);
    }
}

/* ---- functions of the host that leave ----------------------------------------------------------
 */

static jmp_buf back;
static volatile int jumped;

/* A handler that leaves between two calls, never within one. */
static void leave(int number)
{
    (void)number;
    jumped++;
    siglongjmp(back, 1);
}

static void jump(void)
{
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR2, &action, NULL);
    for (volatile int i = 0; i < ROUNDS; i++) {
        if (sigsetjmp(back, 1) == 0) {
            there_and_back(i);
            raise(SIGUSR2);
        }
        there_and_back(i + 1);
    }
    printf("jumped %d\n", jumped);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "timer";
    own = pthread_self();
    host = malloc(WARM_BYTES);
    found = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    MUST(cudaMalloc(&second, BYTES));
    warm_up(device, host);
    if (strcmp(how, "timer") == 0)
        timer(ITIMER_REAL, SIGALRM);
    else if (strcmp(how, "profile") == 0)
        timer(ITIMER_PROF, SIGPROF);
    else if (strcmp(how, "copying") == 0)
        copying();
    else if (strcmp(how, "cancel") == 0)
        cancel();
    else
        jump();
    printf("last error %d\n", cudaGetLastError());
    return 0;
}
