#include "tools/xferscope/run_look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/grow.h"
#include "preload/format/in_use.h"
#include "xferscope/trace.h"

enum what { IS_TRACE, IS_LEFT_OVER, IS_RECORDED, IS_OTHER };

/* ---- one file --------------------------------------------------------------------------- */

/* The header of a completed trace is written last: without it there are zeros and a segment. */
static bool is_left_over(int fd, const unsigned char *header)
{
    uint32_t magic = 0;

    for (size_t i = 0; i < XFT_HEADER_BYTES; i++) {
        if (header[i])
            return false;
    }
    return pread(fd, &magic, sizeof magic, XFT_HEADER_BYTES) == sizeof magic &&
           magic == XFT_SEGMENT_MAGIC;
}

/* What an open regular file is; `name` as its process maps it. */
static enum what what_is(int fd, const char *name)
{
    unsigned char bytes[XFT_HEADER_BYTES];
    struct xft_file_header header;
    ssize_t n = pread(fd, bytes, sizeof bytes, 0);

    if (n < (ssize_t)sizeof header)
        return IS_OTHER;
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, XFT_MAGIC, sizeof header.magic) != 0) {
        if (n != sizeof bytes || !is_left_over(fd, bytes))
            return IS_OTHER;
        return xfs_is_open_for_writing(fd) ? IS_RECORDED : IS_LEFT_OVER;
    }
    if (xfs_is_open_for_writing(fd) ||
        (header.state == XFT_STATE_RECORDING && xfs_is_mapped_by(header.pid, name)))
        return IS_RECORDED;
    return IS_TRACE;
}

/* As what_is; IS_OTHER with *why for all that is no regular file or cannot be read. */
static enum what look_at(int directory, const char *name, struct stat *info, const char **why)
{
    enum what what;
    int fd;

    if (fstatat(directory, name, info, AT_SYMLINK_NOFOLLOW) != 0) {
        *why = strerror(errno);
        return IS_OTHER;
    }
    if (!S_ISREG(info->st_mode)) {
        *why = S_ISDIR(info->st_mode)   ? "a directory"
               : S_ISLNK(info->st_mode) ? "a symbolic link"
                                        : "no regular file";
        return IS_OTHER;
    }
    fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, info) != 0 || !S_ISREG(info->st_mode)) {
        *why = fd < 0 ? strerror(errno) : "no regular file";
        what = IS_OTHER;
    } else {
        *why = "no trace";
        what = what_is(fd, name);
    }
    if (fd >= 0)
        close(fd);
    return what;
}

/* ---- the directory ---------------------------------------------------------------------- */

/* The next entry of a directory but . and .., or NULL. */
static const char *next_entry(DIR *dir)
{
    struct dirent *entry;

    do
        entry = readdir(dir);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

/* NULL with one line in error. */
static DIR *open_directory(int folder, const char *name, const char *shown, struct stat *info,
                           char *error, size_t error_bytes)
{
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 || fstat(fd, info) != 0 ? NULL : fdopendir(fd);

    if (dir)
        return dir;
    if (fstatat(folder, name, info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(info->st_mode))
        snprintf(error, error_bytes, "%s is %s, not a run: not replaced", shown,
                 S_ISLNK(info->st_mode) ? "a symbolic link" : "no directory");
    else
        snprintf(error, error_bytes, "cannot look into %s: %s", shown, strerror(errno));
    if (fd >= 0)
        close(fd);
    return NULL;
}

static bool add_name(struct run_look *look, const char *name)
{
    if (!xfc_resize(&look->names, look->count + 1, sizeof *look->names))
        return false;
    look->names[look->count] = strdup(name);
    return look->names[look->count] && ++look->count;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

static uint64_t print_of(const struct stat *info)
{
    uint64_t sum = mix(mix(1, info->st_ino), (uint64_t)info->st_size);

    sum = mix(sum, (uint64_t)info->st_mtim.tv_sec);
    return mix(sum, (uint64_t)info->st_mtim.tv_nsec);
}

static bool look_at_entry(int directory, const char *name, const char *shown, struct run_look *look,
                          char *error, size_t error_bytes)
{
    struct stat info;
    const char *why;
    enum what what = look_at(directory, name, &info, &why);

    if (what == IS_OTHER) {
        snprintf(error, error_bytes, "%s holds %s (%s): not replaced", shown, name, why);
        return false;
    }
    if (what == IS_RECORDED) {
        snprintf(error, error_bytes, "%s is still being recorded: not replaced", shown);
        return false;
    }
    if (!add_name(look, name)) {
        snprintf(error, error_bytes, "out of memory");
        return false;
    }
    look->traces += what == IS_TRACE;
    look->contents += print_of(&info);
    return true;
}

int run_look(int folder, const char *name, const char *shown, struct run_look *look, char *error,
             size_t error_bytes)
{
    struct stat info;
    DIR *dir = open_directory(folder, name, shown, &info, error, error_bytes);
    const char *entry;
    bool good = true;

    memset(look, 0, sizeof *look);
    if (!dir)
        return -1;
    look->device = info.st_dev;
    look->inode = info.st_ino;
    while (good && (errno = 0, entry = next_entry(dir)))
        good = look_at_entry(dirfd(dir), entry, shown, look, error, error_bytes);
    if (good && errno) {
        snprintf(error, error_bytes, "cannot look into %s: %s", shown, strerror(errno));
        good = false;
    }
    if (good && faccessat(dirfd(dir), ".", W_OK | X_OK, 0) != 0) {
        snprintf(error, error_bytes, "%s may not be changed: %s", shown, strerror(errno));
        good = false;
    }
    closedir(dir);
    if (!good)
        run_look_free(look);
    return good ? 0 : -1;
}

void run_look_free(struct run_look *look)
{
    for (size_t i = 0; i < look->count; i++)
        free(look->names[i]);
    free(look->names);
    look->names = NULL;
    look->count = 0;
}

bool run_look_same(const struct run_look *a, const struct run_look *b)
{
    return a->device == b->device && a->inode == b->inode && a->count == b->count &&
           a->contents == b->contents;
}

/* ---- removal ---------------------------------------------------------------------------- */

/* No other process knows the new name, so the file that is looked at is the one that is removed. A
 * file that is no trace after all gets its name back. */
static bool remove_file(int directory, const char *name)
{
    char unknown[64];
    uint64_t random[2];
    struct stat info;
    const char *why;
    enum what what;

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    snprintf(unknown, sizeof unknown, "removed-%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
    if (renameat(directory, name, directory, unknown) != 0)
        return errno == ENOENT;
    what = look_at(directory, unknown, &info, &why);
    if (what == IS_TRACE || what == IS_LEFT_OVER)
        return unlinkat(directory, unknown, 0) == 0;
    renameat2(directory, unknown, directory, name, RENAME_NOREPLACE);
    return false;
}

int run_remove(int folder, const char *name, const char *shown, char *error, size_t error_bytes)
{
    struct run_look look;
    int directory, result = 0;

    if (run_look(folder, name, shown, &look, error, error_bytes) != 0)
        return -1;
    directory = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (size_t i = 0; i < look.count && directory >= 0; i++) {
        if (!remove_file(directory, look.names[i]))
            result = -1;
    }
    if (directory >= 0)
        close(directory);
    if (result == 0)
        result = unlinkat(folder, name, AT_REMOVEDIR);
    else
        errno = EBUSY;
    if (result != 0)
        snprintf(error, error_bytes, "cannot remove %s: %s", shown, strerror(errno));
    run_look_free(&look);
    return result;
}
