/*
 * Programs started with environments of many entries, from threads of little stack.
 *
 *   large_environment many COUNT  as many children by vfork and execve, each from a thread of its
 *                                 own, then by posix_spawn: prints how many of them found the
 *                                 recorder's settings, and how many bytes of address space were
 *                                 taken after the first few
 *   large_environment limit       prints the largest environment that the kernel takes
 *   large_environment child       exit status 0 where it finds them, else 7
 */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENTRIES = 3000, STACK_BYTES = 16 << 10, FEW = 4, FOUND = 0, NOT_FOUND = 7, TOO_LARGE = 9 };

static char program[] = "/proc/self/exe";
static char *environment[ENTRIES + 1];
static char *const child_arguments[] = {"large_environment", "child", NULL};

static void by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execve("/nowhere/at/all", child_arguments, environment); /* fails, and is tried again */
        execve(program, child_arguments, environment);
        _exit(errno == E2BIG ? TOO_LARGE : 1);
    }
}

static void by_spawn(void)
{
    pid_t child;
    if (posix_spawn(&child, program, NULL, NULL, child_arguments, environment) != 0)
        exit(1);
}

static void *start(void *way)
{
    ((void (*)(void))way)();
    return NULL;
}

static int outcome(void (*way)(void))
{
    pthread_attr_t attributes;
    pthread_t thread;
    int status;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, start, (void *)way) != 0)
        exit(1);
    pthread_join(thread, NULL);
    if (wait(&status) < 0 || !WIFEXITED(status))
        exit(1);
    return WEXITSTATUS(status);
}

static long address_space(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1)
        exit(1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void many(void (*way)(void), const char *name, int count)
{
    int found = 0;
    long before = 0;
    for (int i = 0; i < count; i++) {
        if (i == FEW)
            before = address_space();
        int status = outcome(way);
        if (status != FOUND && status != NOT_FOUND)
            exit(status);
        found += status == FOUND;
    }
    printf("%s %d %ld\n", name, found, address_space() - before);
}

/* The limit is a quarter of the stack's, and 128 KiB at least. */
static void limit(void)
{
    const struct rlimit small = {256 << 10, 256 << 10};
    size_t bytes = 132 << 10;
    environment[1] = NULL;
    setrlimit(RLIMIT_STACK, &small);
    int entries = 2;
    char *half = malloc(bytes);
    memset(half, 'x', bytes);
    memcpy(half, "V=", 2);
    environment[0] = environment[1] = half; /* one text may have 128 KiB less a page */
    environment[entries] = NULL;
    do {
        bytes -= 32;
        half[bytes / 2] = '\0';
    } while (outcome(by_vfork) == TOO_LARGE);
    printf("%zu\n", bytes);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "child") == 0) {
        const char *preload = getenv("LD_PRELOAD");
        return preload && strstr(preload, "libxferscope") && getenv("XFERSCOPE_OUTPUT") ? FOUND
                                                                                        : NOT_FOUND;
    }
    for (int i = 0; i < ENTRIES; i++)
        environment[i] = "A=b";
    if (argc == 3 && strcmp(argv[1], "many") == 0) {
        many(by_vfork, "vfork", atoi(argv[2]));
        many(by_spawn, "spawn", atoi(argv[2]));
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "limit") == 0) {
        limit();
        return 0;
    }
    fprintf(stderr, "usage: large_environment many COUNT | limit | child\n");
    return 2;
}
