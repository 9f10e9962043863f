/*
 * A run that the members of a team (base/team.h) read together: before the walk that counts, each
 * walks over its own processes alone, and all exchange what they met (pass/walked.h).
 *
 * Where something of one process decides what another one's sums are, all members have to read all
 * of it, as without a survey: device times of some transfers only, of which others' are judged;
 * more classes, waits, rows of messages and the like than are kept apart, where it depends on the
 * order which ones are.
 */
#ifndef XFA_SURVEY_H
#define XFA_SURVEY_H

#include "analyzer/analysis/analysis.h"

/* For the analysis of a survey: an open process is walked over, if it is this member's. */
void xfa_survey_walk(struct xfa_analysis *analysis, struct xfa_process *process);

/* What all members have met; NULL: all have to read all. Its files were all added, and are those of
 * all members. An exchange. */
struct xfa_survey *xfa_survey_of(const struct xfa_analysis *analysis);

/* For an analysis that was read by a survey: its own sums, of all members. An exchange. */
void xfa_survey_merge(struct xfa_analysis *analysis);

#endif
