/*
 * A run being written down in the order of its clock: calls of threads, and what the device did
 * meanwhile. play_start(), calls, play_end(). Lanes are threads; the last one is the device's.
 */
#ifndef PLAY_H
#define PLAY_H

#include "tests/analyzer/traces/scenario.h"

enum { LANE_MAIN, LANE_OTHER, LANE_DEVICE, PLAY_LANES };

struct play_lane {
    struct xft_event *events;
    size_t count, room;
};

struct play {
    struct trace_builder *b;
    struct play_lane lanes[PLAY_LANES];
    unsigned lane; /* that calls are made on */
    uint64_t now;
    uint32_t correlation; /* of the last copy that the device ran */
};

/* A process with the names of scenario_names(). */
void play_start(struct play *play, struct trace_builder *b, int pid);
/* The same without any. */
void play_start_nameless(struct play *play, struct trace_builder *b, int pid);
/* A call site of the program: FUNCTION (app.c:LINE), called by main. */
void play_site(struct play *play, unsigned stack, const char *function, unsigned line);

/* Adds the event at the clock, which it moves by `ns`. The pointer is good until the next one. */
struct xft_event *play_event(struct play *play, struct xft_event event, uint64_t ns);
/* A synchronous copy between that host memory and device memory. */
struct xft_event *play_copy(struct play *play, unsigned stack, enum xft_direction direction,
                            unsigned host_memory, uint64_t bytes, uint64_t ns);
/* An asynchronous one that the device took `device_ns` for; 0: nobody knows. */
struct xft_event *play_async(struct play *play, unsigned stack, enum xft_direction direction,
                             unsigned host_memory, uint64_t bytes, uint64_t device_ns);
/* The same with page-locked memory of GPU 0, and a wait for the device behind it: which ends
 * wake_ns behind the copy. */
void play_awaited(struct play *play, unsigned stack, unsigned wait_stack,
                  enum xft_direction direction, uint64_t bytes, uint64_t device_ns,
                  uint64_t wake_ns);
/* The last call's, as if the device had run it. */
void play_device_copy(struct play *play, struct xft_event *call, uint64_t ns);
/* A part of the call's, behind those it has; the call has a correlation. */
struct xft_event *play_device_part(struct play *play, const struct xft_event *call, uint64_t bytes,
                                   uint64_t ns);

/* ---- streams, by numbers of the test's ------------------------------------------------------- */

uint64_t play_stream(unsigned stream); /* its handle */
/* A call in the stream. */
struct xft_event *play_in_stream(struct play *play, enum xft_event_kind kind, unsigned stream,
                                 uint64_t ns);
/* An asynchronous copy of page-locked memory and GPU 0 in the stream, without addresses. */
struct xft_event *play_stream_copy(struct play *play, unsigned stack, enum xft_direction direction,
                                   uint64_t bytes, unsigned stream);
/* The device ran the last call's copy as soon as its stream was idle: moves *busy_until on. */
void play_device_copy_behind(struct play *play, struct xft_event *call, uint64_t ns,
                             uint64_t *busy_until);
/* How long a wait takes that begins now, for what is done by then, and ends wake_ns behind that. */
uint64_t play_wait_ns(const struct play *play, uint64_t done, uint64_t wake_ns);

/* Writes the events, ends the recording. */
void play_end(struct play *play, enum xft_state state);

#endif
