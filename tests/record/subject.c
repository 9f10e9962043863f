/*
 * The program that record_test runs: `subject MODE [NUMBER ...]`. Every mode records and then ends
 * in its own way. Exits with 0 unless the mode says otherwise; 9 = the recorder misbehaved.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/record/harness.h"
#include "xferscope/trace.h"

#define MISBEHAVED 9

static long number(char **arguments, int i, long otherwise)
{
    for (int j = 0; j <= i; j++)
        if (arguments[j] == NULL)
            return otherwise;
    return atol(arguments[i]);
}

static long record(long n, uint64_t aux)
{
    long recorded = 0;
    for (long i = 0; i < n; i++)
        recorded += harness_call((uint64_t)i, aux);
    return recorded;
}

static int plain(char **arguments)
{
    long n = number(arguments, 0, 100);
    errno = 77;
    long recorded = record(n, 0);
    if (errno != 77)
        return MISBEHAVED;
    return recorded == n ? 0 : 1;
}

static int ends_at_once(char **arguments)
{
    record(number(arguments, 0, 100), 0);
    _exit(3);
}

/* ---- threads ---------------------------------------------------------------------------- */

struct part {
    pthread_t thread;
    long n;
    uint64_t aux;
};

static void *run_part(void *argument)
{
    struct part *part = argument;
    record(part->n, part->aux);
    return NULL;
}

static int threads(char **arguments)
{
    long count = number(arguments, 0, 16), n = number(arguments, 1, 10000);
    struct part *parts = calloc((size_t)count, sizeof *parts);
    for (long i = 0; i < count; i++) {
        parts[i] = (struct part){.n = n, .aux = (uint64_t)i};
        if (pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) != 0)
            return MISBEHAVED;
    }
    for (long i = 0; i < count; i++)
        pthread_join(parts[i].thread, NULL);
    free(parts);
    return 0;
}

static int short_threads(char **arguments)
{
    long count = number(arguments, 0, 200);
    for (long i = 0; i < count; i++) {
        struct part part = {.n = 10, .aux = (uint64_t)i};
        if (pthread_create(&part.thread, NULL, run_part, &part) != 0)
            return MISBEHAVED;
        pthread_join(part.thread, NULL);
    }
    return 0;
}

/* ---- killed ----------------------------------------------------------------------------- */

/* Tells in a shared file how many events are committed, and goes on until it is killed. */
static int until_killed(char **arguments)
{
    int fd = open(arguments[0], O_RDWR);
    uint64_t *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (progress == MAP_FAILED)
        return MISBEHAVED;
    for (uint64_t i = 0;; i++)
        if (harness_call(i, 0))
            __atomic_store_n(progress, i + 1, __ATOMIC_RELEASE);
}

/* ---- fork, exec ------------------------------------------------------------------------- */

static int forks(char **arguments)
{
    (void)arguments;
    int status;
    record(100, 1);
    pid_t child = fork();
    if (child == 0) {
        record(50, 2);
        exit(0);
    }
    record(100, 1);
    waitpid(child, &status, 0);
    return status == 0 ? 0 : MISBEHAVED;
}

/* A child made behind libc's back: no pthread_atfork handler runs. */
static int forks_bare(char **arguments)
{
    (void)arguments;
    int status;
    record(100, 1);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        record(50, 2);
        exit(0);
    }
    waitpid(child, &status, 0);
    record(100, 1);
    return status == 0 ? 0 : MISBEHAVED;
}

static int forks_silent(char **arguments)
{
    (void)arguments;
    int status;
    record(100, 1);
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, &status, 0);
    return status == 0 ? 0 : MISBEHAVED;
}

static pid_t child_between;

static void fork_between(void)
{
    child_between = fork();
}

/* fork in the middle of an event: only the parent has it. */
static int forks_between(char **arguments)
{
    (void)arguments;
    int status = 0;
    record(10, 1);
    harness_call_around(4242, fork_between);
    if (child_between == 0) {
        record(5, 2);
        exit(0);
    }
    waitpid(child_between, &status, 0);
    record(10, 1);
    return status == 0 ? 0 : MISBEHAVED;
}

static int vforks(char **arguments)
{
    (void)arguments;
    int status;
    record(10, 1);
    pid_t child = vfork();
    if (child == 0)
        exit(0); /* wrong of it: it uses up the parent's exit handlers, not its recording */
    waitpid(child, &status, 0);
    record(10, 1);
    return 0;
}

static int becomes_another(char **arguments)
{
    (void)arguments;
    record(100, 1);
    execl("/proc/self/exe", "subject", "plain", "30", NULL);
    return MISBEHAVED;
}

/* ---- descriptors, disk ------------------------------------------------------------------ */

