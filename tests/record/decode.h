/*
 * A second reading of trace files, for tests only: it shares no code with the analyzer and takes
 * the whole file into memory. Every event once, in the order of its lane.
 */
#ifndef DECODE_H
#define DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/trace.h"

struct decoded_event {
    uint32_t lane;
    uint64_t seq;
    struct xft_event event;
};

struct decoded {
    struct xft_file_header header;
    struct decoded_event *events; /* sorted by lane, then seq; each once */
    size_t count, room;
    size_t twice; /* were in a chunk and in a slab */
    size_t segments[16];
    size_t packed; /* segments with zstd */
    size_t file_bytes;
    size_t indexed; /* EVENTS segments that INDEX has rightly, each once */
    bool index_wrong;
    bool damaged;
    uint32_t most_stack; /* highest id in STACKS */
    uint32_t most_text;  /* highest id in NAMES */
    size_t texts;        /* entries there */
    size_t text_bytes;   /* all together */
    char *symbols;       /* function names, each in a line */
    char *meta;          /* key=value lines */
};

/* NULL when the file cannot be read or its header is wrong. */
struct decoded *decode_file(const char *path);
/* The same of the one file that lies in a directory, which goes from there. */
struct decoded *decode_only_file(const char *folder);
void decode_free(struct decoded *decoded);

/* Payload of an EVENTS segment to events[0 .. rows); false when it is malformed. */
bool decode_chunk(const unsigned char *raw, size_t bytes, struct xft_chunk *chunk,
                  struct xft_event *events, uint32_t room);

/* True when every EVENTS segment has its entry in INDEX, and no other is there. */
bool decode_is_indexed(const struct decoded *decoded);

/* True when each lane's sequence numbers are 0, 1, 2 ... */
bool decode_is_complete(const struct decoded *decoded);

#endif
