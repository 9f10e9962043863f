#include "probe/profile/profile_sections.h"

#include <stdlib.h>
#include <string.h>

#include "probe/profile/named_list.h"

const struct xfp_staged *xfp_find_staged(const struct xfp_profile *profile, int src, int dst)
{
    for (size_t i = 0; i < profile->staged_count; i++)
        if (profile->staged[i].src_device == src && profile->staged[i].dst_device == dst)
            return &profile->staged[i];
    return NULL;
}

const struct xfp_staged_point *xfp_staged_at(const struct xfp_staged *staged, uint64_t bytes)
{
    const struct xfp_staged_point *best = staged->point_count ? staged->points : NULL;

    for (size_t i = 1; i < staged->point_count; i++)
        if (staged->points[i].bytes <= bytes)
            best = &staged->points[i];
    return best;
}

struct xfp_spread xfp_spread_of(const struct xfp_point *point)
{
    return (struct xfp_spread){point->n, point->min_ns, point->max_ns, point->ci_low_ns,
                               point->ci_high_ns};
}

int xfp_overlap_category(bool implicit_sync, int copy_engines)
{
    if (implicit_sync)
        return copy_engines == 1 ? 1 : 0;
    return copy_engines == 1 ? 2 : 3;
}

uint64_t xfp_hybrid_bytes(const struct xfp_staged_point *points, size_t count)
{
    uint64_t from = 0;

    for (size_t i = count; i > 0 && points[i - 1].adaptive_ns < points[i - 1].peer_ns; i--)
        from = points[i - 1].bytes;
    return from;
}

static void free_concurrent(struct xfp_concurrent *c)
{
    free(c->name);
    free(c->flows);
    free(c->points);
}

static void free_streams(struct xfp_streams *c)
{
    free(c->name);
    free(c->points);
}

static void free_staged(struct xfp_staged *c)
{
    free(c->name);
    free(c->points);
    free(c->cells);
}

static void free_overlap(struct xfp_overlap *c)
{
    free(c->name);
}

/* A section: its list in the profile and the functions over it. */
#define SECTION(kind, list, count)                                                                 \
    XFP_NAMED_LIST(xfp_add_##kind, struct xfp_profile, struct xfp_##kind, kind, list, count)       \
    static bool has_##kind(const struct xfp_profile *profile, const char *name)                    \
    {                                                                                              \
        for (size_t i = 0; i < profile->count; i++)                                                \
            if (profile->list[i].name && !strcmp(profile->list[i].name, name))                     \
                return true;                                                                       \
        return false;                                                                              \
    }

SECTION(concurrent, concurrent, concurrent_count)
SECTION(streams, streams, streams_count)
SECTION(staged, staged, staged_count)
SECTION(overlap, overlap, overlap_count)

void xfp_free_sections(struct xfp_profile *profile)
{
    free_all_concurrent(profile);
    free_all_streams(profile);
    free_all_staged(profile);
    free_all_overlap(profile);
}

bool xfp_has_section(const struct xfp_profile *profile, const char *name)
{
    return has_concurrent(profile, name) || has_streams(profile, name) ||
           has_staged(profile, name) || has_overlap(profile, name);
}
