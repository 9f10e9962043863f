/*
 * Recording: from a hook to the trace file.
 *
 * Life cycle. Nothing exists until the first CUDA call of the process; xfs_record_ready() then
 * starts the recorder's background thread, which leaves the program's table of descriptors and
 * creates the run directory and the process's file, once; it alone opens files from then on. Each
 * thread gets a lane and writes events into its current slab (include/xferscope/trace.h); a full
 * slab is passed to the background thread, which writes it as compressed columns and gives it back.
 * At exit all events are written, symbols are resolved and the file is rewritten without its slabs;
 * after SIGKILL the slabs are still in the file.
 *
 * Recording ends when the library's destructor runs. Calls in flight then are still recorded, or
 * counted as lost where that takes too long; calls that other threads begin later do not belong to
 * the run and have a count of their own (calls_after_end).
 *
 * fork: the child starts afresh with a file of its own, at its first CUDA call. vfork and exec:
 * nothing to do.
 *
 * Cost. xfs_event_write: no lock, no allocation, no system call, except once
 * per slab (a free slab is taken) and once per thread (a lane).
 *
 * Errors never reach the program: what cannot be recorded is counted in the file header, and
 * reported once on stderr.
 */
#ifndef XFS_RECORD_H
#define XFS_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/record/clock.h"
#include "preload/record/events.h"
#include "preload/record/life.h"
#include "xferscope/trace.h"

/* Recording is switched off (settings), which is found at the first call: calls are passed on. For
 * good, in forked children too. */
extern atomic_bool xfs_switched_off;

/* True when events can be recorded; starts recording at the first call. Safe from any thread;
 * false while another thread is still starting or when the library is off or has failed. */
bool xfs_record_ready(void);
/* What a call that begins does where it cannot be decided in line (hot.h). */
bool xfs_record_ready_slowly(void);
bool xfs_call_ready_slowly(void);
/* Begins something that is not a call, or part of one; xfs_call_over() ends it too. */
bool xfs_aside_begins(void);

#endif
