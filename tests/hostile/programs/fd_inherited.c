/* Tells which descriptors a program gets that it executes, from several threads while others copy.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static int list(void)
{
    char text[300] = "", link[300], path[300];
    DIR *folder = opendir("/proc/self/fd");
    must(folder != NULL, "/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int fd = atoi(entry->d_name);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (entry->d_name[0] == '.' || fd == dirfd(folder) || length < 0)
            continue;
        link[length] = '\0';
        if (strncmp(link, "/dev/nvidia", 11) != 0)
            snprintf(text + strlen(text), sizeof text - strlen(text), " %d", fd);
    }
    closedir(folder);
    say("inherited:%s", text);
    return 0;
}

static void work(unsigned number)
{
    if (number > 0) {
        use_gpu();
        round_trips(number, 200);
        return;
    }
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl(own_path(), "fd_inherited", "list", NULL);
            _exit(127);
        }
        await(child, "child");
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    own_path();
    begin();
    in_threads(3, 0, work);
    moved();
    return 0;
}
