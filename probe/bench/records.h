/*
 * The processes that measure what CUPTI's records cost. The probe (bench_records.c) starts its own
 * program again; such a child (records_child.c) attaches CUPTI as the recorder does, and writes a
 * struct xfp_records_reply to its standard output.
 *
 * What records add to calls is the difference between two children, one with records and one that
 * never loaded CUPTI: once records were on, calls stay slower when they are off
 * (docs/results/budget-2026-11-23.md). There are several such pairs, in turn. What they add on the
 * device, and to managed memory, one child measures that switches them on and off: it replies first
 * without the figures of managed memory, whose counters can crash CUPTI, then with these as well.
 *
 * The same child measures how far kernels of a graph are from each other: how far apart they begin,
 * without records, less what a record says that such a kernel takes, launched by itself.
 */
#ifndef XFP_RECORDS_H
#define XFP_RECORDS_H

#include <stdint.h>

#include "probe/measure/stats.h"

/* X(figure, name, what the records add to): the scalar is records/NAME/gpuN. */
#define XFP_RECORDS_FIGURES(X)                                                                     \
    X(LAUNCH, "launch", "the call that launches an empty kernel (host)")                           \
    X(LAUNCH_DEVICE, "launch-device", "each of many queued empty kernels (device)")                \
    X(LAUNCH_AND_SYNC, "launch-and-sync",                                                          \
      "launching an empty kernel and waiting for its end (host)")                                  \
    X(COPY_H2D, "copy/h2d",                                                                        \
      "the call of an asynchronous copy of 64 pinned bytes to the device (host)")                  \
    X(COPY_D2H, "copy/d2h",                                                                        \
      "the call of an asynchronous copy of 64 pinned bytes to the host (host)")                    \
    X(COPY_DEVICE_H2D, "copy-device/h2d", "each of many queued copies to the device (device)")     \
    X(COPY_DEVICE_D2H, "copy-device/d2h", "each of many queued copies to the host (device)")       \
    X(BLOCKING_H2D, "copy-blocking/h2d",                                                           \
      "a blocking copy of 64 pinned bytes to the device (host)")                                   \
    X(BLOCKING_D2H, "copy-blocking/d2h", "a blocking copy of 64 pinned bytes to the host (host)")  \
    X(MEMSET, "memset", "the call of an asynchronous memset of 64 bytes (host)")                   \
    X(MEMSET_DEVICE, "memset-device", "each of many queued memsets (device)")                      \
    X(SYNC, "sync/stream", "synchronising with a stream that has nothing left to do (host)")       \
    X(EVENT, "event/record", "recording an event (host)")                                          \
    X(MOVE_H2D, "migration/h2d",                                                                   \
      "a kernel that touches managed memory of the host, for each record of a migration (4 MiB)")  \
    X(MOVE_D2H, "migration/d2h",                                                                   \
      "a thread of the host that touches managed memory of the device, for each record of a "      \
      "migration (4 MiB)")                                                                         \
    X(AFTER_WAIT, "launch-after-wait",                                                             \
      "the call that launches an empty kernel when nothing is in flight (host)")                   \
    X(AFTER_LAUNCH, "copy-after-launch/d2h",                                                       \
      "the call of an asynchronous copy of 64 pinned bytes to the host behind a launch (host)")    \
    X(CAPTURE_LAUNCH, "capture/launch",                                                            \
      "the call that launches an empty kernel into a stream that is captured (host)")              \
    X(GRAPH_INSTANTIATE, "graph/instantiate", "instantiating a graph, its nodes apart (host)")     \
    X(GRAPH_INSTANTIATE_NODE, "graph/instantiate-node",                                            \
      "instantiating a graph, for each of its kernels (host)")                                     \
    X(GRAPH_UPDATE, "graph/update", "updating an executable graph, its nodes apart (host)")        \
    X(GRAPH_UPDATE_NODE, "graph/update-node",                                                      \
      "updating an executable graph, for each of its kernels (host)")                              \
    X(GRAPH_LAUNCH, "graph/launch", "the call that launches a graph, its nodes apart (host)")      \
    X(GRAPH_LAUNCH_NODE, "graph/launch-node",                                                      \
      "the call that launches a graph, for each of its kernels (host)")                            \
    X(GRAPH_DESTROY, "graph/destroy", "destroying an executable graph, its nodes apart (host)")    \
    X(GRAPH_DESTROY_NODE, "graph/destroy-node",                                                    \
      "destroying an executable graph, for each of its kernels (host)")                            \
    X(GRAPH_DEVICE, "graph/device", "a launched graph, for each of its empty kernels (device)")    \
    X(FIRST_COPY, "first/copy", "the call of the first copy of a process, once (host)")            \
    X(FIRST_LAUNCH, "first/launch",                                                                \
      "the call that launches the first kernel of a process, once (host)")

#define XFP_RECORDS_ENUM(figure, name, what) XFP_RECORDS_##figure,
enum xfp_records_figure { XFP_RECORDS_FIGURES(XFP_RECORDS_ENUM) XFP_RECORDS_COUNT };
#undef XFP_RECORDS_ENUM

/* The argument that makes the program the child: this, the GPU's ordinal, a colon and the wall time
 * it may take, in ns; one of a pair has one of these behind it. */
#define XFP_RECORDS_ARGUMENT "--measure-records="
#define XFP_RECORDS_WITH ":with"
#define XFP_RECORDS_WITHOUT ":without"

enum xfp_records_state {
    XFP_RECORDS_MEASURED = 1,
    XFP_RECORDS_ABSENT, /* CUPTI is not available here; `why` has the reason */
    XFP_RECORDS_FAILED, /* why */
};

#define XFP_RECORDS_REPLIES 2 /* at most; each includes the earlier ones */

struct xfp_records_reply {
    int32_t state;
    char why[240];
    struct xfp_stats figures[XFP_RECORDS_COUNT]; /* with records minus without, ns; n = 0: not
                                                    measured. One of a pair: what they took */
    struct xfp_stats between_nodes;              /* of a graph, ns; n = 0: not measured */
};

/* Runs the child if the arguments say so, and returns its exit status; else -1. */
int xfp_records_child(int argc, char **argv);

#endif
