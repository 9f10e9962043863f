/*
 * The program that bus_owner_test runs: `bus_owner_subject MODE DIRECTORY`. SIGBUS is its own
 * business, and what it does with it is what others do. 9 = the recorder misbehaved.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/record/harness.h"

#define MISBEHAVED 9
#define EXPECT(truth)                                                                              \
    do {                                                                                           \
        if (!(truth)) {                                                                            \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #truth);                            \
            _exit(MISBEHAVED);                                                                     \
        }                                                                                          \
    } while (0)

static const char *directory;
static volatile char *own; /* one page beyond the end of a file */
static atomic_int caught;

static void record(void)
{
    for (uint64_t i = 0; i < 100; i++)
        harness_call(i, 1);
}

/* Whatever the program has done, it outlives a cut. */
static void outlive_cut(void)
{
    char trace[4200] = "";
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (entry->d_name[0] != '.')
            snprintf(trace, sizeof trace, "%s/%s", directory, entry->d_name);
    if (entries)
        closedir(entries);
    EXPECT(truncate(trace, 0) == 0);
    record();
}

static void begin(void)
{
    char name[] = "/tmp/bus_owner.XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    record();
}

static void set(void (*handler)(int), int flags)
{
    struct sigaction new = {.sa_handler = handler, .sa_flags = flags};
    EXPECT(sigaction(SIGBUS, &new, NULL) == 0);
}

static bool is_set(void (*handler)(int))
{
    struct sigaction now;
    return sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler == handler;
}

static void take(int number)
{
    caught += number == SIGBUS;
}

static void take_too(int number)
{
    caught += number == SIGBUS ? 100 : 0;
}

/* ---- handlers that leave by a jump ------------------------------------------------------- */

static sigjmp_buf back;

static void jump(int number)
{
    caught += number == SIGBUS;
    siglongjmp(back, 1);
}

static void fault_and_jump(int times)
{
    caught = 0;
    for (volatile int i = 0; i < times; i++)
        if (sigsetjmp(back, 1) == 0)
            own[0] = 1;
    EXPECT(caught == times);
}

static int jumps(void)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    EXPECT(sigaltstack(&stack, NULL) == 0);
    set(jump, SA_ONSTACK);
    begin();
    fault_and_jump(50);
    outlive_cut();
    set(jump, 0);
    fault_and_jump(50);
    outlive_cut();
    return 0;
}

/* As Python's faulthandler does it. */
static struct sigaction previous;

static void restore_and_raise(int number)
{
    sigaction(SIGBUS, &previous, NULL);
    raise(number);
}

static int restores(void)
{
    struct sigaction new = {.sa_handler = restore_and_raise, .sa_flags = SA_NODEFER};
    begin();
    sigaction(SIGBUS, &new, &previous);
    own[0] = 1;
    return MISBEHAVED;
}

/* ---- other processes --------------------------------------------------------------------- */

/* More of them than there are entries, each with dispositions of its own. */
static int vforks(void)
{
    begin();
    set(take, SA_RESTART);
    for (int i = 0; i < 100; i++) {
        pid_t child = vfork();
        if (child == 0) {
            struct sigaction new = {.sa_handler = i % 2 ? SIG_DFL : take_too};
            sigaction(SIGBUS, &new, NULL);
            if (i % 3 == 0)
                signal(SIGBUS, SIG_IGN);
            _exit(0);
        }
        EXPECT(waitpid(child, NULL, 0) == child);
        EXPECT(is_set(take));
    }
    raise(SIGBUS);
    EXPECT(caught == 1);
    outlive_cut();
    return 0;
}

static void exec_and_expect(const char *disposition)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "subject", disposition, NULL);
        _exit(MISBEHAVED);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static int asks_ignored(void)
{
    return is_set(SIG_IGN) ? 0 : MISBEHAVED;
}

static int asks_default(void)
{
    return is_set(SIG_DFL) ? 0 : MISBEHAVED;
}

static int inherits(void)
{
    begin();
    exec_and_expect("asks_default");
    set(SIG_IGN, 0);
    exec_and_expect("asks_ignored");
    set(take, 0);
    exec_and_expect("asks_default");
    outlive_cut();
    return 0;
}

/* ---- what it sees ------------------------------------------------------------------------ */

/* As the kernel has them: libc leaves whatever it likes in the rest of the mask. */
static bool are_same(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags &&
           a->sa_restorer == b->sa_restorer && memcmp(&a->sa_mask, &b->sa_mask, _NSIG / 8) == 0;
}

/* As of any other signal. */
static void expect_same(void (*handler)(int), int flags)
{
    struct sigaction new = {.sa_handler = handler, .sa_flags = flags}, bus, other;
    sigaddset(&new.sa_mask, SIGHUP);
    EXPECT(sigaction(SIGBUS, &new, NULL) == 0 && sigaction(SIGUSR1, &new, NULL) == 0);
    EXPECT(sigaction(SIGBUS, NULL, &bus) == 0 && sigaction(SIGUSR1, NULL, &other) == 0);
    EXPECT(are_same(&bus, &other));
}