static int closes_all(char **arguments)
{
    record(100, 0);
    close_range(3, ~0u, 0);
    int fds[8];
    for (int i = 0; i < 8; i++) { /* and opens its own under every number, high ones too */
        fds[i] = open(arguments[0], O_RDWR | O_CREAT | O_TRUNC, 0600);
        dup2(fds[i], 1000 + i);
        dup2(fds[i], 3 + i);
    }
    record(number(arguments, 1, 20000), 0);
    struct stat info;
    if (fstat(1000, &info) != 0 || info.st_size != 0)
        return MISBEHAVED;
    return 0;
}

static int under_limit(char **arguments)
{
    struct rlimit limit = {(rlim_t)number(arguments, 0, 0), RLIM_INFINITY};
    if (arguments[1] && strcmp(arguments[1], "later") == 0)
        record(10, 0);
    setrlimit(RLIMIT_FSIZE, &limit);
    record(60000, 0);
    return 0;
}

/* "replaced": only its file, and another one has the name. */
static int loses_directory(char **arguments)
{
    char command[4200];
    record(10, 0);
    snprintf(command, sizeof command,
             arguments[1] ? "cd '%s' && for i in *; do cp $i new && mv new $i; done"
                          : "rm -rf '%s'",
             arguments[0]);
    if (system(command) != 0)
        return MISBEHAVED;
    record(20000, 0);
    return 0;
}

/* The path of this process's trace, the only file in `directory`. */
static bool own_trace(const char *directory, char *path, size_t room)
{
    DIR *entries = opendir(directory);
    struct dirent *entry;
    bool found = false;
    while (entries && (entry = readdir(entries)))
        if (entry->d_name[0] != '.') {
            snprintf(path, room, "%s/%s", directory, entry->d_name);
            found = true;
        }
    if (entries)
        closedir(entries);
    return found;
}

/* Its trace is emptied under it while it does nothing; grown again, all of it is zeros. */
static int empties_trace(char **arguments)
{
    char path[4200];
    record(10, 0);
    usleep(500000); /* rooms and slabs are being made ready */
    if (!own_trace(arguments[0], path, sizeof path))
        return MISBEHAVED;
    struct stat info;
    if (stat(path, &info) != 0 || truncate(path, 0) != 0 || truncate(path, info.st_size) != 0)
        return MISBEHAVED;
    return 0;
}

/* Four bytes in the middle of what it has written so far are overwritten. */
static int damages_trace(char **arguments)
{
    char path[4200];
    record(20000, 0);
    usleep(200000); /* slabs are being written */
    if (!own_trace(arguments[0], path, sizeof path))
        return MISBEHAVED;
    int fd = open(path, O_RDWR);
    bool done = fd >= 0 && pwrite(fd, "\xde\xad\xbe\xef", 4, strtol(arguments[1], NULL, 10)) == 4;
    close(fd);
    return done ? 0 : MISBEHAVED;
}

/* ---- signals, exit handlers ------------------------------------------------------------- */

static void on_signal(int signal_number)
{
    (void)signal_number;
    if (harness_call(1, 9)) /* in the middle of another: must be refused */
        _exit(MISBEHAVED);
}

static void raise_between(void)
{
    raise(SIGUSR1);
}

static int is_interrupted(char **arguments)
{
    (void)arguments;
    signal(SIGUSR1, on_signal);
    record(10, 1);
    for (int i = 0; i < 5; i++)
        if (!harness_call_around(100, raise_between))
            return MISBEHAVED;
    return record(10, 1) == 10 ? 0 : MISBEHAVED;
}

static void at_exit(void)
{
    record(7, 5);
}

static int records_at_exit(char **arguments)
{
    (void)arguments;
    atexit(at_exit);
    record(10, 1);
    return 0;
}

static void *record_forever(void *argument)
{
    for (uint64_t i = 0; argument == NULL; i++)
        harness_call(i, 1);
    return NULL;
}

/* Exit while four threads are still at it. */
static int exits_amid(char **arguments)
{
    (void)arguments;
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, record_forever, NULL);
    record(20000, 0);
    return 0;
}

static void *record_until_cancelled(void *argument)
{
    for (;;) {
        record(100, 1);
        pthread_testcancel();
    }
    return argument;
}

/* Cancellation must not strike inside the recorder, where it writes under its locks. */
static int cancels(char **arguments)
{
    (void)arguments;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, record_until_cancelled, NULL);
        record(500, 0);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    return 0;
}

static int closes_stderr(char **arguments)
{
    close(STDERR_FILENO);
    int fd = open(arguments[0], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd != STDERR_FILENO)
        return MISBEHAVED;
    setenv("XFERSCOPE_STACK_DEPTH", "rubbish", 1); /* something to complain about */
    record(10, 0);
    return 0;
}

static int is_switched_off(char **arguments)
{
    (void)arguments;
    return harness_ready() || record(10, 0) != 0 ? MISBEHAVED : 0;
}

