#include "tools/xferscope/own_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The parent of the command's directory. */
static bool own_prefix(char *prefix, size_t bytes)
{
    ssize_t n = readlink("/proc/self/exe", prefix, bytes - 1);
    if (n < 0)
        return false;
    prefix[n] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(prefix, '/');
        if (!slash) {
            errno = ENOENT;
            return false;
        }
        *slash = '\0';
    }
    return true;
}

static bool join(char *path, size_t bytes, const char *folder, const char *name)
{
    int n = snprintf(path, bytes, "%s%s", folder, name);
    if (n >= 0 && (size_t)n < bytes)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

bool xferscope_library_folder(char *folder, size_t bytes)
{
    static const char *const places[] = {"/lib", "/lib/xferscope"};
    char prefix[PATH_MAX], file[PATH_MAX + 32];
    if (!own_prefix(prefix, sizeof prefix))
        return false;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (!join(folder, bytes, prefix, places[i]) ||
            !join(file, sizeof file, folder, "/libxferscope.so"))
            return false;
        if (access(file, F_OK) == 0)
            return true;
    }
    return join(folder, bytes, prefix, places[0]);
}
