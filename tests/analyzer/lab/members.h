/*
 * Members of a team (analyzer/base/team.h) as processes of a test: they exchange by way of the
 * test's process, without MPI.
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include <stdio.h>

#include "analyzer/base/team.h"

typedef void member_fn(struct xfa_team *team, void *context, FILE *out);

/* Runs it in `count` processes, each of which has the context as it is now. Returns what rank 0
 * wrote, for free(). When one of them ends the team: "failed: " and why. */
char *members_run(uint32_t count, member_fn *member, void *context);

/* What it writes here, without a team; for free(). */
char *members_none(member_fn *member, void *context);

/* Fails where the two differ, with what stands there; number: of the run. */
void members_same(const char *alone, const char *together, unsigned number, unsigned members);

#endif