static int sees(void)
{
    struct sigaction before, after;
    sigaction(SIGBUS, NULL, &before);
    begin();
    sigaction(SIGBUS, NULL, &after);
    EXPECT(are_same(&before, &after));
    expect_same(take, 0);
    expect_same(take, SA_ONSTACK | SA_RESTART);
    expect_same(take, SA_SIGINFO | SA_NODEFER);
    expect_same(take, (int)SA_RESETHAND);
    expect_same(SIG_DFL, SA_RESTART);
    expect_same(SIG_IGN, 0);
    set(take, 0);
    outlive_cut();
    return 0;
}

sighandler_t bsd_signal(int, sighandler_t);

static int kin(void)
{
    begin();
    EXPECT(sigset(SIGBUS, take) == SIG_DFL && is_set(take));
    EXPECT(bsd_signal(SIGBUS, take_too) == take && is_set(take_too));
    EXPECT(ssignal(SIGBUS, take) == take_too);
    outlive_cut();
    EXPECT(sysv_signal(SIGBUS, take) == take);
    outlive_cut();
    EXPECT(caught == 0 && is_set(take));
    raise(SIGBUS);
    EXPECT(caught == 1 && is_set(SIG_DFL)); /* once */
    EXPECT(sigset(SIGBUS, SIG_HOLD) == SIG_DFL && sigset(SIGBUS, take) == SIG_HOLD);
    raise(SIGBUS);
    EXPECT(caught == 2);
    outlive_cut();
    return 0;
}

/* Somebody asks libc itself, and gives back what it heard; in turn with us. */
static int past(void)
{
    int (*libc)(int, const struct sigaction *, struct sigaction *) = NULL;
    struct sigaction heard;
    *(void **)&libc = dlsym(dlopen("libc.so.6", RTLD_LAZY), "sigaction");
    begin();
    set(take, 0);
    EXPECT(libc(SIGBUS, NULL, &heard) == 0);
    set(take_too, SA_RESTART);
    EXPECT(sigaction(SIGBUS, &heard, NULL) == 0 && is_set(take));
    raise(SIGBUS);
    EXPECT(caught == 1);
    set(take_too, 0);
    EXPECT(libc(SIGBUS, &heard, NULL) == 0 && is_set(take));
    raise(SIGBUS);
    EXPECT(caught == 2);
    outlive_cut();
    struct sigaction bare = {.sa_handler = take_too};
    EXPECT(libc(SIGBUS, &bare, NULL) == 0 && is_set(take_too));
    EXPECT(signal(SIGBUS, take) == take_too && is_set(take));
    outlive_cut();
    return 0;
}

/* ---- threads ----------------------------------------------------------------------------- */

#define OF_THEIRS (SA_ONSTACK | SA_RESTART | SA_NODEFER)

static void *change(void *one)
{
    struct sigaction first = {.sa_handler = take, .sa_flags = SA_RESTART};
    struct sigaction second = {.sa_handler = take_too, .sa_flags = SA_NODEFER}, old;
    for (int i = 0; i < 20000; i++) {
        EXPECT(sigaction(SIGBUS, one ? &first : &second, &old) == 0);
        EXPECT(old.sa_handler == take || old.sa_handler == take_too);
        EXPECT((old.sa_flags & OF_THEIRS) == (old.sa_handler == take ? SA_RESTART : SA_NODEFER));
    }
    return NULL;
}

static int races(void)
{
    pthread_t threads[2];
    begin();
    set(take, SA_RESTART);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, change, i ? (void *)threads : NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    outlive_cut();
    return 0;
}

/* The recorder's own thread is the only one that does not block it. */
static bool blocks_everywhere(void)
{
    bool all = true;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], line[200];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (status && fgets(line, sizeof line, status))
            if (strncmp(line, "SigBlk:", 7) == 0)
                all &= (strtoull(line + 7, NULL, 16) >> (SIGBUS - 1) & 1) != 0;
        if (status)
            fclose(status);
    }
    closedir(tasks);
    return all;
}

/* What was sent comes as it was sent, and that thread takes part again (the test's time limit ends
 * what never comes). */
static int queues(void)
{
    sigset_t bus;
    siginfo_t info;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    begin();
    set(take, SA_NODEFER);
    pthread_sigmask(SIG_BLOCK, &bus, NULL);
    for (int i = 0; i < 5; i++) {
        while (blocks_everywhere())
            usleep(1000);
        EXPECT(sigqueue(getpid(), SIGBUS, (union sigval){.sival_int = 42 + i}) == 0);
        while (!blocks_everywhere()) /* it has been there, and leaves it to us */
            usleep(1000);
        EXPECT(sigwaitinfo(&bus, &info) == SIGBUS);
        EXPECT(info.si_code == SI_QUEUE && info.si_value.sival_int == 42 + i);
    }
    while (blocks_everywhere())
        usleep(1000);
    pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
    outlive_cut();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } modes[] = {{"jumps", jumps},
                 {"restores", restores},
                 {"vforks", vforks},
                 {"asks_ignored", asks_ignored},
                 {"asks_default", asks_default},
                 {"inherits", inherits},
                 {"sees", sees},
                 {"kin", kin},
                 {"past", past},
                 {"races", races},
                 {"queues", queues}};
    directory = argc > 2 ? argv[2] : "";
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run();
    return 2;
}
