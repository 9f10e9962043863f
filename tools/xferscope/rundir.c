#include "tools/xferscope/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/read/read.h"
#include "preload/format/finish_file.h"
#include "symbols/symbols.h"
#include "tools/xferscope/run_look.h"
#include "tools/xferscope/run_place.h"

#define ASIDE ".replaced"
/* PID-STARTNS.trace.tmp behind the directory's path. */
#define MOST_FILE_BYTES sizeof "/2147483647-18446744073709551615.trace.tmp"

/* ---- claiming --------------------------------------------------------------------------- */

static int set_paths(struct rundir *dir, const char *path, char *error, size_t error_bytes)
{
    size_t bytes = strlen(path);
    const char *slash = strrchr(path, '/');

    if (bytes + MOST_FILE_BYTES > sizeof dir->path) {
        snprintf(error, error_bytes, "the path of the run is too long: at most %zu bytes",
                 sizeof dir->path - MOST_FILE_BYTES);
        return -1;
    }
    if (strlen(slash + 1) + strlen(ASIDE) > NAME_MAX) {
        snprintf(error, error_bytes, "the name of the run is too long: at most %zu bytes with .xft",
                 NAME_MAX - strlen(ASIDE));
        return -1;
    }
    memcpy(dir->path, path, bytes + 1);
    snprintf(dir->path_aside, sizeof dir->path_aside, "%s" ASIDE, dir->path);
    dir->name = dir->path + (slash + 1 - path);
    dir->aside = dir->path_aside + (slash + 1 - path);
    return 0;
}

static int open_folder(struct rundir *dir, char *error, size_t error_bytes)
{
    char folder[PATH_MAX];
    size_t bytes = (size_t)(dir->name - dir->path);

    memcpy(folder, dir->path, bytes);
    folder[bytes] = '\0';
    dir->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->folder < 0 && errno == EACCES)
        dir->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir->folder >= 0)
        return 0;
    if (bytes > 1)
        folder[bytes - 1] = '\0';
    snprintf(error, error_bytes, "cannot write to %s: %s", folder, strerror(errno));
    return -1;
}

static int lock(const struct rundir *dir, bool replace, char *error, size_t error_bytes)
{
    switch (run_place_lock(dir->folder, dir->name)) {
    case RUN_LOCKED:
        return 0;
    case RUN_LOCKED_BY_OTHER:
        snprintf(error, error_bytes, "another xferscope record is recording in %s", dir->path);
        return -1;
    default:
        if (!replace)
            return 0; /* then nothing can be lost */
        snprintf(error, error_bytes, "cannot tell whether %s is being recorded: not replaced",
                 dir->path);
        return -1;
    }
}

