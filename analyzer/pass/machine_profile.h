/*
 * The machine profile that a run is compared with: the one that was named; else the one of the
 * run's machine, where profiles are kept (xfp_look_up()): by the name of the host that recorded the
 * run, or else of this one. A profile that was looked up is used only where it agrees with what all
 * traces say about their machine.
 */
#ifndef XFA_MACHINE_PROFILE_H
#define XFA_MACHINE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "xferscope/profile.h"

struct xfa_profile_request {
    const char *named;         /* NULL: look it up */
    const char *network;       /* a profile whose network is taken; NULL: the profile's own */
    bool none;                 /* do not */
    bool may_lack;             /* one that was named need not be there yet */
    const char *const *traces; /* of the run, or of all runs; borrowed */
    size_t trace_count;
};

struct xfa_machine_profile {
    struct xfp_profile *profile; /* NULL: none */
    char *path;                  /* NULL: none was named or found */
    char *problem;               /* one line: it was asked for, and could not be read */
    char *unused;                /* one line: there was one, and why it is not used */
    const char *by;              /* "option", "environment", "host-name": how path was come by */
};

void xfa_machine_profile_take(struct xfa_machine_profile *taken,
                              const struct xfa_profile_request *request);
/* Its problem, and why one is not used, as lines to `complain`. */
void xfa_machine_profile_tell(const struct xfa_machine_profile *taken,
                              void (*complain)(const char *line));
void xfa_machine_profile_free(struct xfa_machine_profile *taken);

#endif
