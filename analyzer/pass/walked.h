/*
 * What a walk over a process came to, for those who do not walk over it: members of a team
 * (base/team.h) divide the reading of a run so. Each walks over its own processes alone, with all
 * observers, and all exchange what they met: a survey. In the walk that counts, each asks every
 * process, in the order of the files, for the stacks and calls that were new there, and meets the
 * classes that were: so sites, functions, classes and rows have the numbers that one process gives
 * them. Then it walks over its own processes, and over others' only where an observer has to see
 * them (observer.h).
 *
 * Private to pass/ and analysis/.
 */
#ifndef XFA_WALKED_H
#define XFA_WALKED_H

#include "analyzer/base/team.h"
#include "analyzer/pass/pass.h"

#define XFA_SURVEYED_OBSERVERS 64 /* the first so many of a walk; others see all processes */

/* A process's calls, on its own clock; 0 = none. */
struct xfa_walked_span {
    uint64_t first_ns, last_ns, transfers;
    uint64_t kinds[XFA_EVENT_KINDS];
    double overhead_ns;
};

/* A class that was new to who walked. In its key numbers of sites and functions say nothing. */
struct xfa_walked_class {
    uint64_t site, function,
        runtime_function; /* identities; of the latter, where the key has one */
    struct xfa_class_key key;
};

struct xfa_walked {
    uint64_t events;
    struct xfa_walked_span span;
    struct xfa_counts counts;
    struct xfa_loss loss;
    char *losses;     /* one line; NULL: none */
    uint64_t touched; /* by observer, a bit each: the process left something in it */
    struct xfa_lookup *lookups;
    size_t lookup_count;
    struct xfa_walked_class *classes; /* in the order they were met */
    size_t class_count;
};
void xfa_walked_free(struct xfa_walked *walked);

/* Of a process that this pass has walked over, which is closed; for xfa_walked_free(). */
void xfa_pass_walked(const struct xfa_pass *pass, const struct xfa_process *process,
                     struct xfa_walked *walked);

void xfa_walked_give(const struct xfa_walked *walked, struct xfa_parcel *parcel);
/* Nothing is in it where `from` is bad. */
void xfa_walked_take(struct xfa_walked *walked, struct xfa_unpacking *from);

/* Sites, functions and classes of an open process become known. False: it is not of this file. */
bool xfa_walked_meet(const struct xfa_walked *walked, struct xfa_process *process,
                     struct xfa_classes *classes);

/* All processes of a run, by number. */
struct xfa_survey {
    struct xfa_walked *processes;
    size_t count;
    size_t observers; /* so many have said whether they were touched: the first of the walk */
};
void xfa_survey_free(struct xfa_survey *survey); /* NULL too */

/* Walks over an open process, if it is this member's and walks says so, and closes it. */
void xfa_pass_survey(struct xfa_pass *pass, struct xfa_process *process, bool walks);

/* From here on the pass walks by it. Borrowed. */
void xfa_pass_by_survey(struct xfa_pass *pass, const struct xfa_survey *survey);

#endif
