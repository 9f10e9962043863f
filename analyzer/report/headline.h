/*
 * What a run would save, in one figure, for all formats: of the part of the run that its GPUs work
 * in. A process that loads a framework for seconds before its first transfer is no measure of what
 * a change to its loop saves.
 *
 * The part (the focus) is the phase that was asked for, else the first of these that has at least
 * half of what the best set saves:
 * - the outermost range (NVTX) with more than half of the transfers' time, no longer than the next;
 *   it may be much shorter, where a framework's start has the GPU's first work. Without a saving
 *   that tells what matters it has at least half of the next, or most of what the GPUs did;
 * - the time from the first work for a GPU to the last wait, of a run of one process;
 * - the run.
 *
 * Times are ns, without what recording cost. Texts are the caller's to free.
 */
#ifndef XFA_HEADLINE_H
#define XFA_HEADLINE_H

#include "analyzer/findings/finding.h"

struct xfa_timeline;

struct xfa_headline {
    const char *phase;        /* the finding's or the analysis's text; NULL: no phase */
    bool span;                /* from the first work for a GPU to the last wait; else the run */
    double ns;                /* of the focus; NAN: not known */
    double process_ns;        /* of the run, as recorded; NAN: not known */
    struct xfw_saving saving; /* of the best set in the focus; NAN: there is none */
};

/* Of findings that were weighed. timeline: what the GPUs did in which phase; NULL: not computed.
 * phase: name of the phase that was asked for; NULL: none was. */
struct xfa_headline xfa_headline_of(const struct xfa_analysis *analysis,
                                    const struct xfa_findings *findings,
                                    const struct xfa_timeline *timeline, const char *phase);

/* "209 ms -> 119 ms with 1 change (43 % less; 68.0 to 155 ms)"; NULL: the best set saves nothing.
 */
char *xfa_headline_text(const struct xfa_headline *headline, const struct xfa_findings *findings);

/* The same, short, for a title: "209 ms -> 119 ms (43 % less) with 1 change". */
char *xfa_headline_title(const struct xfa_headline *headline, const struct xfa_findings *findings);

/* Which part of which time that is: "209 ms of 4.73 s (phase train)", "5.20 s". */
char *xfa_focus_text(const struct xfa_headline *headline);

/* Both in one line, for formats without a first screen: "209 ms -> ... to 155 ms), of 4.73 s (phase
 * train)". NULL: as above. */
char *xfa_headline_line(const struct xfa_analysis *analysis, const struct xfa_findings *findings,
                        const char *phase);

#endif
