#include "analyzer/live/find_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE ".trace"
#define MOST_LEVELS 8 /* of processes below the one that was named */

/* The directory of a mapped trace; a path is the last field of a line of /proc/PID/maps. */
static bool run_in_line(char *line, char run[PATH_MAX])
{
    size_t length = strcspn(line, "\n");
    char *path = strchr(line, '/'), *slash;
    line[length] = '\0';
    if (!path || strlen(path) <= strlen(TRACE) || strlen(path) >= PATH_MAX ||
        strcmp(path + strlen(path) - strlen(TRACE), TRACE) != 0)
        return false;
    slash = strrchr(path, '/');
    snprintf(run, PATH_MAX, "%.*s", (int)(slash - path), path);
    return slash > path;
}

/* False and errno: it cannot be looked at; 0: it can, and has none. */
static bool run_mapped(long pid, char run[PATH_MAX])
{
    char name[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%ld/maps", pid);
    FILE *maps = fopen(name, "re");
    if (!maps)
        return false;
    while (!found && getline(&line, &room, maps) > 0)
        found = run_in_line(line, run);
    free(line);
    fclose(maps);
    errno = 0;
    return found;
}

static bool run_below(long pid, int levels, char run[PATH_MAX])
{
    char name[96];
    long child;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%ld/task/%ld/children", pid, pid);
    FILE *children = levels > 0 ? fopen(name, "re") : NULL;
    if (!children)
        return false;
    while (!found && fscanf(children, "%ld", &child) == 1)
        found = run_mapped(child, run) || run_below(child, levels - 1, run);
    fclose(children);
    return found;
}

bool xfa_run_of_process(long pid, char run[PATH_MAX], char *error, size_t error_bytes)
{
    if (run_mapped(pid, run))
        return true;
    int why = errno;
    if (why == 0 && run_below(pid, MOST_LEVELS, run))
        return true;
    snprintf(error, error_bytes, "process %ld %s%s", pid,
             why ? "cannot be looked at: " : "records nothing (yet)", why ? strerror(why) : "");
    return false;
}
