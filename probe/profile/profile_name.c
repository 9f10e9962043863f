#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xferscope/profile.h"

void xfp_default_name(const char *hostname, bool simulated, char *name, size_t bytes)
{
    snprintf(name, bytes, "%s%s.json", *hostname ? hostname : "machine",
             simulated ? "-simulated" : "");
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' && (*c != '.' || c == name))
            *c = '_';
}

static bool is_there(const char *directory, const char *below, const char *name, char *path,
                     size_t bytes)
{
    int n = snprintf(path, bytes, "%s%s%s", directory, below, name);

    if (n > 0 && (size_t)n < bytes && access(path, R_OK) == 0)
        return true;
    *path = '\0';
    return false;
}

bool xfp_data_directory(char *path, size_t bytes)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int n = 0;

    if (data && *data == '/')
        n = snprintf(path, bytes, "%s/xferscope", data);
    else if (home && *home)
        n = snprintf(path, bytes, "%s/.local/share/xferscope", home);
    return n > 0 && (size_t)n < bytes;
}

static bool look(const char *name, char *path, size_t bytes)
{
    char directory[PATH_MAX];

    return is_there("", "", name, path, bytes) ||
           (xfp_data_directory(directory, sizeof directory) &&
            is_there(directory, "/", name, path, bytes));
}

enum xfp_looked_up xfp_look_up(const char *hostname, bool simulated, char *path, size_t bytes)
{
    const char *named = getenv("XFERSCOPE_PROFILE");
    char name[320], own[256] = "";

    if (named && *named && strlen(named) < bytes) {
        memcpy(path, named, strlen(named) + 1);
        return XFP_BY_VARIABLE;
    }
    if (!hostname && gethostname(own, sizeof own) != 0)
        own[0] = '\0';
    own[sizeof own - 1] = '\0';
    xfp_default_name(hostname ? hostname : own, simulated, name, sizeof name);
    return look(name, path, bytes) ? XFP_BY_NAME : XFP_NOT_THERE;
}
