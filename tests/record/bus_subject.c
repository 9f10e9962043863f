/*
 * The program that bus_test runs: `bus_subject MODE [ARGUMENT ...]`. Its trace is truncated while
 * it records, or SIGBUS is its own business. 9 = the recorder misbehaved.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/record/harness.h"
#include "xferscope/losses.h"

#define MISBEHAVED 9

static void record(int n, uint64_t aux)
{
    for (int i = 0; i < n; i++)
        harness_call((uint64_t)i, aux);
}

/* ---- the trace --------------------------------------------------------------------------- */

static char trace[4200];

/* The only file in the directory. */
static void find_trace(const char *directory)
{
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (entry->d_name[0] != '.')
            snprintf(trace, sizeof trace, "%s/%s", directory, entry->d_name);
    if (entries)
        closedir(entries);
}

/* Until its first bytes are those of a trace; the test's time limit ends what never comes. */
static void wait_for_trace(void)
{
    char magic[8] = "";
    int fd = open(trace, O_RDONLY);
    while (pread(fd, magic, sizeof magic, 0) != sizeof magic ||
           memcmp(magic, XFT_MAGIC, sizeof magic) != 0)
        usleep(1000);
    close(fd);
}

static void *go_on(void *unused)
{
    record(20000, 2);
    return unused;
}

/* usage: cut DIRECTORY BYTES [kill]. Several threads record meanwhile, and go on afterwards. */
static int cut(char **arguments)
{
    pthread_t threads[4];
    record(100, 1);
    usleep(50000); /* rooms and slabs are being made ready */
    find_trace(arguments[0]);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, go_on, NULL);
    for (int i = 0; i < 3; i++) {
        if (truncate(trace, atol(arguments[1])) != 0)
            return MISBEHAVED;
        record(100, 1); /* at once */
        wait_for_trace();
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    record(20000, 3);
    if (arguments[2])
        kill(getpid(), SIGKILL);
    return 0;
}

static void lose_all(void)
{
    for (unsigned i = 0; i < XFT_LOSS_COUNT; i++)
        harness_lose(i, i + 1);
}

/* Until the file tells all that was counted so often; the test's time limit ends what never comes.
 */
static void wait_for_losses(unsigned times)
{
    struct xft_file_header header = {0};
    int fd = open(trace, O_RDONLY);
    for (int i = XFT_LOSS_COUNT - 1; i >= 0;) {
        if (pread(fd, &header, sizeof header, 0) == sizeof header &&
            xft_loss_of(&header, (enum xft_loss)i) >= (uint64_t)times * ((unsigned)i + 1))
            i--;
        else
            usleep(1000);
    }
    close(fd);
}

/* usage: loses DIRECTORY BYTES [kill]: before the cut, after it, and after it was mended. */
static int loses(char **arguments)
{
    record(100, 1);
    usleep(50000);
    find_trace(arguments[0]);
    lose_all();
    if (truncate(trace, atol(arguments[1])) != 0)
        return MISBEHAVED;
    lose_all();
    wait_for_trace();
    lose_all();
    wait_for_losses(3);
    if (arguments[2])
        kill(getpid(), SIGKILL);
    return 0;
}

/* ---- its own SIGBUS ---------------------------------------------------------------------- */

static volatile char *own; /* one page beyond the end of a file */
static volatile int caught;
static void *volatile where;

static void make_own(void)
{
    char name[] = "/tmp/bus_subject.XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void take(int number, siginfo_t *info, void *context)
{
    caught += number == SIGBUS && context != NULL;
    where = info->si_addr;
    mmap((void *)own, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void take_plainly(int number)
{
    caught += number == SIGBUS;
}

static void set(void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction new = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &new, NULL);
}

static bool is_set(void *handler)
{
    struct sigaction now;
    return sigaction(SIGBUS, NULL, &now) == 0 && (void *)now.sa_handler == handler;
}

static int handled(char **arguments)
{
    bool before = strcmp(arguments[0], "before") == 0;
    make_own();
    if (before)
        set(take);
    record(100, 1);
    if (!before && !is_set((void *)SIG_DFL))
        return MISBEHAVED;
    if (!before)
        set(take);
    own[17] = 1;
    if (caught != 1 || where != (void *)(own + 17) || !is_set((void *)take))
        return MISBEHAVED;
    if ((void *)signal(SIGBUS, take_plainly) != (void *)take || raise(SIGBUS) != 0 || caught != 2)
        return MISBEHAVED;
    struct sigaction once = {.sa_handler = take_plainly, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGBUS, &once, NULL);
    raise(SIGBUS);
    return caught == 3 && is_set((void *)SIG_DFL) ? 0 : MISBEHAVED;
}

static int faults(char **arguments)
{
    (void)arguments;
    make_own();
    record(100, 1);
    own[0] = 1;
    return MISBEHAVED;
}

static int raises(char **arguments)
{
    (void)arguments;
    record(100, 1);
    raise(SIGBUS);
    return MISBEHAVED;
}

/* Meant for whoever waits for it, not for a thread of the recorder's. */
static int waits(char **arguments)
{
    (void)arguments;
    sigset_t bus;
    int number = 0;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    record(100, 1);
    pthread_sigmask(SIG_BLOCK, &bus, NULL);
    kill(getpid(), SIGBUS);
    return sigwait(&bus, &number) == 0 && number == SIGBUS ? 0 : MISBEHAVED;
}

static int ignores(char **arguments)
{
    (void)arguments;
    record(100, 1);
    if (signal(SIGBUS, SIG_IGN) != SIG_DFL)
        return MISBEHAVED;
    raise(SIGBUS);
    return signal(SIGBUS, SIG_DFL) == SIG_IGN ? 0 : MISBEHAVED;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(char **arguments);
    } modes[] = {{"cut", cut},     {"handled", handled}, {"faults", faults}, {"raises", raises},
                 {"waits", waits}, {"ignores", ignores}, {"loses", loses}};
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argv + 2);
    return 2;
}
