/*
 * Questions: changes that likely save nothing, but much if something holds that no record shows.
 * What the best set saves once that is known to be so. Private to whatif/.
 *
 * Two sets are looked at. The one is found by steps (best_set.h), as if the answer were known from
 * the start. The other starts from what the first search has found: the best set without the
 * answer, with the change in the place of those that it excludes. So what that search found with
 * much effort (what pays only together, one in the place of others, numbers of streams) is not
 * looked for once more for each question. The one that saves more counts.
 *
 * All questions together play at most XFW_MOST_ASKED ways more; of those that come then it is known
 * what the change saves alone, and how many they are is said (result.h, search.not_asked).
 */
#ifndef XFW_QUESTIONS_H
#define XFW_QUESTIONS_H

#include "analyzer/whatif/replays.h"

#define XFW_MOST_ASKED 96 /* ways, of eight questions with as many members (a guess) */

/* The best set and each change alone are known. Fills in answered, up_to, needless. */
void xfw_questions_answer(struct xfw_replays *replays, struct xfw_whatif *whatif,
                          struct xfw_change *const *changes);

#endif
