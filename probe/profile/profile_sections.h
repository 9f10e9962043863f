/*
 * The optional parts of a machine profile: transfers in flight at the same time (`concurrent`,
 * `overlap`), transfers cut into parts on several streams (`streams`), copies through the host
 * (`staged`). Keys that
 * a reader may ignore. Private to probe/.
 */
#ifndef XFP_PROFILE_SECTIONS_H
#define XFP_PROFILE_SECTIONS_H

#include <jansson.h>
#include <stdio.h>

#include "xferscope/profile.h"

/* Writes the parts that are there, each followed by a comma. 0, or -1 on a write or memory error.
 */
int xfp_write_sections(const struct xfp_profile *profile, FILE *out);

/* Reads them from the profile's object. 0, or -1 with the line, which begins with `name`. What was
 * read before a fault belongs to the profile. */
int xfp_read_sections(const json_t *root, const char *name, struct xfp_profile *profile,
                      char *error, size_t error_bytes);

void xfp_free_sections(struct xfp_profile *profile);

/*
 * Adding to a profile, which takes over what the item points to; one of the same name is replaced.
 * 0, or -1 (out of memory: the item is freed).
 */
int xfp_add_concurrent(struct xfp_profile *profile, struct xfp_concurrent *item);
int xfp_add_streams(struct xfp_profile *profile, struct xfp_streams *item);
int xfp_add_staged(struct xfp_profile *profile, struct xfp_staged *item);
int xfp_add_overlap(struct xfp_profile *profile, struct xfp_overlap *item);

/* The statistics of a point without its median. */
struct xfp_spread xfp_spread_of(const struct xfp_point *point);

/* Section IV: 1, 2 or 3; 0 for a GPU that is none of them. */
int xfp_overlap_category(bool implicit_sync, int copy_engines);

/* The hybrid rule: the smallest size from which on 4B is the faster one at every size; 0: none. */
uint64_t xfp_hybrid_bytes(const struct xfp_staged_point *points, size_t count);

/* Is there one of that name in any of the sections? */
bool xfp_has_section(const struct xfp_profile *profile, const char *name);

#endif
