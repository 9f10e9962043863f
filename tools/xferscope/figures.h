/*
 * What `xferscope apply` takes from a machine's profile, without reading that whole each time: the
 * few figures are kept in $XDG_CACHE_HOME/xferscope, or ~/.cache/xferscope, and go with the
 * contents that they were taken from.
 */
#ifndef XFERSCOPE_FIGURES_H
#define XFERSCOPE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/xferscope/tuned.h"

struct figures {
    struct tuned tuned;
    char relays[4096]; /* of tuned_relays() */
};

/* The figures of the profile at `path`. False: it cannot be read, or is none; `why` says so. A kept
 * file that is not as it was written is said in a line, and written anew. Where none can be kept,
 * none is. */
bool figures_of(const char *path, struct figures *figures, char *why, size_t bytes);

#endif
