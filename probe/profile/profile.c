/*
 * The machine profile as a file, its life and its words.
 */
#define _GNU_SOURCE /* mkostemp */

#include "profile_json.h"
#include "profile_machine.h"
#include "profile_sections.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XFP_WORD_ROW(symbol, number, word)                                                         \
    case symbol:                                                                                   \
        return word;

const char *xfp_method_word(enum xfp_method method)
{
    switch ((unsigned)method) {
        XFP_METHOD_LIST(XFP_WORD_ROW)
    default:
        return "unknown";
    }
}

const char *xfp_load_word(enum xfp_load load)
{
    switch ((unsigned)load) {
        XFP_LOAD_LIST(XFP_WORD_ROW)
    default:
        return "unknown";
    }
}

const char *xfp_basis_word(enum xfp_basis basis)
{
    switch (basis) {
    case XFP_MEASURED:
        return "measured";
    case XFP_INTERPOLATED:
        return "interpolated";
    case XFP_MODELLED:
        return "modelled";
    default:
        return "unknown";
    }
}

static void free_costs(struct xfp_profile *profile)
{
    for (size_t i = 0; i < profile->scalar_count; i++) {
        free(profile->scalars[i].name);
        free(profile->scalars[i].unit);
    }
    for (size_t i = 0; i < profile->table_count; i++) {
        free(profile->tables[i].name);
        free(profile->tables[i].by);
        free(profile->tables[i].unit);
        free(profile->tables[i].rows);
    }
    free(profile->scalars);
    free(profile->tables);
}

void xfp_free(struct xfp_profile *profile)
{
    if (!profile)
        return;
    xfp_free_machine(&profile->machine);
    xfp_free_sections(profile);
    for (size_t i = 0; i < profile->path_count; i++) {
        free(profile->paths[i].name);
        free(profile->paths[i].points);
    }
    for (size_t i = 0; i < profile->warning_count; i++)
        free(profile->warnings[i]);
    free_costs(profile);
    free(profile->paths);
    free(profile->warnings);
    free(profile->created);
    free(profile->producer);
    free(profile);
}

/* The whole file in memory (caller frees), or NULL with errno. EFBIG: more than a profile has. */
static char *slurp(int fd, size_t *bytes)
{
    size_t room = 1 << 16, have = 0;
    char *text = malloc(room);

    while (text) {
        ssize_t got = read(fd, text + have, room - have);
        char *more;

        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0) {
            *bytes = have;
            return text;
        }
        have += got > 0 ? (size_t)got : 0;
        if (got < 0 || have > XFP_MAX_FILE_BYTES) {
            errno = got < 0 ? errno : EFBIG;
            break;
        }
        if (have < room)
            continue;
        more = realloc(text, room *= 2);
        if (!more)
            break;
        text = more;
    }
    free(text);
    return NULL;
}

struct xfp_profile *xfp_load(const char *path, char *error, size_t error_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    size_t bytes = 0;
    struct xfp_profile *profile;

    if (fd >= 0)
        text = slurp(fd, &bytes);
    if (!text)
        snprintf(error, error_bytes, "%s: cannot read the machine profile: %s", path,
                 strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!text)
        return NULL;
    profile = xfp_parse_named(path, text, bytes, error, error_bytes);
    free(text);
    return profile;
}

/* Everything to the disk, or -1 with errno. Takes over fd. */
static int write_out(const struct xfp_profile *profile, int fd, bool sync)
{
    FILE *out = fdopen(fd, "w");
    int bad, why;

    if (!out) {
        close(fd);
        return -1;
    }
    errno = 0;
    bad = xfp_write_json(profile, out) || fflush(out) || (sync && fsync(fd));
    why = errno;
    if (fclose(out) && !bad) {
        bad = 1;
        why = errno;
    }
    errno = why ? why : EIO;
    return bad ? -1 : 0;
}

/* A pipe or device cannot be replaced by a file, and must not be. */
static int save_directly(const struct xfp_profile *profile, const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 ? -1 : write_out(profile, fd, false);
}

static int save_atomically(const struct xfp_profile *profile, const char *path)
{
    char temporary[PATH_MAX];
    mode_t mask = umask(0);
    int fd, why;

    umask(mask);
    if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= (int)sizeof(temporary)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -1;
    fchmod(fd, 0666 & ~mask);
    if (!write_out(profile, fd, true) && !rename(temporary, path))
        return 0;
    why = errno;
    unlink(temporary);
    errno = why;
    return -1;
}

int xfp_save(const struct xfp_profile *profile, const char *path, char *error, size_t error_bytes)
{
    struct stat there;
    char *target = realpath(path, NULL); /* through links: they stay links */
    int bad;

    if (target && !stat(target, &there) && !S_ISREG(there.st_mode))
        bad = S_ISDIR(there.st_mode) ? (errno = EISDIR, -1) : save_directly(profile, target);
    else
        bad = save_atomically(profile, target ? target : path);
    if (bad)
        snprintf(error, error_bytes, "%s: cannot write the machine profile: %s", path,
                 strerror(errno));
    free(target);
    return bad;
}
