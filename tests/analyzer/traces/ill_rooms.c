#include "tests/analyzer/traces/ill_rooms.h"

#include <string.h>

#include "preload/format/segments.h"

#define UNUSED_BYTES 400

enum how {
    WHOLE,
    BROKEN_HEAD,
    BROKEN_PAYLOAD,
    ZEROS,
    ZEROS_AT_END,
    ZEROS_ALL,
    ROOM_IN_ROOM,
    REACHES_BEYOND,
    LANES_BEYOND,
    COMMITTED_TOO_MUCH,
    TOO_SMALL,
    CUT_BEHIND_COMMITTED,
    CUT_BETWEEN,
    CUT_INSIDE,
    CUT_AT_ONCE,
};

const struct ill_room ill_rooms[ILL_ROOMS] = {
    [WHOLE] = {"whole", "abcl", 0, false},
    [BROKEN_HEAD] = {"a broken segment header", "acl", 1, false},
    [BROKEN_PAYLOAD] = {"a broken payload", "acl", 1, false},
    [ZEROS] = {"zeros instead of a segment", "acl", 1, false},
    [ZEROS_AT_END] = {"zeros up to the end of what counts", "al", 1, false},
    [ZEROS_ALL] = {"nothing but zeros", "l", 1, false},
    [ROOM_IN_ROOM] = {"a room, with events, in the room", "acl", 1, false},
    [REACHES_BEYOND] = {"a segment beyond what counts", "al", 1, false},
    [LANES_BEYOND] = {"LANES beyond what counts", "al", 1, false},
    [COMMITTED_TOO_MUCH] = {"more committed than fits", "l", 1, false},
    [TOO_SMALL] = {"smaller than its own head", "abcl", 2, false}, /* and what is unused */
    [CUT_BEHIND_COMMITTED] = {"cut behind what counts", "abc", 0, true},
    [CUT_BETWEEN] = {"cut between segments", "ab", 0, true},
    [CUT_INSIDE] = {"cut inside a segment", "ab", 1, true},
    [CUT_AT_ONCE] = {"cut inside its own head", "", 0, true},
};

static void put_head(struct trace_builder *b, size_t at, enum xft_segment_type type, uint64_t bytes)
{
    struct xft_segment head = xft_segment_make(type, 0, NULL, bytes, bytes);
    memcpy(b->bytes + at, &head, sizeof head);
}

static void put_committed(struct trace_builder *b, size_t room, uint64_t committed)
{
    memcpy(b->bytes + room + sizeof(struct xft_segment), &committed, sizeof committed);
}

/* An empty ROOM of the segments that follow, up to end_room(). */
static size_t begin_room(struct trace_builder *b)
{
    static const struct xft_room none;
    size_t room = b->size;
    build_plain_segment(b, XFT_SEG_ROOM, 0, &none, sizeof none, sizeof none);
    return room;
}

static void end_room(struct trace_builder *b, size_t room)
{
    static const unsigned char unused[UNUSED_BYTES];
    size_t first = room + sizeof(struct xft_segment) + sizeof(struct xft_room);
    put_committed(b, room, b->size - first);
    build_plain_segment(b, XFT_SEG_PAD, 0, unused, sizeof unused, sizeof unused);
    memset(b->bytes + b->size - UNUSED_BYTES - sizeof(struct xft_segment), 0,
           sizeof(struct xft_segment));
    put_head(b, room, XFT_SEG_ROOM, b->size - room - sizeof(struct xft_segment));
}

static void put_second(struct trace_builder *b, enum how how)
{
    struct xft_event event = {.start_ns = 1000, .end_ns = 1900, .bytes = 5, .count = 1};
    if (how == ROOM_IN_ROOM) {
        size_t room = begin_room(b);
        build_events(b, 9, 0, &event, 1);
        end_room(b, room);
    } else {
        build_plain_segment(b, XFT_SEG_META, 0, "b\0", 3, 3);
    }
}

/* `at`: of the room, its three segments and its end. */
static void spoil(struct trace_builder *b, enum how how, const size_t at[5])
{
    const size_t head = sizeof(struct xft_segment);
    if (how == BROKEN_HEAD)
        b->bytes[at[2] + 8] ^= 1;
    else if (how == BROKEN_PAYLOAD)
        b->bytes[at[2] + head] ^= 1;
    else if (how == ZEROS)
        memset(b->bytes + at[2], 0, at[3] - at[2]);
    else if (how == ZEROS_AT_END)
        memset(b->bytes + at[2], 0, at[4] - at[2]);
    else if (how == ZEROS_ALL)
        memset(b->bytes + at[1], 0, at[4] - at[1]);
    else if (how == REACHES_BEYOND)
        put_head(b, at[2], XFT_SEG_META, 300);
    else if (how == LANES_BEYOND)
        put_head(b, at[2], XFT_SEG_LANES, 300);
    else if (how == COMMITTED_TOO_MUCH)
        put_committed(b, at[0], at[4] - at[1] + UNUSED_BYTES + head + 1);
    else if (how == TOO_SMALL)
        put_head(b, at[0], XFT_SEG_ROOM, 7);
    else if (how == CUT_BEHIND_COMMITTED)
        b->size = at[4] + 16;
    else if (how == CUT_BETWEEN)
        b->size = at[3];
    else if (how == CUT_INSIDE)
        b->size = at[4] - 6; /* before its padding */
    else if (how == CUT_AT_ONCE)
        b->size = at[1] - 1;
}

void build_ill_room(struct trace_builder *b, unsigned how)
{
    struct xft_event events[ILL_ROOM_EVENTS];
    size_t at[5];
    for (size_t i = 0; i < ILL_ROOM_EVENTS; i++)
        events[i] = test_transfer(1, XFT_DIR_H2D, XFT_MEM_PINNED, 4096, i * 1000, 900);
    build_start(b, 4716);
    build_events(b, 0, 0, events, ILL_ROOM_EVENTS);
    at[0] = begin_room(b);
    at[1] = b->size;
    build_plain_segment(b, XFT_SEG_META, 0, "a\0", 3, 3);
    at[2] = b->size;
    put_second(b, (enum how)how);
    at[3] = b->size;
    build_plain_segment(b, XFT_SEG_META, 0, "c\0", 3, 3);
    at[4] = b->size;
    end_room(b, at[0]);
    build_plain_segment(b, XFT_SEG_META, 0, "last\0", 6, 6);
    build_close(b, XFT_STATE_RECORDING, 0);
    spoil(b, (enum how)how, at);
}
