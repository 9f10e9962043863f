/*
 * Whether a plan was carried out with --check: PLAN.checked, beside the plan. It says which plan,
 * by a hash of its bytes (which has the build ids of the modules that it changes), how many
 * operations of `streams` were compared, and how many of them were different.
 */
#ifndef XFERSCOPE_CHECKED_PLAN_H
#define XFERSCOPE_CHECKED_PLAN_H

#include <stdbool.h>

#include "analyzer/plan/plan.h"
#include "preload/apply/state/report.h"

/* Steps of the plan that may not be carried out before that: of a plan that was not checked, or
 * not without a difference, they are left out, which a line on standard error says. */
void checked_plan_ask(struct xfa_apply_plan *plan, const char *path);

/* What a run with --check compared is written, if the plan has such steps and they had anything to
 * compare. A line says what it is, or that it cannot be written. */
void checked_plan_note(const struct xfa_apply_plan *plan, const char *path,
                       const struct xfs_report *report);

#endif
