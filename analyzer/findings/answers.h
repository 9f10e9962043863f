/*
 * What the user says of what no record shows (`analyze --assume`, docs/analyze.md): of a kind of
 * finding, at call sites that match a pattern or at all, that what it takes for granted of the
 * program is so (yes) or is not (no). With yes the finding is weighed as if the record had shown
 * it; with no there is none.
 */
#ifndef XFA_ANSWERS_H
#define XFA_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/run/site.h"

#define XFA_ANSWER_OR '|' /* between the sites that one answer is for */

enum xfa_answer { XFA_ANSWER_NONE, XFA_ANSWER_YES, XFA_ANSWER_NO };

struct xfa_answer_given {
    unsigned id;             /* enum xfa_finding_id */
    char *site;              /* pattern (run/site.h), or several, separated; NULL: at all sites */
    bool to_host, to_device; /* of findings of these directions */
    bool yes;
    char *text; /* as it was given: KIND[@SITE[|SITE ...]][/H2D|/D2H]=yes|no */
    bool met;   /* it concerned a finding of the run */
};

/* Zeroed at first. */
struct xfa_answers {
    struct xfa_answer_given *items;
    size_t count, capacity;
};

/* Takes KIND[@SITE[|SITE ...]][/H2D|/D2H]=yes|no; text that does not end so is the name of a file
 * with such lines (empty ones, and what follows #, are skipped). 0, or -1 with one line in error.
 */
int xfa_answers_take(struct xfa_answers *answers, const char *text, char *error,
                     size_t error_bytes);
void xfa_answers_free(struct xfa_answers *answers);

/* The last one that was given for the kind at this site, in that direction. answers NULL: none was.
 */
enum xfa_answer xfa_answer_of(struct xfa_answers *answers, unsigned id, const struct xfa_site *site,
                              bool to_host);

#endif
