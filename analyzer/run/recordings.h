/*
 * How many runs the given files are of. A user may have put files of several runs into one
 * directory, or named directories of several: the figures are added up then, and the report has to
 * say so.
 *
 * Each `xferscope record` is one recording, known by META `run`. Recordings are of one run when a
 * launcher or a batch system says so (one world, one job's step), when their ranks are of launches
 * of one size and differ, or when nothing contradicts it: they ran at the same time, on one host
 * or, within what calendars are off, on several. So a run of many ranks, each recorded by itself,
 * is one however it was launched; two runs one after the other are two. Files that no `record` made
 * are not counted.
 */
#ifndef XFA_RECORDINGS_H
#define XFA_RECORDINGS_H

#include "analyzer/run/run.h"

/* At least 1. Once all processes have been closed. *names, when there are several: the programs
 * that began them, in order of time, "train, test and 2 more", which the caller frees; else NULL.
 */
size_t xfa_run_recordings(const struct xfa_run *run, char **names);

#endif
