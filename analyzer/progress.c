#include "analyzer/progress.h"

#include <sys/stat.h>
#include <time.h>

#include "analyzer/base/alloc.h"

#define ERASE "\r\033[K"

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

/* ---- the line -------------------------------------------------------------------------------- */

bool xfa_progress_due(const struct xfa_progress *progress, uint64_t now_ns)
{
    uint64_t since = progress->said_ns ? progress->said_ns : progress->begun_ns;
    uint64_t wait = progress->said_ns ? XFA_PROGRESS_EVERY_NS : XFA_PROGRESS_AFTER_NS;
    return now_ns >= since && now_ns - since >= wait;
}

/* "1,234,567" */
static void write_count(FILE *out, size_t count)
{
    if (count >= 1000) {
        write_count(out, count / 1000);
        fprintf(out, ",%03zu", count % 1000);
    } else {
        fprintf(out, "%zu", count);
    }
}

static unsigned percent(const struct xfa_progress *progress, double part)
{
    double all = (double)progress->bytes;
    double done = (double)progress->done + part * (double)progress->file_bytes;
    return all > 0 && done < all ? (unsigned)(done / all * 100) : 100;
}

void xfa_progress_say(struct xfa_progress *progress, double part, uint64_t now_ns)
{
    if (!xfa_progress_due(progress, now_ns))
        return;
    fputs(ERASE "xferscope analyze: ", progress->out);
    if (progress->files > 1) {
        write_count(progress->out, progress->begun);
        fputs(" of ", progress->out);
        write_count(progress->out, progress->files);
        fputs(" files, ", progress->out);
    }
    fprintf(progress->out, "%u %%", percent(progress, part));
    fflush(progress->out);
    progress->said_ns = now_ns;
}

void xfa_progress_say_replay(struct xfa_progress *progress, size_t done, size_t count,
                             double seconds, double limit_s, uint64_t now_ns)
{
    if (!xfa_progress_due(progress, now_ns))
        return;
    fputs(ERASE "xferscope analyze: replaying, ", progress->out);
    write_count(progress->out, done);
    fputs(" of ", progress->out);
    write_count(progress->out, count);
    fprintf(progress->out, " copies, %.0f of %.0f s", seconds, limit_s);
    fflush(progress->out);
    progress->said_ns = now_ns;
}

void xfa_progress_replay(struct xfa_progress *progress, size_t done, size_t count, double seconds,
                         double limit_s)
{
    xfa_progress_say_replay(progress, done, count, seconds, limit_s, now());
}

void xfa_progress_clear(struct xfa_progress *progress)
{
    if (progress->said_ns == 0)
        return;
    fputs(ERASE, progress->out);
    fflush(progress->out);
    progress->said_ns = 0;
}

/* ---- what is read ---------------------------------------------------------------------------- */

void xfa_progress_file(struct xfa_progress *progress, uint64_t bytes)
{
    progress->done = xfa_add(progress->done, progress->file_bytes);
    progress->file_bytes = bytes;
    if (progress->begun < progress->files)
        progress->begun++;
}

static void watch_file(void *self, const char *path)
{
    xfa_progress_file(self, size_of(path));
    xfa_progress_say(self, 0, now());
}

static void watch_read(void *self, double part)
{
    xfa_progress_say(self, part, now());
}

void xfa_progress_begin(struct xfa_progress *progress, FILE *out, const char *const *paths,
                        size_t count)
{
    *progress = (struct xfa_progress){.out = out, .begun_ns = now()};
    progress->watch = (struct xfa_watch){watch_file, watch_read, progress};
    for (size_t i = 0; i < count; i++) {
        char error[1024];
        size_t files;
        char **names = xfa_run_files(paths[i], &files, error, sizeof error);
        for (size_t k = 0; k < files; k++)
            progress->bytes = xfa_add(progress->bytes, size_of(names[k]));
        progress->files += files;
        xfa_run_files_free(names, files);
    }
}
