#include "tools/xferscope/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child process. */
static void work_alone(guarded_work *work, void *context, unsigned seconds, int end, pid_t parent)
{
    struct rlimit no_core = {0, 0};
    sigset_t none;
    int nowhere = open("/dev/null", O_WRONLY);
    FILE *out = fdopen(end, "w");

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!out || getppid() != parent)
        _exit(1);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(seconds);
    _exit(work(context, out) == 0 && fflush(out) == 0 ? 0 : 1);
}

/* Reads until the pipe's end; what does not fit is read and dropped. */
static void read_text(int end, char *text, size_t bytes)
{
    char rest[4096];
    size_t filled = 0;
    ssize_t n;

    do {
        size_t room = bytes - 1 - filled;
        n = room ? read(end, text + filled, room) : read(end, rest, sizeof rest);
        if (n > 0 && room)
            filled += (size_t)n;
    } while (n > 0 || (n < 0 && errno == EINTR));
    text[filled] = '\0';
}

static const char *judge(pid_t child)
{
    int status = 0;
    pid_t ended;

    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    if (ended == child && WIFEXITED(status))
        return WEXITSTATUS(status) == 0 ? NULL : "it could not be read";
    if (ended == child && WTERMSIG(status) == SIGALRM)
        return "that took too long";
    return "reading it failed";
}

bool guarded_text(guarded_work *work, void *context, unsigned seconds, char *text, size_t bytes,
                  const char **why)
{
    struct sigaction plain = {.sa_handler = SIG_DFL}, before;
    pid_t child, parent = getpid();
    int ends[2];

    text[0] = '\0';
    *why = "there is no process to be had";
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fflush(NULL);
    sigaction(SIGCHLD, &plain, &before); /* with SIGCHLD ignored there would be no status */
    child = fork();
    if (child == 0)
        work_alone(work, context, seconds, ends[1], parent);
    close(ends[1]);
    if (child > 0) {
        read_text(ends[0], text, bytes);
        *why = judge(child);
    }
    close(ends[0]);
    sigaction(SIGCHLD, &before, NULL);
    return child > 0 && *why == NULL;
}
