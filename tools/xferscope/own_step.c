#include "tools/xferscope/own_step.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 16 };

static volatile sig_atomic_t interrupts;

static void note_interrupt(int number)
{
    interrupts = 1;
}

struct before {
    struct sigaction interrupt, quit, child;
};

/* With SIGCHLD ignored there would be no status. */
static void hold_signals(struct before *before)
{
    const struct sigaction note = {.sa_handler = note_interrupt, .sa_flags = SA_RESTART};
    const struct sigaction plain = {.sa_handler = SIG_DFL};

    interrupts = 0;
    sigaction(SIGINT, &note, &before->interrupt);
    sigaction(SIGQUIT, &note, &before->quit);
    sigaction(SIGCHLD, &plain, &before->child);
}

static void restore_signals(const struct before *before)
{
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGQUIT, &before->quit, NULL);
    sigaction(SIGCHLD, &before->child, NULL);
}

/* In the child process. Never returns. */
static void start(char *const *argv, enum own_output output, const struct before *before,
                  pid_t parent)
{
    int to = output == OWN_TO_STDERR ? STDERR_FILENO : open("/dev/null", O_WRONLY | O_CLOEXEC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    restore_signals(before);
    if (to >= 0 && dup2(to, STDOUT_FILENO) >= 0 && getppid() == parent)
        execv("/proc/self/exe", argv);
    _exit(127);
}

static int status_of(pid_t child)
{
    int status = 0;
    pid_t ended;

    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct own_step own_step_run(const char *const *arguments, enum own_output output)
{
    /* exec takes the texts as they are. */
    char *argv[MOST_ARGUMENTS + 2] = {program_invocation_name};
    struct own_step step = {.status = -1};
    struct before before;
    pid_t child, parent = getpid();

    for (int i = 0; i < MOST_ARGUMENTS && arguments[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    fflush(NULL);
    hold_signals(&before);
    child = fork();
    if (child == 0)
        start(argv, output, &before, parent);
    if (child > 0)
        step.status = status_of(child);
    restore_signals(&before);
    step.interrupted = interrupts != 0;
    return step;
}
