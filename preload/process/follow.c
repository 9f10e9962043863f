#include "preload/process/follow.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "preload/base/settings.h"
#include "preload/process/room.h"

#define MOST_SETTINGS 32
#define PRELOAD "LD_PRELOAD="
#define PREFIX "XFERSCOPE_"
#define NVTX_PATH "NVTX_INJECTION64_PATH="

/* The settings with which this process was started. Copied, since programs write over their first
 * environment. */
static struct {
    bool follow, records;
    char library[PATH_MAX]; /* absolute */
    char text[2 * PATH_MAX];
    size_t used;
    const char *settings[MOST_SETTINGS]; /* NAME=VALUE */
    size_t count;
} start;

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *file_name(const char *path, size_t bytes)
{
    const char *slash = memrchr(path, '/', bytes);
    return slash ? slash + 1 : path;
}

/* Is this library in the list? By file name: a copy of it elsewhere would be a second recorder. */
static bool holds_library(const char *list)
{
    const char *own = strrchr(start.library, '/') + 1;
    size_t bytes = strlen(own);
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " :");
        const char *name = file_name(at, n);
        if ((size_t)(at + n - name) == bytes && memcmp(name, own, bytes) == 0)
            return true;
        at += n + (at[n] != '\0');
    }
    return false;
}

/* The variables by which a recorded program's children are recorded too; another tool's NVTX
 * variable is not changed.
 */
static bool is_setting(const char *entry)
{
    return begins_with(entry, PREFIX) ||
           (begins_with(entry, NVTX_PATH) && holds_library(entry + strlen(NVTX_PATH)));
}

/* ---- at the start ----------------------------------------------------------------------- */

static bool find_library(void)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)find_library, &info) || info.dli_fname == NULL)
        return false;
    const char *path = info.dli_fname;
    size_t n = 0, bytes = strlen(path) + 1;
    if (path[0] != '/') {
        if (getcwd(start.library, sizeof start.library - 1) == NULL)
            return false;
        n = strlen(start.library);
        start.library[n++] = '/';
    }
    if (n + bytes > sizeof start.library)
        return false;
    memcpy(start.library + n, path, bytes);
    return strpbrk(start.library, " :") == NULL; /* LD_PRELOAD could not hold it */
}

static void keep_setting(const char *entry)
{
    size_t bytes = strlen(entry) + 1;
    if (start.count == MOST_SETTINGS || bytes > sizeof start.text - start.used)
        return;
    start.settings[start.count++] = memcpy(start.text + start.used, entry, bytes);
    start.used += bytes;
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

/* Bad settings are not reported: the program may not use CUDA. */
static bool is_wanted(void)
{
    struct xfs_settings settings;
    xfs_settings_parse(&settings, from_environment);
    bool applied = strcmp(settings.apply, "off") != 0; /* then it may record nothing */
    start.records = settings.enable;
    return (settings.enable || applied) && settings.follow && !getauxval(AT_SECURE);
}

__attribute__((constructor)) static void remember_start(void)
{
    const char *preload = getenv("LD_PRELOAD");
    int saved = errno;
    if (preload && find_library() && holds_library(preload) && is_wanted()) {
        for (char **at = environ; *at; at++)
            if (is_setting(*at))
                keep_setting(*at);
        start.follow = true;
    }
    errno = saved;
}

/* ---- at every start of another program ---------------------------------------------------- */

/* What is missing in an environment. */
struct plan {
    size_t entries;      /* of the environment */
    const char *preload; /* its LD_PRELOAD, NULL when it has none */
    uint32_t missing;    /* bit i: the i-th setting this process was started with */
    size_t bytes;        /* that the completed one takes; 0: nothing to do */
};

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

static void note_setting(struct plan *plan, const char *entry)
{
    for (size_t i = 0; i < start.count; i++)
        if (same_name(start.settings[i], entry))
            plan->missing &= ~(UINT32_C(1) << i);
}

/* Under `apply` recording is off from the start: that does not stop children from being followed.
 */
static bool is_refusal(const char *entry)
{
    return (start.records && strcmp(entry, PREFIX "ENABLE=0") == 0) ||
           strcmp(entry, PREFIX "FOLLOW=0") == 0;
}

static bool is_reachable(void)
{
    int saved = errno;
    bool reachable = access(start.library, R_OK) == 0;
    errno = saved;
    return reachable;
}

static struct plan make_plan(char *const *environment)
{
    struct plan plan = {.entries = 0}, nothing = {.entries = 0};
    if (!start.follow)
        return nothing;
    plan.missing = (uint32_t)((UINT64_C(1) << start.count) - 1);
    for (; environment && environment[plan.entries]; plan.entries++) {
        const char *entry = environment[plan.entries];
        if (begins_with(entry, PRELOAD))
            plan.preload = entry + strlen(PRELOAD);
        else if (is_refusal(entry))
            return nothing;
        else if (begins_with(entry, PREFIX) || begins_with(entry, NVTX_PATH))
            note_setting(&plan, entry);
    }
    bool complete = plan.missing == 0 && plan.preload && holds_library(plan.preload);
    if (complete || !is_reachable())
        return nothing;
    plan.bytes = (plan.entries + start.count + 2) * sizeof(char *) + sizeof PRELOAD +
                 strlen(start.library) + 1 + (plan.preload ? strlen(plan.preload) : 0);
    return plan;
}

/* This library first: what the program preloads may call CUDA. */
static char *write_preload(const struct plan *plan, char *text)
{
    char *end = stpcpy(stpcpy(text, PRELOAD), start.library);
    if (plan->preload && plan->preload[0])
        stpcpy(stpcpy(end, ":"), plan->preload);
    return text;
}

static char *const *build(const struct plan *plan, char *const *environment, void *room)
{
    const char **entries = room;
    size_t n = 0;
    bool preloaded = plan->preload && holds_library(plan->preload);
    for (size_t i = 0; i < plan->entries && environment[i]; i++)
        if (preloaded || !begins_with(environment[i], PRELOAD))
            entries[n++] = environment[i];
    for (size_t i = 0; i < start.count; i++)
        if (plan->missing & (UINT32_C(1) << i))
            entries[n++] = start.settings[i];
    if (!preloaded)
        entries[n++] = write_preload(plan, (char *)(entries + plan->entries + start.count + 2));
    entries[n] = NULL;
    return (char *const *)entries;
}

char *const *xfs_follow_begin(struct xfs_follow *follow, char *const *environment)
{
    struct plan plan = make_plan(environment);
    follow->room = NULL;
    if (plan.bytes == 0)
        return environment;
    if (plan.bytes <= sizeof follow->small)
        return build(&plan, environment, follow->small);
    follow->room = xfs_room_take(plan.bytes);
    return follow->room ? build(&plan, environment, follow->room) : environment;
}

void xfs_follow_end(struct xfs_follow *follow)
{
    if (follow->room)
        xfs_room_give(follow->room);
    follow->room = NULL;
}
