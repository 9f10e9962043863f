#include "tools/xferscope/figures.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/files.h"
#include "common/text.h"
#include "xferscope/profile.h"

#define FORM "xferscope-apply-figures 1 " XFERSCOPE_VERSION /* also of what tuned.c makes of it */
#define MOST_BYTES 8192
#define LARGEST_PROFILE (32 << 20)
#define MOST_THREADS 999
#define LEAST_FROM (UINT64_C(1) << 20)
#define LEAST_TO (UINT64_C(64) << 20)

/* ---- where ----------------------------------------------------------------------------------- */

/* The file of the profile at this path; false: there is no place. */
static bool kept_path(const char *profile, char *path, size_t bytes)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool own = cache && *cache == '/';
    char whole[PATH_MAX];
    int n;

    if ((!own && (!home || *home != '/')) || realpath(profile, whole) == NULL)
        return false;
    n = snprintf(path, bytes, "%s%s/xferscope/apply-%016" PRIx64, own ? cache : home,
                 own ? "" : "/.cache", (uint64_t)XXH3_64bits(whole, strlen(whole)));
    return n > 0 && (size_t)n < bytes;
}

/* The folders that it lies in, as far as they are not there. */
static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    char *slash;

    snprintf(folder, sizeof folder, "%s", path);
    slash = strrchr(folder, '/');
    *slash = '\0';
    if (mkdir(folder, 0700) == 0 || errno != ENOENT)
        return;
    slash = strrchr(folder, '/');
    *slash = '\0';
    mkdir(folder, 0700); /* what fails shows when the file is written */
    *slash = '/';
    mkdir(folder, 0700);
}

/* Of its contents. False: it cannot be read. */
static bool sum_of(const char *profile, uint64_t *sum)
{
    size_t bytes = 0;
    const char *why;
    char *text = xfa_read_whole(profile, LARGEST_PROFILE, &bytes, &why);

    if (text)
        *sum = XXH3_64bits(text, bytes);
    free(text);
    return text != NULL;
}

/* ---- the text -------------------------------------------------------------------------------- */

/* A whole number, and what ends it; false: none, or more than `most`. */
static bool take_number(const char **at, int base, char end, uint64_t most, uint64_t *number)
{
    char *behind;

    errno = 0;
    *number = strtoull(*at, &behind, base);
    if (behind == *at || !strchr("0123456789abcdef", **at) || *behind != end || errno != 0 ||
        *number > most)
        return false;
    *at = behind + 1;
    return true;
}

static bool take_relays(const char *at, char *relays, size_t bytes)
{
    size_t n = 0;

    while (at[n] > ' ' && at[n] <= '~')
        n++;
    if (n >= bytes || at[n] != '\n' || at[n + 1] != '\0')
        return false;
    memcpy(relays, at, n);
    relays[n] = '\0';
    return true;
}

/* False: it is not as it was written. `sum`: of the profile that it was made of. */
static bool take(const char *text, uint64_t *sum, struct figures *figures)
{
    uint64_t threads, least;

    if (strncmp(text, FORM "\n", strlen(FORM "\n")) != 0)
        return false;
    text += strlen(FORM "\n");
    if (!take_number(&text, 16, '\n', UINT64_MAX, sum) ||
        !take_number(&text, 10, ' ', MOST_THREADS, &threads) ||
        !take_number(&text, 10, '\n', LEAST_TO, &least) || (least > 0 && least < LEAST_FROM) ||
        !take_relays(text, figures->relays, sizeof figures->relays))
        return false;
    figures->tuned = (struct tuned){(unsigned)threads, least};
    return true;
}

/* ---- kept ------------------------------------------------------------------------------------ */

/* False: there are none, or of other contents. */
static bool read_kept(const char *path, uint64_t sum, struct figures *figures)
{
    size_t bytes = 0;
    uint64_t of = 0;
    const char *why;
    char *text;

    if (access(path, F_OK) != 0)
        return false;
    text = xfa_read_whole(path, MOST_BYTES, &bytes, &why);
    bool good = text && strlen(text) == bytes && take(text, &of, figures);
    bool older = text && !good && strncmp(text, "xferscope-apply-figures ", 24) == 0 &&
                 strncmp(text, FORM "\n", strlen(FORM "\n")) != 0;
    if (!good && !older)
        xfc_print(stderr,
                  "xferscope apply: %s: not as it was written; it is not used, and the profile is "
                  "read\n",
                  path);
    free(text);
    return good && of == sum;
}

/* What could not be read again is not kept. */
static void keep(const char *path, uint64_t sum, const struct figures *figures)
{
    struct xfa_replacement file;
    struct figures again = {0};
    char text[MOST_BYTES];
    uint64_t of;

    snprintf(text, sizeof text, FORM "\n%016" PRIx64 "\n%u %" PRIu64 "\n%s\n", sum,
             figures->tuned.threads, figures->tuned.least, figures->relays);
    if (!take(text, &of, &again))
        return;
    make_folders(path);
    if (xfa_replace_begin(&file, path) != 0)
        return;
    fputs(text, file.stream);
    (void)xfa_replace_end(&file);
}

static bool read_profile(const char *path, struct figures *figures, char *why, size_t bytes)
{
    struct xfp_profile *profile = xfp_read_file(path, why, bytes);

    if (!profile)
        return false;
    figures->tuned = tuned_by(profile);
    tuned_relays(profile, figures->relays, sizeof figures->relays);
    xfp_free(profile);
    return true;
}

bool figures_of(const char *path, struct figures *figures, char *why, size_t bytes)
{
    char kept[PATH_MAX];
    uint64_t sum = 0, after = 0;
    bool placed = kept_path(path, kept, sizeof kept) && sum_of(path, &sum);

    *figures = (struct figures){0};
    if (placed && read_kept(kept, sum, figures))
        return true;
    *figures = (struct figures){0};
    if (!read_profile(path, figures, why, bytes))
        return false;
    if (placed && sum_of(path, &after) && after == sum) /* it did not change meanwhile */
        keep(kept, sum, figures);
    return true;
}
