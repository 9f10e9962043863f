/*
 * What CUPTI's records cost: the two processes that find out. The probe (bench_records.c) starts
 * its own program again; that one (records_child.c) attaches CUPTI as the recorder does, measures
 * every figure without and with records in turn, and answers with a struct xfp_records_reply on its
 * standard output: a first one without the figures of managed memory, whose counters CUPTI may not
 * survive, and one with all of them.
 */
#ifndef XFP_RECORDS_H
#define XFP_RECORDS_H

#include <stdint.h>

#include "probe/measure/stats.h"

/* X(figure, name): the scalar is records/NAME/gpuN. Host time of a call, unless it is the device's
 * time for one of many behind each other; of migrations that of a kernel, and of a thread of the
 * host, that touch managed memory of the other side, for each record of it. */
#define XFP_RECORDS_FIGURES(X)                                                                     \
    X(LAUNCH, "launch")                                                                            \
    X(LAUNCH_DEVICE, "launch-device")                                                              \
    X(LAUNCH_AND_SYNC, "launch-and-sync")                                                          \
    X(COPY_H2D, "copy/h2d")                                                                        \
    X(COPY_D2H, "copy/d2h")                                                                        \
    X(COPY_DEVICE_H2D, "copy-device/h2d")                                                          \
    X(COPY_DEVICE_D2H, "copy-device/d2h")                                                          \
    X(BLOCKING_H2D, "copy-blocking/h2d")                                                           \
    X(BLOCKING_D2H, "copy-blocking/d2h")                                                           \
    X(MEMSET, "memset")                                                                            \
    X(MEMSET_DEVICE, "memset-device")                                                              \
    X(SYNC, "sync/stream")                                                                         \
    X(EVENT, "event/record")                                                                       \
    X(MOVE_H2D, "migration/h2d")                                                                   \
    X(MOVE_D2H, "migration/d2h")

#define XFP_RECORDS_ENUM(figure, name) XFP_RECORDS_##figure,
enum xfp_records_figure { XFP_RECORDS_FIGURES(XFP_RECORDS_ENUM) XFP_RECORDS_COUNT };
#undef XFP_RECORDS_ENUM

/* The argument that makes the program the child: this, the GPU's ordinal, a colon and the wall time
 * it may take, in ns. */
#define XFP_RECORDS_ARGUMENT "--measure-records="

enum xfp_records_state {
    XFP_RECORDS_MEASURED = 1,
    XFP_RECORDS_ABSENT, /* there is no CUPTI for it here; why says so */
    XFP_RECORDS_FAILED, /* why */
};

#define XFP_RECORDS_REPLIES 2 /* at most; each has all that those before it have */

struct xfp_records_reply {
    int32_t state;
    char why[240];
    struct xfp_stats figures[XFP_RECORDS_COUNT]; /* with records minus without, ns; n = 0: not
                                                    measured */
};

/* The child's whole life, when the arguments make this process one: its exit status. -1 when they
 * do not. */
int xfp_records_child(int argc, char **argv);

#endif
