/*
 * The trace's clock: CLOCK_MONOTONIC in ns, read from the processor's time stamp counter where the
 * kernel itself keeps time by it.
 *
 * clock_gettime takes about 30 ns and a call is stamped twice. The counter is read in about 10 ns.
 * Each thread anchors the counter to CLOCK_MONOTONIC and does so again every few milliseconds, so
 * that the two differ by no more than the error of the rate over that time: under 1 us where the
 * rate is known to 100 ppm, and in practice tens of ns. Readings of one thread never go backwards.
 * In a forked child the anchors of the thread are still right.
 */
#ifndef XFS_CLOCK_H
#define XFS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Host clock of the trace, ns of CLOCK_MONOTONIC, or of another clock once one is in use: the
 * simulated GPU brings its own. */
__attribute__((hot)) uint64_t xfs_now_ns(void);
void xfs_clock_use(uint64_t (*now)(void));

/* Processor time of the calling thread, ns; 0: not known (a system call, which it may not make; or
 * another clock is in use that does not tell). Such a clock's is asked of `ns`, or is the kernel's
 * all the same (xfs_kernel_thread_ns); NULL: it has none. */
uint64_t xfs_thread_ns(void);
uint64_t xfs_kernel_thread_ns(void);
void xfs_clock_use_of_threads(uint64_t (*ns)(void));

/* The kernel's of another thread of the process; 0: it may not be asked, or there is none. */
uint64_t xfs_kernel_ns_of(int tid);

/* Whether it is the kernel's. */
bool xfs_thread_is_timed_by_kernel(void);

/* Of all threads of the process; 0: not known. Where that of threads is another clock's, this is
 * asked of `ns`. */
uint64_t xfs_process_ns(void);
void xfs_clock_use_of_process(uint64_t (*ns)(void));

/* Checks whether the counter can be used and begins to measure its rate. Called when recording
 * starts; until then, and where it cannot be used, clock_gettime is used. Keeps errno. */
void xfs_clock_start(void);

/* As xfs_now_ns(), by a copy of its code: reading this one first does not bring the other into the
 * caches, so its cache misses are still measured. */
uint64_t xfs_now_apart_ns(void);

/* CLOCK_MONOTONIC, whatever clock the trace has. */
uint64_t xfs_monotonic_ns(void);

/* Whether CLOCK_MONOTONIC is the trace's clock. */
bool xfs_clock_is_monotonic(void);

#endif
