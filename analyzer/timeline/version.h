/* One version of the run (timeline.h): what ran goes in, process after process, and becomes tracks
 * and shares. Private to timeline/. */
#ifndef XFA_TIMELINE_VERSION_H
#define XFA_TIMELINE_VERSION_H

#include "analyzer/timeline/timeline.h"

void xfa_version_init(struct xfa_version *version, size_t budget);
void xfa_version_free(struct xfa_version *version);
void xfa_version_begin(struct xfa_version *version, uint32_t process);
void xfa_version_add(struct xfa_version *version, const struct xfa_span *span);
/* A range of the phase (phase_shares.h) begins or ends, `at` ns after the process's start. */
void xfa_version_mark(struct xfa_version *version, uint32_t phase, bool closes, uint64_t at);
/* end_ns 0: not known, so that it ended with the last of what ran. */
void xfa_version_end(struct xfa_version *version, uint64_t end_ns);
void xfa_version_finish(struct xfa_version *version, double wall_ns);

/* ---- labels.c: what is written beside what ran ----------------------------------------------- */

/* A kernel or a range of the process at hand, by its id in NAMES; a row of transfers; a wait:
 * function and call site. */
uint32_t xfa_label_of_kernel(struct xfa_timeline *timeline, uint64_t id);
uint32_t xfa_label_of_row(struct xfa_timeline *timeline, const struct xfa_row *row);
uint32_t xfa_label_of_call(struct xfa_timeline *timeline, const struct xfa_event *event);
void xfa_labels_begin(struct xfa_timeline *timeline);
void xfa_labels_end(struct xfa_timeline *timeline);
/* Names of the process before are forgotten. */
void xfa_labels_of_process(struct xfa_timeline *timeline, struct xfa_process *process);

#endif
