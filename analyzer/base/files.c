#include "analyzer/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading --------------------------------------------------------------------------------- */

static const char *kind_refused(const struct stat *status)
{
    if (S_ISDIR(status->st_mode))
        return strerror(EISDIR);
    return S_ISREG(status->st_mode) ? NULL : "not a regular file";
}

static int open_regular(const char *path, struct stat *status, const char **why)
{
    /* checked before open(), which alone has effects on some devices */
    if (stat(path, status) != 0) {
        *why = strerror(errno);
        return -1;
    }
    *why = kind_refused(status);
    int fd = *why ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        *why = *why ? *why : strerror(errno);
        return -1;
    }
    *why = fstat(fd, status) != 0 ? strerror(errno) : kind_refused(status);
    if (!*why)
        return fd;
    close(fd);
    return -1;
}

int xfa_open_regular(const char *path, const char **why)
{
    struct stat status;
    return open_regular(path, &status, why);
}

/* room: a hint, since the file may grow, and files of /proc have size 0. */
static char *read_all(int fd, size_t room, size_t most, size_t *bytes, const char **why)
{
    size_t have = 0;
    char *text = malloc(room); /* of what was read there is always room for one byte more */
    while (text) {
        ssize_t got = read(fd, text + have, room - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0) {
            *bytes = have;
            text[have] = '\0';
            return text;
        }
        have += got > 0 ? (size_t)got : 0;
        if (got < 0 || have > most) {
            errno = got < 0 ? errno : EFBIG;
            break;
        }
        char *more = have < room ? text : realloc(text, room *= 2);
        if (!more)
            break;
        text = more;
    }
    *why = strerror(errno);
    free(text);
    return NULL;
}

char *xfa_read_whole(const char *path, size_t most, size_t *bytes, const char **why)
{
    struct stat status;
    char *text = NULL;
    int fd = open_regular(path, &status, why);
    if (fd < 0)
        return NULL;
    if ((unsigned long long)status.st_size > most)
        *why = strerror(EFBIG);
    else
        text = read_all(fd, (size_t)status.st_size + 4096, most, bytes, why);
    close(fd);
    return text;
}

/* ---- writing: which file --------------------------------------------------------------------- */

#define MOST_LINKS 40 /* as many as the kernel follows */

/* Length of a path's directory with its slash; 0: the working directory. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Replaces a path by the target of the link that it names. */
static int follow_link(char path[PATH_MAX])
{
    char said[PATH_MAX];
    ssize_t n = readlink(path, said, sizeof said);
    size_t directory = n > 0 && said[0] == '/' ? 0 : directory_length(path);
    if (n < 0)
        return -1;
    if (directory + (size_t)n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path + directory, said, (size_t)n);
    path[directory + (size_t)n] = '\0';
    return 0;
}

/* The path to create when `path` does not exist: links may point to nothing yet. */
static char *follow_to_nothing(const char *path)
{
    struct stat status;
    char at[PATH_MAX];
    if (snprintf(at, sizeof at, "%s", path) >= (int)sizeof at) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    for (int links = 0; lstat(at, &status) == 0 && S_ISLNK(status.st_mode); links++) {
        if (links == MOST_LINKS)
            errno = ELOOP;
        if (links == MOST_LINKS || follow_link(at) != 0)
            return NULL;
    }
    return strdup(at);
}

static bool same_file(const char *path, const struct stat *status)
{
    struct stat other;
    return stat(path, &other) == 0 && other.st_dev == status->st_dev &&
           other.st_ino == status->st_ino;
}

/* The mode counts too, since access() lets root write everything. */
static const char *file_refused(const char *path, const struct stat *status)
{
    if (S_ISDIR(status->st_mode))
        return strerror(EISDIR);
    if (S_ISREG(status->st_mode) && !(status->st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)))
        return "the file is read-only";
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? NULL : strerror(errno);
}

/* Resolves `path`. target stays NULL for what is written directly: no regular file, or one without
 * a name (/dev/stdout, when that was removed). */
static const char *find_target(struct xfa_replacement *r, const char *path)
{
    struct stat status;
    *r = (struct xfa_replacement){.mode = 0666};
    if (stat(path, &status) == 0) {
        r->why = file_refused(path, &status);
        r->exists = true;
        r->mode = status.st_mode & 0777;
        r->owner = status.st_uid;
        r->group = status.st_gid;
        if (r->why || !S_ISREG(status.st_mode))
            return r->why;
        r->target = realpath(path, NULL);
        if (r->target && !same_file(r->target, &status)) {
            free(r->target);
            r->target = NULL;
        }
        return NULL;
    }
    if (errno == ENOENT)
        r->target = follow_to_nothing(path);
    if (!r->target)
        r->why = strerror(errno);
    return r->why;
}

/* ---- the new file ---------------------------------------------------------------------------- */

/* DIR/.xferscope-XXXXXX: short, however long the target's name is. */
static char *name_beside(const char *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint32_t random = 0;
    char ending[7] = "";
    char *name = NULL;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        random = (uint32_t)getpid();
    for (size_t i = 0; i < sizeof ending - 1; i++, random >>= 5)
        ending[i] = letters[random & 31];
    if (asprintf(&name, "%.*s.xferscope-%s", (int)directory_length(target), target, ending) < 0)
        return NULL;
    return name;
}