/* ---- stacks ----------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void call_inlined(uint64_t i)
{
    harness_call(i, 0);
}

__attribute__((noinline)) static void call_outer(uint64_t i)
{
    call_inlined(i);
    __asm__ volatile("");
}

static int has_stacks(char **arguments)
{
    for (long i = 0; i < number(arguments, 0, 100); i++)
        call_outer((uint64_t)i);
    return 0;
}

/* ---- texts ------------------------------------------------------------------------------ */

#define TEXTS 1000

static void *name_texts(void *wrong)
{
    static char longest[2 * XFT_NAME_MOST];
    char text[32];
    uint32_t ids[TEXTS];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < TEXTS; i++) {
            int n = snprintf(text, sizeof text, "text %d", i);
            uint32_t id = harness_name(text, (uint64_t)n);
            if (id == 0 || (pass == 1 && id != ids[i]))
                *(bool *)wrong = true;
            ids[i] = id;
        }
    memset(longest, 'x', sizeof longest);
    if (harness_name(longest, sizeof longest) != harness_name(longest, XFT_NAME_MOST) ||
        harness_name("", 0) != 0)
        *(bool *)wrong = true;
    return NULL;
}

/* Eight threads give the same texts; "dies": and the process is killed. */
static int has_texts(char **arguments)
{
    pthread_t thread[8];
    bool wrong[8] = {false};
    record(1, 0);
    for (int i = 0; i < 8; i++)
        pthread_create(&thread[i], NULL, name_texts, &wrong[i]);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 8; i++)
        if (wrong[i])
            return MISBEHAVED;
    if (arguments[0])
        raise(SIGKILL);
    return 0;
}

/* Longer than all lists together may be; how many were kept, by name. */
static int has_too_long_texts(char **arguments)
{
    static char text[XFT_NAME_MOST];
    uint64_t pointer = 1;
    int kept = 0, most = (int)(XFT_LISTS_RECORDED_MOST / XFT_NAME_MOST);
    (void)arguments;
    record(1, 0);
    memset(text, 'x', sizeof text);
    for (int i = 0; i < most + 100; i++) {
        memcpy(text, &i, sizeof i);
        kept += harness_name(text, sizeof text) != 0;
    }
    for (int i = 0; i < 1000; i++, pointer++) /* what is short still fits for a while */
        harness_arguments(&pointer, 1);
    return kept > most - 100 && kept < most ? 0 : MISBEHAVED;
}

static int open_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 4096; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* More than the room for them holds: the rest comes behind it. */
static int has_metas(char **arguments)
{
    static char value[8000];
    char key[32];
    int before = open_descriptors();
    (void)arguments;
    record(1, 0);
    memset(value, 'v', sizeof value - 1);
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "test.%d", i);
        harness_meta(key, value);
    }
    return open_descriptors() == before ? 0 : MISBEHAVED;
}

/* A set that no entry can hold is one that is lost. */
static int is_given(char **arguments)
{
    static uint64_t pointers[XFT_ARGUMENTS_MOST + 1] = {4096, 8192};
    record(1, 0);
    uint32_t both = harness_arguments(pointers, 2), none = harness_arguments(pointers, 0);
    if (both == 0 || none == 0 || both == none || harness_arguments(pointers, 2) != both ||
        harness_arguments(pointers, XFT_ARGUMENTS_MOST + 1) != 0)
        return MISBEHAVED;
    return 0;
}

/* A check of the recorder that fails is none of the program's business. */
static int fails_a_check(char **arguments)
{
    (void)arguments;
    record(5, 0);
    errno = 77;
    for (int i = 0; i < 3; i++)
        if (harness_expect(false) || !harness_expect(true) || errno != 77)
            return MISBEHAVED;
    return record(5, 0) == 5 ? 0 : MISBEHAVED;
}

static const struct {
    const char *name;
    int (*run)(char **arguments);
} modes[] = {
    {"plain", plain},
    {"ends-at-once", ends_at_once},
    {"threads", threads},
    {"short-threads", short_threads},
    {"until-killed", until_killed},
    {"forks", forks},
    {"forks-bare", forks_bare},
    {"forks-silent", forks_silent},
    {"forks-between", forks_between},
    {"vforks", vforks},
    {"becomes-another", becomes_another},
    {"closes-all", closes_all},
    {"under-limit", under_limit},
    {"loses-directory", loses_directory},
    {"empties-trace", empties_trace},
    {"damages-trace", damages_trace},
    {"is-interrupted", is_interrupted},
    {"records-at-exit", records_at_exit},
    {"exits-amid", exits_amid},
    {"cancels", cancels},
    {"closes-stderr", closes_stderr},
    {"is-switched-off", is_switched_off},
    {"has-stacks", has_stacks},
    {"has-texts", has_texts},
    {"has-too-long-texts", has_too_long_texts},
    {"has-metas", has_metas},
    {"is-given", is_given},
    {"fails-a-check", fails_a_check},
};

int main(int count, char **arguments)
{
    for (size_t i = 0; count > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, arguments[1]) == 0)
            return modes[i].run(arguments + 2);
    fprintf(stderr, "subject: no such mode\n");
    return 2;
}
