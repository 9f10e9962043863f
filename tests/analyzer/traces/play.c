#include "tests/analyzer/traces/play.h"

#include <stdlib.h>

#define PAUSE_NS 100

void play_start_nameless(struct play *play, struct trace_builder *b, int pid)
{
    *play = (struct play){.b = b, .now = TEST_START_NS + 1000};
    build_start(b, pid);
}

void play_start(struct play *play, struct trace_builder *b, int pid)
{
    play_start_nameless(play, b, pid);
    scenario_names(b);
}

void play_site(struct play *play, unsigned stack, const char *function, unsigned line)
{
    uint64_t address = 0x410000 + 16 * (uint64_t)stack;
    build_symbol(play->b, address, 0, function, "/src/app.c", line, "/opt/sample/train");
    build_stack(play->b, stack, (uint64_t[]){address, 0x401200}, 2);
}

static struct xft_event *add(struct play_lane *lane, struct xft_event event)
{
    if (lane->count == lane->room) {
        lane->room = lane->room ? 2 * lane->room : 256;
        lane->events = realloc(lane->events, lane->room * sizeof *lane->events);
        if (!lane->events)
            abort();
    }
    lane->events[lane->count] = event;
    return &lane->events[lane->count++];
}

struct xft_event *play_event(struct play *play, struct xft_event event, uint64_t ns)
{
    event.start_ns = play->now;
    event.end_ns = play->now + ns;
    play->now += ns + PAUSE_NS;
    return add(&play->lanes[play->lane], event);
}

struct xft_event *play_copy(struct play *play, unsigned stack, enum xft_direction direction,
                            unsigned host_memory, uint64_t bytes, uint64_t ns)
{
    struct xft_event event = test_transfer(CALL_MEMCPY, direction, host_memory, bytes, 0, 0);
    event.stack = stack;
    return play_event(play, event, ns);
}

struct xft_event *play_device_part(struct play *play, const struct xft_event *call, uint64_t bytes,
                                   uint64_t ns)
{
    struct play_lane *lane = &play->lanes[LANE_DEVICE];
    const struct xft_event *last = lane->count ? &lane->events[lane->count - 1] : NULL;
    bool next = last && last->correlation == call->correlation;
    struct xft_event copy = *call;
    copy.kind = XFT_EVENT_DEVICE_COPY;
    copy.bytes = bytes;
    copy.start_ns = next ? last->end_ns + PAUSE_NS : call->start_ns + 500;
    copy.end_ns = copy.start_ns + ns;
    copy.stack = copy.call = copy.flags = 0;
    return add(lane, copy);
}

void play_device_copy(struct play *play, struct xft_event *call, uint64_t ns)
{
    call->correlation = ++play->correlation;
    play_device_part(play, call, call->bytes, ns);
}

struct xft_event *play_async(struct play *play, unsigned stack, enum xft_direction direction,
                             unsigned host_memory, uint64_t bytes, uint64_t device_ns)
{
    struct xft_event event = test_transfer(CALL_MEMCPY_ASYNC, direction, host_memory, bytes, 0, 0);
    event.stack = stack;
    event.flags = XFT_ASYNC;
    struct xft_event *call = play_event(play, event, 1500);
    if (device_ns)
        play_device_copy(play, call, device_ns);
    return call;
}

void play_awaited(struct play *play, unsigned stack, unsigned wait_stack,
                  enum xft_direction direction, uint64_t bytes, uint64_t device_ns,
                  uint64_t wake_ns)
{
    struct xft_event *call = play_async(play, stack, direction, XFT_MEM_PINNED, bytes, device_ns);
    uint64_t end = call->start_ns + 500 + device_ns;
    call->device = 0;
    const struct xft_event sync = {
        .kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT, .stack = wait_stack};
    play_event(play, sync, end + wake_ns - play->now);
}

uint64_t play_stream(unsigned stream)
{
    return 0x5000 + 0x100 * (uint64_t)stream;
}

struct xft_event *play_in_stream(struct play *play, enum xft_event_kind kind, unsigned stream,
                                 uint64_t ns)
{
    const struct xft_event event = {
        .kind = (uint8_t)kind, .stream = play_stream(stream), .flags = XFT_STREAM_KNOWN};
    return play_event(play, event, ns);
}

struct xft_event *play_stream_copy(struct play *play, unsigned stack, enum xft_direction direction,
                                   uint64_t bytes, unsigned stream)
{
    struct xft_event *event = play_async(play, stack, direction, XFT_MEM_PINNED, bytes, 0);
    event->flags |= XFT_STREAM_KNOWN;
    event->stream = play_stream(stream);
    event->device = 0;
    return event;
}

void play_device_copy_behind(struct play *play, struct xft_event *call, uint64_t ns,
                             uint64_t *busy_until)
{
    play_device_copy(play, call, ns);
    struct play_lane *lane = &play->lanes[LANE_DEVICE];
    struct xft_event *record = &lane->events[lane->count - 1];
    record->start_ns = *busy_until > record->start_ns ? *busy_until : record->start_ns;
    record->end_ns = *busy_until = record->start_ns + ns;
}

uint64_t play_wait_ns(const struct play *play, uint64_t done, uint64_t wake_ns)
{
    return (done > play->now ? done - play->now : 0) + wake_ns;
}

void play_end(struct play *play, enum xft_state state)
{
    for (unsigned i = 0; i < PLAY_LANES; i++) {
        build_events(play->b, i, 0, play->lanes[i].events, play->lanes[i].count);
        free(play->lanes[i].events);
    }
    build_close(play->b, state, state == XFT_STATE_CLOSED ? play->now + 1000 : 0);
}
