/*
 * What repeated-allocation and repeated-registration share: memory that is taken and given back
 * again and again, by call site and size. Lost: the host's time in the calls that could go if what
 * they take were kept.
 */
#ifndef XFA_TAKEN_AGAIN_H
#define XFA_TAKEN_AGAIN_H

#include "analyzer/findings/finding.h"
#include "analyzer/whatif/changes/calls_once.h"

/* The self of both observers, and these: of the kinds of events that take and give back. */
struct xfa_taken {
    struct xfa_table calls;    /* struct xfw_once_calls, of the run: those that could go */
    struct xfw_once_book book; /* of the process at hand: by stack, not by site */
    enum xft_event_kind takes, gives;
};
struct xfa_observer xfa_taken_observer(struct xfa_taken *taken, enum xft_event_kind takes,
                                       enum xft_event_kind gives);
void xfa_taken_free(void *taken);

/* Adds a finding for the host's memory and one for the GPU's, in CUDA's words and in PyTorch's:
 * those whose sites have calls that could go. */
void xfa_taken_find(const struct xfa_analysis *analysis, const struct xfa_taken *taken,
                    struct xfa_findings *findings, enum xfa_finding_id id,
                    enum xfa_remedy_kind remedy, const char *assumed);

/* The calls of such a finding, made once. */
struct xfw_change *xfa_taken_change(const struct xfa_analysis *analysis,
                                    const struct xfa_taken *taken,
                                    const struct xfa_finding *finding);

#endif
