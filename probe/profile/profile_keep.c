/*
 * Adds points that were measured separately to an existing profile.
 */
#include "probe/profile/profile_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"

/* Readers limit the number of values in a file (json_text.h): this many points leave room for the
 * rest.
 */
enum { MOST_POINTS = 60000 };

bool xfp_all_chosen(const struct xfp_path *path)
{
    for (size_t i = 0; i < path->point_count; i++)
        if (!path->points[i].chosen)
            return false;
    return path->point_count > 0;
}

static size_t all_points(const struct xfp_profile *profile)
{
    size_t count = 0;

    for (size_t i = 0; i < profile->path_count; i++)
        count += profile->paths[i].point_count;
    return count;
}

static struct xfp_path *path_of(struct xfp_profile *profile, const char *name)
{
    return (struct xfp_path *)(uintptr_t)xfp_find_path(profile, name);
}

static bool same_place(const struct xfp_place *a, const struct xfp_place *b)
{
    return a->memory == b->memory && a->device == b->device && a->numa == b->numa;
}

/* The index of a new path: last; but copies between devices with peer access come before those
 * without (a look-up by places finds the first). */
static size_t place_in(const struct xfp_profile *profile, const struct xfp_path *like)
{
    static const char peer[] = "copy/peer/";

    for (size_t i = 0; i < profile->path_count && !strncmp(like->name, peer, strlen(peer)); i++)
        if (same_place(&profile->paths[i].src, &like->src) &&
            same_place(&profile->paths[i].dst, &like->dst))
            return i;
    return profile->path_count;
}

static struct xfp_path *add_path(struct xfp_profile *profile, const struct xfp_path *like)
{
    size_t at = place_in(profile, like), count = profile->path_count;
    struct xfp_path *path;
    char *name;

    if (count >= XFP_MAX_PATHS || !xfc_resize(&profile->paths, count + 1, sizeof(*path)))
        return NULL;
    name = strdup(like->name);
    if (!name)
        return NULL;
    path = &profile->paths[at];
    memmove(path + 1, path, (count - at) * sizeof(*path));
    *path = *like;
    path->name = name;
    path->points = NULL;
    path->point_count = 0;
    path->fit = (struct xfp_fit){.g_ns = NAN};
    path->chosen = true;
    profile->path_count++;
    return path;
}

int xfp_keep_point(struct xfp_profile *profile, const struct xfp_path *like,
                   const struct xfp_point *point)
{
    struct xfp_path *path = path_of(profile, like->name);
    struct xfp_point *points;
    size_t at = 0;

    if (!path)
        path = add_path(profile, like);
    while (path && at < path->point_count && path->points[at].bytes < point->bytes)
        at++;
    if (!path)
        return -1;
    if (at < path->point_count && path->points[at].bytes == point->bytes) {
        bool chosen = path->points[at].chosen;

        path->points[at] = *point;
        path->points[at].chosen = chosen;
        return 0;
    }
    if (path->point_count >= XFP_MAX_POINTS || all_points(profile) >= MOST_POINTS ||
        !xfc_resize(&path->points, path->point_count + 1, sizeof(*points)))
        return -1;
    points = path->points;
    memmove(points + at + 1, points + at, (path->point_count - at) * sizeof(*points));
    points[at] = *point;
    points[at].chosen = true;
    path->point_count++;
    path->chosen = xfp_all_chosen(path);
    path->blocking = path->blocking || point->blocking_ns > 0;
    return 0;
}
