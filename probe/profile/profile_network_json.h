/*
 * The object `network` of a profile, read and written. Private to probe/.
 */
#ifndef XFP_PROFILE_NETWORK_JSON_H
#define XFP_PROFILE_NETWORK_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "probe/profile/profile_reader.h"
#include "xferscope/profile_network.h"

enum xfp_net_limits {
    XFP_MAX_RANKS = 4096,
    XFP_MAX_INTERFACES = 256,
    XFP_MAX_WINDOWS = 4096,
};

/* Reads it from the profile's object, if it is there. What was read before a fault belongs to the
 * profile. */
void xfp_read_network(struct xfp_reader *r, const json_t *root, struct xfp_profile *profile);

/* Writes `"network": {...},`, or nothing. 0, or -1 on a write or memory error. */
int xfp_write_network(const struct xfp_profile *profile, FILE *out);

#endif
