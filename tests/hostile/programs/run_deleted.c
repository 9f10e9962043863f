/* Deletes the run directory, if there is one, while it copies. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void delete_run(void)
{
    char path[5000];
    const char *run = getenv("XFERSCOPE_OUTPUT");
    DIR *folder = run ? opendir(run) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (snprintf(path, sizeof path, "%s/%s", run, entry->d_name) > 0)
            unlink(path);
    if (folder && (closedir(folder), rmdir(run)) != 0)
        perror(run);
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
    delete_run();
    in_threads(3, 0, work);
    round_trips(0, 100);
    say("done");
    return 0;
}