/* Tries random names until one is free. */
static int make_named(struct xfa_replacement *r, int (*make)(const char *name, int unnamed),
                      int unnamed)
{
    for (int tries = 0; tries < 100; tries++) {
        r->named = name_beside(r->target);
        int made = r->named ? make(r->named, unnamed) : -1;
        if (made >= 0 || !r->named)
            return made;
        int why = errno;
        free(r->named);
        r->named = NULL;
        errno = why;
        if (why != EEXIST)
            return -1;
    }
    return -1;
}

static int create(const char *name, int unnamed)
{
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int give_name(const char *name, int unnamed)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", unnamed);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* Creates an unnamed file where the file system has them: it vanishes when this process is
 * killed. */
static int create_file(struct xfa_replacement *r)
{
    char directory[PATH_MAX];
    size_t length = directory_length(r->target);
    if (length + 2 > sizeof directory) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf(directory, sizeof directory, "%.*s.", (int)length, r->target);
    int fd = access("/proc/self/fd", X_OK) == 0
                 ? open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600)
                 : -1;
    return fd >= 0 ? fd : make_named(r, create, -1);
}

/* Owner first: changing it clears permissions. */
static int give_permissions(const struct xfa_replacement *r, int fd)
{
    struct stat status;
    mode_t mask = umask(0);
    umask(mask);
    if (r->exists && fstat(fd, &status) == 0 &&
        (status.st_uid != r->owner || status.st_gid != r->group) &&
        fchown(fd, r->owner, r->group) != 0 && fchown(fd, (uid_t)-1, r->group) != 0)
        errno = 0; /* the file becomes this user's */
    return fchmod(fd, r->exists ? r->mode : r->mode & ~mask);
}

/* ---- from begin to end ----------------------------------------------------------------------- */

static int given_up(struct xfa_replacement *r, const char *why)
{
    if (r->stream)
        fclose(r->stream);
    if (r->named)
        unlink(r->named);
    free(r->named);
    free(r->target);
    *r = (struct xfa_replacement){.why = why};
    return -1;
}

int xfa_replace_begin(struct xfa_replacement *r, const char *path)
{
    if (find_target(r, path))
        return given_up(r, r->why);
    int fd = r->target ? create_file(r) : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return given_up(r, strerror(errno));
    r->stream = fdopen(fd, "w");
    if (r->stream)
        return 0;
    int why = errno;
    close(fd);
    return given_up(r, strerror(why));
}

/* Writes everything to disk and sets permissions. Returns 0 or errno. */
static int finish_stream(struct xfa_replacement *r)
{
    int fd = fileno(r->stream);
    bool bad = ferror(r->stream) != 0;
    int failure = bad && errno ? errno : EIO; /* the caller's, of an earlier write */
    clearerr(r->stream);
    errno = 0;
    bad = fflush(r->stream) != 0 || bad;
    if (bad && !errno && r->target) /* errno of an earlier write is lost: once more */
        (void)!write(fd, "", 1);
    if (bad)
        return errno ? errno : failure;
    if (!r->target)
        return 0;
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        return errno;
    if (give_permissions(r, fd) != 0)
        return errno;
    return r->named || make_named(r, give_name, fd) == 0 ? 0 : errno;
}

int xfa_replace_end(struct xfa_replacement *r)
{
    int why = finish_stream(r);
    if (fclose(r->stream) != 0 && !why)
        why = errno;
    r->stream = NULL;
    if (!why && r->target && rename(r->named, r->target) != 0)
        why = errno;
    if (why)
        return given_up(r, strerror(why));
    free(r->named);
    free(r->target);
    *r = (struct xfa_replacement){0};
    return 0;
}

void xfa_replace_drop(struct xfa_replacement *r)
{
    given_up(r, NULL);
}

/* Does the file lie in this directory? */
static bool lies_in(const char *path, const struct stat *directory)
{
    char *file = realpath(path, NULL);
    if (!file)
        return false;
    file[directory_length(file)] = '\0';
    bool same = same_file(file, directory);
    free(file);
    return same;
}

bool xfa_replaces(const char *path, const char *input)
{
    static const char ending[] = ".trace";
    struct stat file, read;
    size_t length = strlen(path);
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || stat(input, &read) != 0)
        return false;
    if (!S_ISDIR(read.st_mode))
        return file.st_dev == read.st_dev && file.st_ino == read.st_ino;
    return length >= sizeof ending && strcmp(path + length - strlen(ending), ending) == 0 &&
           lies_in(path, &read);
}

const char *xfa_replace_refused(const char *path)
{
    struct xfa_replacement r;
    const char *why = find_target(&r, path);
    if (!why && r.target) {
        char directory[PATH_MAX];
        snprintf(directory, sizeof directory, "%.*s.", (int)directory_length(r.target), r.target);
        why = faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 ? NULL : strerror(errno);
    }
    free(r.target);
    return why;
}
