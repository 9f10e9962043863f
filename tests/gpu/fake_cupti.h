/*
 * A stand-in for libcupti that does what a test tells it: hands out the records it was given, in
 * buffers it asks for, and misbehaves in one chosen way. Built as libcupti.so.13 in a folder of
 * its own; the test finds these controls in the copy that the recorder has loaded.
 */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stddef.h>
#include <stdint.h>

struct fake_cupti {
    /* what it is to do */
    int subscribe_result;   /* of cuptiSubscribe */
    int enable_result;      /* of cuptiActivityEnable */
    int refused_kind;       /* cuptiActivityEnable refuses this kind */
    unsigned counters_most; /* cuptiActivityConfigureUnifiedMemoryCounter refuses more */
    int clock_result;       /* of cuptiActivityRegisterTimestampCallback */
    int64_t clock_offset;   /* its own clock minus the trace's */
    uint64_t (*trace_now)(void);
    int hang_in_flush; /* cuptiActivityFlushAll(FORCED) does not return */
    size_t dropped;    /* answered once by cuptiActivityGetNumDroppedRecords */
    uint32_t version;
    int old_driver;      /* it serves one client only, whatever is asked */
    int no_hardware;     /* the GPU has no events of its own */
    int clock_is_broken; /* cuptiGetTimestamp_v2 fails */

    /* what it saw */
    int subscribed, unsubscribed;
    int subscribed_by, enabled_by; /* threads; the last one */
    int kinds_enabled[64], kinds_disabled[64];
    unsigned counters; /* configured, before their kind was enabled */
    unsigned calls_watched;
    int zeroed_promised;
    int buffers_registered;
    int dirty_buffers; /* buffers that did not come zeroed although promised */
    int flushes, forced_flushes;
    void (*on_call)(void *user, int domain, uint32_t call, const void *data);
    uint64_t (*clock)(void);
    int clients;  /* subscribed by the second kind of calls */
    int mixed;    /* calls of the first kind that came while there were such clients */
    int hardware; /* kernel times come from hardware */
    int hardware_asked;
};

/* The controls: dlsym(copy, "fake_cupti_controls"). */
struct fake_cupti *fake_cupti_controls(void);

/* Another profiler subscribes by the second kind of calls, and enables the kind. The answer. */
int fake_cupti_other(int several, int kind);

/* How many records the other profiler received. */
int fake_cupti_other_records(void);

/* Puts a record into the current buffer; with several clients, of each that enabled its kind.
 * cuptiActivityFlushAll delivers buffers. */
void fake_cupti_record(const void *record, size_t bytes);

#endif
