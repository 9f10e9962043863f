/*
 * This machine's profile for `run` and `again`: the one that is kept, or a quick one that is
 * measured now and kept where it is looked up.
 */
#ifndef XFERSCOPE_OWN_PROFILE_H
#define XFERSCOPE_OWN_PROFILE_H

#include <limits.h>
#include <stdbool.h>

#include "tools/xferscope/record.h"

/*
 * After the program has run, so that measuring does not disturb it. Lines on standard error say
 * what is done, or why nothing is: a process of the run goes on, other ranks may, --no-probe.
 * `path` gets the profile; "": there is none.
 */
void own_profile(const struct record_options *options, const struct recorded *recorded,
                 char path[PATH_MAX]);

#endif
