#include "rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/read/read.h"
#include "preload/record/symbols.h"

/* What a recorder leaves in its directory: finished files, and one being rewritten. */
static bool is_ours(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot && (strcmp(dot, ".trace") == 0 || strcmp(dot, ".trace.tmp") == 0);
}

/* The next entry of a directory but . and .., or NULL. */
static const char *next_entry(DIR *dir)
{
    struct dirent *entry;

    do
        entry = readdir(dir);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

/* Only a directory with nothing but traces in it is a run, and may be removed. */
static int remove_run(const char *path, char *error, size_t error_bytes)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const char *name;
    int result = -1;

    if (!dir) {
        snprintf(error, error_bytes, "%s is no run directory: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while ((name = next_entry(dir)) && is_ours(name))
        ;
    if (name) {
        snprintf(error, error_bytes, "%s holds %s, which is no trace: not replaced", path, name);
        closedir(dir);
        return -1;
    }
    rewinddir(dir);
    while ((name = next_entry(dir)))
        unlinkat(fd, name, 0);
    result = rmdir(path);
    if (result != 0)
        snprintf(error, error_bytes, "cannot remove %s: %s", path, strerror(errno));
    closedir(dir);
    return result;
}

static int check_parent(const char *path, char *error, size_t error_bytes)
{
    char *parent = strdup(path);
    char *slash = parent ? strrchr(parent, '/') : NULL;
    const char *folder = ".";
    int result;

    if (slash == parent && slash)
        folder = "/";
    else if (slash) {
        *slash = '\0';
        folder = parent;
    }
    result = access(folder, W_OK | X_OK);
    if (result != 0)
        snprintf(error, error_bytes, "cannot write to %s: %s", folder, strerror(errno));
    free(parent);
    return result;
}

int rundir_prepare(const char *path, bool replace, char *error, size_t error_bytes)
{
    struct stat info;

    if (lstat(path, &info) == 0) {
        if (!replace) {
            snprintf(error, error_bytes, "%s exists; --force replaces it, -o names another", path);
            return -1;
        }
        if (remove_run(path, error, error_bytes) != 0)
            return -1;
    }
    return check_parent(path, error, error_bytes);
}

static void count_batch(void *context, const struct xfa_batch *batch)
{
    *(uint64_t *)context += batch->rows;
}

static void note_failure(struct rundir_totals *totals, const char *error)
{
    if (totals->failed++ == 0)
        snprintf(totals->error, sizeof totals->error, "%s", error);
}

/* A trace that cannot be completed because its process goes on is in order as it is. */
static bool still_recording(const struct xfa_trace *trace)
{
    return trace->header.state == XFT_STATE_RECORDING &&
           (kill(trace->header.pid, 0) == 0 || errno == EPERM);
}

/* `known`: what the run's files have in common. */
static void complete_file(const char *file, struct xfs_known *known, struct rundir_totals *totals)
{
    char why_not[512], error[512];
    int status = xfs_finish_file_known(file, known, why_not, sizeof why_not);
    struct xfa_trace *trace = xfa_trace_open(file, error, sizeof error);

    if (!trace) {
        note_failure(totals, error);
        return;
    }
    if (status != 0 && still_recording(trace))
        totals->running++;
    else if (status != 0)
        note_failure(totals, why_not);
    totals->processes++;
    totals->lost += trace->header.events_lost;
    xfa_trace_events(trace, count_batch, &totals->events);
    xfa_trace_close(trace);
}

void rundir_complete(const char *path, struct rundir_totals *totals)
{
    char error[512];
    size_t count = 0;
    char **files;
    struct stat info;

    memset(totals, 0, sizeof *totals);
    if (lstat(path, &info) != 0)
        return; /* the program never called CUDA */
    files = xfa_run_files(path, &count, error, sizeof error);
    struct xfs_known *known = xfs_known_new();
    for (size_t i = 0; i < count; i++)
        complete_file(files[i], known, totals);
    xfs_known_free(known);
    xfa_run_files_free(files, count);
}
