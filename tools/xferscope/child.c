#include "tools/xferscope/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Signals that would end this process before the program has ended. Stopping and continuing keep
 * their meaning for both. */
static const int held[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE};

static void build_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        sigaddset(set, held[i]);
}

/* In the child: restores signal mask and dispositions, then executes the program. Never returns. */
static void start_program(char **argv, const struct child_setting *settings, size_t count,
                          const sigset_t *mask, const struct sigaction *on_child, int report)
{
    int error;

    for (size_t i = 0; i < count; i++) {
        if (setenv(settings[i].name, settings[i].value, 1) != 0)
            goto failed;
    }
    sigaction(SIGCHLD, on_child, NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
failed:
    error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(127);
}

static bool sent_by_others(const siginfo_t *info, pid_t child)
{
    bool by_process =
        info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;

    return by_process && info->si_pid != child;
}

static int wait_for(pid_t child, const sigset_t *set)
{
    int status;

    for (;;) {
        siginfo_t info;

        if (sigwaitinfo(set, &info) < 0)
            continue; /* stopped and continued */
        if (info.si_signo != SIGCHLD) {
            if (sent_by_others(&info, child))
                kill(child, info.si_signo);
            continue;
        }
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
    }
}

/* Drops signals that arrived up to the program's end: from here on a signal is meant for this
 * process. */
static void restore_signals(const sigset_t *set, const sigset_t *before,
                            const struct sigaction *on_child)
{
    const struct timespec now = {0, 0};

    while (sigtimedwait(set, NULL, &now) > 0)
        ;
    sigaction(SIGCHLD, on_child, NULL);
    sigprocmask(SIG_SETMASK, before, NULL);
}

static int read_exec_error(int report)
{
    int error = 0;
    ssize_t n;

    do
        n = read(report, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    close(report);
    return n == sizeof error ? error : 0;
}

int child_run(char **argv, const struct child_setting *settings, size_t count,
              struct child_result *result)
{
    struct sigaction plain = {.sa_handler = SIG_DFL}, on_child;
    sigset_t set, before;
    int report[2];
    pid_t child;

    if (pipe2(report, O_CLOEXEC) != 0)
        return -1;
    build_set(&set);
    sigprocmask(SIG_BLOCK, &set, &before);
    sigaction(SIGCHLD, &plain, &on_child); /* with SIGCHLD ignored there would be no status */
    child = fork();
    if (child == 0) {
        close(report[0]);
        start_program(argv, settings, count, &before, &on_child, report[1]);
    }
    close(report[1]);
    if (child < 0) {
        int error = errno;

        close(report[0]);
        restore_signals(&set, &before, &on_child);
        errno = error;
        return -1;
    }
    result->exec_error = read_exec_error(report[0]);
    result->wait_status = wait_for(child, &set);
    restore_signals(&set, &before, &on_child);
    return 0;
}

int child_reproduce(int wait_status)
{
    struct rlimit no_core = {0, 0};
    sigset_t set;
    int number;

    if (WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    number = WTERMSIG(wait_status);
    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    return 128 + number;
}
