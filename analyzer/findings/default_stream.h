/*
 * What else the finding default-stream-serialization knows of a run.
 */
#ifndef XFA_FINDINGS_DEFAULT_STREAM_H
#define XFA_FINDINGS_DEFAULT_STREAM_H

#include "analyzer/findings/finding.h"

/* Of the finding's sums: several threads use the legacy default stream, it is known which memory
 * all of that stream's work was given, and what one thread wrote no other one used by turns: one
 * thread may have made what another one works on. Kernels write all that they are given, but what
 * their names say they only read. */
bool xfa_default_stream_threads_apart(const void *of);

/* Kernels of that stream whose names (mangled) say that they only read what some of their arguments
 * point to: the first XFA_STREAM_READERS that were met, for good. */
#define XFA_STREAM_READERS 64
#define XFA_STREAM_READER_CHARS 512

struct xfa_stream_reader {
    char kernel[XFA_STREAM_READER_CHARS];
    uint64_t arguments; /* bit k: the one of number k, from 0 on */
};

const struct xfa_stream_reader *xfa_default_stream_readers(const void *of, size_t *count);

#endif
