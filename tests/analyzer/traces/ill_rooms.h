/*
 * A killed process's file with a ROOM, whole or ill, for the tests of reading and completing and as
 * seeds for their fuzzers. META "a", "b" and "c" lie in the room, "last" behind it; before it lie
 * ILL_ROOM_EVENTS events of lane 0. What is expected of each: ill_rooms.
 */
#ifndef ILL_ROOMS_H
#define ILL_ROOMS_H

#include <stdbool.h>

#include "tests/analyzer/traces/build_trace.h"

enum { ILL_ROOM_EVENTS = 20, ILL_ROOMS = 15 };

struct ill_room {
    const char *what;
    const char *names; /* initials of the pairs that can be read */
    unsigned damaged;  /* places */
    bool truncated;    /* in addition */
};
extern const struct ill_room ill_rooms[ILL_ROOMS];

/* `how`: an index into ill_rooms. */
void build_ill_room(struct trace_builder *b, unsigned how);

#endif
