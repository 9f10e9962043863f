#include "preload/base/kept.h"

#include <string.h>
#include <unistd.h>

void xfs_keep(struct xfs_kept *kept, bool (*wanted)(const char *entry))
{
    for (char **at = environ; at && *at; at++) {
        if (!wanted(*at))
            continue;
        size_t bytes = strnlen(*at, kept->room) + 1;
        if (bytes <= kept->room - kept->used) {
            memcpy(kept->text + kept->used, *at, bytes);
            kept->used += bytes;
        }
    }
}

const char *xfs_value_in(const char *entry, const char *name)
{
    size_t bytes = strlen(name);
    return strncmp(entry, name, bytes) == 0 && entry[bytes] == '=' ? entry + bytes + 1 : NULL;
}

const char *xfs_kept_value(const struct xfs_kept *kept, const char *name)
{
    for (const char *at = kept->text; at < kept->text + kept->used; at += strlen(at) + 1) {
        const char *value = xfs_value_in(at, name);
        if (value)
            return value;
    }
    return NULL;
}
