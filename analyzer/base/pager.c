#include "analyzer/base/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_RUN 126 /* a shell's status: the command is no program; one more: not found */

const char *xfa_pager(void)
{
    const char *pager = getenv("PAGER");
    if (!pager)
        return "less -FRX";
    return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static int status_of(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Until the pager closes its end. */
static void write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, text, length);
        if (written < 0 && errno != EINTR)
            return;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
}

bool xfa_page_text(const char *pager, const char *text, size_t length)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        setenv("LESS", "FRX", 0);
        execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
        _exit(CANNOT_RUN);
    }
    close(ends[0]);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    if (child > 0)
        write_all(ends[1], text, length);
    close(ends[1]);
    int status = child > 0 ? status_of(child) : CANNOT_RUN;
    signal(SIGPIPE, before);
    return status < CANNOT_RUN;
}

bool xfa_open_file(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        _exit(CANNOT_RUN);
    }
    return child > 0 && status_of(child) == 0;
}
