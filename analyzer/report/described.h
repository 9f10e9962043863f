/*
 * A finding in words, for all formats: text, Markdown, JSON, the page, record's line. Formats place
 * the words, and say nothing of their own about what a finding saves, why that is not known, and
 * what it assumes.
 */
#ifndef XFA_DESCRIBED_H
#define XFA_DESCRIBED_H

#include "analyzer/report/savings.h"

struct xfa_described {
    const struct xfa_finding *finding;
    const char *word, *title;
    enum xfw_known known; /* how much of its saving; XFW_UNKNOWN too where nothing was replayed */
    struct xfw_saving saving; /* as it is shown: no more than the run */
    char *likely;             /* "98.0 ms", "up to 98.0 ms"; NULL: not known */
    double share;             /* of part_of, that it saves there; NAN: likely is not known */
    char *part;               /* the same: "44 %"; NULL: likely is not known */
    char *part_of;            /* "the run"; "phase train" where shares are of it (finding.h) */
    char *cell;               /* the bounds for a table: "54.0-141 ms"; NULL: likely is not known */
    char *adds;  /* the same as likely; of a member of the best set behind the first what
                    it adds: "20.4 ms more"; NULL: not known */
    char *brief; /* "98.0 ms (54.0-141 ms)", "20.4 ms more (alone 8.64-60.6 ms)", "up to
                    98.0 ms"; NULL: not known */
    char *role;  /* beside the best set: "instead of 2", "needless after 1 and 2", by numbers in the
                    report; NULL: it is a member, or there is no set */
    char *sentence;      /* "98.0 ms of the run (44 %)", "98.0 ms of the run (47 % of phase train),
                            between 54.0 ms and 141 ms (modelled)", "up to
                            ...", "not known: that takes a machine profile"; NULL: the run was not
                            replayed */
    const char *why_not; /* static: why likely is not known; NULL: it is, or the run was not
                            replayed, for which the run has a reason (xfw_whatif.why) */
    char *assumed;       /* NULL: nothing */
    char *note;          /* what is to be known of the fix before it is made: that rounds stay in
                            order, what page-locking takes, and how; NULL: nothing */
    /* Of a question (struct xfa_finding), else NULL: */
    char *condition; /* what decides: "no kernel changes what step (heat.py:31) has copied" */
    char *question; /* "54.0 ms, up to 639 ms, if no kernel changes ...: copy it once, keep it"; "up
                       to 700 ms in all if ..." with the changes that are best with it, where that
                       is likely, too */
    double up_to_ns; /* the same; NAN: it is none */
    char *key;       /* to answer it: --assume KEY=yes or KEY=no */
};

/* For xfa_described_free(). */
struct xfa_described xfa_describe(const struct xfa_analysis *analysis,
                                  const struct xfa_findings *findings,
                                  const struct xfa_finding *finding);
void xfa_described_free(struct xfa_described *described);

/* The places of the findings that are questions, that of the most first; of several that one answer
 * is for, the first. For free(). */
size_t *xfa_questions(const struct xfa_findings *findings, size_t *count);

/* Do the questions come before the findings? What the best set saves at best is not a tenth of what
 * the first of them may save. */
bool xfa_questions_first(const struct xfa_findings *findings);

/* The answers that were given: "repeated-transfer=yes, early-wait=no"; NULL: none. For free(). */
char *xfa_answers_text(const struct xfa_findings *findings);

#endif
