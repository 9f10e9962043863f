/* Becomes a daemon (two forks, setsid, all closed, another folder) before its first CUDA call. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void serve(const char *folder, int notify)
{
    setsid();
    if (fork() != 0)
        _exit(0);
    must(chdir("/") == 0, "chdir");
    umask(0);
    dup2(notify, 20);
    closefrom(21);
    for (int i = 0; i < 20; i++)
        close(i);
    int first = open("/dev/null", O_RDWR), second = open("/dev/null", O_WRONLY);
    dup2(20, STDOUT_FILENO);
    begin();
    round_trips(0, 200);
    say("daemon: %d %d", first, second);
    moved();
    must(chdir(folder) == 0, "chdir");
    write_file("own", "served\n", 3);
    _exit(0);
}

int main(void)
{
    char folder[4096], line[300];
    int pipes[2];
    ssize_t length;
    must(getcwd(folder, sizeof folder) != NULL && pipe(pipes) == 0, "to begin");
    simulated();
    pid_t child = fork();
    if (child == 0)
        serve(folder, pipes[1]);
    close(pipes[1]);
    await(child, "child");
    while ((length = read(pipes[0], line, sizeof line)) > 0)
        must(write(STDOUT_FILENO, line, (size_t)length) == length, "write");
    say_file("own");
    return 0;
}
