/* Starts small programs in four threads (posix_spawn, system, popen, vfork) while two others copy.
 */
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

extern char **environ;
static atomic_int right;

static void start(unsigned how)
{
    static char name[] = "true";
    char *arguments[] = {name, NULL}, line[32] = "";
    int status = -1;
    pid_t child;
    if (how == 0 && posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0) {
        waitpid(child, &status, 0);
        right += status == 0;
    } else if (how == 1) {
        status = system("exit 9");
        right += WIFEXITED(status) && WEXITSTATUS(status) == 9;
    } else if (how == 2) {
        FILE *pipe = popen("echo piped", "r");
        right += pipe && fgets(line, sizeof line, pipe) && line[0] == 'p' && pclose(pipe) == 0;
    } else if (how == 3) {
        child = vfork();
        if (child == 0) {
            execlp("true", "true", NULL);
            _exit(127);
        }
        waitpid(child, &status, 0);
        right += status == 0;
    }
}

static void work(unsigned number)
{
    for (int i = 0; i < 4 && number < 4; i++)
        start(number);
    if (number < 4)
        return;
    use_gpu();
    round_trips(number, 300);
}

int main(void)
{
    begin();
    in_threads(6, 0, work);
    say("%d programs ended as they should", (int)right);
    moved();
    return 0;
}