static bool is_there(const struct rundir *dir, const char *name)
{
    struct stat info;

    return fstatat(dir->folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * What a record that was killed left: the earlier run beside its place, or the empty directory of
 * its trial. The run gets its name back, unless the new one has begun: then it has been replaced.
 */
static int recover(struct rundir *dir, bool replace, bool *put_back, char *error,
                   size_t error_bytes)
{
    struct run_look aside, new;
    bool begun;

    if (!is_there(dir, dir->aside) || unlinkat(dir->folder, dir->aside, AT_REMOVEDIR) == 0)
        return 0;
    if (run_look(dir->folder, dir->aside, dir->path_aside, &aside, error, error_bytes) != 0)
        return -1;
    run_look_free(&aside);
    /* A directory that is not empty, or no directory, stays. */
    if (renameat(dir->folder, dir->aside, dir->folder, dir->name) == 0) {
        *put_back = true;
        return 0;
    }
    if (!replace)
        return 0; /* what is there will be in the way */
    if (run_look(dir->folder, dir->name, dir->path, &new, error, error_bytes) != 0)
        return -1;
    begun = new.traces > 0;
    run_look_free(&new);
    if (begun)
        return run_remove(dir->folder, dir->aside, dir->path_aside, error, error_bytes);
    snprintf(error, error_bytes, "%s holds an earlier run and is in the way", dir->path_aside);
    return -1;
}

static int try_place(const struct rundir *dir, char *error, size_t error_bytes)
{
    if (run_place_try(dir->folder, dir->aside) == 0)
        return 0;
    snprintf(error, error_bytes, "cannot record in %s: %s", dir->path, strerror(errno));
    return -1;
}

/* From here on the path does not exist for other processes; files that were added since the first
 * look are kept. */
static int set_aside(struct rundir *dir, const struct run_look *before, char *error,
                     size_t error_bytes)
{
    struct run_look after;
    bool same = false;

    if (renameat(dir->folder, dir->name, dir->folder, dir->aside) != 0) {
        snprintf(error, error_bytes, "cannot rename %s: %s", dir->path, strerror(errno));
        return -1;
    }
    if (run_look(dir->folder, dir->aside, dir->path, &after, error, error_bytes) == 0) {
        same = run_look_same(before, &after);
        run_look_free(&after);
        if (!same)
            snprintf(error, error_bytes, "%s is being changed: not replaced", dir->path);
    }
    dir->earlier_waits = same;
    if (!same && renameat(dir->folder, dir->aside, dir->folder, dir->name) != 0)
        snprintf(error, error_bytes, "%s was changed by others and is now %s", dir->path,
                 dir->path_aside);
    return same ? 0 : -1;
}

static int claim(struct rundir *dir, bool replace, char *error, size_t error_bytes)
{
    struct run_look earlier;
    bool put_back = false;
    int result;

    if (lock(dir, replace, error, error_bytes) != 0 ||
        recover(dir, replace, &put_back, error, error_bytes) != 0)
        return -1;
    if (!is_there(dir, dir->name))
        return try_place(dir, error, error_bytes);
    if (!replace) {
        snprintf(error, error_bytes, "%s exists%s; --force replaces it, -o names another",
                 dir->path, put_back ? " (again: a record that was to replace it was killed)" : "");
        return -1;
    }
    if (run_look(dir->folder, dir->name, dir->path, &earlier, error, error_bytes) != 0)
        return -1;
    result = try_place(dir, error, error_bytes);
    if (result == 0)
        result = set_aside(dir, &earlier, error, error_bytes);
    run_look_free(&earlier);
    return result;
}

int rundir_claim(struct rundir *dir, const char *path, bool replace, char *error,
                 size_t error_bytes)
{
    memset(dir, 0, sizeof *dir);
    dir->folder = -1;
    if (set_paths(dir, path, error, error_bytes) != 0 || open_folder(dir, error, error_bytes) != 0)
        return -1;
    if (claim(dir, replace, error, error_bytes) == 0)
        return 0;
    close(dir->folder);
    dir->folder = -1;
    return -1;
}

/* ---- completing ------------------------------------------------------------------------- */

static void count_batch(void *context, const struct xfa_batch *batch)
{
    struct rundir_totals *totals = context;

    totals->events += batch->rows;
    for (size_t i = 0; i < batch->rows; i++) {
        const struct xft_event *event = &batch->events[i];

        if (!xfa_moves(event->kind, event->flags, event->bytes))
            continue;
        totals->transfers++;
        totals->bytes += event->bytes;
        if (event->direction < XFT_DIRECTION_COUNT)
            totals->by_direction[event->direction] += event->bytes;
    }
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

/* A trace whose beginning is incomplete (the disk was full) may be of any run: it is counted. */
static bool is_of_run(const struct xfa_trace *trace, const char *run)
{
    const char *its = xfa_trace_meta(trace, "run");

    return its ? strcmp(its, run) == 0 : xfa_trace_meta(trace, "xferscope.version") == NULL;
}

/* `known`: what the run's files have in common. */
static void complete_file(const char *file, const char *run, struct xfs_known *known,
                          struct rundir_totals *totals)
{
    char why_not[2 * PATH_MAX], error[2 * PATH_MAX];
    int status = xfs_finish_file(file, known, why_not, sizeof why_not);
    struct xfa_trace *trace = xfa_trace_open(file, error, sizeof error);
    bool running = status != 0 && trace && still_recording(trace);

    if (status != 0 && trace && !running) { /* its process may have ended since it was asked */
        xfa_trace_close(trace);
        status = xfs_finish_file(file, known, why_not, sizeof why_not);
        trace = xfa_trace_open(file, error, sizeof error);
    }
    if (!trace) {
        note_failure(totals, error);
        return;
    }
    if (!is_of_run(trace, run)) {
        totals->strangers++;
        xfa_trace_close(trace);
        return;
    }
    if (running)
        totals->running++;
    else if (status != 0)
        note_failure(totals, why_not);
    totals->processes++;
    totals->lost += trace->header.events_lost;
    totals->simulated |= xfa_trace_meta(trace, "gpu.simulated") != NULL;
    xfa_trace_events(trace, count_batch, totals);
    xfa_trace_close(trace);
}

void rundir_complete(const struct rundir *dir, const char *run, bool begun,
                     struct rundir_totals *totals)
{
    char error[2 * PATH_MAX] = "";
    size_t count = 0;
    char **files;
    struct stat info;

    memset(totals, 0, sizeof *totals);
    if (lstat(dir->path, &info) != 0)
        return; /* the program never called CUDA, or it has been deleted */
    if (!S_ISDIR(info.st_mode)) {
        snprintf(error, sizeof error, "%s is no directory any more", dir->path);
        note_failure(totals, error);
        return;
    }
    if (!begun && info.st_uid != geteuid()) {
        snprintf(error, sizeof error, "%s is another user's: left as it is", dir->path);
        note_failure(totals, error);
        return;
    }
    files = xfa_run_files(dir->path, &count, error, sizeof error);
    struct xfs_known *known = xfs_known_new();
    for (size_t i = 0; i < count; i++)
        complete_file(files[i], run, known, totals);
    xfs_known_free(known);
    xfa_run_files_free(files, count);
}

/* ---- the end of the claim --------------------------------------------------------------- */

static int place_earlier(struct rundir *dir, bool recorded, char *error, size_t error_bytes)
{
    if (recorded && run_remove(dir->folder, dir->aside, dir->path_aside, error, error_bytes) != 0)
        return -1;
    /* Over an empty directory, if a process got no further; nothing else gives way. */
    if (recorded || renameat(dir->folder, dir->aside, dir->folder, dir->name) == 0)
        return 0;
    snprintf(error, error_bytes, "the earlier run is now %s: cannot rename it: %s", dir->path_aside,
             strerror(errno));
    return -1;
}

int rundir_release(struct rundir *dir, bool recorded, char *error, size_t error_bytes)
{
    int result = 0;

    if (dir->earlier_waits)
        result = place_earlier(dir, recorded, error, error_bytes);
    dir->earlier_waits = false;
    close(dir->folder);
    dir->folder = -1;
    return result;
}
