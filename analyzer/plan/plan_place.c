/* Places that are found again: what a Python file was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "analyzer/plan/plan.h"

#define MOST_BYTES ((off_t)16 << 20)

static bool hash_of(FILE *file, char hash[XFA_FILE_HASH_CHARS], uint64_t *changed_ns)
{
    struct stat info;
    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > MOST_BYTES)
        return false;
    size_t size = (size_t)info.st_size;
    char *bytes = xfa_alloc(size + 1);
    bool whole = fread(bytes, 1, size, file) == size;
    XXH128_hash_t found = XXH3_128bits(bytes, size);
    free(bytes);
    snprintf(hash, XFA_FILE_HASH_CHARS, "%016llx%016llx", (unsigned long long)found.high64,
             (unsigned long long)found.low64);
    if (changed_ns)
        *changed_ns = (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
    return whole;
}

bool xfa_apply_file_hash(const char *path, char hash[XFA_FILE_HASH_CHARS], uint64_t *changed_ns)
{
    FILE *file = fopen(path, "rbe");
    bool known = file && hash_of(file, hash, changed_ns);
    if (file)
        fclose(file);
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
