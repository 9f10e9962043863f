/*
 * Recording: from a hook to the trace file.
 *
 * Life cycle. Nothing exists until the first CUDA call of the process; xfs_record_ready() then
 * starts the recorder's background thread, which leaves the program's table of descriptors and
 * creates the run directory and the process's file, once; it alone opens files from then on. Each
 * thread gets a lane and writes events into its current slab (include/xferscope/trace.h); a full
 * slab is handed to the background thread, which writes it as compressed columns and gives it back.
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
 * Cost. xfs_event_begin + xfs_event_commit: no lock, no allocation, no system call, except once
 * per slab (a free slab is taken) and once per thread (a lane).
 *
 * Errors never reach the program: what cannot be recorded is counted in the file header, and
 * reported once on stderr.
 */
#ifndef XFS_RECORD_H
#define XFS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/trace.h"

/* True when events can be recorded; starts recording at the first call. Safe from any thread;
 * false while another thread is still starting or when the library is off or has failed. */
bool xfs_record_ready(void);

/* Whether events are recorded now; starts nothing. */
bool xfs_recording(void);

/*
 * The next event of the calling thread, zeroed, to be filled in and committed; NULL when there is
 * none (off, or a signal handler interrupted this thread between begin and commit): the loss has
 * been counted. Nothing between begin and commit may call CUDA or fork.
 */
struct xft_event *xfs_event_begin(void);
void xfs_event_commit(struct xft_event *event);

/* The same in one step, for an event that is complete. */
void xfs_event_write(const struct xft_event *event);

/* Id of the calling thread's stack, 0 when stacks are off or could not be kept. New stacks are in
 * the file before this returns. Frames of this library are left out. */
__attribute__((hot)) uint32_t xfs_stack_capture(void);

/* Id of a stack of one frame, at this instruction: a place in the program that is not on this
 * thread's stack. 0 as above, and for address 0. */
uint32_t xfs_stack_of(uint64_t instruction);

/* Id of a text in NAMES (a kernel's, an NVTX range's); 0 when it is empty or could not be kept. A
 * new text is in the file before this returns. A known one costs a hash and a look-up. */
uint32_t xfs_name(const char *text, size_t bytes);

/* Id in ARGUMENTS of these pointers (at most XFT_ARGUMENTS_MOST) in this order; 0 when they could
 * not be kept, which has been counted. A new set is in the file before this returns. */
uint32_t xfs_arguments_id(const uint64_t *pointers, uint32_t count);

/* Adds or replaces a META pair (at once in the file). */
void xfs_meta_set(const char *key, const char *value);

/* Runs `work` in the recorder's thread, which has a descriptor table of its own, and waits for it.
 * False when it did not run: nothing is recorded, or the thread is late. */
bool xfs_do_apart(void (*work)(void *), void *argument);

/* This thread has left a call by a jump: it is not inside the recorder any more, and the call's
 * event is lost. */
void xfs_record_left(void);

/* Adds n device records to the losses in the file header. */
void xfs_count_device_lost(uint64_t n);

/* Host clock of the trace, ns of CLOCK_MONOTONIC, or of another clock once one is in use: the
 * simulated GPU brings its own. */
__attribute__((hot)) uint64_t xfs_now_ns(void);
void xfs_clock_use(uint64_t (*now)(void));

/* Provided by the table of calls: names for the CALLS segment. */
struct xfs_call_info {
    const char *name;
    enum xft_level level;
};
extern const struct xfs_call_info xfs_calls[];
extern const size_t xfs_call_count;

#endif
