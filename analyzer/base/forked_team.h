/*
 * A team on one machine (team.h): `xferscope analyze` of a run of many processes, by processes
 * that it forks. Rank 0 is the command itself; the others print nothing, and end with it.
 *
 * Where one of them ends early, or does not compute alike, rank 0 starts over with --alone: nothing
 * has been written by then.
 */
#ifndef XFA_FORKED_TEAM_H
#define XFA_FORKED_TEAM_H

#include <stdint.h>

#include "analyzer/base/team.h"

/* Forks count - 1 processes, and returns in each. NULL, in the caller alone: they cannot be made.
 * Before the process has threads. Ends with the process. */
struct xfa_team *xfa_forked_team(uint32_t count);

/* Returns to rank 0 once the others have ended, which it ends: nothing more is done together. */
void xfa_forked_team_leave(struct xfa_team *team);

#endif
