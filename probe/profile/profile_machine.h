/*
 * The machine of a profile, and how it was measured: read, written, freed. Private to probe/.
 */
#ifndef XFP_PROFILE_MACHINE_H
#define XFP_PROFILE_MACHINE_H

#include "probe/profile/profile_reader.h"
#include "xferscope/profile.h"

/* From the profile's object. */
void xfp_read_machine(struct xfp_reader *r, const json_t *root, struct xfp_machine *machine);
void xfp_read_rules(struct xfp_reader *r, const json_t *root, struct xfp_rules *rules);

/* NULL when memory does not suffice. The caller's. */
json_t *xfp_pack_machine(const struct xfp_machine *machine);
json_t *xfp_pack_rules(const struct xfp_rules *rules);

void xfp_free_machine(struct xfp_machine *machine);

#endif
