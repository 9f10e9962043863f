/*
 * What a command takes, for scale.sh: its processor time and its peak memory. What it prints goes
 * nowhere; it returns the program's exit status.
 *
 * usage: cost COMMAND...
 *
 * Prints "ns KiB".
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long ns_of(struct timeval time)
{
    return time.tv_sec * 1000000000ll + time.tv_usec * 1000ll;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: cost COMMAND...\n");
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0)
            execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    int status;
    struct rusage used;
    if (child < 0 || wait4(child, &status, 0, &used) != child) {
        perror("cost");
        return 1;
    }
    printf("%lld %ld\n", ns_of(used.ru_utime) + ns_of(used.ru_stime), used.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
