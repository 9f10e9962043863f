/* Where bytes come from: files, memory, and the files of a run. */
#include "analyzer/read/read.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/alloc.h"

static size_t file_read(const struct xfa_source *source, uint64_t at, char *buffer, size_t bytes)
{
    size_t got = 0;
    while (got < bytes) {
        ssize_t n = pread(source->fd, buffer + got, bytes - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

size_t xfa_source_read(const struct xfa_source *source, uint64_t at, void *buffer, size_t bytes)
{
    if (at >= source->bytes)
        return 0;
    if (bytes > source->bytes - at)
        bytes = source->bytes - at;
    if (source->fd >= 0)
        return file_read(source, at, buffer, bytes);
    memcpy(buffer, source->data + at, bytes);
    return bytes;
}

uint64_t xfa_source_data(const struct xfa_source *source, uint64_t at, uint64_t end)
{
    if (source->fd < 0 || at >= end)
        return at < end ? at : end;
    off_t data = lseek(source->fd, (off_t)at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? end : at; /* no more; or nobody can tell */
    return (uint64_t)data < end ? (uint64_t)data : end;
}

static bool is_trace_name(const char *name)
{
    size_t length = strlen(name), suffix = strlen(".trace");
    return length > suffix && strcmp(name + length - suffix, ".trace") == 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **directory_files(const char *path, DIR *directory, size_t *count)
{
    char **files = NULL;
    size_t capacity = 0;
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (!is_trace_name(entry->d_name))
            continue;
        files = xfa_room(files, &capacity, *count + 1, sizeof *files);
        files[(*count)++] = xfa_print("%s/%s", path, entry->d_name);
    }
    if (files)
        qsort(files, *count, sizeof *files, by_text);
    return files;
}

char **xfa_run_files(const char *path, size_t *count, char *error, size_t error_bytes)
{
    struct stat status;
    *count = 0;
    if (stat(path, &status) != 0) {
        snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (!S_ISDIR(status.st_mode)) {
        char **files = xfa_alloc(sizeof *files);
        files[(*count)++] = xfa_text(path);
        return files;
    }
    DIR *directory = opendir(path);
    if (!directory) {
        snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char **files = directory_files(path, directory, count);
    closedir(directory);
    if (*count == 0)
        snprintf(error, error_bytes, "%s: no .trace file in this directory", path);
    return files;
}

void xfa_run_files_free(char **files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files[i]);
    free(files);
}
