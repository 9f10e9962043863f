/*
 * The machine profile as JSON text: limits, parser, writer. Private to probe/.
 */
#ifndef XFP_PROFILE_JSON_H
#define XFP_PROFILE_JSON_H

#include <stdio.h>

#include "xferscope/profile.h"

/* Limits of a file. A file above them is rejected. json_text.h has the limits that are checked
 * before these. */
enum xfp_limits {
    XFP_MAX_FILE_BYTES = 32 << 20,
    XFP_MAX_GPUS = 256,
    XFP_MAX_PATHS = 16384,
    XFP_MAX_POINTS = 4096,
    XFP_MAX_COSTS = 16384, /* scalars, tables */
    XFP_MAX_WARNINGS = 4096,
    XFP_MAX_TEXT = 1024, /* bytes of one string */
};

/* Writes the profile as JSON, one point per line. Returns 0, or -1 on a write or memory error
 * (errno says which). */
int xfp_write_json(const struct xfp_profile *profile, FILE *out);

/* Whether the path has points, all of them chosen. */
bool xfp_all_chosen(const struct xfp_path *path);

#endif
