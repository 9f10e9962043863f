#include "probe/resume.h"
#include "probe/measure/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "probe/profile/profile_sections.h"

static bool same_text(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

int xfp_resume_check(struct xfp_session *s, const struct xfp_profile *old)
{
    const struct xfp_machine *now = &s->profile->machine, *then = &old->machine;
    const char *what = NULL;

    if (!same_text(now->machine_id, then->machine_id) || now->simulated != then->simulated)
        what = "another machine";
    else if (now->driver_version != then->driver_version)
        what = "another driver";
    else if (now->gpu_count != then->gpu_count)
        what = "another number of GPUs";
    for (size_t i = 0; i < now->gpu_count && !what; i++)
        if (!same_text(now->gpus[i].uuid, then->gpus[i].uuid))
            what = "other GPUs";
    if (!what && old->rules.known && old->rules.flushed != s->profile->rules.flushed)
        what = old->rules.flushed ? "flushed caches (leave --no-flush out)"
                                  : "caches as they were (say --no-flush)";
    return what ? xfp_fail(&s->sys, "--resume: the profile was measured with %s", what) : 0;
}

static bool was_interrupted(const struct xfp_profile *old)
{
    for (size_t i = 0; i < old->warning_count; i++)
        if (!strncmp(old->warnings[i], "interrupted:", 12))
            return true;
    return false;
}

/* Every part of a profile is a list of items that begin with their name. */
struct list {
    void **items;
    size_t *count, bytes;
};

#define PARTS 7
#define LIST(part, number) ((struct list){(void **)&p->part, &p->number, sizeof(*p->part)})

static void list_parts(struct xfp_profile *p, struct list lists[PARTS])
{
    lists[0] = LIST(paths, path_count);
    lists[1] = LIST(concurrent, concurrent_count);
    lists[2] = LIST(streams, streams_count);
    lists[3] = LIST(staged, staged_count);
    lists[4] = LIST(overlap, overlap_count);
    lists[5] = LIST(scalars, scalar_count);
    lists[6] = LIST(tables, table_count);
}

static char *item_at(const struct list *l, size_t i)
{
    return (char *)*l->items + i * l->bytes;
}

static const char *name_at(const struct list *l, size_t i)
{
    char *name;

    memcpy(&name, item_at(l, i), sizeof(name));
    return name;
}

static bool holds(const struct list *l, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name_at(l, i), name))
            return true;
    return false;
}

/* A sweep is complete with every size that is asked for; other benchmarks choose their own. */
static bool path_is_complete(const struct xfp_session *s, const struct xfp_bench *bench,
                             const struct xfp_path *path)
{
    uint64_t sizes[64];
    size_t count = xfp_sweep_sizes(s->options, sizes, 64), at = 0;

    if (bench->family->budget_s > 0)
        return true;
    for (size_t i = 0; i < path->point_count && at < count; i++)
        at += path->points[i].bytes == sizes[at];
    return at == count;
}

static bool is_done(const struct xfp_session *s, const struct xfp_profile *old, bool interrupted,
                    const struct xfp_bench *bench)
{
    const char *result = *bench->result ? bench->result : bench->name;
    struct list lists[PARTS];

    list_parts((struct xfp_profile *)(uintptr_t)old, lists);
    for (size_t i = 0; i < PARTS; i++) {
        size_t sure = *lists[i].count - (interrupted && *lists[i].count);

        if (i && holds(&lists[i], sure, result))
            return true;
        for (size_t j = 0; !i && j < sure; j++)
            if (!strcmp(old->paths[j].name, bench->name))
                return path_is_complete(s, bench, &old->paths[j]);
    }
    return false;
}

size_t xfp_resume_skip(const struct xfp_session *s, const struct xfp_profile *old,
                       struct xfp_bench_list *list)
{
    bool interrupted = was_interrupted(old);
    size_t kept = 0, all = list->count;

    for (size_t i = 0; i < all; i++)
        if (!is_done(s, old, interrupted, &list->items[i]))
            list->items[kept++] = list->items[i];
    list->count = kept;
    return all - kept;
}

/* Old items that are not in the new list, then the new ones; the rest stays in old. */
static int merge_list(const struct list *new, const struct list *old)
{
    size_t taken = 0, left = 0, count = *new->count, bytes = new->bytes;
    char *merged = malloc((count + *old->count + 1) * bytes);

    if (!merged)
        return -1;
    for (size_t i = 0; i < *old->count; i++) {
        bool keep = !holds(new, count, name_at(old, i));

        if (keep)
            memcpy(merged + taken++ * bytes, item_at(old, i), bytes);
        else
            memmove(item_at(old, left++), item_at(old, i), bytes);
    }
    if (count)
        memcpy(merged + taken * bytes, *new->items, count * bytes);
    free(*new->items);
    *new->items = merged;
    *new->count = taken + count;
    *old->count = left;
    return 0;
}

/* A warning that begins with a benchmark's name may be outdated by a new measurement. */
static void merge_warnings(struct xfp_session *s, const struct xfp_profile *old)
{
    struct list paths = {(void **)&s->profile->paths, &s->profile->path_count,
                         sizeof(*s->profile->paths)};

    for (size_t i = 0; i < old->warning_count; i++) {
        const char *line = old->warnings[i], *colon = strchr(line, ':');
        char name[XFP_NAME_BYTES];

        snprintf(name, sizeof(name), "%.*s", colon ? (int)(colon - line) : 0, line);
        if (!strcmp(name, "interrupted") ||
            (strchr(name, '/') && !holds(&paths, *paths.count, name)))
            continue;
        xfp_warn(&s->sys, "%s", line);
    }
}

int xfp_resume_merge(struct xfp_session *s, struct xfp_profile *old)
{
    struct list now[PARTS], then[PARTS];

    list_parts(s->profile, now);
    list_parts(old, then);
    for (size_t i = 0; i < PARTS; i++)
        if (merge_list(&now[i], &then[i]))
            return xfp_fail(&s->sys, "out of memory");
    merge_warnings(s, old);
    return 0;
}
