/*
 * A host thread for each GPU, in place of one that serves several in turn: gpus-by-turns.
 */
#ifndef XFW_GPU_THREADS_H
#define XFW_GPU_THREADS_H

#include "analyzer/whatif/schedule/change.h"

/*
 * A thread that gives work to several GPUs becomes one for each, from the first work for any of
 * them on, or since the GPU was set up: its calls, and its own time before them, belong to the GPU
 * that they are for. One waits for another where both use the same memory or event; all meet where
 * the thread met others (MPI, threads, its end), for copies between GPUs and for calls of NCCL.
 * Threads that met take XFW_LANE_MEET_NS to go on, and calls that submit work wait for each other
 * in the driver.
 *
 * As likely the host's work behind results that it has had no time to look at needs all of these,
 * and the threads of these GPUs wait for it; memory of which copies send to several GPUs stays one.
 * At best neither is so. Where the host has just fetched, and sends nothing, its work belongs to
 * the GPU before. At worst nothing changes.
 */
struct xfw_change *xfw_change_gpu_threads(const struct xfa_analysis *analysis);

#endif
