/* Cuts its trace, if there is one, writes into it and takes the right to read it, while it copies.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void each_trace(int how)
{
    char path[5000];
    const char *run = getenv("XFERSCOPE_OUTPUT");
    DIR *folder = run ? opendir(run) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        if (!strstr(entry->d_name, ".trace") ||
            snprintf(path, sizeof path, "%s/%s", run, entry->d_name) < 0)
            continue;
        int fd = open(path, O_WRONLY);
        if (how == 0 && ftruncate(fd, 8192) == 0)
            chmod(path, 0);
        else if (how == 1)
            chmod(path, 0600);
        if (how == 2 && pwrite(fd, "nonsense nonsense", 17, 4096) < 0)
            perror(path);
        close(fd);
    }
    if (folder)
        closedir(folder);
}

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 1000);
}

int main(void)
{
    begin();
    round_trips(0, 100);
    for (int how = 0; how < 3; how++) {
        each_trace(how);
        in_threads(3, 0, work);
        round_trips(0, 100);
    }
    say("done");
    return 0;
}
