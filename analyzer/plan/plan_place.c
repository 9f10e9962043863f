/* Places that are found again: what a Python file was. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "analyzer/plan/plan.h"

#define MOST_BYTES ((off_t)16 << 20)

static bool read_all(int file, char *bytes, size_t size)
{
    size_t done = 0;
    for (ssize_t n; done < size && (n = read(file, bytes + done, size - done)) > 0;)
        done += (size_t)n;
    return done == size;
}

static bool hash_of(int file, char hash[XFA_FILE_HASH_CHARS], uint64_t *changed_ns)
{
    struct stat info;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > MOST_BYTES)
        return false;
    size_t size = (size_t)info.st_size;
    char *bytes = xfa_alloc(size + 1);
    bool whole = read_all(file, bytes, size);
    XXH128_hash_t found = XXH3_128bits(bytes, size);
    free(bytes);
    snprintf(hash, XFA_FILE_HASH_CHARS, "%016llx%016llx", (unsigned long long)found.high64,
             (unsigned long long)found.low64);
    if (changed_ns)
        *changed_ns = (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
    return whole;
}

/* A plan may name a pipe: nothing waits for it. */
bool xfa_apply_file_hash(const char *path, char hash[XFA_FILE_HASH_CHARS], uint64_t *changed_ns)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool known = file >= 0 && hash_of(file, hash, changed_ns);
    if (file >= 0)
        close(file);
    return known;
}

bool xfa_apply_place_holds(const struct xfa_apply_place *place)
{
    char now[XFA_FILE_HASH_CHARS];
    if (place->build_id)
        return true;
    return place->file && place->file_hash && xfa_apply_file_hash(place->file, now, NULL) &&
           strcmp(now, place->file_hash) == 0;
}
