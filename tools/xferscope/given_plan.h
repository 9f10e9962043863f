/*
 * A plan (docs/plan.md) for the processes of a run: read, packed, and given to them in memory of
 * this command; and what came of its steps.
 */
#ifndef XFERSCOPE_GIVEN_PLAN_H
#define XFERSCOPE_GIVEN_PLAN_H

#include "analyzer/plan/plan.h"
#include "preload/apply/state/report.h"
#include "tools/xferscope/given_memory.h"
#include "tools/xferscope/preloaded.h"

/* `which` is for XFERSCOPE_APPLY_PLAN; check: this is a run with --check, before which nothing has
 * to have been compared (checked_plan.h). The plan, for xfa_apply_plan_free(); NULL after a line.
 */
struct xfa_apply_plan *given_plan(const char *path, bool check, char which[GIVEN_MEMORY_NAME],
                                  preloaded_refuse *refuse);

/* What the step was expected to save: "step 2 of the plan: 12.1 ms"; for free(). NULL: there is no
 * such step. */
char *given_plan_step(const struct xfa_apply_plan *plan, unsigned step);

/* Names the steps of which no call site was reached: on standard error, in the command's name. */
void given_plan_end(const struct xfa_apply_plan *plan, const struct xfs_report *report,
                    const char *command);

#endif
