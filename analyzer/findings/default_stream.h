/*
 * What else the finding default-stream-serialization knows of a run.
 */
#ifndef XFA_FINDINGS_DEFAULT_STREAM_H
#define XFA_FINDINGS_DEFAULT_STREAM_H

#include "analyzer/findings/finding.h"

/* Of the finding's sums: several threads use the legacy default stream, it is known which memory
 * all of that stream's work was given, and no memory was used by turns: one
 * thread may have made what another one works on. */
bool xfa_default_stream_threads_apart(const void *of);

#endif
