/* Repeats the main() of a program that nobody wrote for it, in one process.
 *
 * A process needs 0.25 s on a GPU machine before its first call, one after the other on all GPUs,
 * so that thousands of processes take hours; and a process that goes on for long is the harder case
 * for what keeps something. Loaded with LD_PRELOAD; repeated.py reads what it writes.
 *
 *   REPEATED_PROGRAM  only the process whose argv[0] ends so is repeated
 *   REPEATED_ROUNDS   how often (default: once)
 *   REPEATED_LONGEST  no round begins later than so many nanoseconds after the first one, in which
 *                     the driver starts
 *   REPEATED_LEAST    but so many rounds begin whatever they take
 *   REPEATED_TIMES    a file that gets a line for each round: its exit status, its nanoseconds
 *   REPEATED_GO_ON    rounds go on behind one whose status is not zero
 *   REPEATED_TURNS    a number: rounds behind the first are by turns with what apply does and
 *                     without (preload/apply/apply.h), in fours ABBA or BAAB by this number; each
 *                     line then has a third figure, 1 without
 *
 * After each round both outputs get a line of REPEATED_MARK, with the exit status. exit() in the
 * thread of main() ends the round; what was registered with atexit() runs once, after the last. A
 * round whose status is not zero is the last one, if nothing else is said. Forked children end with
 * their round, and what the program starts runs once, both without a mark. */
#include <dlfcn.h>
#include <getopt.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPEATED_MARK "\036repeated"

typedef int main_function(int argc, char **argv, char **env);
typedef int start_function(main_function *main, int argc, char **argv, void (*init)(void),
                           void (*fini)(void), void (*linker_fini)(void), void *stack_end);

start_function __libc_start_main; /* NOLINT(bugprone-reserved-identifier): glibc's name */

static main_function *program_main;
static pthread_t main_thread;
static jmp_buf round_end;
static volatile int in_round, round_status;

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

/* A round gets arguments of its own: getopt() moves them, programs cut them. Never freed, as those
 * of a process. */
static char **copy_of(int argc, char **argv)
{
    char **copy = calloc((size_t)argc + 1, sizeof *copy);
    for (int i = 0; copy && i < argc; ++i)
        copy[i] = strdup(argv[i]);
    return copy;
}

/* All is passed on to the driver, or not; where apply is not there, nothing happens. */
static void pass_on(int all)
{
    typedef void pass_on_function(int);
    pass_on_function *function = (pass_on_function *)dlsym(RTLD_DEFAULT, "xferscope_apply_pass_on");
    if (function)
        function(all);
}

/* repeated_steps.py draws the same. */
static int is_without(long round, uint64_t seed)
{
    if (round == 0 || seed == 0)
        return 0;
    const uint64_t block = (uint64_t)(round - 1) / 4, place = (uint64_t)(round - 1) % 4;
    const uint64_t mixed = (seed * 2654435761u + block) * UINT64_C(0x9e3779b97f4a7c15);
    return (int)(mixed >> 63) ^ (place == 1 || place == 2);
}

static void say_end(FILE *times, int status, uint64_t ns, const char *way)
{
    printf("\n" REPEATED_MARK " %d\n", status);
    fprintf(stderr, "\n" REPEATED_MARK " %d\n", status);
    fflush(NULL);
    if (times) {
        fprintf(times, "%d %llu%s\n", status, (unsigned long long)ns, way);
        fflush(times);
    }
}

/* Alone in its function: what a jump would clobber stands elsewhere. */
static void one_round(int argc, char **argv, char **env)
{
    if (setjmp(round_end))
        return;
    in_round = 1;
    round_status = program_main(argc, argv, env);
}

static int rounds_of_main(int argc, char **argv, char **env)
{
    const char *rounds = getenv("REPEATED_ROUNDS");
    const char *longest = getenv("REPEATED_LONGEST"), *path = getenv("REPEATED_TIMES");
    const char *least = getenv("REPEATED_LEAST"), *turns = getenv("REPEATED_TURNS");
    FILE *times = path ? fopen(path, "we") : NULL;
    const long count = rounds ? strtol(rounds, NULL, 10) : 1;
    const uint64_t most = longest ? strtoull(longest, NULL, 10) : UINT64_MAX;
    const long at_least = least ? strtol(least, NULL, 10) : 0;
    const int go_on = getenv("REPEATED_GO_ON") != NULL;
    const uint64_t seed = turns ? strtoull(turns, NULL, 10) : 0;
    const pid_t process = getpid();
    uint64_t first_end = 0;
    unsetenv("REPEATED_PROGRAM"); /* it may start itself */
    main_thread = pthread_self();
    round_status = 0;
    for (long round = 0; round < (count > 1 ? count : 1) && (go_on || !round_status); ++round) {
        char **arguments = copy_of(argc, argv);
        optind = 0;
        const int without = is_without(round, seed);
        if (seed)
            pass_on(without);
        const uint64_t start = now_ns();
        one_round(argc, arguments, env);
        in_round = 0; /* NOLINT(clang-analyzer-unix.Malloc): never freed */
        if (getpid() != process)
            break;
        say_end(times, round_status, now_ns() - start, !seed ? "" : without ? " 1" : " 0");
        first_end = first_end ? first_end : now_ns();
        if (round + 1 >= at_least && now_ns() - first_end >= most)
            break;
    }
    return round_status;
}

void exit(int status)
{
    if (in_round && pthread_equal(pthread_self(), main_thread)) {
        round_status = status;
        longjmp(round_end, 1);
    }
    typedef void exit_function(int);
    ((exit_function *)dlsym(RTLD_NEXT, "exit"))(status);
    __builtin_unreachable();
}

static int ends_with(const char *text, const char *end)
{
    const size_t length = text ? strlen(text) : 0, wanted = strlen(end);
    return text && length >= wanted && !strcmp(text + length - wanted, end);
}

/* The C library's entry, under its own name: it calls ours here. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*linker_fini)(void), void *stack_end)
{
    start_function *next = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    const char *wanted = getenv("REPEATED_PROGRAM");
    if (wanted && argc > 0 && ends_with(argv[0], wanted)) {
        program_main = main;
        main = rounds_of_main;
    }
    return next(main, argc, argv, init, fini, linker_fini, stack_end);
}
