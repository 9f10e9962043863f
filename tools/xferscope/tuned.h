/*
 * What a machine's profile says about how `xferscope apply` copies best there: where it begins.
 * What is used is decided by trials in the program (preload/apply/site/proof.h).
 */
#ifndef XFERSCOPE_TUNED_H
#define XFERSCOPE_TUNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfp_profile;

/* 0: the profile does not say. */
struct tuned {
    unsigned threads; /* the fewest that copy as fast as the link to a GPU takes it */
    uint64_t least;   /* bytes of a copy from which on threads should gain, 1 to 64 MiB */
};

/* Of the GPU that is listed first. */
struct tuned tuned_by(const struct xfp_profile *profile);

/* Uploads that are faster by way of another GPU (relayed/pinned/h2d), as XFERSCOPE_APPLY_RELAYS has
 * them: for each GPU the fastest one by which it pays, and from which size on, 8 MiB at least. "":
 * none, or not measured. What does not fit is left out. */
void tuned_relays(const struct xfp_profile *profile, char *text, size_t bytes);

#endif
